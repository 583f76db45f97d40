//! Arrangement of a part's entries: which pairs are stored once and by which of their two rows, and the step in which
//! each entry is multiplied.

use gpu_kernels::clustered::NO_ROW;

use super::slots::{Assigned, Entry};
use super::steps::{Assignment, Rows, WARPS, WARPS_AT_A_TIME};
use crate::error::Error;
use crate::format::clustered::parts::{Kept, Parts, has_few_columns};
use crate::format::clustered::{MOST_NUMBERINGS, ROWS};
use crate::format::{Csr, PartSize};
use crate::memory::{clear_for, collect, copy, filled, refill, same_bits, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;

/// Mark of a column that belongs to no row of the part.
const NONE: u16 = u16::MAX;

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
    /// Its rows, those with the most entries first.
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

/// Columns of entries, by their numbers in the list of the part.
#[derive(Default)]
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
#[derive(Default)]
struct Inside {
    /// Number of these of all rows before each row, then of all rows.
    begins: Vec<usize>,
    /// Row whose column it is.
    others: Vec<u16>,
    /// Its index in its row of the matrix.
    in_rows: Vec<u16>,
    /// Column, by its number in the list of the part.
    columns: Vec<u16>,
    /// Index of the entry that mirrors it: another of these, or itself if there is none.
    images: Vec<u32>,
    /// Whether it is stored, for itself or for the pair.
    kept: Vec<bool>,
    /// For each row, the first of its entries that may mirror one of the rows to come.
    next: Vec<usize>,
}

impl Inside {
    /// Whether an entry has an image.
    fn has_image(&self, place: usize) -> bool {
        self.images[place] as usize != place
    }
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

    /// Determines which entries of the part are stored, and by which row.
    fn gather(&mut self, rows: &[u32], columns: &[u32]) -> Result<Option<Gathered>, Error> {
        let mut rows = copy(rows)?;
        rows.retain(|&row| row != NO_ROW);
        rows.sort_unstable();
        if !self.numbers_of_columns.is_empty() {
            columns.iter().zip(0..).for_each(|(&column, number)| self.numbers_of_columns[column as usize] = number);
        }
        self.find_numbers(&rows, columns)?;
        let rows_of_columns = rows_of_columns(self.matrix, &rows, columns)?;
        self.find_images(&rows, &rows_of_columns)?;
        let lengths = self.orient(&rows)?;

        // Longest first, so rows of a slice have similar lengths.
        let mut order = with_capacity(rows.len())?;
        order.extend(0..rows.len() as u16);
        order.sort_unstable_by_key(|&row| (usize::MAX - lengths[row as usize], row));
        let mut positions = zeros::<u16>(rows.len())?;
        order.iter().zip(0..).for_each(|(&row, position)| positions[row as usize] = position);

        let Self { matrix, numbers, inside, entries: of_part, .. } = self;
        let (halo, halo_numbers) = halo(columns, &rows_of_columns, inside)?;
        let of_rows = rows.len().next_multiple_of(ROWS);
        if 2 * of_rows + halo.len() > self.most_elements {
            return Ok(None);
        }
        of_part.restart(of_rows, of_rows + halo.len(), lengths.iter().sum())?;
        for &row in &order {
            let mut of_row = inside.begins[row as usize]..inside.begins[row as usize + 1];
            let entries = 0..matrix.range(rows[row as usize] as usize).len();
            for (entry, &column) in entries.zip(numbers.of(row.into())) {
                let column = usize::from(column);
                let of_halo = || of_rows as u16 + halo_numbers[column];
                let local = match rows_of_columns[column] {
                    NONE => of_halo(),
                    own if own == row => positions[row as usize],
                    other => {
                        let place = of_row.next().expect("the entry is one of those inside");
                        match (inside.has_image(place), inside.kept[place]) {
                            (false, _) => of_halo(),
                            (true, true) => positions[other as usize],
                            (true, false) => continue,
                        }
                    }
                };
                of_part.push(Entry { column: local, in_row: entry as u16 });
            }
            of_part.end_row();
        }
        of_part.end();
        let rows = collect(order.iter().map(|&row| rows[usize::from(row)]))?;
        Ok(Some(Gathered { rows, halo }))
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

    /// Finds the entries of rows in columns of other rows, and their images.
    fn find_images(&mut self, part_rows: &[u32], rows_of_columns: &[u16]) -> Result<(), Error> {
        let Self { matrix, numbers: of_part, inside, .. } = self;
        let Inside { begins, others, in_rows, columns, images, kept, next } = inside;
        let nnz = of_part.numbers.len();
        clear_for(begins, part_rows.len() + 1)?;
        for list in [&mut *others, in_rows, columns] {
            clear_for(list, nnz)?;
        }
        begins.push(0);
        for row in 0..part_rows.len() as u16 {
            for (in_row, &column) in (0..).zip(of_part.of(row.into())) {
                let other = rows_of_columns[column as usize];
                if other != NONE && other != row {
                    others.push(other);
                    in_rows.push(in_row);
                    columns.push(column);
                }
            }
            begins.push(others.len());
        }
        let count = others.len();
        clear_for(images, count)?;
        images.extend(0..count as u32);
        refill(kept, count, true)?;
        // Rows and columns ascend, so the entries of each column come in the order of the row of that number.
        clear_for(next, begins.len())?;
        next.extend_from_slice(begins);
        let begin_of = |row: usize| matrix.range(part_rows[row] as usize).start;
        for row in 0..part_rows.len() {
            let begin = begin_of(row);
            for place in begins[row]..begins[row + 1] {
                let other = usize::from(others[place]);
                let end = begins[other + 1];
                let next = &mut next[other];
                while *next < end && usize::from(others[*next]) < row {
                    *next += 1;
                }
                let value = |begin: usize, place: usize| matrix.values()[begin + usize::from(in_rows[place])];
                if *next < end
                    && usize::from(others[*next]) == row
                    && same_bits(&[value(begin, place)], &[value(begin_of(other), *next)])
                {
                    images[place] = *next as u32;
                }
            }
        }
        Ok(())
    }

    /// Gives each row half of its pairs, as nearly as a greedy pass can, and returns how many entries each row then
    /// has. So a sum gets no more from other rows than its own row has entries, and no step has to wait long for it.
    fn orient(&mut self, rows: &[u32]) -> Result<Vec<usize>, Error> {
        let inside = &mut self.inside;
        let (mut lengths, mut wanted) = (with_capacity(rows.len())?, with_capacity(rows.len())?);
        for (row, &number) in rows.iter().enumerate() {
            let own = inside.begins[row]..inside.begins[row + 1];
            let pairs = own.filter(|&place| inside.has_image(place)).count();
            lengths.push(self.matrix.range(number as usize).len() - pairs);
            // Twice the number wanted, to stay an integer.
            wanted.push(pairs as isize);
        }
        for row in 0..rows.len() {
            for place in inside.begins[row]..inside.begins[row + 1] {
                let other = usize::from(inside.others[place]);
                if row < other && inside.has_image(place) {
                    let is_mine = wanted[row] >= wanted[other];
                    let owner = if is_mine { row } else { other };
                    lengths[owner] += 1;
                    wanted[owner] -= 2;
                    inside.kept[if is_mine { inside.images[place] as usize } else { place }] = false;
                }
            }
        }
        Ok(lengths)
    }
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
