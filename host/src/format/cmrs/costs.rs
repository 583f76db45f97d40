//! Costs of CMRS.

use gpu_kernels::cmrs::MOST_COLUMNS;

use super::cmrs_bytes;
use super::strategy::Strategy;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored, WARP_LANES, flat_sectors};
use crate::select::lengths::HEIGHTS;
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        Stored::all(cmrs_bytes::<V>(analysis.rows, analysis.nnz, self.height::<V>(analysis)))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        flat_sectors(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let height = self.height::<V>(analysis);
        let strips = analysis.rows.div_ceil(height).max(1) as f64;
        let place = HEIGHTS.iter().position(|&known| known == height);
        let steps = place.map_or(analysis.nnz.div_ceil(crate::device::WARP_LANES), |it| analysis.sums.strip_steps[it]);
        let longest = place.map_or(0, |place| analysis.sums.longest_strips[place]);
        Shape::of_strips(analysis, strips, steps, longest, WARP_LANES)
    }

    fn kernel(self, _analysis: &Analysis, _machine: &Machine, _beyond: f64) -> &'static str {
        "cmrs"
    }

    fn conversion_kind(self) -> &'static str {
        "cmrs"
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Option<Exclusion> {
        (analysis.columns >= MOST_COLUMNS as usize).then_some(Exclusion::TooLarge)
    }
}

impl Strategy {
    /// Returns the rows per strip.
    fn height<V: Scalar>(self, analysis: &Analysis) -> usize {
        self.0.rows::<V>(analysis.rows, analysis.nnz)
    }
}
