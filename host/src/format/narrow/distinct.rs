//! Distinct numbers of an array, if they are few.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::memory::{filled, with_capacity};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Largest number of values in a table.
pub(super) const MOST_DISTINCT: usize = 256;

/// Largest number of parts of an array whose distinct numbers are found concurrently.
const MOST_CHUNKS: usize = 64;

/// Slots of the hash table: four per number, so few collide.
const SLOTS: usize = 1024;

/// Mark of a free slot.
const FREE: u16 = u16::MAX;

/// Distinct numbers, by their bits.
pub(super) struct Distinct<T> {
    /// In the order of their bits, once all are known.
    pub numbers: Vec<T>,
    /// Index of each slot's number among these.
    slots: Vec<u16>,
}

impl<T: Scalar> Distinct<T> {
    /// Creates an empty set with room for all.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { numbers: with_capacity(MOST_DISTINCT)?, slots: filled(SLOTS, FREE)? })
    }

    /// Finds the distinct numbers, if they are not too many.
    pub fn of(numbers: &[T]) -> Result<Option<Self>, Error> {
        // Few chunks, because each has its own table.
        let at_once = numbers.len().div_ceil(MOST_CHUNKS).max(ROWS_AT_ONCE);
        let chunks = numbers.len().div_ceil(at_once);
        let too_many = AtomicBool::new(false);
        let found = parallel::map(chunks, 1, &|chunk| {
            let mut distinct = Self::new()?;
            let numbers = &numbers[chunk * at_once..numbers.len().min((chunk + 1) * at_once)];
            let mut pieces = numbers.chunks(ROWS_AT_ONCE);
            while !too_many.load(Ordering::Relaxed)
                && let Some(piece) = pieces.next()
            {
                if !piece.iter().all(|&number| distinct.insert(number)) {
                    too_many.store(true, Ordering::Relaxed);
                }
            }
            Ok::<_, Error>(distinct)
        })?;
        let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut all = Self::new()?;
        if too_many.into_inner() || !found.iter().flat_map(|distinct| &distinct.numbers).all(|&n| all.insert(n)) {
            return Ok(None);
        }
        all.sort();
        Ok(Some(all))
    }

    /// Sorts the numbers by their bits, so the table does not depend on the order in which they were found.
    pub fn sort(&mut self) {
        self.numbers.sort_unstable_by_key(|&number| number.bits());
        self.slots.fill(FREE);
        for place in 0..self.numbers.len() {
            let slot = self.slot(self.numbers[place]);
            self.slots[slot] = place as u16;
        }
    }

    /// Returns the slot of a number, or the free one where it would go.
    fn slot(&self, number: T) -> usize {
        let bits = number.bits();
        let folded = (bits ^ bits >> 64) as u64;
        let mut slot = (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
        while self.slots[slot] != FREE && self.numbers[usize::from(self.slots[slot])].bits() != bits {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    /// Adds a number, unless it is already there; returns `false` if it is one too many.
    pub fn insert(&mut self, number: T) -> bool {
        let slot = self.slot(number);
        if self.slots[slot] == FREE {
            if self.numbers.len() == MOST_DISTINCT {
                return false;
            }
            self.slots[slot] = self.numbers.len() as u16;
            self.numbers.push(number);
        }
        true
    }

    /// Returns the index of a number, or 0 if it is none of these.
    pub fn code(&self, number: T) -> u8 {
        match self.slots[self.slot(number)] {
            FREE => 0,
            place => place as u8,
        }
    }
}
