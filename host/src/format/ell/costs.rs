//! What ELLPACK costs.

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
        let [rows, longest] = [analysis.rows, analysis.lengths.longest()].map(|count| count as f64);
        let lanes = f64::from(self.lanes(analysis, machine));
        let by_thread = Shape::by_thread(analysis, longest * rows / WARP_LANES, longest / lanes);
        Shape { threads: rows * lanes, mean: longest / lanes, ..by_thread }
    }

    fn kernel(self, analysis: &Analysis, machine: &Machine, _beyond: f64) -> &'static str {
        if self.lanes(analysis, machine) == 1 { Self(EllStrategy::Row).name() } else { self.name() }
    }

    fn conversion_kind(self) -> &'static str {
        Self(EllStrategy::Row).name()
    }
}

impl Strategy {
    /// Threads of a row.
    fn lanes(self, analysis: &Analysis, machine: &Machine) -> u32 {
        match self.0 {
            EllStrategy::Row => 1,
            EllStrategy::Subwarp => {
                let warps = machine.resident_threads / WARP_LANES as u64;
                threads_per_row(analysis.rows, analysis.lengths.longest(), warps)
            }
        }
    }
}
