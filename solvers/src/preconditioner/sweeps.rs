//! Solves with triangular factors by Jacobi's method.

use cuda_std::GpuScalar;
use host::error::Error;
use host::executor::{Cpu, Executor};
use host::format::Csr;
use host::memory::copy;
use host::parallel;
use host::plan::{NewValues, Plan, Vector};
use host::real::Scalar;

use super::diagonal::{Diagonal, NewDiagonal};
use super::factors::{Factor, FactorSolver, scaled};
use super::recipe::{PreconditionerOptions, plan_of};
use crate::dense::{Combined, ONE, PseudoRandom, Scaled, Space};

/// Ratio of the error after the sweeps to the one before them that is acceptable without further sweeps.
const SMALL_ERROR: f64 = 0.1;

/// The error must decrease within this many sweeps, unless more are used.
const FEWEST_LOOKED_AT: u32 = 15;

/// A factor D + N, solved by Jacobi's method: x ← D⁻¹ b − D⁻¹ N x, starting from x = D⁻¹ b.
pub(super) struct Sweeps<T: Scalar, E: Executor> {
    sweeps: u32,
    inverse_diagonal: Diagonal<T, E>,
    /// D⁻¹ N.
    scaled: Plan<T, E>,
    /// D⁻¹ b.
    begin: Vector<T, E>,
    /// −D⁻¹ N x.
    product: Vector<T, E>,
}

impl<T: Scalar, E: Executor> Sweeps<T, E> {
    /// Moves a factor to an executor.
    ///
    /// # Errors
    /// When [sweeps increase the error](check), memory runs out, or the device fails.
    pub(super) fn new(
        executor: &E,
        factor: Factor<'_, T>,
        sweeps: u32,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let scaled = scaled(&factor)?;
        check(&scaled, sweeps)?;
        Ok(Self {
            sweeps,
            begin: executor.zeros(scaled.rows())?,
            product: executor.zeros(scaled.rows())?,
            inverse_diagonal: Diagonal::new(executor, factor.inverse_diagonal, options.updates)?,
            scaled: plan_of(executor, scaled, options)?,
        })
    }
}

/// D⁻¹ and the values of D⁻¹ N, with the new values of its plan.
pub(super) struct NewSweeps<T: Scalar, E: Executor> {
    inverse_diagonal: NewDiagonal<T, E>,
    values: Vector<T, E>,
    scaled: NewValues<T, E>,
}

impl<T: Scalar, E: Executor> FactorSolver<T, E> for Sweeps<T, E> {
    type New = NewSweeps<T, E>;

    fn solve(&mut self, space: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Self { sweeps, inverse_diagonal, scaled, begin, product } = self;
        inverse_diagonal.apply(space, r, begin)?;
        space.pass(Scaled, [ONE], [begin], [z])?;
        for _ in 0..*sweeps {
            scaled.apply(-T::ONE, z, T::ZERO, product)?;
            space.pass(Combined, [ONE, ONE], [begin, product], [z])?;
        }
        Ok(())
    }

    fn new_values(&self, executor: &E, factor: Factor<'_, T>) -> Result<Self::New, Error> {
        let scaled = scaled(&factor)?;
        check(&scaled, self.sweeps)?;
        let values = executor.upload(copy(scaled.values())?)?;
        let inverse_diagonal = self.inverse_diagonal.new_values(executor, factor.inverse_diagonal)?;
        Ok(NewSweeps { inverse_diagonal, scaled: self.scaled.new_values(&values)?, values })
    }

    fn take_values(&mut self, executor: &E, new: Self::New) -> Result<(), Error> {
        self.inverse_diagonal.take_values(executor, new.inverse_diagonal)?;
        self.scaled.take_values(&new.values, new.scaled)
    }
}

/// Checks that sweeps approximate a solve. `scaled` is D⁻¹ N, and each sweep multiplies the error by −D⁻¹ N, starting from
/// x = 0. This is applied to a fixed error, as many times as there are sweeps or a few times more. A power of D⁻¹ N is 0,
/// but lower powers may grow by orders of magnitude, as for edge elements. A method with such a preconditioner stagnates,
/// even if the error has not grown yet after its few sweeps. O(nnz) per sweep, in parallel on the host.
///
/// # Errors
/// When the error does not decrease, or memory runs out.
fn check<T: Scalar>(scaled: &Csr<T>, sweeps: u32) -> Result<(), Error> {
    let square = |value: &T::Wide| value.parts().into_iter().map(|part| part * part).sum::<f64>();
    let norm = |vector: &[T::Wide]| vector.iter().map(square).sum::<f64>().sqrt();
    let mut error = Cpu::new().run::<PseudoRandom<T::Wide>>((0, scaled.rows()))?;
    let (before, mut growth) = (norm(&error), 0.0);
    for sweep in 0..=sweeps.max(FEWEST_LOOKED_AT) {
        let product = |row| {
            scaled
                .row(row)
                .fold(T::Wide::ZERO, |sum, (column, value): (u32, T)| sum + value.to_wide() * error[column as usize])
        };
        error = parallel::map(scaled.rows(), ROWS_AT_ONCE, &product)?;
        growth = norm(&error) / before;
        if norm(&error) == 0.0 || sweep >= sweeps && growth <= SMALL_ERROR {
            return Ok(());
        }
    }
    // Written so that a NaN is rejected.
    if growth < 1.0 {
        return Ok(());
    }
    let what = "the factor by which sweeps multiply the error of a triangular solve";
    let expected = "less than 1: ic0-coloured and ilu0-coloured solve exactly, and in parallel, too";
    Err(Error::Setting { what, value: format!("{growth:.3e}"), expected })
}

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with the same number everywhere next to its diagonal.
    fn beside(rows: u32, value: f64) -> Csr<f64> {
        let (below, columns): (Vec<u32>, Vec<u32>) = (1..rows).map(|row| (row, row - 1)).unzip();
        Csr::try_from_triplets(rows as usize, rows as usize, &below, &columns, &vec![value; below.len()]).unwrap()
    }

    #[test]
    fn sweeps_that_make_the_error_larger_are_refused() {
        let rows = if cfg!(miri) { 60 } else { 300 };
        for sweeps in [1, 5, 40] {
            for value in [0.0, 0.5, -0.9, 1.0] {
                assert!(check(&beside(rows, value), sweeps).is_ok(), "{sweeps}, {value}");
            }
            for value in [1.2, -2.0, f64::NAN, 1e300] {
                assert!(check(&beside(rows, value), sweeps).is_err(), "{sweeps}, {value}");
            }
        }
        // One sweep less than there are levels solves exactly.
        assert!(check(&beside(41, -2.0), 40).is_ok());
        assert!(check(&beside(41, -2.0), 30).is_err());
        assert!(check(&beside(0, 1.0), 1).is_ok());
        let error = check(&beside(300, 2.0), 5).unwrap_err().to_string();
        let start = "the factor by which sweeps multiply the error of a triangular solve is 6.";
        assert!(error.starts_with(start), "{error}");
        let end = "e4, expected less than 1: ic0-coloured and ilu0-coloured solve exactly, and in parallel, too";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn nothing_depends_on_the_number_of_threads() {
        let matrix = beside(if cfg!(miri) { 500 } else { 5000 }, 1.1);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| check(&matrix, 3).unwrap_err().to_string())
        };
        assert_eq!(with_threads(1), with_threads(3));
    }
}
