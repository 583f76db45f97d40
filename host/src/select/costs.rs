//! The costs of formats. Each format defines its own in its folder; code shared by several is here.

use super::analysis::Analysis;
pub(crate) use super::exclusion::Exclusion;
use super::locality::SECTOR_BYTES;
use super::machine::Machine;
use crate::format::BlockSize;
use crate::format::strategy::Strategy;
use crate::real::Scalar;

/// Lanes of a warp, for divisions.
pub(crate) const WARP_LANES: f64 = cuda_std::warp::WARP_LANES as f64;

/// The costs of a multiplication, from the analysis of a matrix alone. `V` is the type of its values.
pub(crate) trait Costs: Strategy {
    /// The bytes of the arrays.
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored;

    /// Sectors of x that warps request.
    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64;

    /// Whether it reads x in order, without gathering, so that x comes from memory once.
    fn streams_x(self) -> bool {
        false
    }

    /// Entries in the COO part of HYB; 0 in other formats.
    fn beyond<V: Scalar>(self, _analysis: &Analysis) -> usize {
        0
    }

    /// How the kernel's work is divided.
    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape;

    /// Launches per multiplication with [`Shape::beyond`]: besides the kernel's own, one that scales y before, or that
    /// adds carried sums after.
    fn launches_of_product(self, _beyond: f64) -> f64 {
        1.0
    }

    /// The kernel used with [`Shape::beyond`], named after a format.
    fn kernel(self, _analysis: &Analysis, _machine: &Machine, _beyond: f64) -> &'static str {
        self.name()
    }

    /// The common prefix of the names of formats with the same conversion.
    fn conversion_kind(self) -> &'static str {
        self.name()
    }

    /// Why the format cannot store or multiply the matrix at all.
    fn exclusion<V: Scalar>(self, _analysis: &Analysis, _machine: &Machine) -> Option<Exclusion> {
        None
    }
}

/// The bytes of the arrays.
pub(crate) struct Stored {
    pub(crate) stored: u128,
    /// Bytes of the arrays that are read.
    pub(crate) read: u128,
    pub(crate) exact: bool,
}

impl Stored {
    /// Arrays that take `stored` bytes, all of which are read.
    pub(crate) fn all(stored: u128) -> Self {
        Self { stored, read: stored, exact: true }
    }
}

/// How a kernel's work is divided.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Number of times y is written.
    pub(crate) writes: f64,
    /// Steps of all warps.
    pub(crate) steps: f64,
    /// Rows, or other pieces that end separately.
    pub(crate) ends: f64,
    /// Steps of the longest row.
    pub(crate) chain: f64,
    /// Threads that have work.
    pub(crate) threads: f64,
    /// Steps of a thread.
    pub(crate) mean: f64,
    /// Bytes of memory around elements of y that are written out of order, or around tiles.
    pub(crate) scattered: f64,
    /// Entries in the COO part of HYB.
    pub(crate) beyond: f64,
}

impl Shape {
    /// A separate end per row, and y written once; the format fills in the rest.
    pub(crate) fn of_rows(analysis: &Analysis) -> Self {
        Self { writes: 1.0, ends: analysis.rows as f64, ..Self::default() }
    }

    /// A thread per row; the longest row takes `longest` steps.
    pub(crate) fn by_thread(analysis: &Analysis, steps: f64, longest: f64) -> Self {
        let rows = analysis.rows as f64;
        let mean = steps * WARP_LANES / rows.max(1.0);
        Self { steps, chain: longest, threads: rows, mean, ..Self::of_rows(analysis) }
    }

    /// Equal shares of the entries for all threads.
    pub(crate) fn shared(analysis: &Analysis, machine: &Machine) -> Self {
        let [nnz, resident] = [analysis.nnz as f64, machine.resident_threads as f64];
        Self { steps: nnz / WARP_LANES, threads: resident, mean: nnz / resident, ..Self::of_rows(analysis) }
    }

    /// `lanes` lanes per block row.
    pub(crate) fn of_blocks(analysis: &Analysis, size: BlockSize, lanes: u32) -> Self {
        let (blocks, _) = blocks(analysis, size);
        let block_rows = analysis.rows.div_ceil(size.rows());
        let fill = analysis.fill(size);
        let steps = fill.map_or(0.0, |fill| fill.steps(lanes));
        let seen = fill.and_then(|fill| fill.lengths.first()).map_or(0, |&(length, _)| length);
        let longest = analysis.lengths.longest() as f64;
        // The longest row may not be in the sample.
        let longest = (longest * blocks as f64 / (analysis.nnz as f64).max(1.0)).max(seen.into());
        let lanes = f64::from(lanes);
        Self {
            steps: steps * lanes * size.places() as f64 / WARP_LANES,
            ends: block_rows as f64,
            chain: longest / lanes,
            threads: block_rows as f64 * lanes,
            mean: steps / block_rows.max(1) as f64,
            ..Self::of_rows(analysis)
        }
    }

    /// A warp per strip of rows, which take `steps` steps in total; a row alone takes those of `at_once` entries each, and
    /// the longest strip `longest`, if that is known.
    pub(crate) fn of_strips(analysis: &Analysis, strips: f64, steps: usize, longest: usize, at_once: f64) -> Self {
        let steps = steps as f64;
        let mean = steps / strips;
        let chain = (analysis.lengths.longest() as f64 / at_once).max(longest as f64).max(mean);
        Self { steps, chain, threads: strips * WARP_LANES, mean, ..Self::of_rows(analysis) }
    }
}

/// Sectors of x if consecutive entries of the arrays are read together.
pub(crate) fn flat_sectors(analysis: &Analysis) -> f64 {
    analysis.locality.flat_sectors * analysis.nnz as f64
}

/// Sectors of x if neighbouring lanes have neighbouring rows.
pub(crate) fn row_sectors(analysis: &Analysis) -> f64 {
    analysis.locality.lane_sectors[0] * analysis.nnz as f64
}

/// Sectors of x per block, times the blocks; `apart` adjusts the sectors of x for lanes that share none.
pub(crate) fn block_sectors<V: Scalar>(analysis: &Analysis, size: BlockSize, apart: impl FnOnce(f64) -> f64) -> f64 {
    let (blocks, _) = blocks(analysis, size);
    let bytes = size.columns() * size_of::<V>();
    // Lanes have adjacent block rows: they share the sectors that neighbouring rows share, the fewer the higher blocks
    // are.
    let shared = apart((analysis.locality.lane_sectors[0] * size.rows() as f64).min(1.0));
    shared * blocks as f64 * (bytes as f64 / SECTOR_BYTES as f64).max(1.0)
}

/// Number of blocks, and whether it is exact.
pub(crate) fn blocks(analysis: &Analysis, size: BlockSize) -> (usize, bool) {
    analysis.fill(size).map_or((analysis.nnz, false), |fill| (fill.blocks().round() as usize, fill.is_exact()))
}

/// The fraction of rows that sorting by length moves away from their neighbours: zero if 32 consecutive rows have equal
/// length, as in the interior of a grid, since they keep their order.
pub(crate) fn displaced(analysis: &Analysis) -> f64 {
    let places = WARP_LANES * analysis.sums.lane_steps[0] as f64;
    if places == 0.0 { 0.0 } else { (2.0 * (1.0 - analysis.nnz as f64 / places)).clamp(0.0, 1.0) }
}

/// Sectors of x per entry if rows are sorted: moved rows share nothing with their new neighbours.
pub(crate) fn apart(analysis: &Analysis, sectors: f64) -> f64 {
    sectors + (1.0 - sectors).max(0.0) * displaced(analysis)
}

/// Bytes of memory around elements of y that are written out of order because rows were sorted by length; `together`
/// rows stay adjacent. Whole sectors are read and written.
pub(crate) fn scattered(analysis: &Analysis, together: usize) -> f64 {
    let around = SECTOR_BYTES.saturating_sub(together.saturating_mul(analysis.value_bytes));
    displaced(analysis) * (analysis.rows.div_ceil(together) * around) as f64
}
