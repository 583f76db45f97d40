//! The storage formats: their arrays, their invariants, conversions from and to CSR, and how they are multiplied.
//!
//! A format is a folder here and a line of the list in `formats`.
#![deny(unsafe_code)]

mod assembly;
#[doc(hidden)]
pub mod bcsr;
#[doc(hidden)]
pub mod bellpack;
pub(crate) mod block;
mod catalogue;
mod check;
pub(crate) mod clustered;
pub(crate) mod clustered_symmetric;
#[doc(hidden)]
pub mod cmrs;
#[doc(hidden)]
pub mod cmrs_padded;
pub(crate) mod column_panels;
#[doc(hidden)]
pub mod coo;
#[doc(hidden)]
pub mod coo_16;
pub(crate) mod csr;
pub(crate) mod dia;
mod diagonals;
pub(crate) mod ell;
mod fill;
mod formats;
pub(crate) mod hyb;
mod matrix;
pub(crate) mod narrow;
mod offsets;
pub(crate) mod rows;
pub(crate) mod sell_16;
#[doc(hidden)]
pub mod sell_p;
mod sort;
pub(crate) mod storage;
pub(crate) mod strategy;
pub(crate) mod text;
mod transpose;
#[cfg(feature = "test-format")]
pub(crate) mod twin;

pub use assembly::{RowCounts, TripletSlices};
pub use bcsr::Bcsr;
pub(crate) use bcsr::bcsr_bytes_of;
pub use bellpack::{Bellpack, BellpackStrategy, PartitionRows};
pub(crate) use bellpack::{TOTAL_WIDTH, bellpack_bytes_of};
pub use block::BlockSize;
pub(crate) use block::{BlockVisitor, block_columns, block_columns_of, rows_of_block};
pub use catalogue::Format;
pub use check::check_indices;
#[doc(hidden)]
pub use clustered::clusters::Clusters;
pub use clustered::{Clustered, PartSize};
pub use clustered_symmetric::ClusteredSymmetric;
pub use cmrs::{Cmrs, StripHeight, StripOrder, StripRows};
pub(crate) use cmrs::{check_columns, check_height};
pub use cmrs_padded::CmrsPadded;
pub(crate) use cmrs_padded::{padded_bytes_of_places, padded_strip_steps};
pub use column_panels::{ColumnPanels, PanelSize};
pub(crate) use coo::coo_bytes;
pub use coo::{Coo, CooStrategy};
pub use coo_16::{Coo16, Panels};
pub(crate) use coo_16::{check_entries, coo_16_bytes, half_words, slots_of, tile_count};
pub use csr::{Csr, CsrStrategy, Lanes};
pub use dia::Dia;
pub(crate) use dia::{dia_bytes, dia_stride};
pub(crate) use diagonals::occupied_diagonals;
pub use ell::{Ell, EllStrategy};
pub(crate) use ell::{ell_bytes, ell_stride};
pub use fill::FillLimit;
pub(crate) use hyb::RowLengths;
pub use hyb::{Fraction, Hyb, HybSplit, HybStrategy};
pub use matrix::Matrix;
pub(crate) use matrix::ValueArrays;
pub use narrow::{Narrow, NarrowType, ValueStorage};
pub(crate) use offsets::LARGEST_NARROW;
pub use offsets::Offsets;
#[doc(hidden)]
pub use rows::parallel_rows;
pub use sell_16::Sell16;
#[doc(hidden)]
pub use sell_16::widening::Widening;
pub(crate) use sell_p::sell_p_bytes;
pub use sell_p::{SellP, Slicing};
pub use storage::{ArraySource, ArrayVisitor};
pub use text::Parameter;

use crate::error::Error;

/// Largest number of rows or columns. Indices are 32 bits wide; with the upper half to spare, a kernel can step past
/// the last row without wrapping, and a padding mark is free.
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
