//! Workspaces that threads reuse.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::memory::with_capacity;
use crate::parallel;

/// Workspaces of one kind, at most as many as threads: each is returned after use for the next user.
pub(super) struct Pool<A>(Mutex<Vec<A>>);

impl<A> Pool<A> {
    /// An empty pool.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new() -> Result<Self, Error> {
        Ok(Self(Mutex::new(with_capacity(parallel::threads() + 1)?)))
    }

    /// Does `work` with a workspace in exclusive use, created by `make` if none is free.
    ///
    /// # Errors
    /// As for `make` and `work`.
    pub fn with(
        &self,
        make: impl FnOnce() -> Result<A, Error>,
        work: impl FnOnce(&mut A) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A lock poisoned by a panic still holds complete workspaces.
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
