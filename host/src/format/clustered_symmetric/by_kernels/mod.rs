//! Conversion by kernels: the parts grow on the host, which needs the pattern alone; all else is done where the matrix
//! is.

// Miri has no lanes.
#[cfg(all(test, not(miri)))]
mod tests;

use cuda_std::launch::Grid;
use gpu_kernels::clustered::NO_ROW;
use gpu_kernels::convert::clustered_symmetric::entries::{SymmetricEntries, SymmetricPositions};
use gpu_kernels::convert::clustered_symmetric::halves::SymmetricHalves;
use gpu_kernels::convert::clustered_symmetric::pairs::{SymmetricHalo, SymmetricPairs};
use gpu_kernels::convert::clustered_symmetric::steps::{SHARED_BYTES, SymmetricSteps};
use gpu_kernels::convert::clustered_symmetric::write::SymmetricWrite;

use super::arrangement::MOST_TRIED;
use super::steps::{WARPS, WARPS_AT_A_TIME, banks, least_cost};
use super::{Counts, NAME};
use crate::convert::primitives::{Array, Scan, columns_ascend, launch};
use crate::convert::radix::{Sorted, sorted_by};
use crate::convert::width::each_width;
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::executor::transfer::{Download, Upload};
use crate::format::assembly::begins;
use crate::format::clustered::ROWS;
use crate::format::clustered::parts::{Kept, Parts};
use crate::format::{ClusteredSymmetric, Csr, FillLimit, PartSize};
use crate::memory::{Buffer, collect, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// With fewer parts than this, most of a GPU is idle while each orders its entries, and the host is faster.
const FEWEST_PARTS: usize = 32;

/// So few entries that this does not matter.
const FEW_ENTRIES: usize = 1 << 17;

/// Converts `matrix`. Besides both formats, takes up to 12 bytes per entry, 16 per column of a part and 32 per position
/// while it runs, and in host memory the pattern.
///
/// # Errors
/// As for [`ClusteredSymmetric::try_from_csr`], and when the device fails.
pub(super) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    part_size: PartSize,
    limit: FillLimit,
) -> Result<ClusteredSymmetric<T, K::Memory>, Error> {
    let is_square = matrix.rows() == matrix.columns() && matrix.nnz() > 0;
    if is_square && part_size.contradiction().is_none() && columns_ascend(executor, &matrix, 1)? {
        let pattern = matrix.pattern_to_host(executor)?;
        let most = part_size.elements(size_of::<T>());
        // As on the host: where few entries have images, the first parts may be too large.
        for kept in [Kept::RowsAndHalo, Kept::RowsAndColumns] {
            let parts = Parts::new(&pattern, part_size, size_of::<T>(), kept)?;
            let Some(arranger) = Arranger::new(executor, &matrix, parts)? else { break };
            let stored = arranger.stored()?;
            let most_elements = arranger.most_elements(&stored)?;
            if most_elements > most {
                continue;
            }
            match arranger.convert(stored, part_size, most_elements, limit)? {
                Some(converted) => return Ok(converted),
                None => break,
            }
        }
    }
    let matrix = matrix.transfer(&Download(executor))?;
    ClusteredSymmetric::try_from_csr(&matrix, part_size, limit)?.transfer(&Upload(executor))
}

/// Arranges all parts of a matrix.
struct Arranger<'a, T: Scalar, K: KernelExecutor> {
    executor: &'a K,
    matrix: &'a Csr<T, K::Memory>,
    parts: Parts,
    /// Number of slices before each part.
    part_begins: Array<K, u32>,
    /// Row at each position: those of a part ascend.
    rows: Array<K, u32>,
    /// Number of columns of all parts before each part.
    column_begins: Array<K, u64>,
    /// Columns of each part.
    column_numbers: Array<K, u32>,
}

/// The stored entries, row by row, the longest rows of each part first.
struct Stored<K: KernelExecutor> {
    /// Former position of the row at each position.
    order: Array<K, u32>,
    /// Number of entries before each position, and of all.
    begins: Array<K, u64>,
    entries: Array<K, u32>,
    halo_begins: Array<K, u64>,
    halo_columns: Array<K, u32>,
}

/// The steps of the stored entries.
struct Steps<K: KernelExecutor> {
    /// The entries of each row, the last first.
    entries: Array<K, u32>,
    /// Step of each entry.
    steps: Array<K, u32>,
    /// First step of each slice.
    starts: Array<K, u32>,
    /// Width of each slice.
    widths: Array<K, u32>,
    /// Warp of each slice.
    warps: Array<K, u32>,
}

/// The slices in the order of their warps.
struct NewOrder {
    /// New number of each slice in its part.
    new_numbers: Vec<u32>,
    /// Number of slices before each warp of all parts.
    warp_begins: Vec<u32>,
    /// Width of all slices before each slice, in the new order.
    slice_begins: Vec<u64>,
}

impl NewOrder {
    /// The slices of these parts, by the width and the warp of each.
    ///
    /// # Errors
    /// When memory runs out.
    fn new(part_begins: &[u32], widths: &[u32], warps: &[u32]) -> Result<Self, Error> {
        let mut new_numbers = zeros::<u32>(widths.len())?;
        let mut warp_begins = zeros::<u32>(WARPS * (part_begins.len() - 1) + 1)?;
        let mut slice_begins = zeros::<u64>(widths.len() + 1)?;
        for (part, ends) in part_begins.windows(2).enumerate() {
            let (first, end) = (ends[0] as usize, ends[1] as usize);
            let mut next = [0; WARPS];
            warps[first..end].iter().for_each(|&warp| next[warp as usize] += 1);
            warp_begins[part * WARPS..][..WARPS].copy_from_slice(&next);
            begins(&mut next);
            // Those without entries come last, and no slice of their warp after them.
            let slices = |are_empty: bool| (first..end).filter(move |&slice| (widths[slice] == 0) == are_empty);
            for slice in slices(false).chain(slices(true)) {
                let next = &mut next[warps[slice] as usize];
                new_numbers[slice] = *next;
                slice_begins[first + *next as usize] = widths[slice].into();
                *next += 1;
            }
        }
        begins(&mut warp_begins);
        begins(&mut slice_begins);
        Ok(Self { new_numbers, warp_begins, slice_begins })
    }
}

impl<'a, T: Scalar, K: KernelExecutor> Arranger<'a, T, K> {
    /// Uploads the parts; returns `None` if they are too large for the kernels, or too few.
    fn new(executor: &'a K, matrix: &'a Csr<T, K::Memory>, mut parts: Parts) -> Result<Option<Self>, Error> {
        let positions = parts.part_begins.windows(2).map(|slices| (slices[1] - slices[0]) as usize * ROWS);
        let shared = 4 * positions.max().unwrap_or(0) + SHARED_BYTES as usize;
        let fits = executor.device().shared_bytes.is_none_or(|most| shared <= most as usize);
        // Positions have 32 bits, and keys 16 for the part.
        let would_wait = parts.count() < FEWEST_PARTS && matrix.nnz() > FEW_ENTRIES;
        if !fits || would_wait || parts.count() >= 1 << 16 || parts.row_numbers.len() >= 1 << 32 {
            return Ok(None);
        }
        let mut pieces = with_capacity(parts.count())?;
        let mut left = &mut parts.row_numbers[..];
        for slices in parts.part_begins.windows(2) {
            let (rows, rest) = left.split_at_mut((slices[1] - slices[0]) as usize * ROWS);
            left = rest;
            pieces.push(rows);
        }
        // `NO_ROW` comes last.
        const { assert!(NO_ROW == u32::MAX) };
        parallel::map_items(pieces, &|(_, rows)| rows.sort_unstable())?;
        let part_begins = executor.upload_slice(&parts.part_begins)?;
        let rows = executor.upload_slice(&parts.row_numbers)?;
        let column_begins = executor.upload_slice(&parts.column_begins)?;
        let column_numbers = executor.upload_slice(&parts.column_numbers)?;
        Ok(Some(Self { executor, matrix, parts, part_begins, rows, column_begins, column_numbers }))
    }

    /// The largest number of elements that a part keeps in shared memory.
    fn most_elements(&self, stored: &Stored<K>) -> Result<usize, Error> {
        let halo_begins = self.executor.download(&stored.halo_begins)?;
        let halos = halo_begins.windows(2).map(|halo| (halo[1] - halo[0]) as usize);
        let slices = self.parts.part_begins.windows(2).map(|slices| (slices[1] - slices[0]) as usize);
        Ok(slices.zip(halos).map(|(slices, halo)| 2 * ROWS * slices + halo).max().unwrap_or(0))
    }

    /// Returns the matrix; `None` if a part has too many steps for the kernels.
    fn convert(
        &self,
        stored: Stored<K>,
        part_size: PartSize,
        most_elements: usize,
        limit: FillLimit,
    ) -> Result<Option<ClusteredSymmetric<T, K::Memory>>, Error> {
        let Self { executor, matrix, .. } = *self;
        let Stored { order, begins, entries, halo_begins, halo_columns } = stored;
        let Some(steps) = self.steps(&begins, &entries)? else { return Ok(None) };
        drop(entries);
        let (widths, warps) = (executor.download(&steps.widths)?, executor.download(&steps.warps)?);
        let NewOrder { new_numbers, warp_begins, slice_begins } =
            NewOrder::new(&self.parts.part_begins, &widths, &warps)?;
        let places = slice_begins.last().copied().unwrap_or(0) as usize;
        let words = places * WARP_LANES;
        let (parts, slices) = (self.parts.count(), widths.len());
        let counts = Counts { parts, slices, halo_columns: halo_columns.len(), words };
        limit.check(NAME, counts.bytes::<T>(), matrix.bytes())?;
        let new_numbers = executor.upload(new_numbers)?;
        let mut converted: ClusteredSymmetric<T, K::Memory> = ClusteredSymmetric {
            rows: matrix.rows(),
            columns: matrix.columns(),
            stored: matrix.nnz(),
            part_size,
            most_elements,
            warp_begins: executor.upload(warp_begins)?,
            row_numbers: executor.unwritten(slices * ROWS)?,
            halo_begins,
            halo_columns,
            slice_begins: executor.upload(slice_begins)?,
            local_columns: executor.unwritten(words)?,
            values: executor.unwritten(2 * words)?,
        };
        debug_assert_eq!(counts.bytes::<T>(), converted.bytes());
        each_width!(matrix.row_offsets(), offsets => {
            let kernel = SymmetricWrite {
                part_begins: self.part_begins.global(),
                rows: self.rows.global(),
                order: order.global(),
                begins: begins.global(),
                entries: steps.entries.global(),
                steps: steps.steps.global(),
                starts: steps.starts.global(),
                new_numbers: new_numbers.global(),
                slice_begins: converted.slice_begins.global(),
                row_offsets: offsets.global(),
                values: matrix.values().global(),
                row_numbers: converted.row_numbers.global_mut(),
                local_columns: converted.local_columns.global_mut(),
                new_values: converted.values.global_mut(),
            };
            // SAFETY: the entries, their steps and their slices are those of this matrix, whose slices have these
            // widths, and the arrays are as long as these.
            unsafe { launch(executor, self.blocks(), kernel) }
        })?;
        Ok(Some(converted))
    }

    /// A block for each part.
    fn blocks(&self) -> Grid {
        let threads_per_block = self.executor.device().tuning.threads_per_block();
        Grid { blocks: self.parts.count() as u32, threads_per_block, shared_bytes: 0 }
    }

    /// A warp for each part, or for `blocks` of them, with `bytes` of shared memory and 4 per position.
    fn warps(&self, blocks: usize, bytes: u32) -> Grid {
        let slices = self.parts.part_begins.windows(2).map(|slices| slices[1] - slices[0]).max().unwrap_or(0);
        let shared_bytes = bytes + 4 * slices * ROWS as u32;
        Grid { blocks: blocks as u32, threads_per_block: WARP_LANES as u32, shared_bytes }
    }

    /// Determines which entries are stored, and by which row.
    fn stored(&self) -> Result<Stored<K>, Error> {
        let Self { executor, matrix, ref part_begins, ref rows, ref column_begins, ref column_numbers, .. } = *self;
        let positions = rows.len();
        let array = |length| executor.unwritten::<u32>(length);
        let (mut locals, mut images) = (array(matrix.nnz())?, array(matrix.nnz())?);
        let mut needed: Array<K, u32> = executor.zeros(column_numbers.len())?;
        let (mut pairs, mut former_lengths, mut keys) = (array(positions)?, array(positions)?, array(positions)?);
        each_width!(matrix.row_offsets(), offsets => {
            let kernel = SymmetricPairs {
                part_begins: part_begins.global(),
                rows: rows.global(),
                longest: self.parts.longest_piece,
                column_begins: column_begins.global(),
                column_numbers: column_numbers.global(),
                row_offsets: offsets.global(),
                column_indices: matrix.column_indices().global(),
                values: matrix.values().global(),
                locals: locals.global_mut(),
                images: images.global_mut(),
                needed: needed.global_mut(),
                pairs: pairs.global_mut(),
            };
            // SAFETY: the matrix is valid and square, and its columns ascend; the parts have all of its rows, and the
            // columns of these; the arrays are as long as the kernel asks for.
            unsafe { launch(executor, self.blocks(), kernel)? };
            let kernel = SymmetricHalves {
                part_begins: part_begins.global(),
                rows: rows.global(),
                longest: self.parts.longest_piece,
                row_offsets: offsets.global(),
                column_indices: matrix.column_indices().global(),
                locals: locals.global(),
                pairs: pairs.global(),
                images: images.global_mut(),
                lengths: former_lengths.global_mut(),
                keys: keys.global_mut(),
            };
            // SAFETY: the same; a block has the shared memory for its part.
            unsafe { launch(executor, self.warps(self.parts.count(), 0), kernel) }
        })?;
        drop(pairs);
        let (halo_of_columns, halo_begins, halo_columns) = self.halo(needed)?;
        let Sorted { rows: order, .. } = sorted_by(executor, keys)?;
        let (mut new_positions, mut lengths) = (array(positions)?, array(positions)?);
        let kernel = SymmetricPositions {
            part_begins: part_begins.global(),
            order: order.global(),
            former_lengths: former_lengths.global(),
            new_positions: new_positions.global_mut(),
            lengths: lengths.global_mut(),
        };
        // SAFETY: all arrays have an element for each position, and the keys of a part are between those of its
        // neighbours, so it keeps its positions.
        unsafe { launch(executor, self.blocks(), kernel) }?;
        let scan = Scan::new(executor, &lengths)?;
        let begins: Array<K, u64> = scan.offsets_of(1)?;
        let mut entries = array(scan.total() as usize)?;
        each_width!(matrix.row_offsets(), offsets => {
            let kernel = SymmetricEntries {
                part_begins: part_begins.global(),
                rows: rows.global(),
                longest: self.parts.longest_piece,
                order: order.global(),
                new_positions: new_positions.global(),
                column_begins: column_begins.global(),
                halo_begins: halo_of_columns.global(),
                row_offsets: offsets.global(),
                locals: locals.global(),
                images: images.global(),
                begins: begins.global(),
                entries: entries.global_mut(),
            };
            // SAFETY: the lengths of rows are the numbers of their entries that have not been dropped.
            unsafe { launch(executor, self.blocks(), kernel) }
        })?;
        Ok(Stored { order, begins, entries, halo_begins, halo_columns })
    }

    /// Returns, of the columns that need an element of their own, the number before each column of a part and before
    /// each part, and these columns.
    #[allow(clippy::type_complexity, reason = "three arrays")]
    fn halo(&self, needed: Array<K, u32>) -> Result<(Array<K, u64>, Array<K, u64>, Array<K, u32>), Error> {
        let Self { executor, ref column_begins, ref column_numbers, .. } = *self;
        let scan = Scan::new(executor, &needed)?;
        let begins: Array<K, u64> = scan.offsets_of(1)?;
        let mut halo_begins = executor.unwritten::<u64>(column_begins.len())?;
        let mut halo_columns = executor.unwritten::<u32>(scan.total() as usize)?;
        let kernel = SymmetricHalo {
            parts: self.parts.count() as u32,
            columns: column_numbers.len() as u64,
            column_begins: column_begins.global(),
            column_numbers: column_numbers.global(),
            begins: begins.global(),
            halo_begins: halo_begins.global_mut(),
            halo_columns: halo_columns.global_mut(),
        };
        let work = column_numbers.len().max(column_begins.len());
        // SAFETY: the arrays are as long as the kernel asks for.
        unsafe { launch(executor, executor.device().grid(work as u64), kernel) }?;
        Ok((begins, halo_begins, halo_columns))
    }

    /// Assigns all entries to steps; returns `None` if there are too many steps for the kernels.
    fn steps(&self, begins: &Array<K, u64>, entries: &Array<K, u32>) -> Result<Option<Steps<K>>, Error> {
        let Self { executor, ref part_begins, .. } = *self;
        let (parts, slices) = (self.parts.count(), self.rows.len() / ROWS);
        let mut result: Steps<K> = Steps {
            entries: executor.unwritten(entries.len())?,
            steps: executor.unwritten(entries.len())?,
            starts: executor.unwritten(slices)?,
            widths: executor.unwritten(slices)?,
            warps: executor.unwritten(slices)?,
        };
        let mut run = |blocks: usize, warps: usize| -> Result<Option<Vec<u64>>, Error> {
            let mut costs: Array<K, u64> = executor.unwritten(2 * blocks)?;
            let kernel = SymmetricSteps {
                parts: parts as u32,
                banks: banks(size_of::<T>()) as u32,
                teams_at_a_time: warps as u32,
                part_begins: part_begins.global(),
                begins: begins.global(),
                entries: entries.global(),
                left: result.entries.global_mut(),
                steps: result.steps.global_mut(),
                starts: result.starts.global_mut(),
                widths: result.widths.global_mut(),
                teams: result.warps.global_mut(),
                costs: costs.global_mut(),
            };
            // SAFETY: the entries are those of the parts, and the arrays as long as the kernel asks for; a block has
            // the shared memory for its part.
            unsafe { launch(executor, self.warps(blocks, SHARED_BYTES), kernel) }?;
            Ok(Some(executor.download(&costs)?).filter(|costs| !costs.contains(&u64::MAX)))
        };
        // The same trials as on the host, except that the first is for all parts: mostly it is the only one.
        let tried = parts.min(MOST_TRIED);
        let Some(costs) = run(parts, WARPS)? else { return Ok(None) };
        let sample = |which: usize| collect((0..tried).map(|number| costs[2 * (number * parts / tried) + which]));
        let (first, counts) = (sample(0)?, sample(1)?);
        let (mut least, mut cheapest, mut latest) = (first.iter().sum::<u64>(), WARPS, (parts, WARPS));
        for &warps in &WARPS_AT_A_TIME[1..] {
            if counts.iter().map(|&count| least_cost(count as usize, warps) as u64).sum::<u64>() >= least {
                break;
            }
            latest = (tried, warps);
            let Some(costs) = run(tried, warps)? else { return Ok(None) };
            let cost = costs.iter().step_by(2).sum();
            if cost < least {
                (least, cheapest) = (cost, warps);
            }
        }
        if latest != (parts, cheapest) && run(parts, cheapest)?.is_none() {
            return Ok(None);
        }
        Ok(Some(result))
    }
}
