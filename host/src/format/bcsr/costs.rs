//! Costs of BCSR.

use super::bcsr_bytes_of;
use super::product::lanes_for;
use super::strategy::Strategy;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, block_sectors, blocks};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let Self(size) = self;
        let (blocks, exact) = blocks(analysis, size);
        Stored { exact, ..Stored::all(bcsr_bytes_of::<V>(size, analysis.rows.div_ceil(size.rows()), blocks)) }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        block_sectors::<V>(analysis, self.0, |sectors| sectors)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let Self(size) = self;
        let (blocks, _) = blocks(analysis, size);
        Shape::of_blocks(analysis, size, lanes_for(blocks, analysis.rows.div_ceil(size.rows())))
    }

    fn conversion_kind(self) -> &'static str {
        "bcsr"
    }
}
