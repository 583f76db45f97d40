//! Costs of CSR, the baseline of comparisons.

use super::strategy::{CsrStrategy, Strategy};
use crate::format::Lanes;
use crate::format::coo::coo_bytes;
use crate::format::strategy::Strategy as _;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, flat_sectors};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let &Analysis { rows, nnz, offset_bytes, .. } = analysis;
        // Row offsets replace the row indices of COO.
        Stored::all((rows as u128 + 1) * offset_bytes as u128 + coo_bytes::<V>(nnz) - 4 * nnz as u128)
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        match self.0 {
            CsrStrategy::Scalar | CsrStrategy::Vector(_) => {
                analysis.locality.lane_sectors[self.lane_place(analysis)] * analysis.nnz as f64
            }
            CsrStrategy::LoadBalanced
            | CsrStrategy::LoadBalancedAtomic
            | CsrStrategy::MergePath
            | CsrStrategy::Tiled
            | CsrStrategy::Automatic => flat_sectors(analysis),
        }
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        match self.0 {
            CsrStrategy::Scalar | CsrStrategy::Vector(_) => {
                let [rows, nnz] = [analysis.rows, analysis.nnz].map(|count| count as f64);
                let place = self.lane_place(analysis);
                let lanes = (1 << place) as f64;
                let steps = analysis.sums.lane_steps[place] as f64;
                let chain = analysis.lengths.longest() as f64 / lanes;
                let mean = nnz / rows.max(1.0) / lanes;
                Shape { steps, chain, threads: rows * lanes, mean, ..Shape::of_rows(analysis) }
            }
            // y is scaled first.
            CsrStrategy::LoadBalanced | CsrStrategy::LoadBalancedAtomic | CsrStrategy::Automatic => {
                Shape { writes: 2.0, ..Shape::shared(analysis, machine) }
            }
            CsrStrategy::MergePath | CsrStrategy::Tiled => Shape::shared(analysis, machine),
        }
    }

    fn launches_of_product(self, _beyond: f64) -> f64 {
        match self.0 {
            CsrStrategy::Scalar | CsrStrategy::Vector(_) | CsrStrategy::Tiled => 1.0,
            CsrStrategy::LoadBalancedAtomic | CsrStrategy::MergePath | CsrStrategy::Automatic => 2.0,
            CsrStrategy::LoadBalanced => 3.0,
        }
    }

    fn kernel(self, analysis: &Analysis, _machine: &Machine, _beyond: f64) -> &'static str {
        const BY_PLACE: [Lanes; 6] = [Lanes::L2, Lanes::L2, Lanes::L4, Lanes::L8, Lanes::L16, Lanes::L32];
        match self.0 {
            CsrStrategy::Vector(_) => Self(CsrStrategy::Vector(BY_PLACE[self.lane_place(analysis)])).name(),
            _ => self.name(),
        }
    }
}

impl Strategy {
    /// Returns the index of a row's lane count in the tables that an analysis has per lane count.
    fn lane_place(self, analysis: &Analysis) -> usize {
        let lanes = match self.0 {
            CsrStrategy::Vector(lanes) => lanes.for_matrix(analysis.rows, analysis.nnz),
            _ => 1,
        };
        lanes.ilog2() as usize
    }
}
