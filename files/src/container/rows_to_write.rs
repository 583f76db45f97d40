//! A part of a container: some rows of a matrix.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::CSR;
use super::layout::{Layout, Outline, checksum};
use super::rows::{ARRAYS, PartSum, combined};
use super::summary::Summary;
use crate::binary::{ElementType, little_endian};
use crate::number::Number;
use host::error::Error;
use host::format::{Csr, Offsets};

/// Offsets that are made at a time.
const OFFSETS_AT_ONCE: usize = 1 << 9;

/// A writer's part of a container in CSR: some rows. The parts of all writers together are the file that
/// [`write_container`](crate::write_container) writes.
pub struct RowsToWrite<'a, T: Number> {
    matrix: &'a Csr<T>,
    first_row: u64,
    first_entry: u64,
    summary: Summary,
    /// Whether the offset after these rows is part of them.
    last: bool,
}

impl<'a, T: Number> RowsToWrite<'a, T> {
    /// Rows of a matrix of `rows` rows and `entries` entries, preceded by `first_row` rows and `first_entry` entries; `last`
    /// must be set for exactly one writer, whose rows end the arrays.
    ///
    /// # Errors
    /// When the numbers are too large for the machine.
    pub fn new(
        matrix: &'a Csr<T>,
        [rows, entries]: [u64; 2],
        [first_row, first_entry]: [u64; 2],
        last: bool,
    ) -> Result<Self, Error> {
        let counted = |what, value: u64| {
            let limit = usize::MAX as u128;
            usize::try_from(value).map_err(|_| Error::TooLarge { what, value: value.into(), limit })
        };
        let summary = Summary {
            rows: counted("number of rows", rows)?,
            columns: matrix.columns(),
            stored: counted("number of entries", entries)?,
            values: T::TYPE,
            offset_width: Offsets::width_for(entries.into()),
        };
        Ok(Self { matrix, first_row, first_entry, summary, last })
    }

    /// The checksums of the parts of each array.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn sums(&self) -> Result<[PartSum; 3], Error> {
        let (mut offsets, mut bytes) = (crc32fast::Hasher::new(), 0);
        self.offsets(|part| {
            offsets.update(part);
            bytes += part.len() as u64;
            Ok::<_, Error>(())
        })?;
        let [columns, values] = self.arrays();
        let sum = |part: &[u8]| Ok::<_, Error>([checksum(part)?.into(), part.len() as u64]);
        Ok([[offsets.finalize().into(), bytes], sum(&columns)?, sum(&values)?])
    }

    /// Writes the part to a file. `sums` are the [sums](Self::sums) of the parts of all writers, in order; `head` tells
    /// whether to write the head before the arrays, which exactly one writer does. The zeros between the arrays are left to
    /// the file system.
    ///
    /// # Errors
    /// The system's error; also when memory runs out.
    pub fn write(&self, file: &File, sums: &[[PartSum; 3]], head: bool) -> io::Result<()> {
        let Summary { rows, stored, values, offset_width, .. } = self.summary;
        let offsets = if offset_width == 4 { ElementType::Uint32 } else { ElementType::Uint64 };
        let arrays = [(offsets, rows as u64 + 1), (ElementType::Uint32, stored as u64), (values, stored as u64)];
        let outlines = [0, 1, 2].map(|array| {
            let (element, elements) = arrays[array];
            let of_parts: Vec<_> = sums.iter().map(|sums| sums[array]).collect();
            Outline { name: ARRAYS[array], element, elements, checksum: combined(&of_parts) }
        });
        let layout = Layout::of_outlines(CSR, &self.summary, &outlines);
        let mut writer = BufWriter::new(file);
        if head {
            // Nobody writes the zeros before an empty array.
            file.set_len(layout.length())?;
            writer.seek(SeekFrom::Start(0))?;
            writer.write_all(&layout.to_bytes())?;
        }
        writer.seek(SeekFrom::Start(layout.begin(0) + self.first_row * offset_width as u64))?;
        self.offsets(|part| writer.write_all(part))?;
        let widths = [ElementType::Uint32.width(), values.width()];
        for (array, (bytes, width)) in self.arrays().iter().zip(widths).enumerate() {
            writer.seek(SeekFrom::Start(layout.begin(array + 1) + self.first_entry * width as u64))?;
            writer.write_all(bytes)?;
        }
        writer.flush()
    }

    /// The columns and the values as bytes of the file.
    fn arrays(&self) -> [std::borrow::Cow<'_, [u8]>; 2] {
        let columns = little_endian(bytemuck::cast_slice(self.matrix.column_indices()), size_of::<u32>());
        [columns, little_endian(bytemuck::cast_slice(self.matrix.values()), T::TYPE.part_width())]
    }

    /// The offsets as bytes of the file, some at a time.
    fn offsets<E>(&self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let (count, width) = (self.matrix.rows() + usize::from(self.last), self.summary.offset_width);
        let mut bytes = [0; OFFSETS_AT_ONCE * size_of::<u64>()];
        for begin in (0..count).step_by(OFFSETS_AT_ONCE) {
            let rows = begin..count.min(begin + OFFSETS_AT_ONCE);
            let part = &mut bytes[..rows.len() * width];
            for (row, to) in rows.zip(part.chunks_exact_mut(width)) {
                let offset = self.first_entry + self.matrix.row_offsets().get(row) as u64;
                to.copy_from_slice(&offset.to_le_bytes()[..width]);
            }
            take(part)?;
        }
        Ok(())
    }
}
