//! Files shared by several readers, each of which reads a part.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::container::ContainerRows;
use crate::contents::Contents;
use crate::gzip;
use crate::kind::{FileKind, LoadedMatrix, kind_of, parse_matrix};
use crate::matrix_market::portions::CoordinatePortions;
use crate::number::Number;
use crate::options::ReadOptions;
use host::error::Error;

/// An open file, by the way in which several readers can share it.
pub enum FileParts {
    /// A container with a CSR matrix: each reader takes some rows.
    Rows(ContainerRows),
    /// A Matrix Market file: each reader takes some portions.
    Portions(CoordinatePortions),
    /// Any other file: each reader takes all of it.
    Whole(WholeFile),
}

/// A file that can only be read as a whole.
pub struct WholeFile {
    path: PathBuf,
    contents: Contents,
    why: String,
}

impl FileParts {
    /// Checks that the values can be read as `T`, as far as the header shows.
    ///
    /// # Errors
    /// When the values are complex and `T` is not.
    pub fn check_values<T: Number>(&self) -> Result<(), Error> {
        match self {
            Self::Rows(rows) => rows.check_values::<T>(),
            Self::Portions(portions) => portions.check_values::<T>(),
            Self::Whole(_) => Ok(()),
        }
    }
}

impl WholeFile {
    /// The kind of the file, with an article.
    pub fn kind(&self) -> &str {
        &self.why
    }

    /// Reads the matrix, as [`read_matrix`](crate::read_matrix) does.
    ///
    /// # Errors
    /// As for [`read_matrix`](crate::read_matrix).
    pub fn read<T: Number>(&self, options: &ReadOptions<'_>) -> Result<LoadedMatrix<T>, Error> {
        parse_matrix(&self.contents, &self.path, options)
    }
}

/// Opens a file that several readers share, a Matrix Market file in portions of about `portion` bytes. It is mapped if
/// possible: do not truncate it meanwhile. Each reader may open it, or all may share it.
///
/// # Errors
/// The system's error if the file cannot be read. Also when its kind is unknown, or its header is invalid.
pub fn open_parts(path: impl AsRef<Path>, portion: usize, options: &ReadOptions<'_>) -> Result<FileParts, Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    let compressed = gzip::is_compressed(&contents);
    let mut head = Vec::new();
    if compressed {
        let mut decoder = MultiGzDecoder::new(&*contents);
        // Errors are left to the reader.
        let _ = gzip::append_step(&mut decoder, &mut head, options.decompressed_limit);
    }
    let begin = if compressed { &*head } else { &*contents };
    let whole = |contents, why: String| FileParts::Whole(WholeFile { path: path.into(), contents, why });
    match kind_of(begin) {
        Ok(FileKind::MatrixMarket) => {
            let portions = CoordinatePortions::new(contents, path, portion, options.decompressed_limit)?;
            Ok(FileParts::Portions(portions))
        }
        Ok(FileKind::Container) if !compressed => Ok(match ContainerRows::new(contents, path)? {
            Ok(rows) => FileParts::Rows(rows),
            Err((contents, format)) => whole(contents, format!("a container in {format}")),
        }),
        Ok(kind) => {
            let how = if compressed { "compressed " } else { "" };
            Ok(whole(contents, format!("a {how}{kind} file")))
        }
        // The error is left to the reader.
        Err(_) => Ok(whole(contents, "a file of an unknown kind".into())),
    }
}
