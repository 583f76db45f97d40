//! Costs of HYB.

use super::strategy::Strategy;
use crate::format::coo::{self, coo_bytes};
use crate::format::ell::{self, EllStrategy, ell_bytes};
use crate::format::strategy::Strategy as _;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, WARP_LANES};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let width = self.width::<V>(analysis);
        Stored::all(ell_bytes::<V>(analysis.rows, width) + coo_bytes::<V>(analysis.lengths.beyond(width)))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        let (nnz, locality) = (analysis.nnz as f64, &analysis.locality);
        let beyond = self.beyond::<V>(analysis) as f64;
        locality.lane_sectors[0] * (nnz - beyond) + locality.flat_sectors * beyond
    }

    fn beyond<V: Scalar>(self, analysis: &Analysis) -> usize {
        analysis.lengths.beyond(self.width::<V>(analysis))
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        let width = self.width::<V>(analysis);
        let beyond = self.beyond::<V>(analysis) as f64;
        let ell = ell::costs::shape(analysis, width, ell::costs::lanes(analysis.rows, width, machine));
        if beyond == 0.0 {
            return ell;
        }
        Shape { writes: 2.0, ends: beyond, steps: ell.steps + beyond / WARP_LANES, beyond, ..ell }
    }

    fn launches_of_product(self, beyond: f64) -> f64 {
        // The ELL part replaces the launch that scales y.
        if beyond > 0.0 { coo::Strategy(self.0.coo).launches_of_product(beyond) } else { 1.0 }
    }

    fn kernel(self, analysis: &Analysis, machine: &Machine, beyond: f64) -> &'static str {
        if beyond > 0.0 {
            return if self.reproducible() { self.conversion_kind() } else { Self::ATOMIC.name() };
        }
        // All entries are in the ELL part, which is as wide as the longest row.
        ell::Strategy(EllStrategy::Subwarp).kernel(analysis, machine, beyond)
    }

    fn conversion_kind(self) -> &'static str {
        "hyb"
    }
}

impl Strategy {
    /// Returns the slots per row in the ELL part.
    fn width<V: Scalar>(self, analysis: &Analysis) -> usize {
        let Ok(width) = self.0.split.width_of::<V, _>(&analysis.lengths);
        width
    }
}
