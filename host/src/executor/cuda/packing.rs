//! Elements of vectors that are packed beside the executor's own work.

use std::mem::forget;
use std::sync::Arc;

use super::side_stream::{Mark, SideStream};
use super::{Cuda, CudaBuffer, CudaMemory};
use crate::elements::{Elements, PackElements, PackOperands};
use crate::error::Error;
use crate::executor::operation::Executor;
use crate::real::Scalar;

/// Packs elements of vectors on a second stream, while the executor goes on with what does not write them.
#[doc(hidden)]
pub struct Packing {
    elements: Elements<CudaMemory>,
    cuda: Cuda,
    /// The same executor, whose kernels are launched on the second stream.
    beside: Cuda,
    side: Arc<SideStream>,
    /// Behind what the executor was given before.
    before: Mark,
    /// Behind what the second stream was given meanwhile.
    after: Mark,
}

impl Packing {
    /// Packs these elements on a second stream of the executor.
    ///
    /// # Errors
    /// When the stream is another executor's, or the device fails.
    pub fn new(executor: &Cuda, side: &Arc<SideStream>, elements: Elements<CudaMemory>) -> Result<Self, Error> {
        if !Arc::ptr_eq(side.owner(), &executor.owner) {
            return Err(Error::Foreign { what: "a second stream".into() });
        }
        Ok(Self {
            elements,
            cuda: executor.clone(),
            beside: Cuda { side: Some(side.clone()), ..executor.clone() },
            side: side.clone(),
            before: Mark::new(executor)?,
            after: Mark::new(executor)?,
        })
    }

    /// How many elements of a vector are packed.
    pub fn count(&self) -> usize {
        self.elements.len()
    }

    /// Queues the packing of elements of these vectors, one after the other in x, behind what the executor was given before,
    /// and does `meanwhile`, in which the executor's own stream does not wait for it. What the executor is given
    /// afterwards comes after all that the second stream has been given. Two marks with a time are set before the packing
    /// and behind it.
    ///
    /// # Errors
    /// When there is room for another number of elements, the executor's work is recorded, or the device fails: then
    /// `meanwhile` may not have been done.
    pub fn beside<T: Scalar, R>(
        &mut self,
        vectors: usize,
        x: &CudaBuffer<T>,
        to: &mut CudaBuffer<T>,
        times: Option<&[Mark; 2]>,
        meanwhile: impl FnOnce() -> R,
    ) -> Result<R, Error> {
        self.cuda.set(&self.before)?;
        self.side.wait_for(&self.before)?;
        if let Some([begin, _]) = times {
            self.side.set(begin)?;
        }
        // From here on the kernel may read x, which is borrowed until the executor waits for it, whatever happens.
        let rejoin = Rejoin(self);
        self.beside.run::<PackElements<T>>(PackOperands { elements: &self.elements, vectors, x, to })?;
        if let Some([_, end]) = times {
            self.side.set(end)?;
        }
        let result = meanwhile();
        forget(rejoin);
        self.rejoin()?;
        Ok(result)
    }

    /// What the executor is given from now on comes after what the second stream has been given.
    fn rejoin(&self) -> Result<(), Error> {
        let joined = self.side.set(&self.after).and_then(|()| self.cuda.wait_for(&self.after));
        if joined.is_err() {
            // Where waiting fails, the context is gone, and with it the kernel.
            let _ = self.side.synchronize();
        }
        joined
    }
}

struct Rejoin<'a>(&'a Packing);

impl Drop for Rejoin<'_> {
    fn drop(&mut self) {
        // Dropped only where there is an error, or a panic, already.
        let _ = self.0.rejoin();
    }
}
