//! CSR times a few vectors in the tiles of [`csr_tiled_arriving`](crate::csr_tiled_arriving), with a lane per entry: it
//! loads the entry once and multiplies it by one vector after the other, or by two or four at a time that are stored
//! side by side. With a lane per vector, as in [`csr_tiled`](super::csr_tiled), each lane has as many entries in
//! sequence as there are vectors. Without atomic additions: the same bits in every run.

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::lane_id;
use cuda_std::{Elements, Global, GlobalMut, GpuScalar, kernel};

use crate::Offset;
use crate::block::unrolled;
use crate::csr_tiled::{Rows, THREAD_ENTRIES, add_up, sum_over_block};
use crate::csr_tiled_arriving::Tile;
use crate::vector::update;

/// Entries that a lane loads.
const ENTRIES: usize = THREAD_ENTRIES as usize;

/// What a lane loads of X.
#[derive(Clone, Copy)]
struct Vectors<T> {
    x: Global<T>,
    element_stride: u32,
    pass_stride: u32,
    /// Whether the tile has entries; without any, X may have no elements.
    has_entries: bool,
}

impl<T: Elements> Vectors<T> {
    /// The elements of one pass for each of these columns.
    ///
    /// # Safety
    /// X has elements of that pass for all columns, if there are entries.
    #[inline(always)]
    unsafe fn elements(self, columns: [u32; ENTRIES], pass: u32) -> [T; ENTRIES] {
        if !self.has_entries {
            return [T::ZEROS; ENTRIES];
        }
        let begin = u64::from(pass) * u64::from(self.pass_stride);
        columns.map(|column| self.x.load(begin + u64::from(column) * u64::from(self.element_stride)))
    }
}

/// Y ← α A X + β Y.
///
/// While the sums of one pass are added up, the elements of X for the next one are on their way. The positions where
/// rows begin are in shared memory for all passes.
///
/// # Safety
/// The arrays are those of a valid CSR matrix; element `i` of pass `j` is at `i` times the element stride plus `j`
/// times the pass stride in `x`, which has one for each column, and likewise for `y` with one for each row and vector;
/// `begins` is that of [`csr_tiles`](crate::csr_tiled_arriving::csr_tiles) for tiles of
/// [`tile_items`](crate::csr_tiled_arriving::tile_items) and [`most_taken`](crate::csr_tiled_arriving::most_taken);
/// `pieces` has two elements for each tile and vector; `arrivals` has one for each tile, 0 before and after; there is a
/// block for each tile, of at least two whole warps, with [`shared_bytes`](crate::csr_tiled::shared_bytes) for values
/// of `T`.
#[kernel(T: elements_and_quads, O: [u32, u64])]
pub unsafe fn csr_tiled_few<T: Elements, O: Offset>(
    /// Number of passes, each of which multiplies as many vectors as `T` has elements.
    passes: u32,
    /// Distance in `x` from one element to the next.
    x_element_stride: u32,
    /// Distance in `x` from one pass to the next.
    x_pass_stride: u32,
    /// Distance in `y` from one element of a vector to the next.
    y_element_stride: u32,
    /// Distance in `y` from one vector to the next.
    y_vector_stride: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<<T as Elements>::Number>,
    /// The factor of A X.
    alpha: <T as Elements>::Number,
    /// The vectors to multiply.
    x: Global<T>,
    /// The factor of Y.
    beta: <T as Elements>::Number,
    /// The results.
    y: GlobalMut<<T as Elements>::Number>,
    /// Begin of each tile.
    begins: Global<u32>,
    /// For each vector, the pieces of all tiles.
    pieces: GlobalMut<<T as Elements>::Number>,
    /// For the row that begins in a tile and continues in others, the number of tiles that have stored their parts.
    arrivals: GlobalMut<u32>,
) {
    let tile = Tile::of_block(begins);
    let Tile { place_0, places: range, .. } = tile;
    let (first_row, ended) = (tile.row(), tile.ended());
    let places = [0, 1, 2, 3, 4, 5, 6, 7].map(|step| thread_idx_x() + step * block_dim_x());
    let has_entries = range.begin < range.end;
    // All entries are loaded before the first product, to keep the memory busy. Past the end, the last entry is loaded
    // again, so that no load waits for a comparison.
    let (columns, numbers) = if has_entries {
        let loaded = places.map(|place| place_0 + u64::from(place.min(range.end - 1)));
        let columns = loaded.map(|entry| column_indices.load_streaming(entry));
        (columns, loaded.map(|entry| values.load_streaming(entry)))
    } else {
        ([0; ENTRIES], [T::Number::ZERO; ENTRIES])
    };
    // Entries and rows of a tile take no more places than the block can load.
    let begins_of_rows = dynamic::<u32>(range.end * size_of::<T>() as u32);
    let mut row = thread_idx_x();
    while row < ended {
        begins_of_rows.store(row, (row_offsets.load(first_row + row + 1).widen() - place_0) as u32);
        row += block_dim_x();
    }

    let vectors = Vectors { x, element_stride: x_element_stride, pass_stride: x_pass_stride, has_entries };
    // The sum of a row that no other tile has, or of all its pieces.
    let finish = |row: u32, vector: u32, sum: T::Number| {
        let place = u64::from(row) * u64::from(y_element_stride) + u64::from(vector) * u64::from(y_vector_stride);
        update(y, place, alpha, sum, beta);
    };
    let first_piece = |vector: u32| vector * 2 * grid_dim_x();
    let products = dynamic::<T>(0);
    let mut elements = vectors.elements(columns, 0);
    let mut pass = 0;
    while pass < passes {
        let product = |step: usize| {
            let there = range.begin <= places[step] && places[step] < range.end;
            if there { elements[step].times(numbers[step]) } else { T::ZEROS }
        };
        let own_products =
            [product(0), product(1), product(2), product(3), product(4), product(5), product(6), product(7)];
        let finish_in_tile = |row_in_tile: u32, sums: T| {
            sums.each(|number, sum| {
                let vector = pass * T::COUNT + number;
                match tile.piece(row_in_tile) {
                    Some(piece) => pieces.store(first_piece(vector) + piece, sum),
                    None => finish(first_row + row_in_tile, vector, sum),
                }
            });
        };
        let next = pass + 1;
        if ended == 0 {
            let sum = sum_over_block(add_up(own_products));
            if thread_idx_x() == 0 {
                finish_in_tile(0, sum);
            }
            if next < passes {
                elements = vectors.elements(columns, next);
            }
        } else {
            unrolled(THREAD_ENTRIES, |step| {
                let place = places[step as usize];
                if place < range.end {
                    products.store(place, own_products[step as usize]);
                }
            });
            sync_threads();
            if next < passes {
                elements = vectors.elements(columns, next);
            }
            let begin_of = |row_in_tile: u32| begins_of_rows.load(row_in_tile - 1);
            let rows = Rows { count: tile.count(), ended, places: range, begin_of, products };
            rows.add_up(finish_in_tile);
        }
        // The next pass writes to the same shared memory, and after the last one, others may add up the pieces.
        sync_threads();
        pass = next;
    }
    if !tile.shares_rows() {
        return;
    }
    if let Some(begin) = tile.complete_row(arrivals) {
        let mut vector = 0;
        while vector < passes * T::COUNT {
            let sum = begin.sum(|piece| pieces.load(first_piece(vector) + piece));
            if lane_id() == 0 {
                finish(begin.row(), vector, sum);
            }
            vector += 1;
        }
    }
}
