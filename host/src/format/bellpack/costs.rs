//! Costs of BELLPACK.

use super::strategy::Strategy;
use super::{BellpackStrategy, bellpack_bytes_of};
use crate::format::bcsr::bcsr_bytes_of;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored, apart, block_sectors, blocks, scattered};
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let Self(BellpackStrategy { size, partition_rows }) = self;
        let (_, exact) = blocks(analysis, size);
        let [block_rows, partition] = [analysis.rows.div_ceil(size.rows()), partition_rows.get()];
        let padded = analysis.fill(size).map_or(analysis.nnz, |fill| fill.padded_blocks(partition).round() as usize);
        let stored = bellpack_bytes_of::<V>(size, block_rows, partition, padded as u128);
        // One offset per block row, as in BCSR.
        let read = bcsr_bytes_of::<V>(size, block_rows, padded);
        Stored { stored, read, exact }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        block_sectors::<V>(analysis, self.0.size, |sectors| apart(analysis, sectors))
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let Self(BellpackStrategy { size, .. }) = self;
        Shape { scattered: scattered(analysis, size.rows()), ..Shape::of_blocks(analysis, size, 1) }
    }

    fn conversion_kind(self) -> &'static str {
        "bellpack"
    }
}
