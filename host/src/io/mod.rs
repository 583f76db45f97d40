//! Files: Matrix Market matrices and vectors.

mod contents;
mod matrix_market;
mod replace;

pub use matrix_market::{
    Field, Header, Symmetry, parse_matrix_market, parse_vector, read_matrix_market, read_vector, write_vector,
};

/// What a reader calls now and then, with the bytes that it has handled and the bytes that there are.
///
/// The calls, about one for each MiB, may come from several threads at once, so the numbers need not arrive in
/// order. When a file with entries has been read, one call has had both numbers equal.
pub type Progress<'a> = Option<&'a (dyn Fn(u64, u64) + Sync)>;
