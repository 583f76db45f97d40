//! Conversions between CSR and the other formats, one file per family. Values are only moved, except that duplicates
//! are added up.

pub mod bcsr;
pub mod bellpack;
pub mod block_rows;
pub mod blocks;
pub mod clustered;
pub mod clustered_symmetric;
pub mod cmrs;
pub mod cmrs_padded;
pub mod column_panels;
pub mod coo;
pub mod coo_16;
pub mod dia;
mod digits;
pub(crate) mod entries;
pub mod hyb;
pub mod narrow;
mod places;
pub mod radix;
pub mod ranges;
pub mod rows;
pub mod select;
pub mod sell_16;
pub mod sliced;
pub mod sort;
pub mod transpose;
pub mod windows;
