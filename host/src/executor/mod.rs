//! Where a multiplication runs. One file an executor.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod emulated;
#[cfg(feature = "cuda")]
mod pool;
#[cfg(feature = "cuda")]
mod ptx;
#[cfg(feature = "cuda")]
mod recording;
mod reference;
#[cfg(feature = "cuda")]
mod staging;

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cuda_std::launch::Launch;

pub use cpu::Cpu;
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaBuffer, CudaMemory, MemoryUse};
pub use emulated::Emulated;
pub use reference::Reference;

use crate::dense::{
    BlockDiagonalOperands, CombineOperands, GramOperands, MixedOperands, Pass, PassOperands, SumOperands,
};
use crate::error::Error;
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Element, HostMemory, Memory, Transfer};
use crate::real::Real;
use crate::spmv::{Device, KernelResources, MultivectorOperands, Operands, Workspace, no_multivectors, not_transposed};
use crate::triangular::TriangularOperands;

/// Something that can multiply: it holds arrays in its memory and works on them.
///
/// Threads can share an executor, and matrices and plans on it can move between threads. What threads queue at the same
/// time on one executor is done in some order, each call as a whole.
///
/// Calls may return before the work is done; [`download`](Self::download), [`synchronize`](Self::synchronize)
/// and [`time`](Self::time) wait for it.
///
/// # Safety
/// Multiplications trust the arrays of a matrix, which are checked when it is made. So what moves, copies and converts
/// arrays and matrices must give back what they held, of the same length, and nothing else may change them.
pub unsafe trait Executor: Send + Sync {
    /// Where its arrays live.
    type Memory: Memory;

    /// What it runs on.
    fn device(&self) -> &Device;

    /// What the kernel with this entry point takes of a multiprocessor; none where there is no such kernel, or none that is
    /// compiled for the device.
    fn kernel_resources(&self, _entry: &str) -> Option<KernelResources> {
        None
    }

    /// Moves an array into its memory. Free where that is the host's.
    fn upload<T: Element>(&self, array: Vec<T>) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// An array of zeros in its memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn zeros<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// Copies an array back.
    fn download<T: Element>(&self, array: &<Self::Memory as Memory>::Buffer<T>) -> Result<Vec<T>, Error>;

    /// Copies an array within its memory.
    ///
    /// # Errors
    /// When memory runs out.
    fn duplicate<T: Element>(
        &self,
        array: &<Self::Memory as Memory>::Buffer<T>,
    ) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;

    /// y ← α A x + β y. [`Plan`](crate::Plan) is the convenient way to call it.
    ///
    /// # Errors
    /// When an operand does not fit the matrix, the matrix is not stored as the format says, or the device
    /// fails.
    fn multiply<T: Real>(
        &self,
        matrix: &Matrix<T, Self::Memory>,
        format: Format,
        operands: Operands<'_, T, Self::Memory>,
        workspace: &mut Workspace<T, Self::Memory>,
    ) -> Result<(), Error>;

    /// Y ← α A X + β Y for several vectors. [`Plan`](crate::Plan) is the convenient way to call it.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply), and when the executor cannot do it in this format.
    fn multiply_multivector<T: Real>(
        &self,
        _matrix: &Matrix<T, Self::Memory>,
        format: Format,
        _operands: MultivectorOperands<'_, T, Self::Memory>,
        _workspace: &mut Workspace<T, Self::Memory>,
    ) -> Result<(), Error> {
        Err(no_multivectors(format))
    }

    /// y ← α Aᵀ x + β y, where x has an element for each row and y one for each column. [`Plan`](crate::Plan) is the
    /// convenient way to call it.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply), and when the executor cannot do it in this format.
    fn multiply_transposed<T: Real>(
        &self,
        _matrix: &Matrix<T, Self::Memory>,
        format: Format,
        _operands: Operands<'_, T, Self::Memory>,
    ) -> Result<(), Error> {
        Err(not_transposed(format))
    }

    /// `matrix` in the storage of `format`, converted where it is. The arrays are the same, bit for bit, as
    /// [`Matrix::try_from_csr`] gives.
    ///
    /// # Errors
    /// When that would take more than `limit` allows, memory runs out, or the device fails.
    fn convert<T: Real>(
        &self,
        matrix: Csr<T, Self::Memory>,
        format: Format,
        limit: FillLimit,
    ) -> Result<Matrix<T, Self::Memory>, Error>;

    /// The same matrix in CSR, converted where it is, as [`Matrix::into_csr`] does.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn to_csr<T: Real>(&self, matrix: Matrix<T, Self::Memory>) -> Result<Csr<T, Self::Memory>, Error>;

    /// Moves a matrix into its memory, array by array.
    ///
    /// # Errors
    /// When memory runs out.
    fn upload_csr<T: Real>(&self, matrix: Csr<T>) -> Result<Csr<T, Self::Memory>, Error>
    where
        Self: Sized,
    {
        matrix.transfer(&Upload(self))
    }

    /// Copies a matrix within its memory, array by array.
    ///
    /// # Errors
    /// When memory runs out.
    fn duplicate_csr<T: Real>(&self, matrix: &Csr<T, Self::Memory>) -> Result<Csr<T, Self::Memory>, Error>
    where
        Self: Sized,
    {
        matrix.duplicate(self)
    }

    /// Moves a matrix back to the host.
    ///
    /// # Errors
    /// When the device fails.
    fn download_matrix<T: Real>(&self, matrix: Matrix<T, Self::Memory>) -> Result<Matrix<T>, Error>
    where
        Self: Sized,
    {
        matrix.transfer(&Download(self))
    }

    /// A pass over the elements of vectors. [`Space`](crate::dense::Space) is the convenient way to call this and the
    /// next three.
    ///
    /// # Errors
    /// When the operands do not fit each other, or the device fails.
    fn pass<T: Real, P: Pass>(&self, operands: PassOperands<'_, '_, T, P, Self::Memory>) -> Result<(), Error>;

    /// Adds up what a pass left of its sums, and runs a program on the scalars.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    fn finish_sums(&self, operands: SumOperands<'_, Self::Memory>) -> Result<(), Error>;

    /// XᵀY for two blocks of vectors.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    fn gram<T: Real>(&self, operands: GramOperands<'_, T, Self::Memory>) -> Result<(), Error>;

    /// Y ← α X C + β Y for two blocks of vectors and a few coefficients.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    fn combine<T: Real>(&self, operands: CombineOperands<'_, T, Self::Memory>) -> Result<(), Error>;

    /// y ← α x + β y for vectors of two precisions.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass), and when the executor has no such thing.
    fn axpby_mixed<X: Real, Y: Real>(&self, _operands: MixedOperands<'_, X, Y, Self::Memory>) -> Result<(), Error> {
        Err(Error::Operator { operation: "way from one precision to the other on this executor" })
    }

    /// y ← B x for dense blocks on the diagonal of B.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass), and when the executor has no such thing.
    fn multiply_block_diagonal<T: Real>(
        &self,
        _operands: BlockDiagonalOperands<'_, T, Self::Memory>,
    ) -> Result<(), Error> {
        Err(Error::Operator { operation: "product with dense blocks on this executor" })
    }

    /// x ← T⁻¹ b for a triangular T.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass), and when the executor has no such thing.
    fn solve_triangular<T: Real>(&self, _operands: TriangularOperands<'_, T, Self::Memory>) -> Result<(), Error> {
        Err(Error::Operator { operation: "triangular solve on this executor" })
    }

    /// Does `work` so many times, one after the other. An executor may keep in `recording` what the work launches, and
    /// from then on launch the same without doing the work: so the work launches the same every time, on the same arrays,
    /// and what it does on the host besides may happen fewer times. A recording belongs to one work; where nothing can be
    /// kept, because the work allocates or waits for a result, it is done every time.
    ///
    /// # Errors
    /// Those of the work, and when the device fails.
    fn repeat(
        &self,
        _recording: &mut Recording,
        times: usize,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..times).try_for_each(|_| work())
    }

    /// Waits until all work is done.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    /// How long `work` takes on the device.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let start = Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed())
    }
}

/// An executor that runs the kernels themselves: a GPU, or the emulator of one.
pub trait KernelExecutor: Executor {
    /// Runs a kernel after those that were launched before; it may return before the kernel is done. A grid without
    /// blocks is nothing to do.
    ///
    /// # Safety
    /// What the kernel's `# Safety` section demands, of arrays in this executor's memory that live until the kernel
    /// is done. Freeing one waits for that.
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error>;

    /// Runs several kernels, one after the other.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), for each.
    unsafe fn launch_all(&self, launches: Vec<Launch>) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        launches.iter().try_for_each(|launch| unsafe { self.launch(launch) })
    }

    /// An array in its memory whose elements mean nothing until a kernel writes them.
    ///
    /// # Errors
    /// When memory runs out.
    fn unwritten<T: Element>(&self, length: usize) -> Result<<Self::Memory as Memory>::Buffer<T>, Error>;
}

/// What an executor keeps of work that it [repeats](Executor::repeat); empty at first.
#[derive(Default)]
pub struct Recording {
    #[cfg(feature = "cuda")]
    cuda: recording::CudaRecording,
}

/// The way of a matrix into an executor's memory.
pub(crate) struct Upload<'e, E>(pub &'e E);

impl<E: Executor> Transfer<HostMemory, E::Memory> for Upload<'_, E> {
    fn transfer<T: Element>(&self, array: Vec<T>) -> Result<<E::Memory as Memory>::Buffer<T>, Error> {
        self.0.upload(array)
    }
}

/// The way of a matrix out of an executor's memory.
pub(crate) struct Download<'e, E>(pub &'e E);

impl<E: Executor> Transfer<E::Memory, HostMemory> for Download<'_, E> {
    fn transfer<T: Element>(&self, array: <E::Memory as Memory>::Buffer<T>) -> Result<Vec<T>, Error> {
        self.0.download(&array)
    }
}

/// The names of the executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutorName {
    /// [`Reference`].
    Reference,
    /// [`Cpu`].
    Cpu,
    /// [`Emulated`].
    Emulated,
    /// `Cuda`; there with the feature `cuda`.
    Cuda,
}

/// Work that can be done on any executor.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does the work.
    fn visit<E: Executor>(self, executor: &E) -> Self::Output;
}

impl ExecutorName {
    /// Every executor.
    pub const ALL: &[Self] = &[Self::Reference, Self::Cpu, Self::Emulated, Self::Cuda];

    /// The name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Cpu => "cpu",
            Self::Emulated => "emulated",
            Self::Cuda => "cuda",
        }
    }

    /// Makes the executor of this name and does `work` on it.
    ///
    /// # Errors
    /// When there is no such executor on this machine.
    pub fn with<V: Visitor>(self, work: V) -> Result<V::Output, Error> {
        match self {
            Self::Reference => Ok(work.visit(&Reference::new())),
            Self::Cpu => Ok(work.visit(&Cpu::new())),
            Self::Emulated => Ok(work.visit(&Emulated::new(0))),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(work.visit(&Cuda::new(0)?)),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda => Err(Error::Unavailable {
                executor: "cuda",
                reason: "this program was built without the feature `cuda`".into(),
            }),
        }
    }
}

impl fmt::Display for ExecutorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ExecutorName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|executor| executor.name() == name).ok_or_else(|| Error::Name {
            what: "executor",
            name: name.into(),
            expected: Self::ALL.iter().map(|executor| executor.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

/// Executors that work in the host's memory move arrays for free.
macro_rules! host_memory {
    () => {
        type Memory = HostMemory;

        fn device(&self) -> &Device {
            &self.device
        }

        fn upload<T: Element>(&self, array: Vec<T>) -> Result<Vec<T>, Error> {
            Ok(array)
        }

        fn zeros<T: Element>(&self, length: usize) -> Result<Vec<T>, Error> {
            crate::memory::zeros(length)
        }

        fn download<T: Element>(&self, array: &Vec<T>) -> Result<Vec<T>, Error> {
            Ok(array.clone())
        }

        fn duplicate<T: Element>(&self, array: &Vec<T>) -> Result<Vec<T>, Error> {
            Ok(array.clone())
        }
    };
}
use host_memory;

/// Executors that compute on the host do the same with dense vectors, but for the way they add up.
macro_rules! dense_on_host {
    ($summation:ident) => {
        fn pass<T: Real, P: dense::Pass>(
            &self,
            operands: dense::PassOperands<'_, '_, T, P, HostMemory>,
        ) -> Result<(), Error> {
            dense::pass_on_host::<T, P, dense::$summation>(operands)
        }

        fn finish_sums(&self, operands: dense::SumOperands<'_, HostMemory>) -> Result<(), Error> {
            dense::sum_on_host(operands)
        }

        fn gram<T: Real>(&self, operands: dense::GramOperands<'_, T, HostMemory>) -> Result<(), Error> {
            dense::gram_on_host::<T, dense::$summation>(operands)
        }

        fn combine<T: Real>(&self, operands: dense::CombineOperands<'_, T, HostMemory>) -> Result<(), Error> {
            dense::combine_on_host::<T, dense::$summation>(operands)
        }

        fn axpby_mixed<X: Real, Y: Real>(
            &self,
            operands: dense::MixedOperands<'_, X, Y, HostMemory>,
        ) -> Result<(), Error> {
            dense::mixed_on_host(operands)
        }

        fn multiply_block_diagonal<T: Real>(
            &self,
            operands: dense::BlockDiagonalOperands<'_, T, HostMemory>,
        ) -> Result<(), Error> {
            dense::block_diagonal_on_host::<T, dense::$summation>(operands)
        }

        fn solve_triangular<T: Real>(
            &self,
            operands: crate::triangular::TriangularOperands<'_, T, HostMemory>,
        ) -> Result<(), Error> {
            crate::triangular::solve_on_host::<T, dense::$summation>(operands)
        }
    };
}
use dense_on_host;

/// Executors that run kernels multiply, convert, and work on dense vectors by the same launches.
macro_rules! multiply_by_kernels {
    () => {
        fn multiply<T: Real>(
            &self,
            matrix: &Matrix<T, Self::Memory>,
            format: Format,
            operands: Operands<'_, T, Self::Memory>,
            workspace: &mut Workspace<T, Self::Memory>,
        ) -> Result<(), Error> {
            let launches = launches(matrix, format, operands, workspace, &self.device)?;
            // SAFETY: the matrix keeps its invariants, `launches` checked the vectors, all arrays are in the executor's
            // memory and borrowed, and what is freed is used again only by what is launched later.
            unsafe { self.launch_all(launches) }
        }

        fn multiply_multivector<T: Real>(
            &self,
            matrix: &Matrix<T, Self::Memory>,
            format: Format,
            operands: MultivectorOperands<'_, T, Self::Memory>,
            workspace: &mut Workspace<T, Self::Memory>,
        ) -> Result<(), Error> {
            let launches = multivector_launches(matrix, format, operands, workspace, &self.device)?;
            // SAFETY: as in `multiply`.
            unsafe { self.launch_all(launches) }
        }

        fn multiply_transposed<T: Real>(
            &self,
            matrix: &Matrix<T, Self::Memory>,
            format: Format,
            operands: Operands<'_, T, Self::Memory>,
        ) -> Result<(), Error> {
            let launches = transposed_launches(matrix, format, operands, &self.device)?;
            // SAFETY: as in `multiply`.
            unsafe { self.launch_all(launches) }
        }

        fn pass<T: Real, P: dense::Pass>(
            &self,
            operands: dense::PassOperands<'_, '_, T, P, Self::Memory>,
        ) -> Result<(), Error> {
            let launch = dense::pass_launch(operands, &self.device)?;
            // SAFETY: `pass_launch` checked the lengths, the arrays are in the executor's memory and borrowed, those that
            // are written exclusively, and what is freed is used again only by what is launched later.
            unsafe { self.launch(&launch) }
        }

        fn finish_sums(&self, operands: dense::SumOperands<'_, Self::Memory>) -> Result<(), Error> {
            let launch = dense::sum_launch(operands, &self.device)?;
            // SAFETY: as in `pass`; a program keeps its invariants.
            unsafe { self.launch(&launch) }
        }

        fn gram<T: Real>(&self, operands: dense::GramOperands<'_, T, Self::Memory>) -> Result<(), Error> {
            let launch = dense::gram_launch(operands, &self.device)?;
            // SAFETY: as in `pass`.
            launch.map_or(Ok(()), |launch| unsafe { self.launch(&launch) })
        }

        fn combine<T: Real>(&self, operands: dense::CombineOperands<'_, T, Self::Memory>) -> Result<(), Error> {
            let launch = dense::combine_launch(operands, &self.device)?;
            // SAFETY: as in `pass`.
            unsafe { self.launch(&launch) }
        }

        fn axpby_mixed<X: Real, Y: Real>(
            &self,
            operands: dense::MixedOperands<'_, X, Y, Self::Memory>,
        ) -> Result<(), Error> {
            let launch = dense::mixed_launch(operands, &self.device)?;
            // SAFETY: as in `pass`.
            unsafe { self.launch(&launch) }
        }

        fn multiply_block_diagonal<T: Real>(
            &self,
            operands: dense::BlockDiagonalOperands<'_, T, Self::Memory>,
        ) -> Result<(), Error> {
            let launch = dense::block_diagonal_launch(operands, &self.device)?;
            // SAFETY: as in `pass`; the blocks keep their invariants.
            unsafe { self.launch(&launch) }
        }

        fn solve_triangular<T: Real>(
            &self,
            operands: crate::triangular::TriangularOperands<'_, T, Self::Memory>,
        ) -> Result<(), Error> {
            let launches = crate::triangular::solve_launches(operands, &self.device)?;
            // SAFETY: as in `pass`; the matrix keeps its invariants.
            unsafe { self.launch_all(launches) }
        }

        fn convert<T: Real>(
            &self,
            matrix: Csr<T, Self::Memory>,
            format: Format,
            limit: FillLimit,
        ) -> Result<Matrix<T, Self::Memory>, Error> {
            crate::convert::from_csr(self, matrix, format, limit)
        }

        fn to_csr<T: Real>(&self, matrix: Matrix<T, Self::Memory>) -> Result<Csr<T, Self::Memory>, Error> {
            crate::convert::into_csr(self, matrix)
        }
    };
}
use multiply_by_kernels;
