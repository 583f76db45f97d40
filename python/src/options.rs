//! Options of plans, and stopping criteria of solvers.

use std::time::Duration;

use host::select::{Measure, Selection};
use host::{Format, PlanOptions, ValueStorage};
use pyo3::prelude::*;

use crate::failure::Failure;

/// Options of a plan, with the names of the arguments of `warp_spmv.matrix`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wishes {
    format: String,
    multiplications: Option<u64>,
    memory_budget: Option<u64>,
    measure: bool,
    pub reproducible: bool,
    updates: bool,
    values: String,
}

impl Wishes {
    /// The format; [`Format::Auto`] if one is to be chosen.
    pub fn format(&self) -> Result<Format, Failure> {
        Ok(self.format.parse()?)
    }

    /// How the values are stored.
    fn values(&self) -> Result<ValueStorage, Failure> {
        Ok(self.values.parse()?)
    }

    /// The options for a named format.
    pub fn plan_options(&self) -> Result<PlanOptions, Failure> {
        let (reproducible, updates, values) = (self.reproducible, self.updates, self.values()?);
        Ok(PlanOptions { reproducible, updates, values, ..PlanOptions::default() })
    }

    /// The options for a format to be chosen.
    pub fn selection(&self) -> Result<Selection, Failure> {
        if self.measure && self.reproducible {
            // Another format may be the fastest the next time, and would round differently.
            return Err(Failure::value("measure is True, expected False where reproducible is True"));
        }
        Ok(Selection {
            multiplications: self.multiplications,
            memory_budget: self.memory_budget,
            updates: self.updates,
            measure: if self.measure { Measure::WhereUnsure } else { Measure::Never },
            // Only such formats are chosen. A plan that must be reproducible refuses transposed products.
            reproducible: self.reproducible,
            among: Format::ALL.iter().copied().filter(|format| format.reproducible()).collect(),
            // A package does not write to the home folder of a user whose program does not expect it.
            store: None,
            values: self.values()?,
            ..Selection::default()
        })
    }
}

/// The names of all formats.
#[pyfunction]
pub fn formats() -> Vec<String> {
    Format::ALL.iter().map(ToString::to_string).collect()
}

/// The stopping criteria of a solver, with the names of the arguments of `warp_spmv.solve`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Stopping {
    tol: f64,
    atol: f64,
    maxiter: u32,
    timeout: Option<f64>,
}

impl Stopping {
    /// The solver's options. If iterations run on the host, each is checked.
    pub fn options(&self, on_gpu: bool) -> Result<solvers::Options, Failure> {
        let refused = |_| Failure::value(format!("timeout is {}, expected seconds", self.timeout.unwrap_or(0.0)));
        let default = solvers::Options::default();
        Ok(solvers::Options {
            relative_tolerance: self.tol,
            absolute_tolerance: self.atol,
            iteration_limit: self.maxiter,
            time_limit: self.timeout.map(Duration::try_from_secs_f64).transpose().map_err(refused)?,
            check_interval: if on_gpu { default.check_interval } else { 1 },
            ..default
        })
    }
}
