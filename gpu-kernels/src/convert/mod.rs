//! Conversions between CSR and the other formats, one file a family. Values are moved, and never calculated with
//! but where duplicates are added up.

pub mod bcsr;
pub mod bellpack;
pub mod blocks;
pub mod coo;
pub mod dia;
mod entries;
mod places;
pub mod radix;
pub mod rows;
pub mod sort;
