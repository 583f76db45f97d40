//! Conversions between CSR and the other formats, one file a family. Values are moved, never calculated with.

pub mod coo;
mod entries;
pub mod rows;
