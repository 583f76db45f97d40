//! Selection of the best format for a matrix on a device, without trying them all.
//!
//! An [`Analysis`] reads a matrix once: all row offsets, and about 1 % of the entries. From it, [`Traffic`] derives what
//! each format stores and moves, and [`KernelWork`] what its kernel does. A [`Calibration`], fitted to measurements on the
//! device or on a similar one, converts that to seconds, and [`choose`] takes the format with the least time for conversion
//! and multiplications. [`Plan::automatic`](crate::Plan::automatic) does all of this.
#![forbid(unsafe_code)]

/// An expression for the type with the same size as the values of an analysis.
macro_rules! with_values {
    ($analysis:expr, $V:ident => $of_type:expr) => {
        match $analysis.value_bytes {
            4 => {
                type $V = f32;
                $of_type
            }
            16 => {
                type $V = crate::Complex<f64>;
                $of_type
            }
            _ => {
                type $V = f64;
                $of_type
            }
        }
    };
}

pub(crate) mod analysis;
mod calibration;
mod choice;
pub(crate) mod costs;
mod decision;
mod exclusion;
mod fill;
mod in_memory;
pub(crate) mod lengths;
pub(crate) mod locality;
pub(crate) mod machine;
pub(crate) mod pattern;
pub(crate) mod sample;
mod store;
#[doc(hidden)]
pub mod time;
mod traffic;
mod work;

pub use analysis::Analysis;
pub use calibration::Calibration;
pub use choice::{Candidate, Choice, Measure, Selection, choose};
pub(crate) use choice::{REPETITIONS, WARM_UPS};
#[doc(hidden)]
pub use decision::decide;
pub(crate) use decision::{decide_in_memory, is_small};
pub use exclusion::Exclusion;
pub use sample::Sampling;
pub use store::{Outcomes, Store};
pub use traffic::Traffic;

// Items that the benchmark lab fits and shows.
#[doc(hidden)]
pub use self::{
    analysis::Diagonals,
    calibration::{CONVERSION_TERMS, FittedKernel, NEUTRAL_GPU, conversion_terms, model_of},
    choice::choose_with,
    fill::BlockFill,
    lengths::{Lengths, RowSums},
    locality::{Locality, SECTOR_BYTES},
    machine::Machine,
    work::{KernelWork, TERMS, Terms},
};
#[doc(hidden)]
pub use crate::format::Widening;
