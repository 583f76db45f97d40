//! Conjugate gradients, written with other libraries' functions in the usual way.

use std::time::{Duration, Instant};

use host::executor::Executor;
use host::{Error, Real, Vector};

use super::peer::{Blas, Prepared};

/// Stopping criteria.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// The largest norm of the residual.
    pub tolerance: f64,
    /// The largest number of iterations.
    pub iterations: usize,
}

/// The result of conjugate gradients.
#[derive(Clone, Copy, Debug)]
pub struct Solved {
    /// Number of iterations.
    pub iterations: usize,
    /// Whether the residual's norm, as computed by the method, reached the tolerance.
    pub converged: bool,
    /// Total time.
    pub elapsed: Duration,
    /// Time per iteration, without the first; `None` if there is no other.
    pub iteration: Option<Duration>,
}

/// Solves A x = b by conjugate gradients (Hestenes & Stiefel 1952), starting from the given x, for a symmetric positive
/// definite A. Scalars are on the host, which waits for both products of vectors in each iteration. Ends early if the
/// matrix is found not to be positive definite, or a number is not finite.
///
/// # Errors
/// When a vector does not fit, memory runs out, or the library or the device fails.
pub fn conjugate_gradients<T: Real, E: Executor>(
    executor: &E,
    matrix: &mut dyn Prepared<T, E>,
    blas: &dyn Blas<T, E>,
    b: &Vector<T, E>,
    x: &mut Vector<T, E>,
    stop: Stop,
) -> Result<Solved, Error> {
    let converged = |square: f64| square.sqrt() <= stop.tolerance;
    let dot = |x: &_, y: &_| blas.dot(x, y).map(Real::to_f64);
    let length = host::memory::Buffer::len(b);
    let (mut p, mut q) = (executor.zeros(length)?, executor.zeros(length)?);
    let mut r = executor.duplicate(b)?;
    executor.synchronize()?;

    let begin = Instant::now();
    matrix.multiply(-T::ONE, x, T::ONE, &mut r)?;
    blas.axpy(T::ONE, &r, &mut p)?;
    let mut square = dot(&r, &r)?;
    let (mut iterations, mut first) = (0, None);
    while iterations < stop.iterations && !converged(square) {
        if let Some((_, before)) = first {
            blas.scale(T::from_f64(square / before), &mut p)?;
            blas.axpy(T::ONE, &r, &mut p)?;
        }
        matrix.multiply(T::ONE, &p, T::ZERO, &mut q)?;
        let curvature = dot(&p, &q)?;
        // Written so that a NaN ends the loop.
        if !(curvature > 0.0 && square.is_finite()) {
            break;
        }
        let alpha = T::from_f64(square / curvature);
        blas.axpy(alpha, &p, x)?;
        blas.axpy(-alpha, &q, &mut r)?;
        let before = square;
        square = dot(&r, &r)?;
        iterations += 1;
        first = Some((first.map_or_else(Instant::now, |(time, _)| time), before));
    }
    let end = Instant::now();
    let iteration = first.filter(|_| iterations > 1).map(|(time, _)| (end - time).div_f64((iterations - 1) as f64));
    Ok(Solved { iterations, converged: converged(square), elapsed: end - begin, iteration })
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;
    use host::verify::exact;
    use host::{Csr, Format, Plan};
    use synthetic::Generator;

    use super::*;

    impl Prepared<f64, Cpu> for Plan<f64, Cpu> {
        fn strategy(&self) -> String {
            "our own".into()
        }

        fn storage(&self) -> u64 {
            0
        }

        fn reproducible(&self) -> Option<bool> {
            Some(true)
        }

        fn multiply(&mut self, alpha: f64, x: &Vec<f64>, beta: f64, y: &mut Vec<f64>) -> Result<(), Error> {
            self.apply(alpha, x, beta, y)
        }
    }

    struct Loops;

    impl Blas<f64, Cpu> for Loops {
        fn library(&self) -> String {
            "loops".into()
        }

        fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<f64, Error> {
            Ok(x.iter().zip(y).map(|(x, y)| x * y).sum())
        }

        fn axpy(&self, alpha: f64, x: &Vec<f64>, y: &mut Vec<f64>) -> Result<(), Error> {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += alpha * x);
            Ok(())
        }

        fn scale(&self, alpha: f64, x: &mut Vec<f64>) -> Result<(), Error> {
            x.iter_mut().for_each(|x| *x *= alpha);
            Ok(())
        }
    }

    fn solve(matrix: &Csr<f64>, b: &Vec<f64>, x: &mut Vec<f64>, tolerance: f64, iterations: usize) -> Solved {
        let cpu = Cpu::new();
        let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        conjugate_gradients(&cpu, &mut plan, &Loops, b, x, Stop { tolerance, iterations }).unwrap()
    }

    #[test]
    fn it_comes_to_the_tolerance_and_no_further() {
        let matrix: Csr<f64> = "stencil:7:6x5x4".parse::<Generator>().unwrap().generate().unwrap();
        let b: Vec<f64> = (0..matrix.rows()).map(|row| (row as f64 + 0.5).sin()).collect();
        let mut norms = vec![f64::INFINITY];
        for tolerance in [1e-3, 1e-6, 1e-9] {
            let mut x = vec![1.0; matrix.columns()];
            let solved = solve(&matrix, &b, &mut x, tolerance, 1000);
            let residual = exact(&matrix, -1.0, &x, 1.0, &b).unwrap();
            let norm = residual.iter().map(|element| element.value().powi(2)).sum::<f64>().sqrt();
            assert!(solved.converged && norm <= 1.01 * tolerance && norm > 1e-3 * tolerance, "{solved:?}, {norm}");
            assert!(solved.iteration.unwrap() <= solved.elapsed);
            norms.push(norm);
        }
        assert!(norms.is_sorted_by(|before, after| after < before), "{norms:?}");
    }

    #[test]
    fn it_ends_at_the_limit_and_where_it_cannot_go_on() {
        let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 3.0]).unwrap();
        let mut x = vec![0.0; 2];
        let solved = solve(&matrix, &vec![1.0, 2.0], &mut x, 0.0, 1);
        assert_eq!((solved.iterations, solved.converged, solved.iteration), (1, false, None));
        // In exact arithmetic there are as many iterations as rows.
        let solved = solve(&matrix, &vec![1.0, 2.0], &mut vec![0.0; 2], 1e-12, 100);
        assert_eq!((solved.iterations, solved.converged), (2, true));
        let solved = solve(&matrix, &vec![0.0; 2], &mut vec![0.0; 2], 0.0, 100);
        assert_eq!((solved.iterations, solved.converged), (0, true));
        let indefinite = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[-1.0, -1.0]).unwrap();
        let solved = solve(&indefinite, &vec![1.0, 2.0], &mut vec![0.0; 2], 0.0, 100);
        assert_eq!((solved.iterations, solved.converged), (0, false));
        let solved = solve(&matrix, &vec![f64::NAN, 2.0], &mut vec![0.0; 2], 1e-6, 100);
        assert_eq!((solved.iterations, solved.converged), (0, false));
    }
}
