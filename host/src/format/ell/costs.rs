//! Costs of ELLPACK.

use super::ell_bytes;
use super::product::threads_per_row;
use super::strategy::{EllStrategy, Strategy};
use crate::format::strategy::Strategy as _;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, WARP_LANES, row_sectors};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        Stored::all(ell_bytes::<V>(analysis.rows, analysis.lengths.longest()))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        row_sectors(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        shape(analysis, analysis.lengths.longest(), self.lanes(analysis, machine))
    }

    fn kernel(self, analysis: &Analysis, machine: &Machine, _beyond: f64) -> &'static str {
        if self.lanes(analysis, machine) == 1 { Self(EllStrategy::Row).name() } else { self.name() }
    }

    fn conversion_kind(self) -> &'static str {
        Self(EllStrategy::Row).name()
    }
}

impl Strategy {
    /// Returns the threads per row.
    fn lanes(self, analysis: &Analysis, machine: &Machine) -> u32 {
        match self.0 {
            EllStrategy::Row => 1,
            EllStrategy::Subwarp => lanes(analysis.rows, analysis.lengths.longest(), machine),
        }
    }
}

/// Returns the threads per row of `width` slots, where a row may have several.
pub(in crate::format) fn lanes(rows: usize, width: usize, machine: &Machine) -> u32 {
    threads_per_row(rows, width, machine.resident_threads / WARP_LANES as u64)
}

/// Returns the work on `width` slots per row by `lanes` threads each.
pub(in crate::format) fn shape(analysis: &Analysis, width: usize, lanes: u32) -> Shape {
    let [rows, width] = [analysis.rows, width].map(|count| count as f64);
    let lanes = f64::from(lanes);
    let by_thread = Shape::by_thread(analysis, width * rows / WARP_LANES, width / lanes);
    Shape { threads: rows * lanes, mean: width / lanes, ..by_thread }
}
