//! Containers: a matrix in its storage format, array by array, ready to be mapped. `docs/container.md` describes
//! them byte by byte.
//!
//! `layout` is the header and the table of sections, `csr` what a format is in sections. A further format is
//! one more file like `csr` and one more line in [`parse`].
#![forbid(unsafe_code)]

mod csr;
mod layout;

use std::io::Write;
use std::path::Path;

use super::binary::{Array, ElementType, little_endian};
use super::contents::Contents;
use super::header::{Field, Header, Symmetry};
use super::options::ReadOptions;
use super::replace::replace_file;
use crate::error::Error;
use crate::format::Csr;
use crate::real::Real;
use layout::{Layout, padding};

pub(super) use layout::is_container;

/// What a container says of a matrix apart from its arrays.
#[derive(Clone, Copy)]
struct Summary {
    rows: usize,
    columns: usize,
    stored: usize,
    /// Type of the values.
    values: ElementType,
    /// Bytes of an offset, 0 in a format that has none.
    offset_width: usize,
}

/// An array that goes into a container.
struct Section<'a> {
    name: &'static str,
    element: ElementType,
    /// The elements as they are in memory.
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    fn of_u32(name: &'static str, elements: &'a [u32]) -> Self {
        Self { name, element: ElementType::Uint32, bytes: bytemuck::cast_slice(elements) }
    }

    fn of_u64(name: &'static str, elements: &'a [u64]) -> Self {
        Self { name, element: ElementType::Uint64, bytes: bytemuck::cast_slice(elements) }
    }

    fn of_values<T: Real>(name: &'static str, elements: &'a [T]) -> Self {
        Self { name, element: ElementType::of_values::<T>(), bytes: bytemuck::cast_slice(elements) }
    }
}

/// The arrays of a container that have not been asked for yet.
struct Sections<'a>(Vec<Array<'a>>);

impl<'a> Sections<'a> {
    /// The array of a name, which should be of one of these types.
    fn take(&mut self, name: &str, types: &[ElementType]) -> Result<Array<'a>, String> {
        let place = self.0.iter().position(|array| array.name == name);
        let array = self.0.swap_remove(place.ok_or_else(|| format!("there is no section '{name}'"))?);
        if types.contains(&array.element) {
            return Ok(array);
        }
        let types: Vec<_> = types.iter().map(|element| element.name()).collect();
        Err(format!("section '{name}' is of type {}, expected {}", array.element.name(), types.join(" or ")))
    }
}

/// A storage format as a name and named arrays.
trait Stored: Sized {
    /// The name in the header.
    const NAME: &'static str;

    fn summary(&self) -> Summary;

    fn sections(&self) -> Vec<Section<'_>>;

    /// The matrix again, every invariant checked.
    fn from_sections(summary: &Summary, sections: &mut Sections<'_>) -> Result<Self, String>;
}

/// Writes a matrix as a container. O(bytes).
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and a file
/// that was there is untouched; one that is replaced hands on its permissions.
///
/// # Errors
/// With what the system said; when `path` is a directory or a write-protected file.
pub fn write_container<T: Real>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<(), Error> {
    write(path.as_ref(), matrix)
}

fn write<S: Stored>(path: &Path, matrix: &S) -> Result<(), Error> {
    let sections = matrix.sections();
    let layout = Layout::new(S::NAME, &matrix.summary(), &sections);
    replace_file(path, |file| {
        let head = layout.to_bytes();
        file.write_all(&head)?;
        let mut at = head.len();
        for section in &sections {
            file.write_all(&padding(at))?;
            at += padding(at).len() + section.bytes.len();
            file.write_all(&little_endian(section.bytes, section.element.width()))?;
        }
        Ok(())
    })
}

/// Reads a matrix from a container, which is mapped where that is possible: do not truncate it meanwhile,
/// because a process that reads a map behind the end of its file is ended by the system. The values are rounded
/// when the file has them in a higher precision. In parallel, O(bytes).
///
/// # Errors
/// When the file cannot be read, with what the system said; when it is no container, is of a later version,
/// holds another format, is truncated or altered, or holds arrays that are no matrix, with which of these it is.
pub fn read_container<T: Real>(path: impl AsRef<Path>) -> Result<Csr<T>, Error> {
    let path = path.as_ref();
    let (matrix, _) = parse(&Contents::of(path)?, path, &ReadOptions::default())?;
    Ok(matrix)
}

/// Reads a matrix from the bytes of a container.
pub(super) fn parse<T: Real>(bytes: &[u8], name: &Path, options: &ReadOptions<'_>) -> Result<(Csr<T>, Header), Error> {
    options.report(0, bytes.len() as u64);
    let read = || {
        let layout = Layout::parse(bytes)?;
        let mut sections = Sections(layout.arrays(bytes)?);
        let matrix = match layout.format() {
            <Csr<T> as Stored>::NAME => Csr::from_sections(&layout.summary, &mut sections)?,
            format => return Err(format!("holds a matrix in the format '{format}', which is not known")),
        };
        match sections.0.first() {
            Some(surplus) => Err(format!("section '{}' is not part of the format {}", surplus.name, layout.format())),
            None => Ok((matrix, layout)),
        }
    };
    let (matrix, Layout { summary, .. }) = read().map_err(|reason| Error::contents(name, reason))?;
    options.report(bytes.len() as u64, bytes.len() as u64);
    let header = Header {
        field: Field::Real,
        symmetry: Symmetry::General,
        rows: summary.rows,
        columns: summary.columns,
        entries: summary.stored as u64,
    };
    Ok((matrix, header))
}
