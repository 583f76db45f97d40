//! When a solver stops.

use std::time::Duration;

use host::error::Error;

/// When a solver stops. The norms are Euclidean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Converged when ‖b − A x‖ ≤ this times ‖b‖, or as [`absolute_tolerance`](Self::absolute_tolerance) says.
    pub relative_tolerance: f64,
    /// Converged when ‖b − A x‖ ≤ this, or as [`relative_tolerance`](Self::relative_tolerance) says.
    pub absolute_tolerance: f64,
    /// Iterations at most.
    pub iteration_limit: u32,
    /// Time at most; looked at when the host checks.
    pub time_limit: Option<Duration>,
    /// Iterations between two looks of the host at most, at least 1; more than 4096 are taken as 4096. A GPU works best when
    /// it does not wait for the host; what is computed does not depend on it. A preconditioner whose application takes long
    /// may [ask for more looks](super::Operator::iterations_between_looks).
    pub check_interval: u32,
    /// Stagnated when for so many iterations no residual norm was smaller than 0.999 times the smallest one before.
    pub stagnation_window: Option<u32>,
    /// Whether a product adds up the dot products that a method needs of it, where its format
    /// [can](host::Plan::fuses); otherwise they are passes of their own. The last bits of these sums differ.
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
    /// Checks that every option means something.
    pub(super) fn check(&self) -> Result<(), Error> {
        let tolerance = |what, value: f64| {
            // Written so that a NaN is refused.
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
