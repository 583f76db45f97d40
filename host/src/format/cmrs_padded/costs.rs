//! Costs of CMRS with padding.

use gpu_kernels::cmrs::{BUFFERS, MOST_COLUMNS, PADDED_HEIGHT};

use super::padded_bytes_of_places;
use super::strategy::Strategy;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored, flat_sectors};
use crate::select::lengths::RowSums;
use crate::select::machine::Machine;

/// Slots per step.
const STEP_PLACES: u128 = 32;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        Stored::all(padded_bytes_of_places::<V>(analysis.rows, analysis.sums.padded_steps as u128 * STEP_PLACES))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        flat_sectors(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let strips = (analysis.rows as f64 / f64::from(PADDED_HEIGHT)).ceil().max(1.0);
        // A step takes `BUFFERS` entries of a row.
        let RowSums { padded_steps, longest_padded_strip, .. } = analysis.sums;
        Shape::of_strips(analysis, strips, padded_steps, longest_padded_strip, f64::from(BUFFERS))
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Option<Exclusion> {
        (analysis.columns >= MOST_COLUMNS as usize).then_some(Exclusion::TooLarge)
    }
}
