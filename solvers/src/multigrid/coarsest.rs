//! The inverse of the coarsest level.

use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory::{collect, zeros};
use host::real::Scalar;

use crate::preconditioner::inverse_of;

/// Pivots up to this factor times the number of rows, the unit roundoff and the largest entry count as 0.
const SMALL_PIVOT: f64 = 100.0;

/// Returns the inverse of a small matrix, as a dense one; the pseudo-inverse if it is singular. O(rows³).
///
/// # Errors
/// When an entry is not finite, or memory runs out.
pub(super) fn inverse<W: Scalar<Real = f64>>(matrix: &Csr<W>) -> Result<Csr<W>, Error> {
    let rows = matrix.rows();
    if let Some(row) = (0..rows).find(|&row| matrix.row(row).any(|(_, value)| !value.is_finite())) {
        let expected = "a row of finite numbers on the coarsest level";
        return Err(Error::Pivot { operation: "multigrid", row, pivot: f64::NAN, expected });
    }
    let mut dense = Dense::zeros(rows, rows)?;
    for row in 0..rows {
        for (column, value) in matrix.row(row) {
            let element = dense.at(row, column as usize);
            *element = *element + value;
        }
    }
    let inverse = inverse_of_dense(dense)?;
    let offsets = Offsets::from_lengths((0..rows).map(|_| rows))?;
    let columns = collect((0..rows * rows).map(|entry| (entry % rows) as u32))?;
    Csr::try_new(rows, rows, offsets, columns, inverse.elements)
}

/// A dense matrix, by rows. Not a library's type, which would abort when memory runs out.
struct Dense<W> {
    rows: usize,
    columns: usize,
    elements: Vec<W>,
}

impl<W: Scalar<Real = f64>> Dense<W> {
    fn zeros(rows: usize, columns: usize) -> Result<Self, Error> {
        Ok(Self { rows, columns, elements: zeros(rows.saturating_mul(columns))? })
    }

    fn at(&mut self, row: usize, column: usize) -> &mut W {
        &mut self.elements[row * self.columns + column]
    }

    fn row(&self, row: usize) -> &[W] {
        &self.elements[row * self.columns..][..self.columns]
    }

    /// Returns the conjugate transpose.
    fn adjoint(&self) -> Result<Self, Error> {
        let mut adjoint = Self::zeros(self.columns, self.rows)?;
        for row in 0..self.rows {
            for (column, element) in self.row(row).iter().enumerate() {
                *adjoint.at(column, row) = element.conjugate();
            }
        }
        Ok(adjoint)
    }

    fn times(&self, other: &Self) -> Result<Self, Error> {
        let mut product = Self::zeros(self.rows, other.columns)?;
        for row in 0..self.rows {
            let sums = &mut product.elements[row * other.columns..][..other.columns];
            for (inner, &factor) in self.row(row).iter().enumerate() {
                sums.iter_mut().zip(other.row(inner)).for_each(|(sum, &element)| *sum = *sum + factor * element);
            }
        }
        Ok(product)
    }
}

/// A with permuted rows and columns is L D U, where L and U have ones on their diagonals: Gaussian elimination with
/// complete pivoting, which reveals the rank.
struct Factors<W> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    /// D.
    pivots: Vec<W>,
    /// L below the diagonal and U above it.
    triangles: Dense<W>,
}

impl<W: Scalar<Real = f64>> Factors<W> {
    fn new(mut dense: Dense<W>) -> Result<Self, Error> {
        let size = dense.rows;
        let mut rows = collect((0..size).map(|row| row as u32))?;
        let mut columns = collect((0..size).map(|column| column as u32))?;
        let mut pivots = host::memory::with_capacity(size)?;
        let mut least = None;
        for step in 0..size {
            let (mut largest, mut place) = (0.0, (step, step));
            for row in step..size {
                for (column, element) in dense.row(row).iter().enumerate().skip(step) {
                    let [re, im] = element.parts();
                    // Within a factor √2 of the magnitude, and cheaper.
                    let magnitude = re.abs().max(im.abs());
                    if magnitude > largest {
                        (largest, place) = (magnitude, (row, column));
                    }
                }
            }
            let least = *least.get_or_insert(SMALL_PIVOT * size as f64 * f64::EPSILON * largest);
            if largest <= least {
                break;
            }
            rows.swap(step, place.0);
            columns.swap(step, place.1);
            if place.0 != step {
                let (above, below) = dense.elements.split_at_mut(place.0 * size);
                above[step * size..][..size].swap_with_slice(&mut below[..size]);
            }
            for row in 0..size {
                dense.elements.swap(row * size + step, row * size + place.1);
            }
            let pivot = *dense.at(step, step);
            let inverse = inverse_of(pivot);
            pivots.push(pivot);
            let (above, below) = dense.elements.split_at_mut((step + 1) * size);
            let of_pivot = &mut above[step * size..];
            for row in below.chunks_exact_mut(size) {
                let factor = row[step] * inverse;
                row[step] = factor;
                let rest = row[step + 1..].iter_mut().zip(&of_pivot[step + 1..]);
                rest.for_each(|(element, &above)| *element = *element - factor * above);
            }
            of_pivot[step + 1..].iter_mut().for_each(|element| *element = inverse * *element);
        }
        Ok(Self { rows, columns, pivots, triangles: dense })
    }

    /// Returns A⁻¹ for a matrix of full rank; zeros for any other.
    fn inverse(&self) -> Result<Dense<W>, Error> {
        let size = self.triangles.rows;
        let mut inverse = Dense::zeros(size, size)?;
        if self.pivots.len() < size {
            return Ok(inverse);
        }
        let mut x = zeros::<W>(size)?;
        for unit in 0..size {
            x.fill(W::ZERO);
            x[unit] = W::ONE;
            for row in unit + 1..size {
                let before = self.triangles.row(row)[unit..row].iter().zip(&x[unit..row]);
                x[row] = before.fold(x[row], |sum, (&element, &x)| sum - element * x);
            }
            for row in (0..size).rev() {
                let after = self.triangles.row(row)[row + 1..].iter().zip(&x[row + 1..]);
                x[row] = after.fold(x[row] * inverse_of(self.pivots[row]), |sum, (&element, &x)| sum - element * x);
            }
            for (row, &x) in x.iter().enumerate() {
                *inverse.at(self.columns[row] as usize, self.rows[unit] as usize) = x;
            }
        }
        Ok(inverse)
    }

    /// Returns A⁺ = Uᴴ (U Uᴴ)⁻¹ D⁻¹ (Lᴴ L)⁻¹ Lᴴ for a rank-deficient matrix, where L has as many columns, and U as many
    /// rows, as the rank.
    fn pseudo_inverse(&self) -> Result<Dense<W>, Error> {
        let (size, rank) = (self.triangles.rows, self.pivots.len());
        let (mut lower, mut upper) = (Dense::zeros(size, rank)?, Dense::zeros(rank, size)?);
        for row in 0..size {
            for column in 0..rank.min(row + 1) {
                let element = if row == column { W::ONE } else { self.triangles.row(row)[column] };
                *lower.at(self.rows[row] as usize, column) = element;
            }
        }
        for row in 0..rank {
            for column in row..size {
                let element = if row == column { W::ONE } else { self.triangles.row(row)[column] };
                *upper.at(row, self.columns[column] as usize) = element;
            }
        }
        let (lower_adjoint, upper_adjoint) = (lower.adjoint()?, upper.adjoint()?);
        let mut inner = Factors::new(lower_adjoint.times(&lower)?)?.inverse()?.times(&lower_adjoint)?;
        for (row, pivot) in inner.elements.chunks_exact_mut(size.max(1)).zip(&self.pivots) {
            let inverse = inverse_of(*pivot);
            row.iter_mut().for_each(|element| *element = inverse * *element);
        }
        upper_adjoint.times(&Factors::new(upper.times(&upper_adjoint)?)?.inverse()?.times(&inner)?)
    }
}

fn inverse_of_dense<W: Scalar<Real = f64>>(dense: Dense<W>) -> Result<Dense<W>, Error> {
    let size = dense.rows;
    let adjoint = dense.adjoint()?;
    let hermitian = adjoint.elements == dense.elements;
    let factors = Factors::new(dense)?;
    let mut inverse = match factors.pivots.len() {
        0 => Dense::zeros(size, size)?,
        rank if rank == size => factors.inverse()?,
        _ => factors.pseudo_inverse()?,
    };
    if hermitian {
        // Exactly Hermitian, as methods for Hermitian matrices require.
        for row in 0..size {
            for column in 0..=row {
                let mean = W::from_f64(0.5) * (*inverse.at(row, column) + inverse.at(column, row).conjugate());
                *inverse.at(row, column) = mean;
                *inverse.at(column, row) = mean.conjugate();
            }
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use host::Complex;

    use super::*;

    fn dense<W: Scalar>(matrix: &Csr<W>) -> Vec<Vec<W>> {
        let mut dense = vec![vec![W::ZERO; matrix.columns()]; matrix.rows()];
        for (row, elements) in dense.iter_mut().enumerate() {
            matrix.row(row).for_each(|(column, value)| elements[column as usize] = elements[column as usize] + value);
        }
        dense
    }

    fn product<W: Scalar>(left: &[Vec<W>], right: &[Vec<W>]) -> Vec<Vec<W>> {
        let element = |row: &Vec<W>, column: usize| {
            row.iter().zip(right).fold(W::ZERO, |sum, (&value, other)| sum + value * other[column])
        };
        left.iter().map(|row| (0..right[0].len()).map(|column| element(row, column)).collect()).collect()
    }

    /// A A⁺ A = A and A⁺ A A⁺ = A⁺.
    fn check<W: Scalar<Real = f64>>(rows: usize, entries: &[(u32, u32, W)]) {
        let rows_of: Vec<_> = entries.iter().map(|entry| entry.0).collect();
        let columns: Vec<_> = entries.iter().map(|entry| entry.1).collect();
        let values: Vec<_> = entries.iter().map(|entry| entry.2).collect();
        let matrix = Csr::try_from_triplets(rows, rows, &rows_of, &columns, &values).unwrap();
        let (a, inverse) = (dense(&matrix), dense(&inverse(&matrix).unwrap()));
        for (result, expected) in
            [(product(&product(&a, &inverse), &a), &a), (product(&product(&inverse, &a), &inverse), &inverse)]
        {
            for (result, expected) in result.iter().flatten().zip(expected.iter().flatten()) {
                assert!((*result - *expected).magnitude() < 1e-12, "{result} and not {expected} of {entries:?}");
            }
        }
    }

    #[test]
    fn inverses_and_pseudo_inverses() {
        check(2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)]);
        check(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, -3.0), (1, 1, 1.0)]);
        // Singular: symmetric with constants, not symmetric, zero.
        check(3, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0), (1, 2, -1.0), (2, 1, -1.0), (2, 2, 1.0)]);
        check(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 4.0)]);
        check(2, &[(0, 1, 2.0)]);
        check::<f64>(2, &[]);
        // Indefinite.
        check(2, &[(0, 1, 1.0), (1, 0, 1.0)]);
        let i = Complex::<f64>::from_parts(0.0, 1.0);
        check(2, &[(0, 0, Complex::from_f64(2.0)), (0, 1, i), (1, 0, -i), (1, 1, Complex::from_f64(3.0))]);
        check(2, &[(0, 0, i), (1, 1, Complex::from_parts(1.0, 2.0)), (0, 1, Complex::from_f64(0.5))]);
        let nan = Csr::try_from_triplets(1, 1, &[0], &[0], &[f64::NAN]).unwrap();
        let error = inverse(&nan).unwrap_err().to_string();
        assert_eq!(
            error,
            "multigrid: the pivot of row 0 is NaN, expected a row of finite numbers on the coarsest level"
        );
    }
}
