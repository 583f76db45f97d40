//! All kinds of files.
#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;

use super::contents::Contents;
use super::extension::has_extension;
use super::header::Header;
use super::matrix_market::{MatrixMarketOptions, write_matrix_market};
use super::npz::write_npz;
use super::quote::quote;
use super::{ReadOptions, container, gzip, matrix_market, npz, rutherford_boeing, write_container};
use crate::number::Number;
use host::error::Error;
use host::format::{Csr, Matrix};

/// The kinds of files that hold a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A Matrix Market `coordinate` file, compressed or not.
    MatrixMarket,
    /// A Rutherford-Boeing or Harwell-Boeing file, compressed or not.
    RutherfordBoeing,
    /// A file written by `scipy.sparse.save_npz`.
    Npz,
    /// A container of this library.
    Container,
}

impl FileKind {
    /// The kind of file that [`write()`](super::write()) writes under this name.
    ///
    /// # Errors
    /// When the extension is unknown.
    pub fn of_name(path: &Path) -> Result<Self, Error> {
        let kinds = [
            (".mtx", Self::MatrixMarket),
            (".mtx.gz", Self::MatrixMarket),
            (".npz", Self::Npz),
            (".wspmv", Self::Container),
        ];
        kinds.into_iter().find(|&(extension, _)| has_extension(path, extension)).map(|(_, kind)| kind).ok_or_else(
            || Error::contents(path, "unknown kind of file: the name should end in .mtx, .mtx.gz, .npz or .wspmv"),
        )
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::MatrixMarket => "Matrix Market",
            Self::RutherfordBoeing => "Rutherford-Boeing",
            Self::Npz => "SciPy npz",
            Self::Container => "warp-spmv container",
        })
    }
}

/// A matrix from a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded<T: Number> {
    /// The matrix.
    pub matrix: Csr<T>,
    /// The file's description of it.
    pub header: Header,
    /// The kind of the file.
    pub kind: FileKind,
}

/// A matrix from a file, in its storage format.
#[non_exhaustive]
pub struct LoadedMatrix<T: Number> {
    /// The matrix.
    pub matrix: Matrix<T>,
    /// The file's description of it.
    pub header: Header,
    /// The kind of the file.
    pub kind: FileKind,
}

impl<T: Number> TryFrom<LoadedMatrix<T>> for Loaded<T> {
    type Error = Error;

    /// Converts the matrix to CSR, which fails if memory runs out.
    fn try_from(LoadedMatrix { matrix, header, kind }: LoadedMatrix<T>) -> Result<Self, Error> {
        Ok(Self { matrix: matrix.into_csr()?, header, kind })
    }
}

/// Reads a sparse matrix from a file of any known kind, which is recognized by its contents, not its name. Any of them
/// may be compressed with gzip as a whole.
///
/// Takes the time and the memory of the kind's own reader; a compressed text is decompressed to memory first. The file
/// is mapped if possible: do not truncate it meanwhile, because the system kills a process that reads a map beyond the
/// end of its file.
///
/// # Errors
/// The system's error if the file cannot be read. Also when its kind is unknown, when it is invalid (the error says why
/// and, for a text, on which line), and when memory runs out.
///
/// ```no_run
/// let loaded = files::read::<f64>("1138_bus.mtx.gz", &Default::default())?;
/// println!("{}: {} x {}", loaded.kind, loaded.matrix.rows(), loaded.matrix.columns());
/// # Ok::<(), host::Error>(())
/// ```
pub fn read<T: Number>(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Loaded<T>, Error> {
    read_matrix::<T>(path, options)?.try_into()
}

/// [`read`] without the conversion to CSR: a container's matrix stays in its storage format, as with
/// [`read_container_matrix`](super::read_container_matrix).
///
/// # Errors
/// As for [`read`].
pub fn read_matrix<T: Number>(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<LoadedMatrix<T>, Error> {
    let path = path.as_ref();
    parse_matrix(&Contents::of(path, options)?, path, options)
}

/// [`read`] for bytes in memory; `name` replaces the path in errors.
///
/// # Errors
/// As for [`read`], except for the system's errors.
pub fn parse<T: Number>(bytes: &[u8], name: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Loaded<T>, Error> {
    parse_matrix::<T>(bytes, name, options)?.try_into()
}

/// [`read_matrix`] for bytes in memory; `name` replaces the path in errors.
///
/// # Errors
/// As for [`read`], except for the system's errors.
pub fn parse_matrix<T: Number>(
    bytes: &[u8],
    name: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<LoadedMatrix<T>, Error> {
    let name = name.as_ref();
    let bytes = &*gzip::decompressed(bytes, name, options)?;
    let kind = kind_of(bytes).map_err(|reason| Error::Parse { path: name.into(), line: 1, reason })?;
    let in_csr = |(matrix, header)| (Matrix::Csr(matrix), header);
    let (matrix, header) = match kind {
        FileKind::MatrixMarket => in_csr(matrix_market::parse_plain(bytes, name, options.progress)?),
        FileKind::RutherfordBoeing => in_csr(rutherford_boeing::parse(bytes, name, options)?),
        FileKind::Npz => in_csr(npz::parse(bytes, name, options)?),
        FileKind::Container => container::parse(bytes, name, options)?,
    };
    Ok(LoadedMatrix { matrix, header, kind })
}

/// The kind of a file with these contents.
pub(crate) fn kind_of(bytes: &[u8]) -> Result<FileKind, String> {
    if container::is_container(bytes) {
        Ok(FileKind::Container)
    } else if npz::is_zip(bytes) {
        Ok(FileKind::Npz)
    } else if matrix_market::has_banner(bytes) {
        Ok(FileKind::MatrixMarket)
    } else if rutherford_boeing::has_header(bytes) {
        Ok(FileKind::RutherfordBoeing)
    } else if bytes.is_empty() {
        Err("the file is empty".into())
    } else {
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Err(format!(
            "unknown kind of file: expected Matrix Market ('%%MatrixMarket'), Rutherford-Boeing, .npz or .wspmv, \
             found {}",
            quote(line.trim_ascii())
        ))
    }
}

/// Writes a sparse matrix to a file whose extension determines its kind: `.mtx` and `.mtx.gz` for Matrix Market
/// (`coordinate real general`), `.npz` for SciPy, `.wspmv` for a container.
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and an existing file
/// is untouched; a replaced file passes on its permissions.
///
/// # Errors
/// When the extension is unknown, `path` is a directory or a write-protected file, or memory runs out; otherwise the
/// system's error.
pub fn write<T: Number>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<(), Error> {
    let path = path.as_ref();
    match FileKind::of_name(path)? {
        FileKind::Npz => write_npz(path, matrix),
        FileKind::Container => write_container(path, matrix),
        _ => write_matrix_market(path, matrix, MatrixMarketOptions::default()),
    }
}
