//! Costs of column panels.

use super::strategy::Strategy;
use super::{ENTRIES, bytes_of};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored};
use crate::select::locality::SECTOR_BYTES;
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let &Analysis { rows, columns, nnz, .. } = analysis;
        let panels = self.panels::<V>(columns);
        let (tiles, pieces) = (tiles(nnz, panels), self.pieces::<V>(analysis).round() as usize);
        let stored = bytes_of::<V>(rows, panels, tiles, pieces);
        // The sums of the pieces are written and read again.
        Stored { stored, read: stored + 2 * (pieces * size_of::<V>()) as u128, exact: false }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        (analysis.columns * size_of::<V>()) as f64 / SECTOR_BYTES as f64
    }

    /// x is read panel by panel.
    fn streams_x(self) -> bool {
        true
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        Shape { ends: self.pieces::<V>(analysis), ..Shape::shared(analysis, machine) }
    }

    fn launches_of_product(self, _beyond: f64) -> f64 {
        2.0
    }

    fn exclusion<V: Scalar>(self, _analysis: &Analysis, machine: &Machine) -> Option<Exclusion> {
        let needs = self.0.kilobytes << 10;
        match machine.shared_bytes {
            _ if !machine.has_kernels => Some(Exclusion::NoKernels),
            Some(most) if needs > most => Some(Exclusion::SharedMemory),
            _ => None,
        }
    }
}

impl Strategy {
    /// Returns the number of panels.
    fn panels<V: Scalar>(self, columns: usize) -> usize {
        columns.div_ceil(self.0.columns::<V>(columns))
    }

    /// Returns about how many pieces the rows are cut into, if the entries of a row are anywhere among the columns.
    fn pieces<V: Scalar>(self, analysis: &Analysis) -> f64 {
        let panels = self.panels::<V>(analysis.columns).max(1) as f64;
        let of_row = |length: usize| {
            let length = length as f64;
            panels * (1.0 - (1.0 - 1.0 / panels).powf(length)) + length / ENTRIES as f64
        };
        let counts = analysis.lengths.counts().iter();
        counts.map(|&(length, rows)| of_row(length) * rows as f64).sum()
    }
}

/// Returns about how many tiles the entries of all panels fill.
fn tiles(nnz: usize, panels: usize) -> usize {
    (nnz / ENTRIES + panels / 2 + 1).min(nnz)
}
