//! Vectors divided among threads or processes.

use std::time::Duration;

pub use gpu_kernels::dense::sums::{FIRST_SUM, FLAG, MOST_RANKS};
use host::Vector;
use host::error::Error;
use host::executor::Executor;
use host::memory::Memory;

/// The ranks among which vectors are divided. Each holds a part of every vector and performs the same operations as the
/// others: all ranks solve with the same method and options.
///
/// A solver obtains them from its [operator](crate::Operator::ranks). Sums over the elements of vectors are then summed
/// over all ranks, so that all obtain the same scalars and stop in the same iteration. Preconditioners are applied to the
/// parts; those made from a rank's entries in its own columns ignore the others.
pub trait Ranks<E: Executor>: Send + Sync {
    /// Returns the number of elements of a vector on the ranks before this one.
    fn first(&self) -> usize;

    /// Returns the number of elements of a vector on all ranks.
    fn elements(&self) -> usize;

    /// Replaces each number by its sum over all ranks, with the same bits on each.
    ///
    /// # Errors
    /// When a rank fails.
    fn sum(&self, sums: &mut [f64]) -> Result<(), Error>;

    /// Adds up to `sums` sums at a time in the memory of executors, if supported: no host then waits for them. All ranks
    /// must call this, with the same number.
    ///
    /// # Errors
    /// When a rank fails, memory runs out, or the device fails.
    fn sums_in_memory(&self, _executor: &E, _sums: usize) -> Result<Option<Box<dyn SumsInMemory<E>>>, Error> {
        Ok(None)
    }
}

/// Sums that each rank reads in the memory of the others. All ranks perform the same operations in the same order.
pub trait SumsInMemory<E: Executor>: Send {
    /// Returns the number of ranks, at most [`MOST_RANKS`].
    fn ranks(&self) -> usize;

    /// Returns the array for this rank's next sums, starting at element [`FIRST_SUM`]; element 0 is 0. Also returns what
    /// its element [`FLAG`], 0 at first, becomes once they are written: 0 if it need not change, otherwise the number that
    /// [`gather`](Self::gather) returns next, at most two more than before.
    fn own(&mut self) -> (&mut Vector<f64, E>, u64);

    /// Announces to the other ranks that the queued work writes this rank's sums and its flag.
    ///
    /// # Errors
    /// When a rank fails, the work is being recorded, or the device fails.
    fn announce(&mut self) -> Result<(), Error>;

    /// Returns the sums that all ranks have announced. The work queued next adds them up, and may wait for the flags: what
    /// sets them has been queued.
    ///
    /// # Errors
    /// When a rank fails, or the device fails.
    fn gather(&mut self) -> Result<Gathered<'_, E::Memory>, Error>;
}

/// The sums of all ranks, each in its own memory.
pub struct Gathered<'s, M: Memory> {
    /// Number of ranks.
    pub ranks: usize,
    /// The array of each rank, with sums starting at element [`FIRST_SUM`]; past the last rank, any array.
    pub of_ranks: [&'s M::Buffer<f64>; MOST_RANKS],
    /// A rank's sums are ready when its flag, element [`FLAG`] of its array, is at least `number`; 0 if they are ready
    /// before the work queued next.
    pub number: u64,
    /// How long to wait for the others before the sums become NaN; `None` for no limit.
    pub patience: Option<Duration>,
}
