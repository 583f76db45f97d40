//! The same system solved by conjugate gradients with other libraries' functions, for `warp-spmv solve --peers`.

use std::fmt::{self, Display};
use std::time::Duration;

use lab::peers::{Absent, Blas, Peer, PeerError, Peers, Stop, conjugate_gradients};
use lab::subject::Subject;
use serde::Serialize;
use warp_spmv::executor::Cpu;
use warp_spmv::io::Number;
use warp_spmv::verify::exact;
use warp_spmv::{Complex, Csr, Error, Real, ValueStorage, Vector};

use super::output;
use super::record::seconds;
use super::run::timed;
use super::solution::{norm, seconds_if_any};
use super::system::System;
use super::units::duration;

/// Iterations before the timed ones, while libraries are loaded and clocks rise.
const WARM_UP: usize = 10;

/// The result of one peer. The norm is Euclidean, times are in seconds.
#[derive(Debug, Serialize)]
pub struct Rival {
    /// The peer that multiplied the matrix.
    pub name: &'static str,
    /// Its library.
    pub matrix_library: String,
    /// Its strategy.
    pub strategy: String,
    /// The library of the vectors.
    pub vector_library: String,
    /// Number of iterations.
    pub iterations: usize,
    /// Whether the residual, as computed by the method, reached the tolerance.
    pub converged: bool,
    /// The norm of b − A x for the x that was found, in twice the precision.
    pub residual: f64,
    /// Solving, with vectors and everything else prepared before.
    #[serde(serialize_with = "seconds")]
    pub solve: Duration,
    /// An iteration, excluding the first; null if there is no other.
    #[serde(serialize_with = "seconds_if_any")]
    pub iteration: Option<Duration>,
}

/// A number type, with other libraries' solvers.
pub trait WithRivals: Number {
    /// Solves by every peer of the executor; none supports complex numbers.
    fn rivals<S: Subject>(executor: &S, system: &System<Self>, stop: Stop) -> Result<Vec<Rival>, Error>;
}

macro_rules! with_rivals {
    ($($real:ident)*) => {
        $(
            impl WithRivals for $real {
                fn rivals<S: Subject>(executor: &S, system: &System<Self>, stop: Stop) -> Result<Vec<Rival>, Error> {
                    solve(executor, system, stop)
                }
            }

            impl WithRivals for Complex<$real> {
                fn rivals<S: Subject>(_: &S, _: &System<Self>, _: Stop) -> Result<Vec<Rival>, Error> {
                    Ok(Vec::new())
                }
            }
        )*
    };
}
with_rivals!(f32 f64);

/// Solves by every peer of the executor, one after another. Missing peers, and those that do not accept the matrix, are
/// reported on standard error.
fn solve<T: Real + Number, S: Subject>(executor: &S, system: &System<T>, stop: Stop) -> Result<Vec<Rival>, Error> {
    let say_absent = |Absent { library, reason }: &Absent| output::say(&format!("no {library}: {reason}"));
    let Peers { present, absent } = executor.peers::<T>(ValueStorage::Full);
    absent.iter().for_each(say_absent);
    let blas = match executor.blas::<T>() {
        Ok(blas) => blas,
        Err(absent) => {
            say_absent(&absent);
            return Ok(Vec::new());
        }
    };
    let matrix = system.matrix.duplicate(&Cpu::new())?.upload(executor)?;
    let b = executor.upload(system.b.clone())?;
    let mut rivals = Vec::new();
    for peer in &present {
        let solve = || solve_by(executor, system, (&matrix, &b), peer.as_ref(), blas.as_ref(), stop);
        match timed(executor, format!("solving by {}", peer.name()), || Ok::<_, warp_spmv::Error>(solve()))?.0 {
            Ok(rival) => rivals.push(rival),
            Err(error) => output::say(&format!("{}: {error}", peer.name())),
        }
    }
    Ok(rivals)
}

fn solve_by<T: Real + Number, S: Subject>(
    executor: &S,
    system: &System<T>,
    (matrix, b): (&Csr<T, S::Memory>, &Vector<T, S>),
    peer: &dyn Peer<T, S>,
    blas: &dyn Blas<T, S>,
    stop: Stop,
) -> Result<Rival, PeerError> {
    let mut shown = executor.zeros(system.b.len())?;
    let mut prepared = peer.prepare(matrix, b, &mut shown)?;
    let mut solve = |stop| -> Result<_, Error> {
        let mut x = executor.upload(system.start.clone())?;
        let solved = conjugate_gradients(executor, prepared.as_mut(), blas, b, &mut x, stop)?;
        Ok((solved, x))
    };
    solve(Stop { iterations: stop.iterations.min(WARM_UP), ..stop })?;
    let (solved, x) = solve(stop)?;
    let residual = exact(&system.matrix, -T::ONE, &executor.download(&x)?, T::ONE, &system.b)?;
    Ok(Rival {
        name: peer.name(),
        matrix_library: peer.library(),
        strategy: prepared.strategy(),
        vector_library: blas.library(),
        iterations: solved.iterations,
        converged: solved.converged,
        residual: norm(residual.iter().map(|element| element.value())),
        solve: solved.elapsed,
        iteration: solved.iteration,
    })
}

impl Rival {
    /// A line for the terminal; `iteration` is that of the solver compared with.
    pub fn beside(&self, iteration: Option<Duration>) -> impl Display + '_ {
        Beside { rival: self, iteration }
    }
}

struct Beside<'a> {
    rival: &'a Rival,
    iteration: Option<Duration>,
}

impl Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rival { name, vector_library, iterations, converged, residual, solve, iteration, .. } = self.rival;
        write!(f, "{name} with {vector_library}: ")?;
        if let Some(iteration) = iteration {
            write!(f, "{} per iteration, ", duration(*iteration))?;
            if let Some(own) = self.iteration.filter(|own| !own.is_zero()) {
                write!(f, "{:.3} times this one's, ", iteration.div_duration_f64(own))?;
            }
        }
        let outcome = if *converged { "converged" } else { "not converged" };
        write!(f, "{iterations} in {}, {outcome}, residual in twice the precision {residual:.3e}", duration(*solve))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_for_people() {
        let rival = Rival {
            name: "cusparse-csr-2",
            matrix_library: "cuSPARSE 12.6.3".into(),
            strategy: "CSR".into(),
            vector_library: "cuBLAS 13.0.0".into(),
            iterations: 300,
            converged: false,
            residual: 0.25,
            solve: Duration::from_millis(450),
            iteration: Some(Duration::from_micros(1500)),
        };
        let told = "cusparse-csr-2 with cuBLAS 13.0.0: 1.500 ms per iteration, 1.500 times this one's, 300 in 450.0 ms, \
                    not converged, residual in twice the precision 2.500e-1";
        assert_eq!(rival.beside(Some(Duration::from_millis(1))).to_string(), told);
        let single = Rival { iterations: 1, converged: true, iteration: None, ..rival };
        let told =
            "cusparse-csr-2 with cuBLAS 13.0.0: 1 in 450.0 ms, converged, residual in twice the precision 2.500e-1";
        assert_eq!(single.beside(None).to_string(), told);
    }
}
