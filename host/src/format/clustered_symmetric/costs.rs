//! Costs of clustered slices with pairs stored once.

use gpu_kernels::clustered_symmetric::pieces_of;

use super::steps::WARPS;
use super::strategy::Strategy;
use crate::format::clustered::ROWS;
use crate::format::clustered::costs::{parts_of, shape};
use crate::format::clustered::parts::longest_piece;
use crate::format::{Clusters, PartSize};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored};
use crate::select::machine::Machine;

/// Slots per entry: some entries wait for others in the same column.
const PLACES: f64 = 1.06;

/// Least fraction of entries in pairs for which the barriers pay.
const LEAST_PAIRS: f64 = 0.3;

/// Estimates the slots for the entries of all parts.
fn places(analysis: &Analysis, clusters: Clusters) -> f64 {
    clusters.places() * PLACES * (1.0 - clusters.pairs / (2.0 * analysis.nnz as f64).max(1.0))
}

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let Some(clusters) = analysis.clusters else { return Stored { exact: false, ..Stored::all(0) } };
        let fewer = clusters.places() - places(analysis, clusters);
        let estimated = (clusters.bytes - fewer * (2 + size_of::<V>()) as f64).max(0.0);
        let exact = clusters.symmetric_bytes.is_some() && self == Self(PartSize::SYMMETRIC);
        Stored { exact, ..Stored::all(clusters.symmetric_bytes.unwrap_or(estimated).round() as u128) }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        analysis.clusters.map_or(0.0, |clusters| clusters.sectors)
    }

    /// x is read once per part, and parts share few columns.
    fn streams_x(self) -> bool {
        true
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        let places = analysis.clusters.map_or(0.0, |clusters| places(analysis, clusters));
        let parts = parts_of(analysis, self.0);
        // Long rows are divided into pieces.
        let piece = longest_piece(analysis.nnz / parts);
        let longest = analysis.lengths.longest();
        let longest = longest as f64 / f64::from(pieces_of(longest as u32, piece));
        let chain = longest.max(places / (parts * ROWS * WARPS) as f64);
        let positions = (analysis.rows as f64).max(analysis.nnz as f64 / f64::from(piece));
        let threads = (positions / 2.0).min(machine.resident_threads as f64);
        Shape { threads, mean: places / threads.max(1.0), chain, ..shape(analysis, machine, places) }
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Option<Exclusion> {
        let Some(clusters) = analysis.clusters else { return Some(Exclusion::NotClustered) };
        let most = self.0.elements(size_of::<V>());
        match machine.shared_bytes {
            _ if clusters.pairs < LEAST_PAIRS * analysis.nnz as f64 => Some(Exclusion::NotSymmetric),
            _ if 2 * ROWS + analysis.lengths.longest() > most => Some(Exclusion::NotClustered),
            Some(limit) if most * size_of::<V>() > limit as usize => Some(Exclusion::SharedMemory),
            _ => None,
        }
    }
}
