//! Stopping criteria of solvers.

use std::time::Duration;

use host::error::Error;

/// Stopping criteria of a solver. The norms are Euclidean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Converged when ‖b − A x‖ ≤ this times ‖b‖, or by [`absolute_tolerance`](Self::absolute_tolerance).
    pub relative_tolerance: f64,
    /// Converged when ‖b − A x‖ ≤ this, or by [`relative_tolerance`](Self::relative_tolerance).
    pub absolute_tolerance: f64,
    /// Largest number of iterations.
    pub iteration_limit: u32,
    /// Largest duration, compared when the host checks.
    pub time_limit: Option<Duration>,
    /// Largest number of iterations between two checks by the host, at least 1; values above 4096 count as 4096. A GPU
    /// works best when it does not wait for the host; the results do not depend on the interval. A slow preconditioner may
    /// [request more frequent checks](super::Operator::iterations_between_looks).
    pub check_interval: u32,
    /// Stagnated when for this many iterations no residual norm was below 0.999 times the smallest one before.
    pub stagnation_window: Option<u32>,
    /// Whether a product also computes the method's dot products with it, if its format [can](host::Plan::fuses); otherwise
    /// they are separate passes. The last bits of these sums differ.
    pub fused_sums: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            relative_tolerance: 1e-6,
            absolute_tolerance: 0.0,
            iteration_limit: 10_000,
            time_limit: None,
            check_interval: 16,
            stagnation_window: Some(1_000),
            fused_sums: true,
        }
    }
}

impl Options {
    /// Checks that every option is valid.
    pub(super) fn check(&self) -> Result<(), Error> {
        let tolerance = |what, value: f64| {
            // Written so that a NaN is rejected.
            if value >= 0.0 {
                Ok(())
            } else {
                Err(Error::Setting { what, value: value.to_string(), expected: "0 or more" })
            }
        };
        tolerance("the relative tolerance", self.relative_tolerance)?;
        tolerance("the absolute tolerance", self.absolute_tolerance)?;
        let count = |what, value| {
            if value > 0 { Ok(()) } else { Err(Error::Setting { what, value: "0".into(), expected: "1 or more" }) }
        };
        count("the check interval", self.check_interval)?;
        count("the stagnation window", self.stagnation_window.unwrap_or(1))
    }
}
