//! The diagonal of a level's matrix, by kernels.

use gpu_kernels::multigrid::diagonal::InverseDiagonal as Kernel;
use host::error::Error;
use host::executor::KernelExecutor;
use host::format::Csr;
use host::kernels::{largest, launch, one_number, wide};
use host::memory::Buffer;
use host::real::Scalar;

use super::{Divisor, InverseDiagonal, no_inverse};
use crate::preconditioner::shown;

/// [`InvertDiagonal`](super::InvertDiagonal) by kernels, one thread per row. Takes 8 additional bytes per row.
pub(super) fn inverse_diagonal<W: Scalar<Real = f64, Wide = W>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
    divisor: Divisor,
) -> Result<InverseDiagonal<W, K::Memory>, Error> {
    let rows = matrix.rows();
    let offsets = wide(executor, matrix.row_offsets())?;
    let mut elements = executor.unwritten::<W>(rows)?;
    let (mut bounds, mut failures) = (executor.unwritten(rows)?, executor.unwritten(rows)?);
    let mut has_signs = executor.zeros(1)?;
    let kernel = Kernel {
        rows: rows as u32,
        by_row_sum: (divisor == Divisor::RowSum).into(),
        offsets: offsets.global(),
        columns: matrix.column_indices().global(),
        values: matrix.values().global(),
        inverses: elements.global_mut(),
        bounds: bounds.global_mut(),
        failures: failures.global_mut(),
        has_signs: has_signs.global_mut(),
    };
    // SAFETY: the matrix is valid and has less than 2^31 rows; the other arrays have an element per row, and `has_signs` a
    // 0.
    unsafe { launch(executor, executor.device().grid(rows as u64), kernel) }?;
    match largest(executor, &failures)? {
        0 => Ok(InverseDiagonal {
            bound: f32::from_bits(largest(executor, &bounds)?).into(),
            positive: one_number(executor, &has_signs)? == 0,
            elements,
        }),
        failure => {
            let row = (u32::MAX - failure) as usize;
            Err(no_inverse(row, shown(executor.download(&elements)?[row])))
        }
    }
}

#[cfg(test)]
mod tests {
    use host::Complex;

    use super::super::super::examples::{bits, emulators, grid, mixed, random};
    use super::super::on_host;
    use super::*;

    /// Checks that both implementations return the same bits, or the same error, which is returned.
    fn check<W: Scalar<Real = f64, Wide = W>>(matrix: &Csr<W>) -> [String; 2] {
        [Divisor::Diagonal, Divisor::RowSum].map(|divisor| {
            let expected = on_host::inverse_diagonal(matrix, divisor);
            let message = expected.as_ref().err().map(ToString::to_string).unwrap_or_default();
            for executor in emulators() {
                match (inverse_diagonal(&executor, matrix, divisor), &expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(bits(&found.elements), bits(&expected.elements));
                        assert_eq!((found.bound, found.positive), (expected.bound, expected.positive));
                    }
                    (found, _) => assert_eq!(found.map(drop).unwrap_err().to_string(), message),
                }
            }
            message
        })
    }

    #[test]
    fn inverses_are_the_hosts() {
        for rows in [0, 1, 5, 20] {
            assert_eq!(check::<f64>(&grid(rows)), ["", ""]);
            assert_eq!(check::<Complex<f64>>(&grid(rows)), ["", ""]);
        }
        for seed in 0..5 {
            let mut matrix = random::<f64>(300, seed, 1.0);
            assert_eq!(check(&matrix), ["", ""]);
            assert_eq!(check(&random::<Complex<f64>>(300, seed, 1.0)), ["", ""]);
            // Rows of stored zeros.
            matrix.values_mut().iter_mut().take(100).for_each(|value| *value = 0.0);
            check(&matrix);
            // All without a sign.
            matrix.values_mut().iter_mut().for_each(|value| *value = value.abs() + 1.0);
            assert_eq!(check(&matrix), ["", ""]);
        }
    }

    #[test]
    fn the_first_row_without_an_inverse_is_told() {
        for seed in 0..5 {
            // Many rows have no diagonal entry.
            let messages = check(&random::<f64>(300, seed, 0.5));
            assert!(messages[0].contains("row"), "{messages:?}");
            check(&random::<Complex<f64>>(300, seed, 0.5));
            // Entries whose inverses or sums are not finite.
            for strange in [f64::NAN, f64::INFINITY, 1e-320, 1e300] {
                let mut matrix = random::<f64>(300, seed, 1.0);
                let place = mixed(seed) as usize % matrix.nnz();
                matrix.values_mut()[place] = strange;
                check_strange(&matrix);
                let mut matrix = random::<Complex<f64>>(300, seed, 1.0);
                let place = mixed(seed) as usize % matrix.nnz();
                matrix.values_mut()[place] = Complex::new(1.0, strange);
                check_strange(&matrix);
            }
        }
    }

    /// Like [`check`], for bounds that may not be finite.
    fn check_strange<W: Scalar<Real = f64, Wide = W>>(matrix: &Csr<W>) {
        for divisor in [Divisor::Diagonal, Divisor::RowSum] {
            let shown = |result: Result<InverseDiagonal<W>, Error>| match result {
                Ok(InverseDiagonal { elements, bound, positive }) => format!("{elements:?} {bound} {positive}"),
                Err(error) => error.to_string(),
            };
            let expected = shown(on_host::inverse_diagonal(matrix, divisor));
            for executor in emulators() {
                assert_eq!(shown(inverse_diagonal(&executor, matrix, divisor)), expected);
            }
        }
    }
}
