//! Elements of vectors that are packed beside the executor's own work.

use std::marker::PhantomData;
use std::mem::forget;
use std::sync::Arc;

use super::side_stream::{Mark, SideStream};
use super::{Cuda, CudaBuffer, CudaMemory};
use crate::elements::{Elements, PackElements, PackOperands};
use crate::error::Error;
use crate::executor::operation::Executor;
use crate::plan::Plan;
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
    pub fn beside<'env, T: Scalar, R>(
        &'env mut self,
        vectors: usize,
        x: &'env CudaBuffer<T>,
        to: &'env mut CudaBuffer<T>,
        times: Option<&[Mark; 2]>,
        meanwhile: impl for<'scope> FnOnce(&'scope Beside<'scope, 'env>) -> R,
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
        let result = meanwhile(&Beside { cuda: &self.beside, env: PhantomData });
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

/// What can be queued on the second stream [beside](Packing::beside) the executor's own work, with arrays that are borrowed
/// until the executor waits for it: as threads of a scope do, for `'env`.
#[doc(hidden)]
pub struct Beside<'scope, 'env> {
    cuda: &'scope Cuda,
    /// Invariant: neither longer nor shorter.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> Beside<'_, 'env> {
    /// Queues y ← A x behind what the second stream has been given.
    ///
    /// # Errors
    /// When a vector does not fit, something is another executor's, or the device fails.
    pub fn multiply<T: Scalar>(
        &self,
        plan: &'env mut Plan<T, Cuda>,
        x: &'env CudaBuffer<T>,
        y: &'env mut CudaBuffer<T>,
    ) -> Result<(), Error> {
        plan.apply_by(self.cuda, x, y)
    }
}

struct Rejoin<'a>(&'a Packing);

impl Drop for Rejoin<'_> {
    fn drop(&mut self) {
        // Dropped only where there is an error, or a panic, already.
        let _ = self.0.rejoin();
    }
}
