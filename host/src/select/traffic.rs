//! The bytes that each format stores and moves, from the analysis of a matrix alone.

use serde::Serialize;

use super::analysis::Analysis;
use super::costs::Stored;
use super::locality::SECTOR_BYTES;
use super::machine::Machine;
use crate::complex::Complex;
use crate::format::{Format, NarrowType};
use crate::real::Scalar;

/// The fraction of a cache that holds x, since the matrix also passes through it.
const PART_FOR_X: f64 = 0.6;

/// Bytes moved by a multiplication in a format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// Bytes of the arrays.
    pub stored: u128,
    /// Minimum number of bytes to move: the arrays that are read, and x and y once.
    pub needed: u128,
    /// Bytes of all sectors of x that warps request, cached or not.
    pub gathered: f64,
    /// Bytes of x that come from memory.
    pub far: f64,
    /// Whether `stored` and `needed` are exact; false if blocks or diagonals were counted in a part of the matrix.
    pub exact: bool,
}

impl Traffic {
    /// The traffic of `format`. A format that stands for others is [resolved](Analysis::resolve).
    pub fn new(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        with_values!(analysis, V => Self::of::<V>(analysis, format, machine))
    }

    /// The same with values of a narrower type, if the format supports it.
    pub fn with_values(analysis: &Analysis, format: Format, machine: &Machine, narrow: Option<NarrowType>) -> Self {
        let traffic = Self::new(analysis, format, machine);
        let Some(narrow) = narrow.filter(|_| format.multiplies_narrow()) else { return traffic };
        // The size of arrays other than values does not depend on the type of the values.
        let [wide, less] = [format.stored::<Complex<f64>>(analysis).stored, format.stored::<f32>(analysis).stored];
        let places = wide.saturating_sub(less) / (size_of::<Complex<f64>>() - size_of::<f32>()) as u128;
        let value_bytes = narrow.with_marks(format.marks_absence()).bytes();
        let saved = places * analysis.value_bytes.saturating_sub(value_bytes) as u128;
        let [stored, needed] = [traffic.stored, traffic.needed].map(|bytes| bytes.saturating_sub(saved));
        Self { stored, needed, ..traffic }
    }

    fn of<V: Scalar>(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        let Stored { stored, read, exact } = format.stored::<V>(analysis);
        let [rows, columns] = [analysis.rows, analysis.columns].map(|count| count as u128 * size_of::<V>() as u128);
        let sector = SECTOR_BYTES as f64;
        let far = analysis.locality.far_sectors(
            analysis.nnz,
            columns as f64 / sector,
            machine.cache_bytes as f64 * PART_FOR_X / sector,
        );
        let far = if format.streams_x() { columns as f64 } else { far * sector };
        // The parts of HYB pass through x sequentially.
        let again = format.beyond::<V>(analysis) as f64 * sector;
        let far = far + again.min(columns as f64);
        let gathered = format.sectors::<V>(analysis) * sector;
        Self { stored, needed: read + rows + columns, gathered, far, exact }
    }
}
