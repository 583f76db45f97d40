//! Writing a matrix.

use std::io::{self, Seek, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::npy::header;
use crate::binary::little_endian;
use crate::number::Number;
use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory::collect;
use host::replace::replace_file;

/// Elements passed to the compressor at a time.
const CHUNK: usize = 1 << 16;

/// Writes a matrix as `scipy.sparse.save_npz` does, in CSR: compressed, with 32-bit indices if they can count the
/// entries. O(bytes).
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and an existing file
/// is untouched; a replaced file passes on its permissions.
///
/// # Errors
/// The system's error; also when `path` is a directory, a pipe or a write-protected file, or memory runs out.
pub fn write_npz<T: Number>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<(), Error> {
    replace_file(path.as_ref(), |file| {
        let mut archive = ZipWriter::new(file);
        // SciPy expects both index arrays to have the same type.
        let wide = matrix.nnz() > i32::MAX as usize;
        let (indices_type, length) = (if wide { "<i8" } else { "<i4" }, |length: usize| format!("({length},)"));
        let indices = matrix.column_indices();
        begin(&mut archive, "indices", indices_type, &length(indices.len()), indices.len())?;
        write_indices(&mut archive, indices, wide)?;
        let offsets = matrix.row_offsets();
        begin(&mut archive, "indptr", indices_type, &length(offsets.len()), offsets.len())?;
        match offsets {
            Offsets::Narrow(offsets) => write_indices(&mut archive, offsets, wide)?,
            Offsets::Wide(offsets) => archive.write_all(&little_endian(bytemuck::cast_slice(offsets), 8))?,
        }
        begin(&mut archive, "format", "|S3", "()", 1)?;
        archive.write_all(b"csr")?;
        begin(&mut archive, "shape", "<i8", "(2,)", 2)?;
        for dimension in [matrix.rows(), matrix.columns()] {
            archive.write_all(&(dimension as i64).to_le_bytes())?;
        }
        let element = T::TYPE;
        let values_type = format!("<{}{}", if T::COMPLEX { 'c' } else { 'f' }, element.width());
        begin(&mut archive, "data", &values_type, &length(matrix.nnz()), matrix.nnz())?;
        for values in matrix.values().chunks(CHUNK) {
            archive.write_all(&little_endian(bytemuck::cast_slice(values), element.part_width()))?;
        }
        archive.finish()?;
        Ok(())
    })
}

/// Begins the file of an array with `elements` elements.
fn begin(
    archive: &mut ZipWriter<impl Write + Seek>,
    name: &str,
    element: &str,
    shape: &str,
    elements: usize,
) -> io::Result<()> {
    // Leaves some room for compression that increases the size.
    let large = elements as u64 > u64::from(u32::MAX) / 9;
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(large);
    archive.start_file(format!("{name}.npy"), options)?;
    archive.write_all(&header(element, shape))
}

/// Writes numbers as 32-bit integers, in which they must then fit, or as 64-bit ones.
fn write_indices(to: &mut impl Write, indices: &[u32], wide: bool) -> io::Result<()> {
    for chunk in indices.chunks(CHUNK) {
        if wide {
            let chunk = collect(chunk.iter().map(|&index| u64::from(index))).map_err(io::Error::other)?;
            to.write_all(&little_endian(bytemuck::cast_slice(&chunk), 8))?;
        } else {
            to.write_all(&little_endian(bytemuck::cast_slice(chunk), 4))?;
        }
    }
    Ok(())
}
