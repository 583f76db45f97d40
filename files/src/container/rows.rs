//! A container of which several readers read some rows each.

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

/// CRC-32 of some bytes, and how many they are.
pub type PartSum = [u64; 2];

/// A container with a matrix in CSR, of which several readers read some rows each: only the bytes of the header and of these
/// rows are looked at, where the file can be mapped.
///
/// The checksums of the file are those of whole arrays: readers of all rows together put theirs
/// [together](Self::check_entry_sums).
pub struct ContainerRows {
    path: PathBuf,
    contents: Contents,
    layout: Layout,
    /// The places of the arrays in the table.
    sections: [usize; 3],
}

impl ContainerRows {
    /// The rows of a container; or its contents again and the storage format that it has, which is not CSR.
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

    /// What the file says of its matrix.
    pub fn header(&self) -> Header {
        let Summary { rows, columns, stored, values, .. } = self.layout.summary;
        Header { field: field_of(values), symmetry: Symmetry::General, rows, columns, entries: stored as u64 }
    }

    /// Makes sure that `T` can be the type of the values.
    ///
    /// # Errors
    /// When the values are complex and `T` is not, or they are no real or complex numbers.
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

    /// The checksum of some offsets, of which there is one more than there are rows.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// When there are no such offsets.
    pub fn offset_sum(&self, offsets: Range<u64>) -> Result<PartSum, Error> {
        sum_of(&self.array(0).part(offsets.start as usize..offsets.end as usize))
    }

    /// Checks the [sums](Self::offset_sum) of ranges that are all offsets together, in their order.
    ///
    /// # Errors
    /// When the file is altered.
    pub fn check_offset_sums(&self, sums: &[PartSum]) -> Result<(), Error> {
        self.check_sums(0, sums)
    }

    fn check_sums(&self, array: usize, sums: &[PartSum]) -> Result<(), Error> {
        let found = combined(sums);
        self.layout.check_sum(self.sections[array], found).map_err(|reason| self.wrong(reason))
    }

    /// Where the entries of each row of a range begin, and where those of the last one end, in the arrays of the whole
    /// matrix: they ascend, and none is beyond the entries.
    ///
    /// # Errors
    /// When they are none of a matrix, or memory runs out.
    ///
    /// # Panics
    /// When there are no such rows.
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
            return wrong(rows.end.saturating_sub(1), format!("ends at {last}, and there are {stored} entries"));
        }
        Ok(offsets)
    }

    /// The checksums of the columns and of the values of some entries.
    ///
    /// # Errors
    /// When memory runs out.
    ///
    /// # Panics
    /// When there are no such entries.
    pub fn entry_sums(&self, entries: Range<u64>) -> Result<[PartSum; 2], Error> {
        let entries = entries.start as usize..entries.end as usize;
        Ok([sum_of(&self.array(1).part(entries.clone()))?, sum_of(&self.array(2).part(entries))?])
    }

    /// Checks the [sums](Self::entry_sums) of ranges that are all entries together, in their order.
    ///
    /// # Errors
    /// When the file is altered.
    pub fn check_entry_sums(&self, sums: &[[PartSum; 2]]) -> Result<(), Error> {
        (0..2)
            .try_for_each(|array| self.check_sums(array + 1, &sums.iter().map(|sums| sums[array]).collect::<Vec<_>>()))
    }

    /// The rows whose [offsets](Self::offsets) these are, as a matrix of their own with all columns. Values are rounded
    /// where they are of another type.
    ///
    /// # Errors
    /// When a column is not below their number or a value beyond the range of `T`, or memory runs out.
    ///
    /// # Panics
    /// When there are no such entries.
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

/// Makes sure that a file has the arrays of CSR, and no others, each as long as the header says.
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
            Err(format!("the header says offsets of {offset_width} bytes, expected 4 or 8"))
        }
        None if arrays.len() > ARRAYS.len() => Err("a section comes twice".into()),
        None => Ok(sections),
    }
}

fn sum_of(part: &Array<'_>) -> Result<PartSum, Error> {
    Ok([checksum(part.bytes)?.into(), part.bytes.len() as u64])
}

/// The checksum of bytes one part after the other.
pub(super) fn combined(sums: &[PartSum]) -> u32 {
    let mut whole = crc32fast::Hasher::new();
    for &[sum, bytes] in sums {
        whole.combine(&crc32fast::Hasher::new_with_initial_len(sum as u32, bytes));
    }
    whole.finalize()
}
