//! Costs of SELL-16.

use super::sell_16_bytes;
use super::strategy::Strategy;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, row_sectors};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let widening = analysis.widening;
        // Rounded to 64 bits, so no ratio makes the bytes overflow.
        let width = widening.width(analysis.sums.slice_widths).round() as u64;
        Stored { exact: widening.exact, ..Stored::all(sell_16_bytes::<V>(analysis.rows, width.into())) }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        row_sectors(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        // A thread has two rows, and the longest row waits as all others do.
        let widening = analysis.widening;
        let width = widening.width(analysis.sums.slice_widths);
        let longest = analysis.lengths.longest() as f64;
        let by_thread = Shape::by_thread(analysis, width * 2.0, longest * widening.ratio);
        Shape { threads: analysis.rows as f64 / 2.0, ..by_thread }
    }
}
