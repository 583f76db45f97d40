//! Costs of clustered slices.

use super::parts::LEAST_ENTRIES;
use super::strategy::Strategy;
use super::{PartSize, ROWS};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored, WARP_LANES};
use crate::select::machine::Machine;

/// Warps of a block, unless the device is tuned otherwise.
const WARPS: usize = 16;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        match analysis.clusters {
            Some(clusters) => {
                let exact = clusters.exact && self == Self(PartSize::DEFAULT);
                Stored { exact, ..Stored::all(clusters.bytes.round() as u128) }
            }
            None => Stored { exact: false, ..Stored::all(0) },
        }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        analysis.clusters.map_or(0.0, |clusters| clusters.sectors)
    }

    /// x is read once per part, and parts share few columns.
    fn streams_x(self) -> bool {
        true
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        let places = analysis.clusters.map_or(0.0, |clusters| clusters.places());
        let parts = parts_of(analysis, self.0);
        // The warps of a part have equal shares, which are at least those of its longest row.
        let longest = analysis.lengths.longest() as f64 / WARPS as f64;
        let chain = longest.max(places / (parts * ROWS * WARPS) as f64);
        Shape { chain, ..shape(analysis, machine, places) }
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Option<Exclusion> {
        let most = self.0.elements(size_of::<V>());
        let needs = most.min(analysis.columns) * size_of::<V>();
        match machine.shared_bytes {
            _ if analysis.clusters.is_none() || analysis.lengths.longest() > most => Some(Exclusion::NotClustered),
            Some(limit) if needs > limit as usize => Some(Exclusion::SharedMemory),
            _ => None,
        }
    }
}

/// Returns about how many parts the matrix has.
pub(in crate::format) fn parts_of(analysis: &Analysis, size: PartSize) -> usize {
    (analysis.nnz / LEAST_ENTRIES).min(size.parts as usize).max(1)
}

/// Returns the work of two rows per lane, with `places` slots in total, if each row is one lane's.
pub(in crate::format) fn shape(analysis: &Analysis, machine: &Machine, places: f64) -> Shape {
    let threads = (analysis.rows as f64 / 2.0).min(machine.resident_threads as f64);
    let chain = analysis.lengths.longest() as f64;
    Shape { steps: places / WARP_LANES, threads, mean: places / threads.max(1.0), chain, ..Shape::of_rows(analysis) }
}
