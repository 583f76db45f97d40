//! The bytes that each format stores and moves, from the analysis of a matrix alone.

use serde::Serialize;

use super::analysis::Analysis;
use super::costs::Stored;
use super::locality::SECTOR_BYTES;
use super::machine::Machine;
use crate::complex::Complex;
use crate::format::{Format, NarrowType};
use crate::real::Scalar;

/// The part of a cache that holds x, while the matrix goes through it, too.
const PART_FOR_X: f64 = 0.6;

/// What a multiplication in a format moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// Bytes of the arrays.
    pub stored: u128,
    /// Bytes that have to be moved at least: those of the arrays that are read, x and y once.
    pub needed: u128,
    /// Bytes of all sectors of x that warps ask for, whether a cache has them or not.
    pub gathered: f64,
    /// Bytes of x that come from memory.
    pub far: f64,
    /// Whether `stored` and `needed` are exact: not where blocks were counted in a part of the matrix, or diagonals.
    pub exact: bool,
}

impl Traffic {
    /// What `format` moves. A format that stands for others is [resolved](Analysis::resolve).
    pub fn new(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        with_values!(analysis, V => Self::of::<V>(analysis, format, machine))
    }

    /// The same with values in a narrower type, if the format can.
    pub fn with_values(analysis: &Analysis, format: Format, machine: &Machine, narrow: Option<NarrowType>) -> Self {
        let traffic = Self::new(analysis, format, machine);
        let Some(narrow) = narrow.filter(|_| format.multiplies_narrow()) else { return traffic };
        // What arrays take besides values does not depend on their type.
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
        // The parts of HYB go through x one after the other.
        let again = format.beyond::<V>(analysis) as f64 * sector;
        let far = far + again.min(columns as f64);
        let gathered = format.sectors::<V>(analysis) * sector;
        Self { stored, needed: read + rows + columns, gathered, far, exact }
    }
}
