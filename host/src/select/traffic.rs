//! The bytes that each format stores and moves, from the analysis of a matrix alone.

use serde::Serialize;

use super::analysis::Analysis;
use super::lengths::HEIGHTS;
use super::locality::SECTOR_BYTES;
use super::machine::Machine;
use crate::format::{
    BlockSize, Format, HybSplit, Panels, PartitionRows, Slicing, bcsr_bytes_of, bellpack_bytes_of, cmrs_bytes,
    coo_16_bytes, coo_bytes, dia_bytes, ell_bytes, padded_bytes_of_places, sell_16_bytes, sell_p_bytes,
};
use crate::real::Real;
use crate::spmv::lanes_for;

/// The part of a cache that holds x, while the matrix goes through it, too.
const PART_FOR_X: f64 = 0.6;

/// Places of a step of padded CMRS.
const STEP_PLACES: u128 = 32;

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
        if analysis.value_bytes == size_of::<f32>() {
            Self::of::<f32>(analysis, format, machine)
        } else {
            Self::of::<f64>(analysis, format, machine)
        }
    }

    fn of<V: Real>(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        let Stored { stored, read, exact } = Stored::new::<V>(analysis, format);
        let [rows, columns] = [analysis.rows, analysis.columns].map(|count| count as u128 * size_of::<V>() as u128);
        let sector = SECTOR_BYTES as f64;
        let far = analysis.locality.far_sectors(
            analysis.nnz,
            columns as f64 / sector,
            machine.cache_bytes as f64 * PART_FOR_X / sector,
        );
        // DIA goes through x diagonal by diagonal, and COO-16 panel by panel, without gathering.
        let far = if matches!(format, Format::Dia | Format::Coo16) { columns as f64 } else { far * sector };
        // The parts of HYB go through x one after the other.
        let again = beyond::<V>(analysis, format) as f64 * sector;
        let far = far + again.min(columns as f64);
        let gathered = sectors::<V>(analysis, format) * sector;
        Self { stored, needed: read + rows + columns, gathered, far, exact }
    }
}

/// The bytes of the arrays.
struct Stored {
    stored: u128,
    /// Those that are read.
    read: u128,
    exact: bool,
}

impl Stored {
    fn new<V: Real>(analysis: &Analysis, format: Format) -> Self {
        let &Analysis { rows, columns: _, nnz, .. } = analysis;
        let all = |stored| Self { stored, read: stored, exact: true };
        let slices = |widths: usize, slicing: Slicing| {
            let slice = slicing.slice_size as usize;
            let begins = rows.div_ceil(slice) + 1;
            let permuted = if slicing.sigma > 1 { rows } else { 0 };
            all(sell_p_bytes::<V>(widths as u128 * slice as u128, begins, permuted))
        };
        match format {
            Format::CsrScalar
            | Format::CsrVector(_)
            | Format::CsrLoadBalanced
            | Format::CsrMergePath
            | Format::CsrTiled
            | Format::CsrAutomatic
            | Format::Auto => {
                all((rows as u128 + 1) * analysis.offset_bytes as u128 + coo_bytes::<V>(nnz) - 4 * nnz as u128)
            }
            Format::Dia => {
                let diagonals = analysis.diagonals;
                let read = size_of::<V>() as u128 * diagonals.count as u128 * rows as u128;
                Self { stored: dia_bytes::<V>(rows, diagonals.count), read, exact: diagonals.exact }
            }
            Format::Ell | Format::EllSubwarp => all(ell_bytes::<V>(rows, analysis.lengths.longest())),
            Format::SellP => slices(analysis.sums.slice_widths, Slicing::UNSORTED),
            Format::SellPSorted => slices(analysis.sums.sorted_slice_widths, Slicing::SORTED),
            Format::Sell16 => {
                let widening = analysis.widening;
                let width = widening.width(analysis.sums.slice_widths).round() as u128;
                let stored = sell_16_bytes::<V>(rows, width);
                Self { stored, read: stored, exact: widening.exact }
            }
            Format::Bcsr(size) => {
                let (blocks, _, exact) = blocks(analysis, size);
                let stored = bcsr_bytes_of::<V>(size, rows.div_ceil(size.rows()), blocks);
                Self { stored, read: stored, exact }
            }
            Format::Bellpack(size) => {
                let (_, blocks, exact) = blocks(analysis, size);
                let [block_rows, partition] = [rows.div_ceil(size.rows()), PartitionRows::default().get()];
                let stored = bellpack_bytes_of::<V>(size, block_rows, partition, blocks as u128);
                let read = bcsr_bytes_of::<V>(size, block_rows, blocks);
                Self { stored, read, exact }
            }
            Format::Coo | Format::CooAtomic => all(coo_bytes::<V>(nnz)),
            Format::Coo16 => {
                let (panels, slots) = panels::<V>(analysis);
                let stored = coo_16_bytes::<V>(rows, analysis.columns, nnz, slots, panels);
                // What is written is read again: the products.
                Self { stored, read: stored + 2 * (nnz * size_of::<V>()) as u128, exact: true }
            }
            Format::Hyb(split) => {
                let width = hyb_width::<V>(analysis, split);
                all(ell_bytes::<V>(rows, width) + coo_bytes::<V>(analysis.lengths.beyond(width)))
            }
            Format::Cmrs(height) => all(cmrs_bytes::<V>(rows, nnz, height.rows::<V>(rows, nnz))),
            Format::CmrsPadded => {
                all(padded_bytes_of_places::<V>(rows, analysis.sums.padded_steps as u128 * STEP_PLACES))
            }
        }
    }
}

/// Blocks, blocks with the padding of BELLPACK, and whether both are exact.
pub(super) fn blocks(analysis: &Analysis, size: BlockSize) -> (usize, usize, bool) {
    match analysis.fill(size) {
        Some(fill) => {
            let padded = fill.padded_blocks(PartitionRows::default().get());
            (fill.blocks().round() as usize, padded.round() as usize, fill.is_exact())
        }
        None => (analysis.nnz, analysis.nnz, false),
    }
}

/// The panels of COO-16, and the slots of all rows.
pub(super) fn panels<V: Real>(analysis: &Analysis) -> (Panels, usize) {
    let slots = analysis.lengths.slots();
    (Panels::chosen::<V>(analysis.columns, slots), slots)
}

/// Places of a row in the ELL part of HYB.
pub(super) fn hyb_width<V: Real>(analysis: &Analysis, split: HybSplit) -> usize {
    let Ok(width) = split.width_of::<V, _>(&analysis.lengths);
    width
}

/// Entries in the COO part of HYB; 0 in other formats.
pub(super) fn beyond<V: Real>(analysis: &Analysis, format: Format) -> usize {
    match format {
        Format::Hyb(split) => analysis.lengths.beyond(hyb_width::<V>(analysis, split)),
        _ => 0,
    }
}

/// The part of the rows that sorting by length moves away from their neighbours: none where 32 rows that follow each
/// other are equally long, as in the inside of a grid, for they keep their order.
pub(super) fn displaced(analysis: &Analysis) -> f64 {
    let places = 32.0 * analysis.sums.lane_steps[0] as f64;
    if places == 0.0 { 0.0 } else { (2.0 * (1.0 - analysis.nnz as f64 / places)).clamp(0.0, 1.0) }
}

/// Sectors of x that warps ask for.
fn sectors<V: Real>(analysis: &Analysis, format: Format) -> f64 {
    let locality = &analysis.locality;
    let nnz = analysis.nnz as f64;
    let flat = locality.flat_sectors * nnz;
    let by_row = locality.lane_sectors[0] * nnz;
    // Where rows are sorted, those that are moved share nothing with their new neighbours.
    let apart = |sectors: f64| sectors + (1.0 - sectors).max(0.0) * displaced(analysis);
    match format {
        Format::CsrVector(_) | Format::CsrScalar => locality.lane_sectors[lane_place(analysis, format)] * nnz,
        Format::CsrLoadBalanced | Format::CsrMergePath | Format::CsrTiled => flat,
        Format::CsrAutomatic | Format::Auto => flat,
        Format::Coo | Format::CooAtomic | Format::Cmrs(_) | Format::CmrsPadded => flat,
        Format::Dia => (analysis.diagonals.count * analysis.rows * size_of::<V>()) as f64 / SECTOR_BYTES as f64,
        Format::Coo16 => (analysis.columns * size_of::<V>()) as f64 / SECTOR_BYTES as f64,
        Format::Ell | Format::EllSubwarp | Format::SellP | Format::Sell16 => by_row,
        Format::SellPSorted => apart(locality.lane_sectors[0]) * nnz,
        Format::Bcsr(size) | Format::Bellpack(size) => {
            let (blocks, ..) = blocks(analysis, size);
            let bytes = size.columns() * size_of::<V>();
            // Lanes have block rows next to each other: what neighbouring rows share, they share as well, the less
            // the higher blocks are.
            let shared = (locality.lane_sectors[0] * size.rows() as f64).min(1.0);
            let shared = if matches!(format, Format::Bellpack(_)) { apart(shared) } else { shared };
            shared * blocks as f64 * (bytes as f64 / SECTOR_BYTES as f64).max(1.0)
        }
        Format::Hyb(_) => {
            let beyond = beyond::<V>(analysis, format) as f64;
            locality.lane_sectors[0] * (nnz - beyond) + locality.flat_sectors * beyond
        }
    }
}

/// The place in [`LANES`](super::lengths::LANES) of the lanes that a row has in CSR.
pub(super) fn lane_place(analysis: &Analysis, format: Format) -> usize {
    let lanes = match format {
        Format::CsrVector(lanes) => lanes.count().unwrap_or_else(|| lanes_for(analysis.rows, analysis.nnz)),
        _ => 1,
    };
    lanes.ilog2() as usize
}

/// Steps of all strips of CMRS of so many rows.
pub(super) fn strip_steps(analysis: &Analysis, height: usize) -> usize {
    let place = HEIGHTS.iter().position(|&known| known == height);
    place.map_or(analysis.nnz.div_ceil(32), |place| analysis.sums.strip_steps[place])
}
