//! `warp-spmv convert` on several ranks.

use std::path::Path;

use warp_spmv::distributed::{write_container, write_matrix_market};
use warp_spmv::io::{FileKind, Number};

use super::loaded::{Loaded, with_rows};
use super::world::World;
use crate::cli::error::Error;
use crate::cli::input::Source;
use crate::cli::record::Shape;

/// The work of each rank.
pub struct Request<'a> {
    pub source: &'a Source,
    pub output: &'a Path,
    pub sort: bool,
}

/// Reads or generates the rows of each rank, and writes them together. Returns the shape of the matrix on rank 0;
/// nothing in another process.
pub fn convert<T: Number>(world: World, request: &Request<'_>, kind: FileKind) -> Result<Option<Shape>, Error> {
    let write = match kind {
        FileKind::Container => write_container::<T>,
        FileKind::MatrixMarket => write_matrix_market::<T>,
        other => {
            let reason = format!("a {other} file is not written by several ranks: only .wspmv, .mtx and .mtx.gz are");
            return Err(Error::Usage(reason));
        }
    };
    with_rows(world, request.source, |communicator, Loaded { mut rows, mut shape, distribution }, _| {
        if request.sort {
            rows.sort_rows()?;
            rows.sum_duplicates()?;
            let mut entries = [rows.nnz() as u64];
            communicator.reduce(&mut entries, |sum, next| sum + next)?;
            shape.nonzeros = entries[0] as usize;
        }
        write(communicator, request.output, &distribution.rows, &rows)?;
        Ok(shape)
    })
}
