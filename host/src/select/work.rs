//! What a kernel does with a matrix, in the numbers that its time depends on.

use super::analysis::Analysis;
use super::locality::SECTOR_BYTES;
use super::machine::Machine;
use super::traffic::{Traffic, beyond, blocks, displaced, hyb_width, lane_place, panels, strip_steps};
use crate::format::{Format, Lanes};
use crate::spmv::{bcsr_lanes, ell_threads_per_row};

/// The numbers that a kernel's time is made of.
pub const TERMS: [&str; 8] = ["launch", "stream", "far", "gathered", "steps", "rows", "chain", "waves"];

/// One number for each of [`TERMS`].
pub type Terms = [f64; TERMS.len()];

/// Lanes of a warp.
const WARP_LANES: f64 = 32.0;

/// Rows of a strip of padded CMRS, and entries of a row in one of its steps.
const PADDED_STRIP: (f64, f64) = (gpu_kernels::cmrs::PADDED_HEIGHT as f64, gpu_kernels::cmrs::BUFFERS as f64);

/// What a multiplication takes, apart from how fast the device is.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The kernel, by a name that several formats may share.
    pub kernel: &'static str,
    /// What is moved.
    pub traffic: Traffic,
    /// By [`TERMS`]: launches, bytes that are streamed (the arrays and y), bytes of x from memory, those of y that are
    /// written out of order and those around tiles, bytes of x that are gathered, places that lanes go through, rows or whatever has an
    /// end of its own, the steps of the longest row, and those of a thread with work of the mean length.
    pub terms: Terms,
}

impl Analysis {
    /// The format that this one stands for with the matrix; see [`Format::resolve`]. For
    /// [`Format::Auto`] that is [`choose`](super::choose)'s business.
    pub fn resolve(&self, format: Format) -> Format {
        format.resolved_by(self.rows, || self.lengths.longest())
    }
}

impl Work {
    /// The work of `format`, or of what it [stands for](Analysis::resolve).
    pub fn new(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        let format = analysis.resolve(format);
        let traffic = Traffic::new(analysis, format, machine);
        let shape = if analysis.value_bytes == size_of::<f32>() {
            Shape::new::<f32>(analysis, format, machine)
        } else {
            Shape::new::<f64>(analysis, format, machine)
        };
        let waves = (shape.threads / machine.resident_threads as f64).ceil();
        let vectors = (analysis.value_bytes * (analysis.rows + analysis.columns)) as f64;
        let y = (analysis.value_bytes * analysis.rows) as f64;
        let streamed = traffic.needed as f64 - vectors + y * shape.writes;
        let terms = [
            launches(format, shape.beyond),
            streamed,
            traffic.far + shape.scattered + (shape.beyond * analysis.value_bytes as f64).min(y),
            traffic.gathered,
            shape.steps * WARP_LANES,
            shape.ends,
            shape.chain,
            waves * shape.mean,
        ];
        Self { kernel: kernel(analysis, format, machine, shape.beyond), traffic, terms }
    }
}

/// How a kernel's work is shared out.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Times that y is written.
    writes: f64,
    /// Steps of all warps.
    steps: f64,
    /// Rows, or whatever has an end of its own.
    ends: f64,
    /// Steps of the longest row.
    chain: f64,
    /// Threads that there is work for.
    threads: f64,
    /// Steps of a thread.
    mean: f64,
    /// Bytes of memory around elements of y that are written out of order, or around tiles.
    scattered: f64,
    /// Entries in the COO part of HYB.
    beyond: f64,
}

impl Shape {
    fn new<V: crate::Real>(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        let [rows, nnz] = [analysis.rows, analysis.nnz].map(|count| count as f64);
        let [some_rows, longest] = [rows.max(1.0), analysis.lengths.longest() as f64];
        let resident = machine.resident_threads as f64;
        let sums = &analysis.sums;
        let shape = Self { writes: 1.0, ends: rows, scattered: scattered(analysis, format), ..Self::default() };
        let by_thread = |steps: f64, longest: f64| {
            let mean = steps * WARP_LANES / some_rows;
            Self { steps, chain: longest, threads: rows, mean, ..shape }
        };
        let shared = Self { steps: nnz / WARP_LANES, threads: resident, mean: nnz / resident, ..shape };
        match format {
            Format::CsrScalar | Format::CsrVector(_) => {
                let place = lane_place(analysis, format);
                let lanes = (1 << place) as f64;
                let steps = sums.lane_steps[place] as f64;
                let mean = nnz / some_rows / lanes;
                Self { steps, chain: longest / lanes, threads: rows * lanes, mean, ..shape }
            }
            // Equal shares for all threads; y is scaled before.
            Format::CsrLoadBalanced | Format::CsrAutomatic | Format::Coo | Format::CooAtomic | Format::Auto => {
                Self { writes: 2.0, ..shared }
            }
            Format::CsrMergePath | Format::CsrTiled => shared,
            Format::Dia => {
                let diagonals = analysis.diagonals.count as f64;
                by_thread(diagonals * rows / WARP_LANES, diagonals)
            }
            Format::Ell | Format::EllSubwarp => {
                let lanes = if format == Format::Ell { 1.0 } else { f64::from(ell_lanes(analysis, machine)) };
                let steps = longest * rows / WARP_LANES;
                Self { threads: rows * lanes, mean: longest / lanes, ..by_thread(steps, longest / lanes) }
            }
            Format::SellP => by_thread(sums.slice_widths as f64 * 2.0, longest),
            Format::SellPSorted => by_thread(sums.sorted_slice_widths as f64 * 2.0, longest),
            Format::Sell16 => {
                // A thread has two rows, and the longest of them waits as all others do.
                let widening = analysis.widening;
                let width = widening.width(sums.slice_widths);
                Self { threads: rows / 2.0, ..by_thread(width * 2.0, longest * widening.ratio) }
            }
            Format::Bcsr(size) | Format::Bellpack(size) => {
                let (blocks, ..) = blocks(analysis, size);
                let block_rows = analysis.rows.div_ceil(size.rows());
                let lanes = match format {
                    Format::Bcsr(_) => bcsr_lanes(blocks, block_rows),
                    _ => 1,
                };
                let lengths = analysis.fill(size).map_or(&[][..], |fill| &fill.lengths);
                let by_row = |&(length, rows): &(u32, f64)| f64::from(length.div_ceil(lanes)) * rows;
                let steps: f64 = lengths.iter().map(by_row).sum();
                let seen = lengths.first().map_or(0, |&(length, _)| length);
                // The longest row may not be among those that were looked at.
                let longest = (longest * blocks as f64 / nnz.max(1.0)).max(seen.into());
                let lanes = f64::from(lanes);
                Self {
                    steps: steps * lanes * size.places() as f64 / WARP_LANES,
                    ends: block_rows as f64,
                    chain: longest / lanes,
                    threads: block_rows as f64 * lanes,
                    mean: steps / block_rows.max(1) as f64,
                    ..shape
                }
            }
            Format::Coo16 => {
                let (panels, slots) = panels::<V>(analysis);
                let (row_panels, column_panels) = panels.count(analysis.rows, analysis.columns, slots);
                let tiles = (row_panels * column_panels) as f64;
                let mean = nnz / WARP_LANES / row_panels.max(1) as f64;
                // A tile's products and slots begin and end within a sector of each.
                let scattered = tiles.min(nnz) * (2 * SECTOR_BYTES) as f64;
                Self { ends: tiles, threads: row_panels as f64 * WARP_LANES, mean, scattered, ..shared }
            }
            Format::Hyb(split) => {
                let width = hyb_width::<V>(analysis, split) as f64;
                let beyond = beyond::<V>(analysis, format) as f64;
                let ell = by_thread(width * rows / WARP_LANES, width);
                if beyond == 0.0 {
                    return ell;
                }
                Self { writes: 2.0, ends: beyond, steps: ell.steps + beyond / WARP_LANES, beyond, ..ell }
            }
            Format::Cmrs(height) => {
                let height = height.rows::<V>(analysis.rows, analysis.nnz);
                let strips = analysis.rows.div_ceil(height).max(1) as f64;
                let steps = strip_steps(analysis, height) as f64;
                let mean = steps / strips;
                let chain = (longest / WARP_LANES).max(mean);
                Self { steps, chain, threads: strips * WARP_LANES, mean, ..shape }
            }
            Format::CmrsPadded => {
                let (height, buffers) = PADDED_STRIP;
                let strips = (rows / height).ceil().max(1.0);
                let steps = sums.padded_steps as f64;
                let mean = steps / strips;
                let chain = (longest / buffers).max(mean);
                Self { steps, chain, threads: strips * WARP_LANES, mean, ..shape }
            }
        }
    }
}

fn ell_lanes(analysis: &Analysis, machine: &Machine) -> u32 {
    ell_threads_per_row(analysis.rows, analysis.lengths.longest(), machine.resident_threads / WARP_LANES as u64)
}

/// Bytes of memory around elements of y that are written out of order, where rows were sorted by length: a sector is
/// read and written whole.
fn scattered(analysis: &Analysis, format: Format) -> f64 {
    let together = match format {
        Format::SellPSorted => 1,
        Format::Bellpack(size) => size.rows(),
        _ => return 0.0,
    };
    let around = SECTOR_BYTES.saturating_sub(together * analysis.value_bytes);
    displaced(analysis) * (analysis.rows.div_ceil(together) * around) as f64
}

/// Launches of a multiplication: besides the kernel's own, one that scales y before, or that adds carried sums after.
fn launches(format: Format, beyond: f64) -> f64 {
    match format {
        Format::CsrLoadBalanced | Format::CsrAutomatic | Format::Coo | Format::Coo16 | Format::Auto => 3.0,
        Format::CsrMergePath | Format::CsrTiled | Format::CooAtomic => 2.0,
        Format::Hyb(_) if beyond > 0.0 => 3.0,
        _ => 1.0,
    }
}

/// The kernel of a format, by the name of a format.
fn kernel(analysis: &Analysis, format: Format, machine: &Machine, beyond: f64) -> &'static str {
    let format = match format {
        Format::CsrVector(_) => {
            const BY_PLACE: [Lanes; 6] = [Lanes::L2, Lanes::L2, Lanes::L4, Lanes::L8, Lanes::L16, Lanes::L32];
            Format::CsrVector(BY_PLACE[lane_place(analysis, format)])
        }
        Format::EllSubwarp if ell_lanes(analysis, machine) == 1 => Format::Ell,
        Format::Hyb(_) if beyond > 0.0 => Format::Hyb(Default::default()),
        Format::Hyb(_) => Format::Ell,
        Format::Cmrs(_) => Format::Cmrs(Default::default()),
        format => format,
    };
    format.name()
}
