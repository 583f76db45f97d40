//! The storage formats: their arrays, their invariants, and the ways from and to CSR.
//!
//! A format is one file here, one in `spmv`, and one name in the `catalogue`.
#![forbid(unsafe_code)]

mod assembly;
mod bcsr;
mod bellpack;
mod block;
mod catalogue;
mod check;
mod cmrs;
pub mod cmrs_model;
mod cmrs_padded;
mod coo;
mod coo_16;
mod csr;
mod dia;
mod diagonals;
mod ell;
mod fill;
mod hyb;
mod matrix;
mod offsets;
mod rows;
mod sell_16;
mod sell_p;
mod storage;
mod transpose;

pub(crate) use assembly::{Part, RowCounts, SortedAssembly};
pub use bcsr::Bcsr;
pub(crate) use bcsr::bcsr_bytes_of;
pub use bellpack::{Bellpack, PartitionRows};
pub(crate) use bellpack::{TOTAL_WIDTH, bellpack_bytes_of};
pub use block::{BlockSize, fill_ratios};
pub(crate) use block::{BlockVisitor, block_columns, block_columns_of, rows_of_block};
pub use catalogue::{Format, Lanes};
pub(crate) use check::check_indices;
pub use cmrs::{Cmrs, StripHeight, StripOrder};
pub(crate) use cmrs::{check_columns, check_height, cmrs_bytes};
pub use cmrs_padded::CmrsPadded;
pub(crate) use cmrs_padded::{padded_bytes_of_places, padded_strip_steps};
pub use coo::Coo;
pub(crate) use coo::coo_bytes;
pub use coo_16::{Coo16, Panels};
pub(crate) use coo_16::{check_entries, coo_16_bytes, half_words, slots_of, tile_count};
pub use csr::Csr;
pub use dia::Dia;
pub(crate) use dia::{dia_bytes, dia_stride};
pub(crate) use diagonals::occupied_diagonals;
pub use ell::Ell;
pub(crate) use ell::{ell_bytes, ell_stride};
pub use fill::FillLimit;
pub(crate) use hyb::RowLengths;
pub use hyb::{Fraction, Hyb, HybSplit};
pub use matrix::Matrix;
pub use offsets::Offsets;
pub use rows::parallel_rows;
pub use sell_16::Sell16;
pub(crate) use sell_16::{ROWS as SLICE_ROWS, check_row_length, sell_16_bytes, sell_16_width};
pub(crate) use sell_p::sell_p_bytes;
pub use sell_p::{SellP, Slicing};
pub(crate) use storage::ArrayVisitor;

use crate::error::Error;

/// The largest number of rows or columns. Indices are 32 bits wide; with the upper half to spare, a kernel can
/// step past the last row without wrapping, and a mark for padding is free.
pub const LARGEST_DIMENSION: usize = i32::MAX as usize;

/// Checks that a shape can be indexed.
pub(crate) fn check_shape(rows: usize, columns: usize) -> Result<(), Error> {
    for (what, value) in [("number of rows", rows), ("number of columns", columns)] {
        if value > LARGEST_DIMENSION {
            return Err(Error::TooLarge { what, value: value as u128, limit: LARGEST_DIMENSION as u128 });
        }
    }
    Ok(())
}
