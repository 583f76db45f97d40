//! Costs of SELL-P.

use super::strategy::Strategy;
use super::{Slicing, sell_p_bytes};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, apart, row_sectors, scattered};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let Self(slicing) = self;
        // The analysis covers only these slice heights; others are assumed to have equal padding.
        let of_analysis = if slicing.sigma > 1 { Slicing::SORTED } else { Slicing::UNSORTED };
        let places = self.widths(analysis) as u128 * u128::from(of_analysis.slice_size);
        let begins = analysis.rows.div_ceil(slicing.slice_size.max(1) as usize) + 1;
        let permuted = if slicing.sigma > 1 { analysis.rows } else { 0 };
        Stored { exact: slicing == of_analysis, ..Stored::all(sell_p_bytes::<V>(places, begins, permuted)) }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        match self.0.sigma {
            1 => row_sectors(analysis),
            _ => apart(analysis, analysis.locality.lane_sectors[0]) * analysis.nnz as f64,
        }
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let longest = analysis.lengths.longest() as f64;
        // A slice has the rows of two warps.
        let by_thread = Shape::by_thread(analysis, self.widths(analysis) as f64 * 2.0, longest);
        match self.0.sigma {
            1 => by_thread,
            _ => Shape { scattered: scattered(analysis, 1), ..by_thread },
        }
    }
}

impl Strategy {
    /// Returns the sum of the widths of all slices of 64 rows.
    fn widths(self, analysis: &Analysis) -> usize {
        match self.0.sigma {
            1 => analysis.sums.slice_widths,
            _ => analysis.sums.sorted_slice_widths,
        }
    }
}
