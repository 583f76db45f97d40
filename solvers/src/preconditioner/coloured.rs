//! Factorisations with the rows ordered by colour.

use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory::{collect, zeros};
use host::real::Scalar;

use super::colouring::{Colouring, Read};
use super::factors::{Factor, Factorization};

/// A factorisation of P A Pᵀ, where P orders the rows by colour. A row depends on elements of other colours only, so a
/// factor has at most as many levels as there are colours (Saad 2003, §12.4). Takes another copy of the matrix.
pub(super) struct Coloured<T: Scalar, F> {
    read: Read,
    colouring: Colouring,
    /// P A Pᵀ; its lower triangle if only that is read.
    permuted: Csr<T>,
    factorization: F,
}

impl<T: Scalar, F> Coloured<T, F> {
    /// Colours the rows, and factorises the permuted matrix. O(rows + nnz) on one thread, besides the factorisation.
    pub(super) fn new(
        matrix: &Csr<T>,
        read: Read,
        factorization: impl FnOnce(&Csr<T>) -> Result<F, Error>,
    ) -> Result<Self, Error> {
        let rows = matrix.rows();
        let colouring = Colouring::new(matrix, read)?;
        let mut lengths = zeros::<usize>(rows)?;
        for_each_entry(matrix, read, &colouring, |row, _, _| lengths[row] += 1);
        let offsets = Offsets::from_lengths(lengths.iter().copied())?;
        let stored = offsets.get(rows);
        let (mut columns, mut values) = (zeros(stored)?, zeros(stored)?);
        let mut next = collect((0..rows).map(|row| offsets.get(row)))?;
        for_each_entry(matrix, read, &colouring, |row, column, value| {
            (columns[next[row]], values[next[row]]) = (column, value);
            next[row] += 1;
        });
        let permuted = Csr::try_new(rows, rows, offsets, columns, values)?;
        let factorization = factorization(&permuted)?;
        Ok(Self { read, colouring, permuted, factorization })
    }
}

impl<T: Scalar, F: Factorization<T>> Factorization<T> for Coloured<T, F> {
    fn factorize(&mut self, matrix: &Csr<T>) -> Result<[Factor<'_, T>; 2], Error> {
        let Self { read, colouring, permuted, factorization } = self;
        let mut next = collect((0..matrix.rows()).map(|row| permuted.range(row).start))?;
        let values = permuted.values_mut();
        for_each_entry(matrix, *read, colouring, |row, _, value| {
            values[next[row]] = value;
            next[row] += 1;
        });
        let order = &colouring.order;
        let factors = factorization.factorize(permuted).map_err(|error| match error {
            Error::Pivot { operation, row, pivot, expected } => {
                Error::Pivot { operation, row: order[row] as usize, pivot, expected }
            }
            other => other,
        })?;
        Ok(factors.map(|factor| Factor { elements: Some(order), ..factor }))
    }
}

/// Calls `with` for the entries that are read, with permuted rows and columns, always in the same order. Entries of a lower
/// triangle that move above the diagonal are mirrored.
fn for_each_entry<T: Scalar>(
    matrix: &Csr<T>,
    read: Read,
    Colouring { order, places, .. }: &Colouring,
    mut with: impl FnMut(usize, u32, T),
) {
    for (row, &from) in (0..).zip(order) {
        let from = from as usize;
        for (column, value) in matrix.row(from).filter(|&(column, _)| read.contains(from, column)) {
            match places[column as usize] {
                column if read == Read::Lower && column > row => with(column as usize, row, value.conjugate()),
                column => with(row as usize, column, value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::factors::beside_diagonal;
    use super::super::ic0::Ic0;
    use super::super::ilu0::Ilu0;
    use super::super::recipe::PreconditionerOptions;
    use super::*;
    use crate::levels::{Side, levels};

    /// A Hermitian matrix of 2 × 2 blocks on a ring, which connects points at distance 1 and 2.
    fn ring(places: u32) -> Csr<f64> {
        let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
        for place in 0..places {
            for neighbour in [places - 2, places - 1, 0, 1, 2].map(|step| (place + step) % places) {
                for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let (row, column) = (2 * place + row, 2 * neighbour + column);
                    rows.push(row);
                    columns.push(column);
                    values.push(if row == column { 20.0 } else { -1.0 });
                }
            }
        }
        Csr::try_from_triplets(2 * places as usize, 2 * places as usize, &rows, &columns, &values).unwrap()
    }

    #[test]
    fn factors_have_no_more_levels_than_there_are_colours() {
        fn check<F: Factorization<f64>>(
            matrix: &Csr<f64>,
            read: Read,
            make: impl FnOnce(&Csr<f64>) -> Result<F, Error>,
        ) {
            let mut coloured = Coloured::new(matrix, read, make).unwrap();
            let colours = coloured.colouring.colours.len() - 1;
            for factor in coloured.factorize(matrix).unwrap() {
                let (begins, _) = levels(factor.side, factor.beside_diagonal).unwrap();
                assert!(begins.len() - 1 <= colours, "{} levels, {colours} colours", begins.len() - 1);
            }
            assert!((6..=10).contains(&colours), "{colours}");
        }
        let (matrix, options) = (ring(101), PreconditionerOptions::default());
        check(&matrix, Read::All, |permuted| Ilu0::new(permuted, options));
        check(&matrix, Read::Lower, |permuted| Ic0::new(permuted, options));
        // In row order, each row waits for the previous one.
        let lower = beside_diagonal(&matrix, Side::Lower).unwrap();
        assert_eq!(levels(Side::Lower, &lower).unwrap().0.len() - 1, 202);
    }

    #[test]
    fn a_pivot_is_named_by_its_row_in_the_matrix() {
        let mut matrix = ring(9);
        let mut coloured =
            Coloured::new(&matrix, Read::All, |permuted| Ilu0::new(permuted, PreconditionerOptions::default()))
                .unwrap();
        coloured.factorize(&matrix).unwrap();
        for row in [0, 7, 17] {
            let diagonal = matrix.range(row).find(|&entry| matrix.column_indices()[entry] as usize == row).unwrap();
            let before = std::mem::replace(&mut matrix.values_mut()[diagonal], f64::NAN);
            let error = coloured.factorize(&matrix).map(drop).unwrap_err().to_string();
            assert!(error.starts_with(&format!("ILU(0): the pivot of row {row} is NaN")), "{error}");
            matrix.values_mut()[diagonal] = before;
        }
    }
}
