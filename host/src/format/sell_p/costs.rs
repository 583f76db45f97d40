//! What SELL-P costs.

use super::sell_p_bytes;
use super::strategy::{SellPStrategy, Strategy};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, apart, row_sectors, scattered};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let slicing = self.0.slicing();
        let slice = slicing.slice_size as usize;
        let begins = analysis.rows.div_ceil(slice) + 1;
        let permuted = if slicing.sigma > 1 { analysis.rows } else { 0 };
        Stored::all(sell_p_bytes::<V>(self.widths(analysis) as u128 * slice as u128, begins, permuted))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        match self.0 {
            SellPStrategy::Unsorted => row_sectors(analysis),
            SellPStrategy::Sorted => apart(analysis, analysis.locality.lane_sectors[0]) * analysis.nnz as f64,
        }
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let longest = analysis.lengths.longest() as f64;
        // A slice has the rows of two warps.
        let by_thread = Shape::by_thread(analysis, self.widths(analysis) as f64 * 2.0, longest);
        match self.0 {
            SellPStrategy::Unsorted => by_thread,
            SellPStrategy::Sorted => Shape { scattered: scattered(analysis, 1), ..by_thread },
        }
    }
}

impl Strategy {
    /// The widths of all slices.
    fn widths(self, analysis: &Analysis) -> usize {
        match self.0 {
            SellPStrategy::Unsorted => analysis.sums.slice_widths,
            SellPStrategy::Sorted => analysis.sums.sorted_slice_widths,
        }
    }
}
