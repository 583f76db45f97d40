//! Functions of a communicator for exchanges between GPUs.

use std::sync::{Arc, PoisonError};

use host::memory::with_capacity;

use super::Communicator;
use crate::error::Error;
use crate::transport::Transport;

impl Communicator {
    /// Returns the transport of its messages.
    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        self.0.transport.clone()
    }

    /// Returns whether ranks share their memory.
    pub(crate) fn shares_memory(&self) -> bool {
        self.0.transport.board().is_some()
    }

    /// Returns the values of all ranks, in rank order, if ranks share their memory.
    pub(crate) fn share<V: Send + Sync + 'static>(&self, value: &Arc<V>) -> Result<Vec<Arc<V>>, Error> {
        let missing = |what: &str| Error::Exchange { way: "peer-copies", reason: what.into() };
        let board = self.0.transport.board().ok_or_else(|| missing("ranks do not share their memory"))?;
        let lock = || board.lock().unwrap_or_else(PoisonError::into_inner);
        lock()[self.rank()] = Some(value.clone());
        self.barrier()?;
        let mut values = with_capacity(self.ranks())?;
        for place in lock().iter() {
            let value = place.clone().and_then(|value| value.downcast().ok());
            values.push(value.ok_or_else(|| missing("a rank shares something else"))?);
        }
        // No rank may share another value before all have read this one.
        self.barrier()?;
        lock()[self.rank()] = None;
        Ok(values)
    }

    /// Returns the object that `make` makes for the key `what`, or the kept one. All ranks make it together, or none does.
    #[cfg(feature = "nccl")]
    pub(crate) fn kept<V: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> Result<V, Error>,
        what: &[u8],
    ) -> Result<Arc<V>, Error> {
        let lock = || self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let same = lock().as_ref().filter(|kept| kept.0 == what).and_then(|kept| kept.1.clone().downcast().ok());
        let mut all = [u8::from(same.is_some())];
        self.reduce(&mut all, u8::min)?;
        if let (Some(same), [1]) = (same, all) {
            return Ok(same);
        }
        let value = Arc::new(make()?);
        *lock() = Some((host::memory::copy(what)?, value.clone()));
        Ok(value)
    }
}
