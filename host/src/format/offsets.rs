//! Row offsets, 32 or 64 bits wide.

use super::check::check_offsets;
use super::storage::ArrayVisitor;
use crate::error::Error;
use crate::executor::Executor;
use crate::memory::{Buffer, HostMemory, Memory, Transfer, collect, copy, zeros};

/// Largest offset that is stored in 32 bits. It leaves room for kernels to step past the last entry.
pub(crate) const LARGEST_NARROW: u32 = u32::MAX - (1 << 16);

/// Start of each row's entries in the arrays of a CSR matrix: `rows + 1` numbers, the first 0, never decreasing, the
/// last the number of stored entries. They are 32 bits wide as long as that number fits, because SpMV is bound by the
/// bytes it moves.
pub enum Offsets<M: Memory = HostMemory> {
    /// At most a little less than 2^32 stored entries.
    Narrow(M::Buffer<u32>),
    /// More entries than that.
    Wide(M::Buffer<u64>),
}

impl<M: Memory> Offsets<M> {
    /// Moves the offsets to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Offsets<N>, Error> {
        Ok(match self {
            Self::Narrow(offsets) => Offsets::Narrow(to.transfer(offsets)?),
            Self::Wide(offsets) => Offsets::Wide(to.transfer(offsets)?),
        })
    }

    /// Copies the offsets to the host's memory.
    pub(crate) fn to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Offsets, Error> {
        Ok(match self {
            Self::Narrow(offsets) => Offsets::Narrow(executor.download(offsets)?),
            Self::Wide(offsets) => Offsets::Wide(executor.download(offsets)?),
        })
    }

    /// Copies the offsets within their memory.
    ///
    /// # Errors
    /// When they belong to another executor, or memory runs out.
    pub fn duplicate<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        Ok(match self {
            Self::Narrow(offsets) => Self::Narrow(executor.duplicate(offsets)?),
            Self::Wide(offsets) => Self::Wide(executor.duplicate(offsets)?),
        })
    }

    /// Returns the offsets if they are 32 bits wide.
    ///
    /// # Errors
    /// When they are wider because `what` is `total`.
    pub(crate) fn narrow(self, what: &'static str, total: u64) -> Result<M::Buffer<u32>, Error> {
        match self {
            Self::Narrow(offsets) => Ok(offsets),
            Self::Wide(_) => Err(Error::TooLarge { what, value: total.into(), limit: LARGEST_NARROW.into() }),
        }
    }

    /// Returns the bytes of all offsets.
    pub fn bytes(&self) -> u128 {
        let offsets = match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        };
        offsets as u128 * self.width() as u128
    }

    /// Passes the offsets to a visitor.
    pub(super) fn show<'a>(&'a self, name: &'static str, visitor: &mut impl ArrayVisitor<'a, M>) {
        match self {
            Self::Narrow(offsets) => visitor.visit(name, offsets),
            Self::Wide(offsets) => visitor.visit(name, offsets),
        }
    }

    /// Returns the bytes of one offset.
    pub fn width(&self) -> usize {
        match self {
            Self::Narrow(_) => 4,
            Self::Wide(_) => 8,
        }
    }
}

impl Offsets {
    /// Builds offsets from the number of entries in each row.
    ///
    /// # Errors
    /// When there are 2^32 rows or more, or 2^64 entries or more in total, or memory runs out.
    pub fn from_lengths(lengths: impl ExactSizeIterator<Item = usize> + Clone) -> Result<Self, Error> {
        // Checked first: adding up more would take practically forever.
        let (count, limit) = (lengths.len() as u128, u128::from(u32::MAX));
        if count > limit {
            return Err(Error::TooLarge { what: "number of row lengths", value: count, limit });
        }
        let total: u128 = lengths.clone().map(|length| length as u128).sum();
        let limit = u128::from(u64::MAX);
        if total > limit {
            return Err(Error::TooLarge { what: "sum of all row lengths", value: total, limit });
        }
        let mut sum = 0;
        let ends = lengths.map(|length| {
            sum += length as u64;
            sum
        });
        Ok(if Self::width_for(total) == 4 {
            let mut offsets = zeros::<u32>(ends.len() + 1)?;
            offsets[1..].iter_mut().zip(ends).for_each(|(offset, end)| *offset = end as u32);
            Self::Narrow(offsets)
        } else {
            let mut offsets = zeros::<u64>(ends.len() + 1)?;
            offsets[1..].iter_mut().zip(ends).for_each(|(offset, end)| *offset = end);
            Self::Wide(offsets)
        })
    }

    /// Returns the bytes of one offset into arrays of `places` slots.
    #[doc(hidden)]
    pub fn width_for(places: u128) -> usize {
        if places <= LARGEST_NARROW.into() { 4 } else { 8 }
    }

    /// Returns the number of offsets: rows + 1.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        }
    }

    /// Returns whether there are no offsets at all, which no valid matrix has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset at `index`.
    ///
    /// # Panics
    /// When `index` is not below [`len`](Self::len).
    #[inline]
    pub fn get(&self, index: usize) -> usize {
        match self {
            Self::Narrow(offsets) => offsets[index] as usize,
            Self::Wide(offsets) => offsets[index] as usize,
        }
    }

    /// Returns the largest difference between neighbours; 0 if there are none.
    pub(crate) fn longest(&self) -> usize {
        (1..self.len()).map(|row| self.get(row) - self.get(row - 1)).max().unwrap_or(0)
    }

    /// Returns a copy.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(match self {
            Self::Narrow(offsets) => Self::Narrow(copy(offsets)?),
            Self::Wide(offsets) => Self::Wide(copy(offsets)?),
        })
    }

    /// Replaces an offset with a smaller one and returns the old one.
    pub(super) fn replace(&mut self, index: usize, smaller: usize) -> usize {
        match self {
            Self::Narrow(offsets) => std::mem::replace(&mut offsets[index], smaller as u32) as usize,
            Self::Wide(offsets) => std::mem::replace(&mut offsets[index], smaller as u64) as usize,
        }
    }

    /// Narrows the offsets to 32 bits if they have become small enough.
    ///
    /// # Errors
    /// When memory runs out; the offsets are then unchanged.
    pub(super) fn narrow_if_short(&mut self) -> Result<(), Error> {
        if let Self::Wide(offsets) = self
            && let Some(narrow) = narrowed(offsets)?
        {
            *self = Self::Narrow(narrow);
        }
        Ok(())
    }

    /// Checks the invariants for `count` things, such as rows, with `stored` entries.
    #[doc(hidden)]
    pub fn check(&self, format: &'static str, thing: &str, count: usize, stored: usize) -> Result<(), Error> {
        match self {
            // Kernels count beyond the last one.
            Self::Narrow(_) if stored > LARGEST_NARROW as usize => {
                let what = "number of stored entries with offsets of 32 bits";
                Err(Error::TooLarge { what, value: stored as u128, limit: LARGEST_NARROW.into() })
            }
            Self::Narrow(offsets) => check_offsets(format, thing, offsets, count, stored),
            Self::Wide(offsets) => check_offsets(format, thing, offsets, count, stored),
        }
    }
}

impl Clone for Offsets {
    fn clone(&self) -> Self {
        match self {
            Self::Narrow(offsets) => Self::Narrow(offsets.clone()),
            Self::Wide(offsets) => Self::Wide(offsets.clone()),
        }
    }
}

impl PartialEq for Offsets {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|index| self.get(index) == other.get(index))
    }
}

impl std::fmt::Debug for Offsets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Narrow(offsets) => offsets.fmt(f),
            Self::Wide(offsets) => offsets.fmt(f),
        }
    }
}

impl TryFrom<Vec<u32>> for Offsets {
    type Error = Error;

    /// Widens to 64 bits if the last offset is too close to 2^32 for kernels; fails if memory runs out.
    fn try_from(offsets: Vec<u32>) -> Result<Self, Error> {
        if offsets.iter().all(|&offset| offset <= LARGEST_NARROW) {
            return Ok(Self::Narrow(offsets));
        }
        Ok(Self::Wide(collect(offsets.into_iter().map(u64::from))?))
    }
}

impl TryFrom<Vec<u64>> for Offsets {
    type Error = Error;

    /// Narrows to 32 bits if the last offset fits; fails if memory runs out.
    fn try_from(offsets: Vec<u64>) -> Result<Self, Error> {
        Ok(match narrowed(&offsets)? {
            Some(narrow) => Self::Narrow(narrow),
            None => Self::Wide(offsets),
        })
    }
}

/// Returns the offsets in 32 bits, if they fit.
fn narrowed(offsets: &[u64]) -> Result<Option<Vec<u32>>, Error> {
    // Decreasing offsets are rejected later, by `check`; until then, narrowing must lose nothing.
    if offsets.iter().any(|&offset| offset > LARGEST_NARROW.into()) {
        return Ok(None);
    }
    collect(offsets.iter().map(|&offset| offset as u32)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_offsets_leave_kernels_room_to_count_on() {
        let check = |last: u32| Offsets::Narrow(vec![0, last]).check("CSR", "row", 1, last as usize);
        assert!(check(LARGEST_NARROW).is_ok());
        let error = check(LARGEST_NARROW + 1).unwrap_err().to_string();
        assert!(error.contains("4294901760, and the limit is 4294901759"), "{error}");
        assert!(
            Offsets::try_from(vec![0, LARGEST_NARROW + 1])
                .unwrap()
                .check("CSR", "row", 1, LARGEST_NARROW as usize + 1)
                .is_ok()
        );
    }
}
