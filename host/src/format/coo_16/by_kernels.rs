//! CSR to COO-16 and back.

use gpu_kernels::convert::coo_16::{
    Coo16FromCsr, Coo16Keys, Coo16PanelRows, Coo16RowOffsets, Coo16RowSlots, Coo16SlotKeys, Coo16TileBegins,
    Coo16TileWords, CsrFromCoo16,
};

use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::radix::{Sorted, sorted_together};
use crate::convert::sort::sorted;
use crate::convert::width::each_width;
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::{Coo16, Csr, FillLimit, Offsets, Panels, check_entries, coo_16_bytes, half_words, tile_count};
use crate::memory::Buffer;
use crate::real::Scalar;
use crate::spmv::Intervals;

/// Converts `matrix` to COO-16. The workspace is 20 bytes per entry and 4 per row; 8 bytes per entry of it coexist with
/// the new arrays. Rows are sorted first if they are not.
///
/// # Errors
/// When there are about 2^32 entries or more; when the arrays would exceed `limit`, before they are allocated; when
/// memory runs out, or the device fails.
pub(crate) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    limit: FillLimit,
) -> Result<Coo16<T, K::Memory>, Error> {
    let (slot_begins, slots) = slot_begins(executor, &matrix)?;
    let panels = Panels::chosen::<T>(matrix.columns, slots);
    with_slots(executor, matrix, panels, limit, slot_begins, slots)
}

/// Converts `matrix` to COO-16 with panels of any valid size.
///
/// # Errors
/// When the size is invalid; when there are about 2^32 entries or more; when the arrays would exceed `limit`; when
/// memory runs out, or the device fails.
pub fn with_panels<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    panels: Panels,
    limit: FillLimit,
) -> Result<Coo16<T, K::Memory>, Error> {
    panels.check()?;
    let (slot_begins, slots) = slot_begins(executor, &matrix)?;
    with_slots(executor, matrix, panels, limit, slot_begins, slots)
}

/// Returns the number of slots of all rows before each row, then of all rows, and the total.
fn slot_begins<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
) -> Result<(Array<K, u32>, usize), Error> {
    check_entries(matrix.stored)?;
    let mut slots = executor.unwritten(matrix.rows)?;
    each_width!(&matrix.row_offsets, offsets => {
        let kernel =
            Coo16RowSlots { rows: matrix.rows as u32, row_offsets: offsets.global(), slots: slots.global_mut() };
        // SAFETY: the matrix is valid, the number of its entries was checked, and there is an element for each row.
        unsafe { launch(executor, executor.device().grid(matrix.rows as u64), kernel) }
    })?;
    let scan = Scan::new(executor, &slots)?;
    Ok((scan.offsets_of(1)?, scan.total() as usize))
}

fn with_slots<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    panels: Panels,
    limit: FillLimit,
    slot_begins: Array<K, u32>,
    slots: usize,
) -> Result<Coo16<T, K::Memory>, Error> {
    let (rows, columns, stored) = (matrix.rows, matrix.columns, matrix.stored);
    let bytes = coo_16_bytes::<T>(rows, columns, stored, slots, panels);
    limit.check("COO-16", bytes, matrix.bytes())?;
    let (row_panels, column_panels) = panels.count(rows, columns, slots);
    let tiles = tile_count(row_panels, column_panels, bytes)?;
    let [panel_columns, panel_slots] = [panels.columns, panels.slots].map(|number| number as u32);
    let [row_panel_count, column_panel_count, nnz] = [row_panels, column_panels, stored].map(|number| number as u32);
    let grid = |threads: usize| executor.device().grid(threads as u64);
    let panel_rows = panel_rows(executor, rows, panel_slots, row_panels, &slot_begins)?;
    let matrix = sorted(executor, matrix)?;
    let order = tile_order(executor, matrix, panels, column_panel_count, &slot_begins)?;
    let (mut tile_begins, mut tile_words) = (executor.unwritten(tiles)?, executor.unwritten(tiles)?);
    let kernel = Coo16TileBegins {
        nnz,
        panel_columns,
        column_panels: column_panel_count,
        panel_slots,
        row_panels: row_panel_count,
        entries: order.entries.global(),
        positions: order.positions.global(),
        tile_begins: tile_begins.global_mut(),
    };
    // SAFETY: the entries are in the order that the kernel requires, and there is an element for each tile.
    unsafe { launch(executor, grid(tiles), kernel) }?;
    let kernel = Coo16TileWords {
        nnz,
        column_panels: column_panel_count,
        row_panels: row_panel_count,
        entries: order.entries.global(),
        positions: order.positions.global(),
        tile_begins: tile_begins.global(),
        tile_words: tile_words.global_mut(),
    };
    // SAFETY: `tile_order` made the positions and the order of the entries, `nnz` of each; the previous kernel wrote
    // where each tile begins among them; and there is a word for each tile.
    unsafe { launch(executor, grid(WARP_LANES * tiles), kernel) }?;
    let words = half_words(stored);
    let (mut column_offsets, mut slot_offsets) = (executor.unwritten(words)?, executor.unwritten(words)?);
    let mut values = executor.unwritten(stored)?;
    let kernel = Coo16FromCsr {
        nnz,
        panel_columns,
        column_panels: column_panel_count,
        panel_slots,
        entries: order.entries.global(),
        positions: order.positions.global(),
        values: order.old_values.global(),
        tile_begins: tile_begins.global(),
        tile_words: tile_words.global(),
        column_offsets: column_offsets.global_mut(),
        slot_offsets: slot_offsets.global_mut(),
        new_values: values.global_mut(),
    };
    // SAFETY: the arrays of `order` have `nnz` elements, from a valid matrix; offsets and words of the tiles come from
    // the previous kernels. The new arrays have `nnz` values and `half_words` of it offsets, as the format does.
    unsafe { launch(executor, grid(words), kernel) }?;
    Ok(Coo16 {
        rows,
        columns,
        stored,
        panel_columns: panels.columns,
        panel_slots: panels.slots,
        slot_begins,
        panel_rows,
        tile_begins,
        tile_words,
        column_offsets,
        slot_offsets,
        values,
    })
}

/// Returns the row in which each row panel ends.
fn panel_rows<K: KernelExecutor>(
    executor: &K,
    rows: usize,
    panel_slots: u32,
    row_panels: usize,
    slot_begins: &Array<K, u32>,
) -> Result<Array<K, u32>, Error> {
    let mut panel_rows = executor.unwritten(row_panels)?;
    let kernel = Coo16PanelRows {
        rows: rows as u32,
        panel_slots,
        row_panels: row_panels as u32,
        slot_begins: slot_begins.global(),
        panel_rows: panel_rows.global_mut(),
    };
    // SAFETY: the slots are those of the rows, and there is an element for each panel.
    unsafe { launch(executor, executor.device().grid(row_panels as u64), kernel) }?;
    Ok(panel_rows)
}

/// Entries of CSR while they are sorted into tiles.
struct Order<T: Scalar, K: KernelExecutor> {
    /// Slot and column of each entry.
    positions: Array<K, u64>,
    /// Entries in the order of their column panels and, within each, of their slots.
    entries: Array<K, u32>,
    /// Value of each entry.
    old_values: Array<K, T>,
}

/// Returns the order of the entries of `matrix`, whose rows are sorted.
fn tile_order<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    panels: Panels,
    column_panels: u32,
    slot_begins: &Array<K, u32>,
) -> Result<Order<T, K>, Error> {
    let Csr { rows, stored, row_offsets, column_indices, values: old_values, .. } = matrix;
    let mut positions = executor.unwritten(stored)?;
    let (mut keys, mut entries) = (executor.unwritten(stored)?, executor.unwritten(stored)?);
    let intervals = Intervals::new(stored as u64, executor.device());
    each_width!(&row_offsets, offsets => {
        let kernel = Coo16Keys {
            rows: rows as u32,
            nnz: stored as u64,
            interval: intervals.length,
            panel_columns: panels.columns as u32,
            column_panels,
            row_offsets: offsets.global(),
            column_indices: column_indices.global(),
            slot_begins: slot_begins.global(),
            positions: positions.global_mut(),
            keys: keys.global_mut(),
            entries: entries.global_mut(),
        };
        // SAFETY: the matrix is valid, the slots are its own, and there is an element for each entry, and a warp for each
        // interval.
        unsafe { launch(executor, intervals.grid(executor.device()), kernel) }
    })?;
    drop((row_offsets, column_indices));
    let entries = sorted_together(executor, Sorted { rows: entries, keys })?.rows;
    Ok(Order { positions, entries, old_values })
}

/// Converts the matrix to CSR, with sorted rows if it was made from CSR. The workspace is 16 bytes per entry, 4 of
/// which coexist with the entries of CSR.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn into_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Coo16<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    let (row_panels, column_panels) = matrix.panel_counts();
    let Coo16 { rows, columns, stored, ref slot_begins, ref tile_begins, .. } = matrix;
    let (mut keys, mut places) = (executor.unwritten(stored)?, executor.unwritten(stored)?);
    let kernel = Coo16SlotKeys {
        panel_slots: matrix.panel_slots as u32,
        column_panels: column_panels as u32,
        row_panels: row_panels as u32,
        tile_begins: tile_begins.global(),
        tile_words: matrix.tile_words.global(),
        slot_offsets: matrix.slot_offsets.global(),
        keys: keys.global_mut(),
        places: places.global_mut(),
    };
    let tiles = row_panels as u64 * column_panels as u64;
    // SAFETY: the matrix is valid, and there is an element for each entry.
    unsafe { launch(executor, executor.device().grid(tiles * WARP_LANES as u64), kernel) }?;
    let Sorted { keys, rows: places } = sorted_together(executor, Sorted { keys, rows: places })?;
    let mut row_offsets = executor.unwritten(rows + 1)?;
    let kernel = Coo16RowOffsets {
        rows: rows as u32,
        nnz: stored as u32,
        slots: (row_panels * matrix.panel_slots) as u32,
        slot_begins: slot_begins.global(),
        keys: keys.global(),
        row_offsets: row_offsets.global_mut(),
    };
    // SAFETY: the keys are sorted, and there is one more element than rows.
    unsafe { launch(executor, executor.device().grid(rows as u64 + 1), kernel) }?;
    drop(keys);
    let (mut column_indices, mut values) = (executor.unwritten(stored)?, executor.unwritten(stored)?);
    let intervals = Intervals::new(stored as u64, executor.device());
    let kernel = CsrFromCoo16 {
        rows: rows as u32,
        nnz: stored as u64,
        interval: intervals.length,
        panel_columns: matrix.panel_columns as u32,
        column_panels: column_panels as u32,
        row_offsets: row_offsets.global(),
        places: places.global(),
        tile_begins: tile_begins.global(),
        column_offsets: matrix.column_offsets.global(),
        values: matrix.values.global(),
        column_indices: column_indices.global_mut(),
        new_values: values.global_mut(),
    };
    // SAFETY: the matrix is valid, `places` are those of its entries sorted by slot, and the previous kernel made the
    // row offsets from their keys. The new arrays have an element for each entry, and the grid a warp for each
    // interval.
    unsafe { launch(executor, intervals.grid(executor.device()), kernel) }?;
    Ok(Csr { rows, columns, stored, row_offsets: Offsets::Narrow(row_offsets), column_indices, values })
}
