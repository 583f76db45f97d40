//! Arrangement of a part's entries: which pairs are stored once and by which of their two rows, and the step in which
//! each entry is multiplied.

use gpu_kernels::clustered::{NO_ENTRY, NO_ROW};

use super::steps::{Assigned, Rows, WARPS, WARPS_AT_A_TIME};
use crate::error::Error;
use crate::format::Csr;
use crate::format::clustered::ROWS;
use crate::format::clustered::parts::has_few_columns;
use crate::memory::{copy, filled, same_bits, with_capacity, zeros};
use crate::real::Scalar;

/// Mark of a column that belongs to no row of the part.
const NONE: u16 = u16::MAX;

/// A part with its slots.
pub(super) struct Arrangement<T> {
    /// Slices of each warp.
    pub warps: [u32; WARPS],
    /// Row at each position.
    pub row_numbers: Vec<u32>,
    /// Columns that belong to no row, or have an entry without an image. Ascending.
    pub halo: Vec<u32>,
    /// Width of each slice.
    pub widths: Vec<u32>,
    /// Words of all slices, in order.
    pub words: Vec<u32>,
    /// Values of all slices.
    pub values: Vec<T>,
}

/// A part whose entries have no slots yet.
struct Gathered {
    /// Its rows, ascending.
    rows: Vec<u32>,
    /// Indices into the list of rows, those with the most entries first.
    order: Vec<u16>,
    /// Columns that need a separate element.
    halo: Vec<u32>,
    /// Stored entries, in that order of rows.
    entries: Rows,
}

/// Data that a thread reuses from part to part.
pub(super) struct Arranger<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// Number of each column in the list of the latest part; empty if there would be too many.
    numbers: Vec<u16>,
    /// Bytes of an element in shared memory.
    element_bytes: usize,
    /// Largest number of elements of a part.
    most_elements: usize,
}

/// Columns of entries, by their numbers in the list of the part.
struct Numbers {
    /// Number of entries of all rows before each row, then of all rows.
    begins: Vec<usize>,
    numbers: Vec<u16>,
}

impl Numbers {
    /// Returns the numbers of a row.
    fn of(&self, row: usize) -> &[u16] {
        &self.numbers[self.begins[row]..self.begins[row + 1]]
    }
}

/// Entries of the part's rows in columns of other rows of the part.
struct Inside {
    /// Number of these of all rows before each row, then of all rows.
    begins: Vec<usize>,
    /// Row whose column it is.
    others: Vec<u16>,
    /// Column, by its number in the list of the part.
    columns: Vec<u16>,
    /// Index of the entry that mirrors it: another of these, or itself if there is none.
    images: Vec<usize>,
    /// Whether it is stored, for itself or for the pair.
    kept: Vec<bool>,
}

impl<'a, T: Scalar> Arranger<'a, T> {
    /// Requires that each row of the matrix is sorted by column, without duplicates.
    pub fn new(matrix: &'a Csr<T>, element_bytes: usize, most_elements: usize) -> Result<Self, Error> {
        let numbers = zeros(if has_few_columns(matrix) { 0 } else { matrix.columns() })?;
        Ok(Self { matrix, numbers, element_bytes, most_elements })
    }

    /// Returns the cost of each of [`WARPS_AT_A_TIME`] for the part of these rows and columns; 0 if it has too many
    /// elements.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn costs(&mut self, rows: &[u32], columns: &[u32]) -> Result<[usize; WARPS_AT_A_TIME.len()], Error> {
        match self.gather(rows, columns)? {
            Some(part) => part.entries.costs(self.element_bytes),
            None => Ok(Default::default()),
        }
    }

    /// Arranges the part of these rows, padded with [`NO_ROW`], and these columns, ascending, for `warps` warps that
    /// multiply at a time; returns `None` if it has too many elements.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn arrange(&mut self, rows: &[u32], columns: &[u32], warps: usize) -> Result<Option<Arrangement<T>>, Error> {
        let Some(Gathered { rows, order, halo, entries }) = self.gather(rows, columns)? else { return Ok(None) };
        let Assigned { warps, slices, widths, words, entries } = entries.assign(self.element_bytes, warps)?;
        let mut row_numbers = filled(slices.len() * ROWS, NO_ROW)?;
        for (slice, numbers) in slices.into_iter().zip(row_numbers.chunks_exact_mut(ROWS)) {
            let of_slice = order.iter().skip(slice as usize * ROWS);
            of_slice.zip(numbers).for_each(|(&row, number)| *number = rows[row as usize]);
        }
        let mut values = filled(2 * words.len(), T::ZERO)?;
        for (number, (value, &entry)) in values.iter_mut().zip(&entries).enumerate() {
            if words[number / 2] >> (16 * (number % 2)) & NO_ENTRY != NO_ENTRY {
                *value = self.matrix.values()[entry];
            }
        }
        Ok(Some(Arrangement { warps, row_numbers, halo, widths, words, values }))
    }

    /// Determines which entries of the part are stored, and by which row.
    fn gather(&mut self, rows: &[u32], columns: &[u32]) -> Result<Option<Gathered>, Error> {
        let mut rows = copy(rows)?;
        rows.retain(|&row| row != NO_ROW);
        rows.sort_unstable();
        if !self.numbers.is_empty() {
            columns.iter().zip(0..).for_each(|(&column, number)| self.numbers[column as usize] = number);
        }
        let numbers = self.numbers(&rows, columns)?;
        let rows_of_columns = rows_of_columns(self.matrix, &rows, columns)?;
        let mut inside = self.inside(&rows, &numbers, &rows_of_columns)?;
        let lengths = self.orient(&rows, &mut inside)?;

        // Longest first, so rows of a slice have similar lengths.
        let mut order = with_capacity(rows.len())?;
        order.extend(0..rows.len() as u16);
        order.sort_by_key(|&row| usize::MAX - lengths[row as usize]);
        let mut positions = zeros::<u16>(rows.len())?;
        order.iter().zip(0..).for_each(|(&row, position)| positions[row as usize] = position);

        let (halo, halo_numbers) = halo(columns, &rows_of_columns, &inside)?;
        let of_rows = rows.len().next_multiple_of(ROWS);
        if 2 * of_rows + halo.len() > self.most_elements {
            return Ok(None);
        }
        let mut of_part = Rows::new(of_rows, lengths.iter().sum())?;
        for &row in &order {
            let mut of_row = inside.begins[row as usize]..inside.begins[row as usize + 1];
            let entries = self.matrix.range(rows[row as usize] as usize);
            for (entry, &column) in entries.zip(numbers.of(row.into())) {
                let column = usize::from(column);
                let of_halo = || of_rows as u32 + u32::from(halo_numbers[column]);
                let local = match rows_of_columns[column] {
                    NONE => of_halo(),
                    own if own == row => positions[row as usize].into(),
                    other => {
                        let place = of_row.next().expect("the entry is one of those inside");
                        match (inside.images[place] == place, inside.kept[place]) {
                            (true, _) => of_halo(),
                            (false, true) => positions[other as usize].into(),
                            (false, false) => continue,
                        }
                    }
                };
                of_part.push(local, entry);
            }
            of_part.end_row();
        }
        Ok(Some(Gathered { rows, order, halo, entries: of_part }))
    }

    /// Returns the columns of the rows' entries, by their numbers in the list of the part.
    fn numbers(&self, rows: &[u32], columns: &[u32]) -> Result<Numbers, Error> {
        let number_of = |column: u32| match self.numbers.get(column as usize) {
            Some(&number) => number,
            None => columns.partition_point(|&other| other < column) as u16,
        };
        let ranges = || rows.iter().map(|&row| self.matrix.range(row as usize));
        let (mut begins, mut numbers) =
            (with_capacity(rows.len() + 1)?, with_capacity(ranges().map(|row| row.len()).sum())?);
        begins.push(0);
        for row in ranges() {
            numbers.extend(self.matrix.column_indices()[row].iter().map(|&column| number_of(column)));
            begins.push(numbers.len());
        }
        Ok(Numbers { begins, numbers })
    }

    /// Returns the entries of rows in columns of other rows, and their images.
    fn inside(&self, rows: &[u32], numbers: &Numbers, rows_of_columns: &[u16]) -> Result<Inside, Error> {
        let nnz = numbers.numbers.len();
        let (mut begins, mut rows_of) = (with_capacity(rows.len() + 1)?, with_capacity(nnz)?);
        let (mut others, mut entries, mut columns) = (with_capacity(nnz)?, with_capacity(nnz)?, with_capacity(nnz)?);
        begins.push(0);
        for (row, &number) in (0..).zip(rows) {
            for (entry, &column) in self.matrix.range(number as usize).zip(numbers.of(row.into())) {
                let other = rows_of_columns[column as usize];
                if other != NONE && other != row {
                    rows_of.push(row);
                    others.push(other);
                    entries.push(entry);
                    columns.push(column);
                }
            }
            begins.push(entries.len());
        }
        // Rows and columns ascend, so the entries of each column come in the order of the row of that number.
        let mut next = copy(&begins)?;
        let mut images: Vec<usize> = with_capacity(entries.len())?;
        images.extend(0..entries.len());
        for (place, (&row, &column)) in rows_of.iter().zip(&others).enumerate() {
            let of_column = begins[column as usize + 1];
            let next = &mut next[column as usize];
            while *next < of_column && others[*next] < row {
                *next += 1;
            }
            let value = |place: usize| self.matrix.values()[entries[place]];
            if *next < of_column && others[*next] == row && same_bits(&[value(place)], &[value(*next)]) {
                images[place] = *next;
            }
        }
        let kept = filled(entries.len(), true)?;
        Ok(Inside { begins, others, columns, images, kept })
    }

    /// Gives each row half of its pairs, as nearly as a greedy pass can, and returns how many entries each row then
    /// has. So a sum gets no more from other rows than its own row has entries, and no step has to wait long for it.
    fn orient(&self, rows: &[u32], inside: &mut Inside) -> Result<Vec<usize>, Error> {
        let Inside { begins, others, images, kept, .. } = inside;
        let (mut lengths, mut wanted) = (with_capacity(rows.len())?, with_capacity(rows.len())?);
        for (row, &number) in rows.iter().enumerate() {
            let pairs = (begins[row]..begins[row + 1]).filter(|&place| images[place] != place).count();
            lengths.push(self.matrix.range(number as usize).len() - pairs);
            // Twice the number wanted, to stay an integer.
            wanted.push(pairs as isize);
        }
        for row in 0..rows.len() {
            for place in begins[row]..begins[row + 1] {
                let other = usize::from(others[place]);
                if images[place] != place && row < other {
                    let is_mine = wanted[row] >= wanted[other];
                    let owner = if is_mine { row } else { other };
                    lengths[owner] += 1;
                    wanted[owner] -= 2;
                    kept[if is_mine { images[place] } else { place }] = false;
                }
            }
        }
        Ok(lengths)
    }
}

/// Returns the columns that need a separate element, and the number of each of the part's columns among them.
fn halo(columns: &[u32], rows_of_columns: &[u16], inside: &Inside) -> Result<(Vec<u32>, Vec<u16>), Error> {
    let mut needed = with_capacity(columns.len())?;
    needed.extend(rows_of_columns.iter().map(|&row| row == NONE));
    for (place, &column) in inside.columns.iter().enumerate() {
        if inside.images[place] == place {
            needed[column as usize] = true;
        }
    }
    let (mut halo, mut numbers) = (with_capacity(columns.len())?, with_capacity(columns.len())?);
    for (&column, needed) in columns.iter().zip(needed) {
        numbers.push(halo.len() as u16);
        if needed {
            halo.push(column);
        }
    }
    halo.shrink_to_fit();
    Ok((halo, numbers))
}

/// Returns which of the part's rows has the number of each column. Only a square matrix has such rows.
fn rows_of_columns<T: Scalar>(matrix: &Csr<T>, rows: &[u32], columns: &[u32]) -> Result<Vec<u16>, Error> {
    let mut found = filled(columns.len(), NONE)?;
    if matrix.rows() == matrix.columns() {
        let mut rows = rows.iter().zip(0..).peekable();
        for (&column, found) in columns.iter().zip(&mut found) {
            while rows.next_if(|&(&row, _)| row < column).is_some() {}
            if let Some((_, row)) = rows.next_if(|&(&row, _)| row == column) {
                *found = row;
            }
        }
    }
    Ok(found)
}
