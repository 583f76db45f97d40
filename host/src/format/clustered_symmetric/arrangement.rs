//! Arrangement of a part's entries: which pairs are stored once and by which of their two rows, and the step in which
//! each entry is multiplied.

use std::cmp::Reverse;

use gpu_kernels::clustered::{NO_ENTRY, NO_ROW};
use gpu_kernels::convert::clustered_symmetric::LONGEST_IN_KEY;

use super::pairs::{Inside, NONE, Numbers};
use super::pieces::Pieces;
use super::slots::{Assigned, Entry};
use super::steps::{Assignment, Rows, WARPS, WARPS_AT_A_TIME};
use crate::error::Error;
use crate::format::clustered::parts::{Kept, Parts, has_few_columns};
use crate::format::clustered::{MOST_NUMBERINGS, ROWS};
use crate::format::{Csr, PartSize};
use crate::memory::{clear_for, collect, copy, filled, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// In place of the column of an entry: its image is stored for both.
const DROPPED: u16 = NO_ENTRY as u16;

/// Parts for which several numbers of warps are tried.
pub(super) const MOST_TRIED: usize = 16;

/// A part with its slots.
pub(super) struct Arrangement {
    pub slots: Assigned,
    /// Row of the matrix at each position before the slices were given to warps, without padding.
    rows: Vec<u32>,
    /// Columns that belong to no row, or have an entry without an image. Ascending.
    pub halo: Vec<u32>,
}

impl Arrangement {
    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.slots.slices.len() * ROWS
    }

    /// Number of elements in shared memory: x and y per position, x per column of the halo.
    pub fn elements(&self) -> usize {
        2 * self.positions() + self.halo.len()
    }

    /// The row at each position, or [`NO_ROW`].
    pub fn row_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let positions =
            self.slots.slices.iter().flat_map(|&slice| (0..ROWS).map(move |row| slice as usize * ROWS + row));
        positions.map(|position| self.rows.get(position).copied().unwrap_or(NO_ROW))
    }

    /// Writes the words and the values of all slots; `matrix` is the one that was arranged, and `values` are zeros.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn write<T: Scalar>(&self, matrix: &Csr<T>, words: &mut [u32], values: &mut [T]) -> Result<(), Error> {
        self.slots.write(words, |slot, position, in_row| {
            let begin = matrix.range(self.rows[position] as usize).start;
            values[slot] = matrix.values()[begin + usize::from(in_row)];
        })
    }
}

/// A part whose entries, in [`Arranger::entries`], have no slots yet.
struct Gathered {
    /// The row of each position, those with the most pieces first, then those with the longest.
    rows: Vec<u32>,
    /// Columns that need a separate element.
    halo: Vec<u32>,
}

/// Arranges parts one after another. Its largest arrays are kept: to return their memory to the system and get it cleared
/// takes longer than the work on it, above all on many threads.
pub(super) struct Arranger<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    /// Number of each column in the list of the latest part; empty if there would be too many.
    numbers_of_columns: Vec<u16>,
    /// Bytes of an element in shared memory.
    element_bytes: usize,
    /// Largest number of elements of a part.
    most_elements: usize,
    numbers: Numbers,
    inside: Inside,
    entries: Rows,
    assignment: Assignment,
}

impl<'a, T: Scalar> Arranger<'a, T> {
    /// Requires that each row of the matrix is sorted by column, without duplicates.
    pub fn new(matrix: &'a Csr<T>, element_bytes: usize, most_elements: usize) -> Result<Self, Error> {
        let numbers_of_columns = zeros(if has_few_columns(matrix) { 0 } else { matrix.columns() })?;
        let (numbers, inside, entries) = (Numbers::default(), Inside::default(), Rows::default());
        let assignment = Assignment::default();
        Ok(Self { matrix, numbers_of_columns, element_bytes, most_elements, numbers, inside, entries, assignment })
    }

    /// Returns the stored entries of the part of these rows and columns; `None` if it has too many elements.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_entries(mut self, (rows, columns): (&[u32], &[u32])) -> Result<Option<Rows>, Error> {
        let gathered = self.gather(rows, columns)?;
        Ok(gathered.map(|_| self.entries))
    }

    /// Arranges the part of these rows, padded with [`NO_ROW`], and these columns, ascending, for `warps` warps that
    /// multiply at a time; returns `None` if it has too many elements.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn arrange(&mut self, (rows, columns): (&[u32], &[u32]), warps: usize) -> Result<Option<Arrangement>, Error> {
        let Some(Gathered { rows, halo }) = self.gather(rows, columns)? else { return Ok(None) };
        self.assignment.run(&self.entries, self.element_bytes, warps)?;
        Ok(Some(Arrangement { slots: self.assignment.assigned()?, rows, halo }))
    }

    /// Determines which entries of the part are stored, and by which piece of a row.
    fn gather(&mut self, positions: &[u32], columns: &[u32]) -> Result<Option<Gathered>, Error> {
        let mut positions = copy(positions)?;
        positions.retain(|&row| row != NO_ROW);
        positions.sort_unstable();
        let pieces = Pieces::new(&positions)?;
        let rows = &pieces.rows[..];
        if !self.numbers_of_columns.is_empty() {
            columns.iter().zip(0..).for_each(|(&column, number)| self.numbers_of_columns[column as usize] = number);
        }
        self.find_numbers(rows, columns)?;
        let rows_of_columns = rows_of_columns(self.matrix, rows, columns)?;
        self.inside.find(self.matrix, rows, &self.numbers, &rows_of_columns)?;
        let lengths = self.inside.orient(self.matrix, &pieces)?;
        let (halo, halo_numbers) = halo(columns, &rows_of_columns, &self.inside)?;
        let of_rows = pieces.count().next_multiple_of(ROWS);
        if 2 * of_rows + halo.len() > self.most_elements {
            return Ok(None);
        }
        let order = order(&pieces, &lengths)?;
        let mut new_positions = zeros::<u16>(order.len())?;
        order.iter().zip(0..).for_each(|(&piece, position)| new_positions[usize::from(piece)] = position);
        self.find_columns(&pieces, &rows_of_columns, &new_positions, |column| of_rows as u16 + halo_numbers[column]);

        let Self { numbers, entries: of_part, .. } = self;
        of_part.restart(of_rows, of_rows + halo.len(), lengths.iter().sum())?;
        for &piece in &order {
            let (row, first) = pieces.row_of(piece.into());
            for (in_row, &column) in numbers.of(row).iter().enumerate().skip(first).step_by(pieces.count_of(row)) {
                if column != DROPPED {
                    of_part.push(Entry { column, in_row: in_row as u16 });
                }
            }
            of_part.end_row();
        }
        of_part.end();
        let rows = collect(order.iter().map(|&piece| rows[pieces.row_of(piece.into()).0]))?;
        Ok(Some(Gathered { rows, halo }))
    }

    /// Replaces the number of each entry's column by its column among those of the part, or [`DROPPED`].
    fn find_columns(
        &mut self,
        pieces: &Pieces,
        rows_of_columns: &[u16],
        new_positions: &[u16],
        of_halo: impl Fn(usize) -> u16,
    ) {
        let Self { numbers: Numbers { begins, numbers }, inside, .. } = self;
        let mut places = 0..inside.others.len();
        for row in 0..pieces.rows.len() {
            for (number, in_row) in numbers[begins[row]..begins[row + 1]].iter_mut().zip(0..) {
                let column = usize::from(*number);
                *number = match rows_of_columns[column] {
                    NONE => of_halo(column),
                    own if usize::from(own) == row => new_positions[pieces.of_entry(row, in_row)],
                    other => {
                        let place = places.next().expect("the entry is one of those inside");
                        let image = inside.images[place] as usize;
                        match (inside.has_image(place), inside.kept[place]) {
                            (false, _) => of_halo(column),
                            (true, true) => new_positions[pieces.of_entry(other.into(), inside.in_rows[image])],
                            (true, false) => DROPPED,
                        }
                    }
                };
            }
        }
    }

    /// Finds the columns of the rows' entries, by their numbers in the list of the part.
    fn find_numbers(&mut self, rows: &[u32], columns: &[u32]) -> Result<(), Error> {
        let Self { matrix, numbers_of_columns, numbers: Numbers { begins, numbers }, .. } = self;
        let number_of = |column: u32| match numbers_of_columns.get(column as usize) {
            Some(&number) => number,
            None => columns.partition_point(|&other| other < column) as u16,
        };
        let ranges = || rows.iter().map(|&row| matrix.range(row as usize));
        clear_for(begins, rows.len() + 1)?;
        clear_for(numbers, ranges().map(|row| row.len()).sum())?;
        begins.push(0);
        for row in ranges() {
            numbers.extend(matrix.column_indices()[row].iter().map(|&column| number_of(column)));
            begins.push(numbers.len());
        }
        Ok(())
    }
}

/// Returns the pieces in the order of their positions, by the number of entries of each: those of a row stay adjacent, and
/// in one half of a slice, because their number is a power of two, and rows with more of them come first.
fn order(pieces: &Pieces, lengths: &[usize]) -> Result<Vec<u16>, Error> {
    let mut longest = zeros::<u32>(pieces.rows.len())?;
    for (piece, &length) in lengths.iter().enumerate() {
        let longest = &mut longest[pieces.row_of(piece).0];
        *longest = (*longest).max((length as u32).min(LONGEST_IN_KEY));
    }
    let mut order = with_capacity(pieces.count())?;
    order.extend(0..pieces.count() as u16);
    order.sort_unstable_by_key(|&piece| {
        let row = pieces.row_of(piece.into()).0;
        (Reverse((pieces.count_of(row), longest[row])), piece)
    });
    Ok(order)
}

/// Arranges all parts of a matrix with sorted rows and without duplicates, where an element takes `element_bytes`.
pub(super) fn arrange<T: Scalar>(
    matrix: &Csr<T>,
    size: PartSize,
    element_bytes: usize,
) -> Result<Vec<Arrangement>, Error> {
    // How many columns do not belong to rows of the part is only known once the images of entries are.
    let most = size.elements(element_bytes);
    for kept in [Kept::RowsAndHalo, Kept::RowsAndColumns] {
        if kept == Kept::RowsAndHalo && matrix.rows() != matrix.columns() {
            continue;
        }
        let parts = Parts::new(matrix, size, element_bytes, kept)?;
        let count = parts.count();
        let at_once = count.div_ceil(parallel::threads().min(MOST_NUMBERINGS)).max(1);
        let warps = warps_at_a_time(matrix, &parts, element_bytes, most)?;
        let arranged = parallel::map(count.div_ceil(at_once), 1, &|group| {
            let mut arranger = Arranger::new(matrix, element_bytes, most)?;
            let numbers = group * at_once..((group + 1) * at_once).min(count);
            let mut arranged = with_capacity(numbers.len())?;
            for part in numbers {
                match arranger.arrange(parts.of(part), warps)? {
                    Some(part) => arranged.push(part),
                    None => return Ok(None),
                }
            }
            Ok::<_, Error>(Some(arranged))
        })?;
        let mut all = with_capacity(count)?;
        for group in arranged {
            all.extend(group?.into_iter().flatten());
        }
        if all.len() == count {
            return Ok(all);
        }
    }
    unreachable!("parts have room for all of their columns")
}

/// Returns how many warps of each part multiply at a time: the cheapest number for a sample of parts, since all are
/// similar.
fn warps_at_a_time<T: Scalar>(
    matrix: &Csr<T>,
    parts: &Parts,
    element_bytes: usize,
    most_elements: usize,
) -> Result<usize, Error> {
    let count = parts.count();
    let tried = count.min(MOST_TRIED);
    let sample = parallel::map(tried, 1, &|number| {
        Arranger::new(matrix, element_bytes, most_elements)?.into_entries(parts.of(number * count / tried))
    })?;
    let mut sampled = with_capacity(tried)?;
    for rows in sample {
        sampled.extend(rows?);
    }
    let (mut least, mut cheapest) = (usize::MAX, WARPS);
    for warps in WARPS_AT_A_TIME {
        if sampled.iter().map(|rows| rows.least_cost(warps)).sum::<usize>() >= least {
            // Nor can fewer warps cost less.
            break;
        }
        let costs = parallel::map(sampled.len(), 1, &|number| {
            let mut assignment = Assignment::default();
            assignment.run(&sampled[number], element_bytes, warps)?;
            Ok(assignment.cost())
        })?;
        let cost = costs.into_iter().sum::<Result<usize, Error>>()?;
        if cost < least {
            (least, cheapest) = (cost, warps);
        }
    }
    Ok(cheapest)
}

/// Returns the columns that need a separate element, and the number of each of the part's columns among them.
fn halo(columns: &[u32], rows_of_columns: &[u16], inside: &Inside) -> Result<(Vec<u32>, Vec<u16>), Error> {
    let mut needed = with_capacity(columns.len())?;
    needed.extend(rows_of_columns.iter().map(|&row| row == NONE));
    for (place, &column) in inside.columns.iter().enumerate() {
        if !inside.has_image(place) {
            needed[column as usize] = true;
        }
    }
    let in_halo = needed.iter().filter(|&&needed| needed).count();
    let (mut halo, mut numbers) = (with_capacity(in_halo)?, with_capacity(columns.len())?);
    for (&column, needed) in columns.iter().zip(needed) {
        numbers.push(halo.len() as u16);
        if needed {
            halo.push(column);
        }
    }
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
