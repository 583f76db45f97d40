//! Packing elements of vectors concurrently with the executor's own work.

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

/// Packs elements of vectors on a second stream, while the executor continues with work that does not write them.
#[doc(hidden)]
pub struct Packing {
    elements: Elements<CudaMemory>,
    cuda: Cuda,
    /// The same executor, with kernels launched on the second stream.
    beside: Cuda,
    side: Arc<SideStream>,
    /// Marks the executor's earlier work.
    before: Mark,
    /// Marks the work of the second stream.
    after: Mark,
}

impl Packing {
    /// Packs these elements on a second stream of the executor.
    ///
    /// # Errors
    /// When the stream belongs to another executor, or the device fails.
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

    /// Number of elements packed per vector.
    pub fn count(&self) -> usize {
        self.elements.len()
    }

    /// Queues the packing of elements of these vectors, stored consecutively in x, after the executor's work queued so far,
    /// and calls `meanwhile`, during which the executor's own stream does not wait for the packing. Work given to the
    /// executor afterwards comes after all work of the second stream. `times`, two marks with a time, are set before and
    /// after the packing.
    ///
    /// # Errors
    /// When `to` has the wrong length, the executor's work is being recorded, or the device fails; `meanwhile` may then
    /// not have been called.
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
        // From here on the kernel may read x, which stays borrowed until the executor waits for the kernel, whatever
        // happens.
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

    /// Makes later work of the executor wait for the work of the second stream.
    fn rejoin(&self) -> Result<(), Error> {
        let joined = self.side.set(&self.after).and_then(|()| self.cuda.wait_for(&self.after));
        if joined.is_err() {
            // If waiting fails, the context is gone, and with it the kernel.
            let _ = self.side.synchronize();
        }
        joined
    }
}

/// Work for the second stream, [beside](Packing::beside) the executor's own, with arrays that stay borrowed until the
/// executor waits for it: for `'env`, as in a scope of threads.
#[doc(hidden)]
pub struct Beside<'scope, 'env> {
    cuda: &'scope Cuda,
    /// Invariant in `'env`: neither longer nor shorter.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> Beside<'_, 'env> {
    /// Queues y ← A x after the work queued on the second stream so far.
    ///
    /// # Errors
    /// When a vector has the wrong length, an operand belongs to another executor, or the device fails.
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
        // Dropped only on an error or a panic.
        let _ = self.0.rejoin();
    }
}
