//! The methods by name, listed only here. All take complex matrices, with the inner product xᴴ y.

use std::fmt;
use std::str::FromStr;

use super::bicgstab::Bicgstab;
use super::cg::Cg;
use super::chebyshev::Chebyshev;
use super::drive::Solver;
use super::gmres::Gmres;
use super::lanczos::SpectralBounds;
use super::method::Method;
use super::minres::Minres;
use super::pipelined_cg::PipelinedCg;
use super::refinement::Refinement;
use super::report::Report;
use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

/// A method by name, with its default parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MethodName {
    /// [`Cg`].
    Cg,
    /// [`PipelinedCg`].
    PipelinedCg,
    /// [`Minres`].
    Minres,
    /// [`Bicgstab`].
    Bicgstab,
    /// [`Gmres`] with cycles of 30.
    Gmres,
    /// [`Chebyshev`], with the spectrum estimated in 20 steps.
    Chebyshev,
}

/// Iterations per cycle of GMRES, as in most libraries.
const CYCLE: u32 = 30;

/// Steps for estimating a spectrum.
const SPECTRUM_STEPS: usize = 20;

impl MethodName {
    /// Every method.
    pub const ALL: &[Self] = &[Self::Cg, Self::PipelinedCg, Self::Minres, Self::Bicgstab, Self::Gmres, Self::Chebyshev];

    /// Returns the name that [`FromStr`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::PipelinedCg => "pipelined-cg",
            Self::Minres => "minres",
            Self::Bicgstab => "bicgstab",
            Self::Gmres => "gmres",
            Self::Chebyshev => "chebyshev",
        }
    }

    /// Returns a description: the method and the matrices it is for.
    pub fn about(self) -> &'static str {
        match self {
            Self::Cg => "Conjugate gradients, for symmetric or Hermitian positive definite matrices",
            Self::PipelinedCg => "The same with one reduction per iteration: faster on a GPU for small matrices",
            Self::Minres => "Minimal residuals, for symmetric or Hermitian matrices, indefinite ones too",
            Self::Bicgstab => "Stabilized biconjugate gradients, for any matrix",
            Self::Gmres => "Generalized minimal residuals in cycles of 30, for any matrix",
            Self::Chebyshev => {
                "Chebyshev iteration, for the same matrices as conjugate gradients; estimates the spectrum"
            }
        }
    }

    /// [`Solver::solve`] by this method.
    ///
    /// # Errors
    /// As for [`Solver::solve`].
    pub fn solve<T: Scalar, E: Executor>(
        self,
        solver: &mut Solver<'_, T, E>,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        self.solve_by(solver, b, x)
    }

    /// [`Refinement::solve`] with corrections by this method.
    ///
    /// # Errors
    /// As for [`Refinement::solve`].
    pub fn refine<T: Scalar, S: Scalar<Wide = T::Wide>, E: Executor>(
        self,
        refinement: &mut Refinement<'_, T, S, E>,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        self.solve_by(refinement, b, x)
    }

    fn solve_by<T: Scalar, S: Scalar, E: Executor>(
        self,
        solver: &mut impl SolvesBy<T, S, E>,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        match self {
            Self::Cg => solver.solve_by(&Cg, b, x),
            Self::PipelinedCg => solver.solve_by(&PipelinedCg, b, x),
            Self::Minres => solver.solve_by(&Minres, b, x),
            Self::Bicgstab => solver.solve_by(&Bicgstab, b, x),
            Self::Gmres => solver.solve_by(&Gmres { cycle: CYCLE }, b, x),
            Self::Chebyshev => {
                let bounds = solver.spectrum(SPECTRUM_STEPS)?;
                solver.solve_by(&Chebyshev { bounds }, b, x)
            }
        }
    }
}

/// Solves a system of `T` by a method that works in `S`.
trait SolvesBy<T: Scalar, S: Scalar, E: Executor> {
    fn solve_by<M: Method<S, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error>;

    fn spectrum(&mut self, steps: usize) -> Result<SpectralBounds, Error>;
}

impl<T: Scalar, E: Executor> SolvesBy<T, T, E> for Solver<'_, T, E> {
    fn solve_by<M: Method<T, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        self.solve(method, b, x)
    }

    fn spectrum(&mut self, steps: usize) -> Result<SpectralBounds, Error> {
        self.estimate_spectrum(steps)
    }
}

impl<T: Scalar, S: Scalar<Wide = T::Wide>, E: Executor> SolvesBy<T, S, E> for Refinement<'_, T, S, E> {
    fn solve_by<M: Method<S, E>>(
        &mut self,
        method: &M,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<Report, Error> {
        self.solve(method, b, x)
    }

    fn spectrum(&mut self, steps: usize) -> Result<SpectralBounds, Error> {
        self.estimate_spectrum(steps)
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MethodName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|method| method.name() == name).ok_or_else(|| Error::Name {
            what: "method",
            name: name.into(),
            expected: Self::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", "),
        })
    }
}
