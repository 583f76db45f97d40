//! The largest eigenvalue of a level's matrix scaled by its diagonal.

use host::error::Error;
use host::format::Csr;
use host::memory::zeros;
use host::parallel;
use host::real::Scalar;
use nalgebra::DMatrix;

use super::AT_ONCE;
use crate::preconditioner::{SpectralBound, scale_rows};

/// Steps of Lanczos' method.
const STEPS: usize = 12;

/// What the largest Ritz value is multiplied with: it comes from below.
const SAFETY: f64 = 1.05;

/// Steps of the power method, where the matrix is not Hermitian.
const POWER_STEPS: u32 = 20;

/// An entry of the projected matrix that differs by more than this share from its mirror is not that of a Hermitian matrix.
const HERMITIAN: f64 = 1e-6;

/// A vector that is this much smaller than the matrix makes it is nothing but rounding.
const EXHAUSTED: f64 = 1e-10;

/// The largest magnitude of an eigenvalue of D⁻¹ A, by a few steps of Lanczos' method for D^(−1/2) A D^(−1/2), at most the
/// bound of Gershgorin; where A is not Hermitian or D has signs, by the power method. In parallel, O(nnz) a step, and the
/// same for any number of threads.
///
/// # Errors
/// When it is no finite number greater than 0, or memory runs out.
pub(super) fn largest_eigenvalue<W: Scalar<Real = f64, Wide = W>>(
    matrix: &Csr<W>,
    inverse_diagonal: &[W],
) -> Result<f64, Error> {
    if inverse_diagonal.iter().all(|&factor| factor == W::ZERO) {
        return Ok(1.0);
    }
    let bound = gershgorin(matrix, inverse_diagonal)?;
    if let Some(ritz) = lanczos(matrix, inverse_diagonal)?
        && ritz > 0.0
        && bound.is_finite()
    {
        return Ok(bound.min(SAFETY * ritz));
    }
    let mut scaled = matrix.try_clone()?;
    scale_rows(&mut scaled, inverse_diagonal);
    SpectralBound::PowerSteps(POWER_STEPS).largest_eigenvalue(&scaled)
}

/// The largest sum of magnitudes of a scaled row.
fn gershgorin<W: Scalar<Real = f64>>(matrix: &Csr<W>, inverse_diagonal: &[W]) -> Result<f64, Error> {
    let sum = |row: usize| {
        inverse_diagonal[row].magnitude() * matrix.row(row).map(|(_, value)| value.magnitude()).sum::<f64>()
    };
    let sums = parallel::map(matrix.rows(), AT_ONCE, &sum)?;
    // Not by f64::max, which passes over NaN.
    Ok(sums.into_iter().fold(0.0, |largest, sum| if largest >= sum || largest.is_nan() { largest } else { sum }))
}

/// The largest Ritz value; none where the matrix is not Hermitian, or its diagonal has signs.
fn lanczos<W: Scalar<Real = f64>>(matrix: &Csr<W>, inverse_diagonal: &[W]) -> Result<Option<f64>, Error> {
    if inverse_diagonal.iter().any(|inverse| {
        let [re, im] = inverse.parts();
        // Written so that a NaN is refused.
        !(re >= 0.0 && im == 0.0)
    }) {
        return Ok(None);
    }
    let rows = matrix.rows();
    let roots = parallel::map(rows, AT_ONCE, &|row| inverse_diagonal[row].parts()[0].sqrt())?;
    // Of no regularity that an eigenvector could be orthogonal to: by Weyl's sequence, in [-0.5, 0.5).
    let element = |row: usize| W::from_f64((row as f64 * 0.618_033_988_749_895).fract() - 0.5);
    let mut vector = parallel::map(rows, AT_ONCE, &element)?;
    let (mut before, mut weighted) = (zeros::<W>(rows)?, zeros::<W>(rows)?);
    let mut projected = DMatrix::<f64>::zeros(STEPS, STEPS);
    let mut norm = square(&vector)?.sqrt();
    let (mut steps, mut beta) = (0, 0.0);
    while steps < STEPS && norm > 0.0 {
        let scale = W::from_f64(1.0 / norm);
        parallel::chunks_mut(&mut vector, AT_ONCE, 1, &|(_, chunk)| {
            chunk.iter_mut().for_each(|element| *element = scale * *element);
        });
        parallel::fill(&mut weighted, AT_ONCE, &|row| W::from_f64(roots[row]) * vector[row]);
        let product = |row: usize| {
            let term = |sum, (column, value): (u32, W)| sum + value * weighted[column as usize];
            W::from_f64(roots[row]) * matrix.row(row).fold(W::ZERO, term)
        };
        let mut next = parallel::map(rows, AT_ONCE, &product)?;
        let [alpha, alpha_im] = dot(&vector, &next)?;
        let [mirror, mirror_im] = if steps > 0 { dot(&before, &next)? } else { [0.0; 2] };
        let size = alpha.abs() + beta;
        // Written so that a NaN ends it as well.
        let hermitian = [alpha_im, mirror - beta, mirror_im].iter().all(|part| part.abs() <= HERMITIAN * size);
        if !hermitian {
            return Ok(None);
        }
        projected[(steps, steps)] = alpha;
        if steps > 0 {
            (projected[(steps, steps - 1)], projected[(steps - 1, steps)]) = (beta, beta);
        }
        let (along, along_before) = (W::from_f64(alpha), W::from_f64(beta));
        parallel::chunks_mut(&mut next, AT_ONCE, 1, &|(chunk, next)| {
            let first = chunk * AT_ONCE;
            let vectors = vector[first..].iter().zip(&before[first..]);
            next.iter_mut().zip(vectors).for_each(|(next, (&vector, &before))| {
                *next = *next - along * vector - along_before * before;
            });
        });
        before = std::mem::replace(&mut vector, next);
        norm = square(&vector)?.sqrt();
        beta = norm;
        steps += 1;
        // The space is exhausted: what is left is rounding.
        if norm <= EXHAUSTED * size {
            break;
        }
    }
    let projected = projected.view((0, 0), (steps, steps)).into_owned();
    Ok(projected.symmetric_eigenvalues().iter().copied().reduce(f64::max))
}

/// The square of the norm.
fn square<W: Scalar<Real = f64>>(vector: &[W]) -> Result<f64, Error> {
    Ok(dot(vector, vector)?[0])
}

/// xᴴ y, added up in the order of chunks.
fn dot<W: Scalar<Real = f64>>(x: &[W], y: &[W]) -> Result<[f64; 2], Error> {
    let of_chunk = |chunk: usize| {
        let range = chunk * AT_ONCE..x.len().min((chunk + 1) * AT_ONCE);
        let pairs = x[range.clone()].iter().zip(&y[range]);
        pairs.fold(W::ZERO, |sum, (&x, &y)| sum + x.conjugate() * y).parts()
    };
    let sums = parallel::map(x.len().div_ceil(AT_ONCE), 1, &of_chunk)?;
    Ok(sums.into_iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(rows: usize, before: f64, after: f64) -> Csr<f64> {
        let (mut row_indices, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..rows {
            let neighbours =
                [(row > 0, row.wrapping_sub(1), before), (true, row, 2.0), (row + 1 < rows, row + 1, after)];
            for (_, column, value) in neighbours.into_iter().filter(|(is, ..)| *is) {
                row_indices.push(row as u32);
                columns.push(column as u32);
                values.push(value);
            }
        }
        Csr::try_from_triplets(rows, rows, &row_indices, &columns, &values).unwrap()
    }

    #[test]
    fn the_largest_eigenvalue_is_hardly_missed() {
        // 1 + cos(π / (rows + 1)).
        for rows in [1, 2, 5, 50, if cfg!(miri) { 60 } else { 5000 }] {
            let exact = 1.0 + (std::f64::consts::PI / (rows + 1) as f64).cos();
            let found = largest_eigenvalue(&chain(rows, -1.0, -1.0), &vec![0.5; rows]).unwrap();
            assert!((0.99 * exact..=1.05 * exact + 1e-12).contains(&found), "{rows} rows: {found}, {exact}");
        }
        // Not symmetric: 1 + √(1.4 · 0.6) cos(π / (rows + 1)).
        let found = largest_eigenvalue(&chain(200, -1.4, -0.6), &[0.5; 200]).unwrap();
        assert!((1.7..2.1).contains(&found), "{found}");
        assert_eq!(largest_eigenvalue(&chain(3, 0.0, 0.0), &[0.0; 3]).unwrap(), 1.0);
        // One eigenvalue only.
        assert_eq!(largest_eigenvalue(&chain(30, 0.0, 0.0), &[0.25; 30]).unwrap(), 0.5);
        // A negative definite one.
        let negative = chain(40, -1.0, -1.0);
        let found = largest_eigenvalue(&negative, &[-0.5; 40]).unwrap();
        assert!((1.7..=2.0).contains(&found), "{found}");
        assert!(largest_eigenvalue(&chain(3, f64::NAN, 1.0), &[0.5; 3]).is_err());
    }
}
