//! Files: matrices as Matrix Market, Rutherford-Boeing, SciPy's `.npz` and our own containers, and vectors as Matrix
//! Market.
//!
//! [`read`] recognizes the kind of a file by its contents, [`write()`] by its name.

mod binary;
mod container;
mod contents;
mod extension;
mod gzip;
mod header;
mod kind;
mod limits;
mod matrix_market;
mod npz;
mod number;
mod options;
mod parts;
mod quote;
mod rutherford_boeing;
mod signature;
mod text;

pub use container::rows_to_write::RowsToWrite;
pub use container::{
    ContainerRows, PartSum, read_container, read_container_matrix, write_container, write_container_matrix,
};
pub use header::{Field, Header, Symmetry};
#[doc(hidden)]
pub use host::replace::in_turn;
pub use host::replace::replace_file;
pub use kind::{FileKind, Loaded, LoadedMatrix, parse, parse_matrix, read, read_matrix, write};
pub use matrix_market::portions::{CoordinatePortions, Portion, PortionReader};
pub use matrix_market::rows::LinesToWrite;
pub use matrix_market::{
    Coordinates, DenseMatrix, MatrixMarketOptions, Triplets, Value, parse_matrix_market, parse_vector,
    read_coordinates, read_dense, read_matrix_market, read_matrix_market_with, read_vector, write_coordinates,
    write_dense, write_matrix_market, write_vector,
};
pub use npz::{read_npz, write_npz};
#[doc(hidden)]
pub use number::COMPLEX_VALUES;
pub use number::Number;
pub use options::{ReadOptions, ReadProgress};
pub use parts::{FileParts, WholeFile, open_parts};
pub use rutherford_boeing::read_rutherford_boeing;
pub use text::Text;
