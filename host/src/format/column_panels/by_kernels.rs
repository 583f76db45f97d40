//! CSR to column panels by kernels.

use gpu_kernels::convert::column_panels::{BeginsOfKeys, ColumnPanelKeys, ColumnPanelPieceKeys, ColumnPanelTiles};

use super::{ColumnPanels, ENTRIES, LANES, NAME, PanelSize, WORDS, check_entries, least_bytes, panel_tiles, tiles_of};
use crate::convert::primitives::{Array, Scan, launch};
use crate::convert::radix::{Sorted, count_up, sort_up_to};
use crate::convert::sort::sorted;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::format::coo::by_kernels::row_indices;
use crate::format::{Csr, FillLimit};
use crate::memory::Buffer;
use crate::real::Scalar;

/// Converts `matrix`. The workspace is 16 bytes for each entry and each piece. Rows are sorted first if they are not.
///
/// # Errors
/// When there are about 2^32 entries or more; when the arrays would exceed `limit`; when memory runs out, or the device
/// fails.
pub(super) fn from_csr<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    size: PanelSize,
    limit: FillLimit,
) -> Result<ColumnPanels<T, K::Memory>, Error> {
    if let Some(reason) = size.contradiction() {
        return Err(Error::structure(NAME, reason));
    }
    let (rows, columns, stored, csr_bytes) = (matrix.rows(), matrix.columns(), matrix.nnz(), matrix.bytes());
    check_entries(stored)?;
    let panel_columns = size.columns::<T>(columns);
    let panels = columns.div_ceil(panel_columns);
    limit.check(NAME, least_bytes::<T>(rows, panels, stored), csr_bytes)?;
    let matrix = sorted(executor, matrix)?;
    let ByPanel { entries, panel_begins } = by_panel(executor, &matrix, panel_columns, panels)?;
    let begins = executor.download(&panel_begins)?;
    let panel_tiles = panel_tiles(begins.windows(2).map(|begins| (begins[1] - begins[0]) as usize))?;
    let tiles = tiles_of(&panel_tiles);
    let row_indices = row_indices(executor, &matrix)?;
    let panel_tiles = executor.upload(panel_tiles)?;
    let mut lane_words = executor.unwritten(tiles * LANES)?;
    let mut column_offsets = executor.unwritten(tiles * WORDS)?;
    let mut values = executor.unwritten(tiles * ENTRIES)?;
    let mut counts = executor.unwritten(tiles)?;
    let grid = executor.device().grid((tiles * LANES) as u64);
    let kernel = ColumnPanelTiles {
        panel_columns: panel_columns as u32,
        panels: panels as u32,
        tiles: tiles as u32,
        panel_begins: panel_begins.global(),
        panel_tiles: panel_tiles.global(),
        entries: entries.global(),
        row_indices: row_indices.global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        lane_words: lane_words.global_mut(),
        column_offsets: column_offsets.global_mut(),
        new_values: values.global_mut(),
        piece_counts: counts.global_mut(),
    };
    // SAFETY: the entries are in the order of their panels, whose begins and tiles belong to them; rows, columns and
    // values are those of a valid matrix; the new arrays have room for all tiles, and the grid has whole warps.
    unsafe { launch(executor, grid, kernel) }?;
    drop(matrix);
    let scan = Scan::new(executor, &counts)?;
    let (tile_pieces, pieces) = (scan.offsets_of::<u32>(1)?, scan.total() as usize);
    let mut keys = executor.unwritten(pieces)?;
    let kernel = ColumnPanelPieceKeys {
        rows: rows as u32,
        panels: panels as u32,
        tiles: tiles as u32,
        panel_begins: panel_begins.global(),
        panel_tiles: panel_tiles.global(),
        entries: entries.global(),
        row_indices: row_indices.global(),
        lane_words: lane_words.global(),
        tile_pieces: tile_pieces.global(),
        keys: keys.global_mut(),
    };
    // SAFETY: the arrays are those of the kernel before, and there is a key for each piece that it counted.
    unsafe { launch(executor, grid, kernel) }?;
    drop((entries, row_indices));
    let unsorted = Sorted { rows: count_up(executor, pieces)?, keys };
    let Sorted { rows: piece_numbers, keys } = sort_up_to(executor, unsorted, rows as u32)?;
    let row_begins = begins_of_keys(executor, &keys, rows as u32, rows + 1)?;
    let converted = ColumnPanels {
        rows,
        columns,
        stored,
        panel_columns,
        panel_tiles,
        tile_pieces,
        lane_words,
        column_offsets,
        values,
        row_begins,
        piece_numbers,
    };
    limit.check(NAME, converted.bytes(), csr_bytes)?;
    Ok(converted)
}

/// The entries of CSR panel by panel, and where each panel begins among them.
struct ByPanel<K: KernelExecutor> {
    entries: Array<K, u32>,
    panel_begins: Array<K, u32>,
}

/// Sorts the entries of `matrix` by panel.
fn by_panel<T: Scalar, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<T, K::Memory>,
    panel_columns: usize,
    panels: usize,
) -> Result<ByPanel<K>, Error> {
    let stored = matrix.nnz();
    let mut keys = executor.unwritten(stored)?;
    let kernel = ColumnPanelKeys {
        nnz: stored as u32,
        panel_columns: panel_columns as u32,
        panels: panels as u32,
        column_indices: matrix.column_indices().global(),
        keys: keys.global_mut(),
    };
    // SAFETY: the matrix is valid, its columns are in these panels, and there is a key for each entry.
    unsafe { launch(executor, executor.device().grid(stored as u64), kernel) }?;
    let most = panels.saturating_sub(1) as u32;
    let unsorted = Sorted { rows: count_up(executor, stored)?, keys };
    let Sorted { rows: entries, keys } = sort_up_to(executor, unsorted, most)?;
    Ok(ByPanel { entries, panel_begins: begins_of_keys(executor, &keys, most, panels + 1)? })
}

/// Returns where each group of keys begins that are sorted with the largest first, which is at most `most`.
fn begins_of_keys<K: KernelExecutor>(
    executor: &K,
    keys: &Array<K, u32>,
    most: u32,
    groups: usize,
) -> Result<Array<K, u32>, Error> {
    let mut begins = executor.unwritten(groups)?;
    let kernel = BeginsOfKeys {
        count: keys.len() as u32,
        most,
        groups: groups as u32,
        keys: keys.global(),
        begins: begins.global_mut(),
    };
    // SAFETY: the keys are sorted, and there is an element for each group.
    unsafe { launch(executor, executor.device().grid(groups as u64), kernel) }?;
    Ok(begins)
}
