//! Files written by `scipy.sparse.save_npz`: a zip archive with a NumPy array per member.
//!
//! `npy` is the header of an array, `read` and `write` are the matrix.
#![forbid(unsafe_code)]

pub(super) mod npy;
mod read;
mod write;

pub(super) use npy::is_zip;
pub(super) use read::parse;
pub use read::read_npz;
pub use write::write_npz;
