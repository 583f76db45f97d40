//! Columns of slots of a part, first in the order of the steps, then slice by slice.

use gpu_kernels::clustered::NO_ENTRY;

use super::steps::WARPS;
use crate::error::Error;
use crate::format::assembly::begins;
use crate::format::clustered::{ROWS, WORDS, lane_of};
use crate::memory::{copy, reserve, zeros};

/// An entry of a row.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Its column, by its number in the part.
    pub column: u16,
    /// Its index in the row of the matrix.
    pub in_row: u16,
}

/// Columns of slots in the order of the steps.
#[derive(Default)]
pub(super) struct Slots {
    /// Slice of each column of slots.
    slices: Vec<u32>,
    /// Words of each column of slots.
    words: Vec<u32>,
    /// Index of each entry in its row of the matrix; arbitrary where there is no entry.
    in_rows: Vec<u16>,
}

/// The slots of a part, whose slices have been given to warps.
pub(super) struct Assigned {
    /// Slices of each warp.
    pub warps: [u32; WARPS],
    /// Slices in the order of the warps, by their previous numbers.
    pub slices: Vec<u32>,
    /// Widths of the slices, in this order.
    pub widths: Vec<u32>,
    /// Number of each slice in this order.
    new_numbers: Vec<u32>,
    slots: Slots,
}

impl Slots {
    /// Removes all columns of slots.
    pub fn clear(&mut self) {
        self.slices.clear();
        self.words.clear();
        self.in_rows.clear();
    }

    /// Appends an empty column of slots of a slice, and returns its number.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn push(&mut self, slice: usize) -> Result<usize, Error> {
        let place = self.slices.len();
        reserve(&mut self.slices, 1)?;
        self.slices.push(slice as u32);
        reserve(&mut self.words, WORDS)?;
        self.words.resize((place + 1) * WORDS, NO_ENTRY << 16 | NO_ENTRY);
        reserve(&mut self.in_rows, ROWS)?;
        self.in_rows.resize((place + 1) * ROWS, 0);
        Ok(place)
    }

    /// Stores the entry of a row of the slice in a column of slots, whose slot of this row is empty.
    pub fn set(&mut self, place: usize, row: usize, entry: Entry) {
        let (lane, half) = lane_of(row);
        let word = &mut self.words[place * WORDS + lane];
        *word = *word & !(NO_ENTRY << (16 * half)) | u32::from(entry.column) << (16 * half);
        self.in_rows[place * ROWS + 2 * lane + half] = entry.in_row;
    }

    /// The number of slots.
    pub fn count(&self) -> usize {
        self.in_rows.len()
    }

    fn copied(&self) -> Result<Self, Error> {
        Ok(Self { slices: copy(&self.slices)?, words: copy(&self.words)?, in_rows: copy(&self.in_rows)? })
    }
}

impl Assigned {
    /// The slices in the order of their warps, with their slots, from those in the order in which warps got them, and the
    /// warp of each.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(slots: &Slots, given: &[u32], warp_of: &[u8]) -> Result<Self, Error> {
        let mut warps = [0_u32; WARPS];
        warp_of.iter().for_each(|&warp| warps[usize::from(warp)] += 1);
        let mut next = warps;
        begins(&mut next);
        let (mut slices, mut new_numbers) = (zeros::<u32>(given.len())?, zeros::<u32>(given.len())?);
        for &slice in given {
            let next = &mut next[usize::from(warp_of[slice as usize])];
            slices[*next as usize] = slice;
            new_numbers[slice as usize] = *next;
            *next += 1;
        }
        let mut widths = zeros::<u32>(slices.len())?;
        slots.slices.iter().for_each(|&slice| widths[new_numbers[slice as usize] as usize] += 1);
        Ok(Self { warps, slices, widths, new_numbers, slots: slots.copied()? })
    }

    /// Number of words.
    pub fn words(&self) -> usize {
        self.slots.words.len()
    }

    /// Writes the words slice by slice, with the positions of the new order. Calls `visit` with each entry: the number
    /// of its slot, its previous position, and its index in its row of the matrix.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn write(&self, words: &mut [u32], mut visit: impl FnMut(usize, usize, u16)) -> Result<(), Error> {
        let Self { new_numbers, widths, slots, .. } = self;
        let mut next = copy(widths)?;
        begins(&mut next);
        // Columns of slots slice by slice, so that few rows of the matrix are read at a time.
        let mut order = zeros::<u32>(slots.slices.len())?;
        for (place, &slice) in (0..).zip(&slots.slices) {
            let next = &mut next[new_numbers[slice as usize] as usize];
            order[*next as usize] = place;
            *next += 1;
        }
        let of_position = |column: u32| match new_numbers.get(column as usize / ROWS) {
            Some(number) => number * ROWS as u32 + column % ROWS as u32,
            None => column,
        };
        for (to, (words, &place)) in words.chunks_exact_mut(WORDS).zip(&order).enumerate() {
            let place = place as usize;
            let first = slots.slices[place] as usize * ROWS;
            let own = slots.words[place * WORDS..][..WORDS].iter();
            let in_rows = slots.in_rows[place * ROWS..][..ROWS].as_chunks::<2>().0;
            for (lane, ((word, &own), in_rows)) in words.iter_mut().zip(own).zip(in_rows).enumerate() {
                *word = of_position(own >> 16) << 16 | of_position(own & NO_ENTRY);
                for (half, &in_row) in in_rows.iter().enumerate() {
                    if own >> (16 * half) & NO_ENTRY != NO_ENTRY {
                        visit(to * ROWS + 2 * lane + half, first + half * WORDS + lane, in_row);
                    }
                }
            }
        }
        Ok(())
    }
}
