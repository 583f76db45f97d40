//! Costs of COO.

use super::coo_bytes;
use super::strategy::{CooStrategy, Strategy};
use crate::format::strategy::Strategy as _;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, flat_sectors};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        Stored::all(coo_bytes::<V>(analysis.nnz))
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        flat_sectors(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        // y is scaled first.
        Shape { writes: 2.0, ..Shape::shared(analysis, machine) }
    }

    fn launches_of_product(self, _beyond: f64) -> f64 {
        match self.0 {
            CooStrategy::Segmented => 3.0,
            CooStrategy::Atomic | CooStrategy::Match => 2.0,
        }
    }

    fn conversion_kind(self) -> &'static str {
        Self(CooStrategy::Segmented).name()
    }
}
