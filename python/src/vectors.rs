//! Users' vectors in the form that solvers take and return: in host memory, or in place on a GPU.

use std::ops::Range;

use host::executor::Executor;
use host::{Error, Vector};

use crate::numbers::Number;

/// An array for reading.
pub trait Source<T: Number, E: Executor> {
    fn length(&self) -> usize;

    /// A part of it in the executor's memory, which a solver must not write to.
    fn vector(&self, executor: &E, part: Range<usize>) -> Result<Vector<T, E>, Error>;
}

/// An array that provides the first iterates and receives the last.
pub trait Target<T: Number, E: Executor> {
    fn length(&self) -> usize;

    /// A part of the first iterate, in an array of its own.
    fn begin(&self, executor: &E, part: Range<usize>) -> Result<Vector<T, E>, Error>;

    /// Writes columns of `found`, which are stored consecutively, to a part of the array: those with these numbers, in this
    /// order.
    fn put(
        &mut self,
        executor: &E,
        part: Range<usize>,
        found: &Vector<T, E>,
        columns: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), Error>;
}

impl<T: Number, E: Executor> Source<T, E> for &[T] {
    fn length(&self) -> usize {
        self.len()
    }

    fn vector(&self, executor: &E, part: Range<usize>) -> Result<Vector<T, E>, Error> {
        executor.upload_slice(&self[part])
    }
}

impl<T: Number, E: Executor> Target<T, E> for &mut [T] {
    fn length(&self) -> usize {
        self.len()
    }

    fn begin(&self, executor: &E, part: Range<usize>) -> Result<Vector<T, E>, Error> {
        executor.upload_slice(&self[part])
    }

    fn put(
        &mut self,
        executor: &E,
        part: Range<usize>,
        found: &Vector<T, E>,
        columns: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), Error> {
        let (found, part) = (executor.download(found)?, &mut self[part]);
        let rows = part.len() / columns.len().max(1);
        for (to, from) in columns.enumerate() {
            part[to * rows..][..rows].copy_from_slice(&found[from * rows..][..rows]);
        }
        Ok(())
    }
}

#[cfg(feature = "cuda")]
pub mod on_gpu {
    //! Arrays on a GPU owned by other libraries.

    use std::marker::PhantomData;
    use std::ops::Range;

    use host::Error;
    use host::error::check_length;
    use host::executor::{Cuda, CudaBuffer, Executor};
    use host::memory::Buffer;

    use super::{Source, Target};
    use crate::gpu::GpuArray;
    use crate::numbers::Number;

    /// An array with an element type.
    #[derive(Clone, Copy)]
    pub struct Array<T> {
        array: GpuArray,
        elements: PhantomData<T>,
    }

    impl<T: Number> Array<T> {
        /// # Safety
        /// As long as this exists, and until the work queued by then is done, the array must exist, be of this type, and be
        /// written only through this.
        pub unsafe fn new(array: GpuArray) -> Self {
            Self { array, elements: PhantomData }
        }

        pub fn len(&self) -> usize {
            self.array.1
        }

        /// A part of it as an array of the executor, in place.
        fn part(&self, gpu: &Cuda, part: Range<usize>) -> Result<CudaBuffer<T>, Error> {
            if part.end > self.len() {
                check_length("the array", self.len(), part.end)?;
            }
            let address = self.array.0.wrapping_add((part.start * size_of::<T>()) as u64);
            // SAFETY: the promise made to `new`; the part lies within the array.
            unsafe { gpu.borrow(address, part.len()) }
        }

        /// The whole array.
        pub fn whole(&self, gpu: &Cuda) -> Result<CudaBuffer<T>, Error> {
            self.part(gpu, 0..self.len())
        }
    }

    impl<T: Number> Source<T, Cuda> for Array<T> {
        fn length(&self) -> usize {
            self.len()
        }

        fn vector(&self, gpu: &Cuda, part: Range<usize>) -> Result<CudaBuffer<T>, Error> {
            self.part(gpu, part)
        }
    }

    /// The first iterates, zero by default, and the array for the last ones.
    pub struct Iterates<T> {
        pub begin: Option<Array<T>>,
        pub end: Array<T>,
    }

    impl<T: Number> Target<T, Cuda> for Iterates<T> {
        fn length(&self) -> usize {
            self.end.len()
        }

        fn begin(&self, gpu: &Cuda, part: Range<usize>) -> Result<CudaBuffer<T>, Error> {
            match &self.begin {
                Some(begin) => gpu.duplicate(&begin.part(gpu, part)?),
                None => gpu.zeros(part.len()),
            }
        }

        fn put(
            &mut self,
            gpu: &Cuda,
            part: Range<usize>,
            found: &CudaBuffer<T>,
            columns: impl ExactSizeIterator<Item = usize>,
        ) -> Result<(), Error> {
            let rows = part.len() / columns.len().max(1);
            // SAFETY: the array outlives this call, and is freed after queued work; nothing writes it meanwhile.
            let found = unsafe { Array::<T>::new(GpuArray(found.address(), found.len())) };
            for (to, from) in columns.enumerate() {
                let column = part.start + to * rows..part.start + (to + 1) * rows;
                gpu.copy(&found.part(gpu, from * rows..(from + 1) * rows)?, &mut self.end.part(gpu, column)?)?;
            }
            Ok(())
        }
    }
}
