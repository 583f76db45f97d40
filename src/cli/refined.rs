//! Systems solved with rounded values of the matrix until the residual of the given ones is small, for `warp-spmv solve
//! --values`.

use lab::subject::Subject;
use warp_spmv::io::Number;
use warp_spmv::solver::preconditioner::Preconditioner;
use warp_spmv::solver::{Callback, MethodName, Options, Refinement, Report};
use warp_spmv::{Complex, Plan, Real, Vector};

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

/// A number type whose systems may support refinement.
pub trait Refinable: Number {
    /// Whether they do.
    const REFINABLE: bool;

    /// Solves A x = b, starting from the given x.
    fn refine<S: Subject>(
        executor: &S,
        refining: Refining<'_, Self, S>,
        b: &Vector<Self, S>,
        x: &mut Vector<Self, S>,
    ) -> Result<Report, Error>;
}

macro_rules! refinable {
    ($($real:ident)*) => {
        $(
            impl Refinable for $real {
                const REFINABLE: bool = true;

                fn refine<S: Subject>(
                    executor: &S,
                    refining: Refining<'_, Self, S>,
                    b: &Vector<Self, S>,
                    x: &mut Vector<Self, S>,
                ) -> Result<Report, Error> {
                    refine(executor, refining, b, x)
                }
            }

            impl Refinable for Complex<$real> {
                const REFINABLE: bool = false;

                fn refine<S: Subject>(
                    _: &S,
                    _: Refining<'_, Self, S>,
                    _: &Vector<Self, S>,
                    _: &mut Vector<Self, S>,
                ) -> Result<Report, Error> {
                    Err(not_refinable::<Self>())
                }
            }
        )*
    };
}
refinable!(f32 f64);

/// The error for systems of a type that is not [`Refinable`].
pub fn not_refinable<T: Number>() -> Error {
    Error::Usage(format!("--values rounds the matrices of real systems only, not those of {}", T::NAME))
}

fn refine<T: Real + Number, S: Subject>(
    executor: &S,
    refining: Refining<'_, T, S>,
    b: &Vector<T, S>,
    x: &mut Vector<T, S>,
) -> Result<Report, Error> {
    let Refining { plan, rounded, preconditioner, method, options, callback } = refining;
    let solver = Refinement::with_narrow_values(executor, plan, rounded).options(options).callback(callback);
    let mut solver = match preconditioner {
        Some(preconditioner) => solver.preconditioner(preconditioner),
        None => solver,
    };
    Ok(method.refine(&mut solver, b, x)?)
}
