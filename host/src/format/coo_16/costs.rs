//! Costs of COO-16.

use super::strategy::Strategy;
use super::{Panels, coo_16_bytes};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored, WARP_LANES};
use crate::select::locality::SECTOR_BYTES;
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let &Analysis { rows, columns, nnz, .. } = analysis;
        let (panels, slots) = panels::<V>(analysis);
        let stored = coo_16_bytes::<V>(rows, columns, nnz, slots, panels);
        // The products are written and read again.
        Stored { stored, read: stored + 2 * nnz as u128 * size_of::<V>() as u128, exact: true }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        (analysis.columns * size_of::<V>()) as f64 / SECTOR_BYTES as f64
    }

    /// x is read panel by panel.
    fn streams_x(self) -> bool {
        true
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        let nnz = analysis.nnz as f64;
        let (panels, slots) = panels::<V>(analysis);
        let (row_panels, column_panels) = panels.count(analysis.rows, analysis.columns, slots);
        let tiles = row_panels as f64 * column_panels as f64;
        let mean = nnz / WARP_LANES / row_panels.max(1) as f64;
        // The products and slots of a tile begin and end within a sector each.
        let scattered = tiles.min(nnz) * (2 * SECTOR_BYTES) as f64;
        let threads = row_panels as f64 * WARP_LANES;
        Shape { ends: tiles, threads, mean, scattered, ..Shape::shared(analysis, machine) }
    }

    fn launches_of_product(self, _beyond: f64) -> f64 {
        3.0
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Option<Exclusion> {
        let needs = panels::<V>(analysis).0.shared_bytes::<V>(analysis.columns);
        machine.shared_bytes.is_some_and(|most| needs > most).then_some(Exclusion::SharedMemory)
    }
}

/// Returns the panels, and the slots of all rows.
fn panels<V: Scalar>(analysis: &Analysis) -> (Panels, usize) {
    let slots = analysis.lengths.slots();
    (Panels::chosen::<V>(analysis.columns, slots), slots)
}
