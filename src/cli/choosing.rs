//! Options of `--format auto` and `info --explain`.

use warp_spmv::ValueStorage;
use warp_spmv::select::{Measure, Selection};

use super::error::Error;

/// Formats that `--measure` tries unless a number is given.
const TRIED: &str = "3";

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Choice of the format")]
pub struct Choosing {
    /// The number of multiplications over which the conversion must pay off [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    multiplications: Option<u64>,
    /// The largest number of bytes for the matrix
    #[arg(long, value_name = "BYTES")]
    memory_budget: Option<u64>,
    /// Measure the N most promising formats, and remember the outcome; 0 for none [default: those that may well be
    /// faster than the most promising one, if it pays; for info, none]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = TRIED)]
    measure: Option<u32>,
    /// Also consider formats that do not give the same bits every time
    #[arg(long)]
    pub any_order: bool,
}

impl Choosing {
    /// Checks that none of these options is given where no format is chosen: they require `what`.
    pub fn check(&self, chooses: bool, what: &str) -> Result<(), Error> {
        match self.given() {
            Some(name) if !chooses => Err(Error::Usage(format!("{name} requires {what}"))),
            _ => Ok(()),
        }
    }

    /// The name of the first option that was given, if any.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--multiplications", self.multiplications.is_some()),
            ("--memory-budget", self.memory_budget.is_some()),
            ("--measure", self.measure.is_some()),
            ("--any-order", self.any_order),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The same where the order of additions is not part of the choice.
    pub fn without_order(&self) -> Self {
        Self { any_order: false, ..self.clone() }
    }

    /// The criteria of the choice.
    pub fn selection(&self) -> Selection {
        Selection {
            multiplications: self.multiplications.or(Selection::default().multiplications),
            memory_budget: self.memory_budget,
            reproducible: !self.any_order,
            measure: match self.measure {
                None => Measure::default(),
                Some(0) => Measure::Never,
                Some(count) => Measure::Best(count as usize),
            },
            ..Selection::default()
        }
    }

    /// The same with an explicit storage of values, if one is requested; otherwise the choice determines it.
    pub fn selection_with(&self, values: ValueStorage) -> Selection {
        match values {
            ValueStorage::Full => self.selection(),
            values => Selection { values, ..self.selection() },
        }
    }
}
