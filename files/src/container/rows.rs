//! A container shared by several readers, each of which reads some of its rows.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::layout::{Layout, checksum};
use super::summary::Summary;
use super::{CSR, check_values, field_of};
use crate::binary::{Array, ElementType};
use crate::contents::Contents;
use crate::header::{Header, Symmetry};
use crate::number::Number;
use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory::collect;

/// The arrays of CSR, in the order of a file.
pub(super) const ARRAYS: [&str; 3] = ["row_offsets", "column_indices", "values"];

/// CRC-32 of some bytes, and their number.
pub type PartSum = [u64; 2];

/// A container with a CSR matrix, shared by several readers, each of which reads some of its rows: if the file can be
/// mapped, only the bytes of the header and of these rows are accessed.
///
/// The checksums in the file are of whole arrays: readers of all rows together [combine](Self::check_entry_sums)
/// theirs.
pub struct ContainerRows {
    path: PathBuf,
    contents: Contents,
    layout: Layout,
    /// The indices of the arrays in the table.
    sections: [usize; 3],
}

impl ContainerRows {
    /// The rows of a container; or its contents and its storage format, if that is not CSR.
    pub(crate) fn new(contents: Contents, path: &Path) -> Result<Result<Self, (Contents, String)>, Error> {
        let parse = || {
            let layout = Layout::parse(&contents)?;
            if layout.format() != CSR {
                return Ok(Err(layout.format().to_owned()));
            }
            let sections = check(&layout, &contents)?;
            Ok(Ok((layout, sections)))
        };
        Ok(match parse().map_err(|reason: String| Error::contents(path, reason))? {
            Ok((layout, sections)) => Ok(Self { path: path.into(), layout, sections, contents }),
            Err(format) => Err((contents, format)),
        })
    }

    /// The header of the matrix.
    pub fn header(&self) -> Header {
        let Summary { rows, columns, stored, values, .. } = self.layout.summary;
        Header { field: field_of(values), symmetry: Symmetry::General, rows, columns, entries: stored as u64 }
    }

    /// Checks that the values can be read as `T`.
    ///
    /// # Errors
    /// When the values are complex and `T` is not, or they are neither real nor complex numbers.
    pub fn check_values<T: Number>(&self) -> Result<(), Error> {
        check_values::<T>(self.layout.summary.values).map_err(|reason| self.wrong(reason))
    }

    fn wrong(&self, reason: impl Into<String>) -> Error {
        Error::contents(&self.path, reason)
    }

    /// One of the arrays.
    fn array(&self, place: usize) -> Array<'_> {
        self.layout.unchecked_arrays(&self.contents).swap_remove(self.sections[place])
    }

    /// The checksum of some offsets, of which there is one more than rows.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// When the range exceeds the offsets.
    pub fn offset_sum(&self, offsets: Range<u64>) -> Result<PartSum, Error> {
        sum_of(&self.array(0).part(offsets.start as usize..offsets.end as usize))
    }

    /// Checks the [sums](Self::offset_sum) of ranges that cover all offsets, in order.
    ///
    /// # Errors
    /// When the file has been altered.
    pub fn check_offset_sums(&self, sums: &[PartSum]) -> Result<(), Error> {
        self.check_sums(0, sums)
    }

    fn check_sums(&self, array: usize, sums: &[PartSum]) -> Result<(), Error> {
        let found = combined(sums);
        self.layout.check_sum(self.sections[array], found).map_err(|reason| self.wrong(reason))
    }

    /// Start of each row of a range, followed by the end of the last one, in the arrays of the whole matrix. The result
    /// is ascending, and within the number of entries.
    ///
    /// # Errors
    /// When these are not valid row offsets, or memory runs out.
    ///
    /// # Panics
    /// When the range exceeds the rows.
    pub fn offsets(&self, rows: Range<u64>) -> Result<Vec<u64>, Error> {
        let Summary { rows: all, stored, .. } = self.layout.summary;
        let part = self.array(0).part(rows.start as usize..rows.end as usize + 1);
        let offsets = part.wide_offsets().map_err(|reason| self.wrong(reason))?;
        let wrong = |row: u64, reason: String| Err(self.wrong(format!("CSR: row {row} {reason}")));
        if let Some(place) = offsets.windows(2).position(|ends| ends[0] > ends[1]) {
            let row = rows.start + place as u64;
            return wrong(row, format!("begins at {} and ends at {}", offsets[place], offsets[place + 1]));
        }
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        if rows.start == 0 && first != 0 {
            return wrong(0, format!("begins at {first}, expected 0"));
        }
        if last > stored as u64 || rows.end == all as u64 && last != stored as u64 {
            return wrong(rows.end.saturating_sub(1), format!("ends at {last}, but there are {stored} entries"));
        }
        Ok(offsets)
    }

    /// The checksums of the columns and of the values of some entries.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// When the range exceeds the entries.
    pub fn entry_sums(&self, entries: Range<u64>) -> Result<[PartSum; 2], Error> {
        let entries = entries.start as usize..entries.end as usize;
        Ok([sum_of(&self.array(1).part(entries.clone()))?, sum_of(&self.array(2).part(entries))?])
    }

    /// Checks the [sums](Self::entry_sums) of ranges that cover all entries, in order.
    ///
    /// # Errors
    /// When the file has been altered.
    pub fn check_entry_sums(&self, sums: &[[PartSum; 2]]) -> Result<(), Error> {
        (0..2)
            .try_for_each(|array| self.check_sums(array + 1, &sums.iter().map(|sums| sums[array]).collect::<Vec<_>>()))
    }

    /// The rows with these [offsets](Self::offsets), as a matrix of their own with all columns. Values of another type
    /// are rounded.
    ///
    /// # Errors
    /// When a column is not less than the number of columns or a value is beyond the range of `T`, or memory runs out.
    ///
    /// # Panics
    /// When the offsets exceed the entries.
    pub fn rows<T: Number>(&self, offsets: &[u64]) -> Result<Csr<T>, Error> {
        let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
        let entries = first as usize..last as usize;
        let lengths = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let read = || {
            let columns = self.array(1).part(entries.clone()).exact::<u32>()?;
            let values = self.array(2).part(entries.clone()).values::<T>()?;
            let lengths = collect(lengths).map_err(|error| error.to_string())?;
            let offsets = Offsets::from_lengths(lengths.iter().copied()).map_err(|error| error.to_string())?;
            Csr::try_new(lengths.len(), self.layout.summary.columns, offsets, columns, values)
                .map_err(|error| error.to_string())
        };
        read().map_err(|reason| self.wrong(reason))
    }
}

/// Checks that a file has exactly the arrays of CSR, with the lengths given in the header.
fn check(layout: &Layout, bytes: &[u8]) -> Result<[usize; 3], String> {
    let Summary { rows, stored, values, offset_width, .. } = layout.summary;
    let offsets = if offset_width == 8 { ElementType::Uint64 } else { ElementType::Uint32 };
    let expected = [(offsets, rows as u128 + 1), (ElementType::Uint32, stored as u128), (values, stored as u128)];
    let arrays = layout.unchecked_arrays(bytes);
    let mut sections = [0; 3];
    for ((name, (element, length)), place) in ARRAYS.into_iter().zip(expected).zip(&mut sections) {
        *place = layout.section(name).ok_or_else(|| format!("there is no section '{name}'"))?;
        let array = &arrays[*place];
        if array.element != element {
            let (found, expected) = (array.element.name(), element.name());
            return Err(format!("section '{name}' is of type {found}, expected {expected}"));
        }
        if array.len() as u128 != length {
            return Err(format!("section '{name}' has {} elements, expected {length}", array.len()));
        }
    }
    match arrays.iter().find(|array| !ARRAYS.contains(&array.name)) {
        Some(surplus) => Err(format!("section '{}' is not part of the format {CSR}", surplus.name)),
        None if offset_width != offsets.width() => {
            Err(format!("the header has offsets of {offset_width} bytes, expected 4 or 8"))
        }
        None if arrays.len() > ARRAYS.len() => Err("a section is duplicated".into()),
        None => Ok(sections),
    }
}

fn sum_of(part: &Array<'_>) -> Result<PartSum, Error> {
    Ok([checksum(part.bytes)?.into(), part.bytes.len() as u64])
}

/// The checksum of the concatenated parts.
pub(super) fn combined(sums: &[PartSum]) -> u32 {
    let mut whole = crc32fast::Hasher::new();
    for &[sum, bytes] in sums {
        whole.combine(&crc32fast::Hasher::new_with_initial_len(sum as u32, bytes));
    }
    whole.finalize()
}
