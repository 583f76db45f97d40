//! What threads work with, one after the other in the same memory.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::memory::with_capacity;
use crate::parallel;

/// Things of one kind, at most as many as there are threads: one that is done with its own leaves it to the next.
pub(super) struct Pool<A>(Mutex<Vec<A>>);

impl<A> Pool<A> {
    /// An empty one.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new() -> Result<Self, Error> {
        Ok(Self(Mutex::new(with_capacity(parallel::threads() + 1)?)))
    }

    /// Does `work` with one that nobody else has, which `make` makes where there is none.
    ///
    /// # Errors
    /// Those of both.
    pub fn with(
        &self,
        make: impl FnOnce() -> Result<A, Error>,
        work: impl FnOnce(&mut A) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A lock that a panic left behind holds whole things.
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut own = free.map_or_else(make, Ok)?;
        work(&mut own)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < all.capacity() {
            all.push(own);
        }
        Ok(())
    }
}
