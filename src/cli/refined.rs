//! Systems solved with rounded values of the matrix until the residual of the given ones is small, for `warp-spmv solve
//! --values`.

use lab::subject::Subject;
use warp_spmv::io::Number;
use warp_spmv::solver::preconditioner::Preconditioner;
use warp_spmv::solver::{Callback, MethodName, Options, Refinement, Report};
use warp_spmv::{Plan, Vector};

use super::error::Error;

/// The parts of the solution of a system.
pub struct Refining<'a, T: Number, S: Subject> {
    /// The matrix as given.
    pub plan: &'a mut Plan<T, S>,
    /// The matrix with which corrections are computed.
    pub rounded: &'a mut Plan<T, S>,
    /// An approximation of the inverse.
    pub preconditioner: Option<&'a mut Preconditioner<T, S>>,
    /// The method that computes corrections.
    pub method: MethodName,
    pub options: Options,
    pub callback: Callback<'a>,
}

impl<T: Number, S: Subject> Refining<'_, T, S> {
    /// Solves A x = b, starting from the given x.
    pub fn solve(self, executor: &S, b: &Vector<T, S>, x: &mut Vector<T, S>) -> Result<Report, Error> {
        let Self { plan, rounded, preconditioner, method, options, callback } = self;
        let solver = Refinement::with_narrow_values(executor, plan, rounded).options(options).callback(callback);
        let mut solver = match preconditioner {
            Some(preconditioner) => solver.preconditioner(preconditioner),
            None => solver,
        };
        Ok(method.refine(&mut solver, b, x)?)
    }
}
