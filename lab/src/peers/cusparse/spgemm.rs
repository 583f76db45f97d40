//! `cusparseSpGEMM` and `cusparseSpGEMMreuse`, for products of two sparse matrices.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::Rc;

use cudarc::cusparse::sys;
use cudarc::cusparse::sys::cusparseSpGEMMAlg_t as Algorithm;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor, KernelExecutor};
use host::format::Offsets;
use host::{Csr, Error, Real};

use super::descriptors::{MatrixDescriptor, address, data_type, index_type};
use super::generic::{PLAIN, scalar};
use super::library::{Library, check, has_all, is_out_of_memory, is_unsupported};
use super::stored::{Stored, ZERO_BASED, csr};
use crate::peers::Absent;

/// The functions required by every product. cudarc panics when a function is missing.
const NEEDED: &[&str] = &[
    "cusparseCreateCsr",
    "cusparseCsrSetPointers",
    "cusparseSpMatGetSize",
    "cusparseSpGEMM_createDescr",
    "cusparseSpGEMM_destroyDescr",
];

/// An interface and its algorithms.
struct Interface {
    /// Its name when it is absent.
    library: &'static str,
    /// Required functions besides [`NEEDED`].
    needed: &'static [&'static str],
    steps: Steps,
    /// By the peers' names.
    algorithms: &'static [(&'static str, Algorithm)],
}

/// The steps of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// With an upper bound of the memory.
    Bounded,
    /// With an estimate of the memory.
    Estimated,
    /// With a pattern kept for new values.
    Reused,
}

const INTERFACES: &[Interface] = &[
    Interface {
        library: "SpGEMM of cuSPARSE",
        needed: &["cusparseSpGEMM_workEstimation", "cusparseSpGEMM_compute", "cusparseSpGEMM_copy"],
        steps: Steps::Bounded,
        algorithms: &[
            ("cusparse-spgemm-default", Algorithm::CUSPARSE_SPGEMM_DEFAULT),
            ("cusparse-spgemm-1", Algorithm::CUSPARSE_SPGEMM_ALG1),
        ],
    },
    Interface {
        library: "SpGEMM of cuSPARSE with an estimate of its memory",
        needed: &[
            "cusparseSpGEMM_workEstimation",
            "cusparseSpGEMM_estimateMemory",
            "cusparseSpGEMM_compute",
            "cusparseSpGEMM_copy",
        ],
        steps: Steps::Estimated,
        algorithms: &[
            ("cusparse-spgemm-2", Algorithm::CUSPARSE_SPGEMM_ALG2),
            ("cusparse-spgemm-3", Algorithm::CUSPARSE_SPGEMM_ALG3),
        ],
    },
    Interface {
        library: "SpGEMMreuse of cuSPARSE",
        needed: &[
            "cusparseSpGEMMreuse_workEstimation",
            "cusparseSpGEMMreuse_nnz",
            "cusparseSpGEMMreuse_copy",
            "cusparseSpGEMMreuse_compute",
        ],
        steps: Steps::Reused,
        algorithms: &[
            ("cusparse-spgemm-reuse-default", Algorithm::CUSPARSE_SPGEMM_DEFAULT),
            ("cusparse-spgemm-reuse-deterministic", Algorithm::CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC),
            ("cusparse-spgemm-reuse-nondeterministic", Algorithm::CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC),
        ],
    },
];

/// The share of all products that the third algorithm holds in memory at a time: that of NVIDIA's sample.
const CHUNK: f32 = 0.2;

/// The ways in which cuSPARSE multiplies two sparse matrices.
pub struct SpGemms<'e> {
    /// The available ones.
    pub present: Vec<SpGemm<'e>>,
    /// The unavailable ones, with reasons.
    pub absent: Vec<Absent>,
}

/// Returns all ways in which cuSPARSE multiplies two sparse matrices.
pub fn sparse_product_peers(cuda: &Cuda) -> SpGemms<'_> {
    let mut peers = SpGemms { present: Vec::new(), absent: Vec::new() };
    let library = match Library::new(cuda) {
        Ok(library) => library,
        Err(reason) => {
            peers.absent.push(Absent { library: "cuSPARSE", reason });
            return peers;
        }
    };
    for &Interface { library: part, needed, steps, algorithms } in INTERFACES {
        match has_all(NEEDED).and_then(|()| has_all(needed)) {
            Ok(()) => peers.present.extend(algorithms.iter().map(|&(name, algorithm)| SpGemm {
                library: library.clone(),
                name,
                steps,
                algorithm,
            })),
            Err(reason) => peers.absent.push(Absent { library: part, reason }),
        }
    }
    peers
}

/// One way in which cuSPARSE multiplies two sparse matrices in CSR with 32-bit offsets.
pub struct SpGemm<'e> {
    library: Rc<Library<'e>>,
    name: &'static str,
    steps: Steps,
    algorithm: Algorithm,
}

impl SpGemm<'_> {
    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the library and its version.
    pub fn library(&self) -> String {
        self.library.name()
    }

    /// Returns whether the pattern of a product is kept, so that new values can be [computed](SpGemmProduct::compute).
    pub fn keeps_pattern(&self) -> bool {
        self.steps == Steps::Reused
    }

    /// Returns whether an error means that the product is too large for the memory or for cuSPARSE's algorithm, or that the
    /// algorithm does not support such matrices, as opposed to a fault.
    pub fn is_refusal(error: &Error) -> bool {
        matches!(error, Error::OutOfMemory { .. } | Error::TooLarge { .. })
            || is_out_of_memory(error)
            || is_unsupported(error)
    }

    /// Computes the product of two matrices of the executor; includes allocating its memory and cuSPARSE's buffers.
    ///
    /// # Errors
    /// When the number of columns of A is not the number of rows of B, a matrix is another executor's, there are more
    /// entries than cuSPARSE supports, memory runs out, or the library or the device fails.
    pub fn multiply<'a, T: Real>(
        &'a self,
        left: &'a Csr<T, CudaMemory>,
        right: &'a Csr<T, CudaMemory>,
    ) -> Result<SpGemmProduct<'a, T>, Error> {
        if left.columns() != right.rows() {
            let what = "each row of the left matrix";
            return Err(Error::Length { what, found: left.columns(), expected: right.rows() });
        }
        for matrix in [left, right] {
            self.library.check_own(&[matrix.values()])?;
            self.library.check_own(&[matrix.column_indices()])?;
            check_narrow(matrix)?;
        }
        let cuda = self.library.enter()?;
        let row_offsets = cuda.unwritten(left.rows() + 1)?;
        let call = Call {
            state: State::new()?,
            product: describe::<T>([left.rows(), right.columns()], &row_offsets)?,
            left: csr(cuda, left)?,
            right: csr(cuda, right)?,
            algorithm: self.algorithm,
            matrices: [left, right],
            library: self.library.clone(),
        };
        match self.steps {
            Steps::Bounded => call.at_once(row_offsets, Call::compute_bounded),
            Steps::Estimated => call.at_once(row_offsets, Call::compute_estimated),
            Steps::Reused => call.kept(row_offsets),
        }
    }
}

/// Checks that offsets fit cuSPARSE, where they are signed.
fn check_narrow<T: Real>(matrix: &Csr<T, CudaMemory>) -> Result<(), Error> {
    let limit = i32::MAX as u128;
    if matches!(matrix.row_offsets(), Offsets::Narrow(_)) && matrix.nnz() as u128 <= limit {
        return Ok(());
    }
    let what = "number of entries of a matrix for SpGEMM, whose offsets have 32 bits,";
    Err(Error::TooLarge { what, value: matrix.nnz() as u128, limit })
}

/// Returns the descriptor of a product without columns and values yet.
fn describe<T: Real>([rows, columns]: [usize; 2], row_offsets: &CudaBuffer<u32>) -> Result<MatrixDescriptor, Error> {
    // SAFETY: there is an offset per row and one more. The caller keeps them and, once the descriptor points to them,
    // columns and values as long as it multiplies.
    unsafe {
        MatrixDescriptor::new("cusparseCreateCsr", |descriptor| {
            let mut made = null_mut();
            let status = sys::cusparseCreateCsr(
                &mut made,
                rows as i64,
                columns as i64,
                0,
                address(row_offsets).cast_mut(),
                null_mut(),
                null_mut(),
                index_type::<u32>(),
                index_type::<u32>(),
                ZERO_BASED,
                data_type::<T>(),
            );
            *descriptor = made.cast_const();
            status
        })
    }
}

/// cuSPARSE's state of a product between its steps.
struct State(sys::cusparseSpGEMMDescr_t);

impl State {
    fn new() -> Result<Self, Error> {
        let mut state = null_mut();
        // SAFETY: the function exists, by `sparse_product_peers`, and writes to a valid pointer.
        check("cusparseSpGEMM_createDescr", unsafe { sys::cusparseSpGEMM_createDescr(&mut state) })?;
        Ok(Self(state))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseSpGEMM_destroyDescr(self.0) };
    }
}

/// Memory requested by a step.
struct Workspace {
    array: CudaBuffer<u64>,
    bytes: usize,
}

impl Workspace {
    fn new(cuda: &Cuda, bytes: usize) -> Result<Self, Error> {
        // Must have an address, even if no memory is needed: without one, a function returns the required size.
        Ok(Self { array: cuda.unwritten(bytes.div_ceil(8).max(2))?, bytes })
    }

    /// Calls `step`, the function named `call`, first without memory to query the required size, then with a workspace of
    /// that size.
    fn of_step(
        cuda: &Cuda,
        call: &str,
        mut step: impl FnMut(*mut usize, *mut c_void) -> sys::cusparseStatus_t,
    ) -> Result<Self, Error> {
        let mut bytes = 0;
        check(call, step(&mut bytes, null_mut()))?;
        let workspace = Self::new(cuda, bytes)?;
        check(call, step(&mut bytes, workspace.address()))?;
        Ok(workspace)
    }

    fn address(&self) -> *mut c_void {
        address(&self.array).cast_mut()
    }
}

/// Returns the total bytes of several workspaces.
fn bytes_of<const COUNT: usize>(workspaces: [&Workspace; COUNT]) -> usize {
    workspaces.iter().map(|workspace| workspace.bytes).sum()
}

/// The arguments common to all steps.
struct Call<'a, T: Real> {
    // Fields are dropped in this order: the library last.
    state: State,
    product: MatrixDescriptor,
    left: Stored,
    right: Stored,
    algorithm: Algorithm,
    matrices: [&'a Csr<T, CudaMemory>; 2],
    library: Rc<Library<'a>>,
}

/// Calls a step that computes with values, C = 1 A B + 0 C. The common arguments are followed by the step's own.
macro_rules! with_values {
    ($call:expr, $function:ident $(, $own:expr)*) => {
        sys::$function(
            $call.library.handle(),
            PLAIN,
            PLAIN,
            scalar(&T::ONE),
            $call.left.descriptor.get(),
            $call.right.descriptor.get(),
            scalar(&T::ZERO),
            $call.product.get().cast_mut(),
            data_type::<T>(),
            $call.algorithm,
            $call.state.0
            $(, $own)*
        )
    };
}

/// Calls a step that uses only patterns. The common arguments are followed by the step's own.
macro_rules! with_patterns {
    ($call:expr, $function:ident $(, $own:expr)*) => {
        sys::$function(
            $call.library.handle(),
            PLAIN,
            PLAIN,
            $call.left.descriptor.get(),
            $call.right.descriptor.get(),
            $call.product.get().cast_mut(),
            $call.algorithm,
            $call.state.0
            $(, $own)*
        )
    };
}

// In the following, handle, state and descriptors are the library's own, of arrays that are alive; the scalars live on the
// host until a call returns; memory freed between two steps is freed on the stream, after previously queued work.
impl<'a, T: Real> Call<'a, T> {
    /// Computes a product of which nothing is kept. `compute` is the step between the first and the last, run while the
    /// first one's buffer is alive: it returns the buffer that the last one reads, and its peak size in bytes.
    fn at_once(
        self,
        row_offsets: CudaBuffer<u32>,
        compute: impl FnOnce(&Self, &Cuda) -> Result<(Workspace, usize), Error>,
    ) -> Result<SpGemmProduct<'a, T>, Error> {
        let cuda = self.library.enter()?;
        let first = Workspace::of_step(cuda, "cusparseSpGEMM_workEstimation", |bytes, buffer| {
            // SAFETY: as above; the size is written to a valid pointer, and the buffer, if any, has that size and lives
            // until the last step.
            unsafe { with_values!(self, cusparseSpGEMM_workEstimation, bytes, buffer) }
        })?;
        let (second, most) = compute(&self, cuda)?;
        let stored = self.stored()?;
        let (column_indices, values) = (cuda.unwritten(stored)?, cuda.unwritten(stored)?);
        let arrays = Arrays { row_offsets, column_indices, values };
        self.point_to(&arrays)?;
        // SAFETY: as above; the product's arrays have the number of elements that the library returned.
        check("cusparseSpGEMM_copy", unsafe { with_values!(self, cusparseSpGEMM_copy) })?;
        let buffer_bytes = (first.bytes + most) as u64;
        drop((first, second));
        Ok(SpGemmProduct { call: self, kept: None, arrays, buffer_bytes })
    }

    /// Computes the product with an upper bound of the memory.
    fn compute_bounded(&self, cuda: &Cuda) -> Result<(Workspace, usize), Error> {
        let buffer = Workspace::of_step(cuda, "cusparseSpGEMM_compute", |bytes, buffer| {
            // SAFETY: as above; the size is written to a valid pointer, and the buffer, if any, has that size and lives
            // until the last step.
            unsafe { with_values!(self, cusparseSpGEMM_compute, bytes, buffer) }
        })?;
        let bytes = buffer.bytes;
        Ok((buffer, bytes))
    }

    /// Computes the product with an estimate of the memory.
    fn compute_estimated(&self, cuda: &Cuda) -> Result<(Workspace, usize), Error> {
        let mut bytes = 0;
        let estimate = Workspace::of_step(cuda, "cusparseSpGEMM_estimateMemory", |own, buffer| {
            // The size needed by the next step is known once there is a buffer.
            let next: *mut usize = if buffer.is_null() { null_mut() } else { &mut bytes };
            // SAFETY: as above; the sizes are written to valid pointers, and the buffer, if any, has that size.
            unsafe { with_values!(self, cusparseSpGEMM_estimateMemory, CHUNK, own, buffer, next) }
        })?;
        let estimating = estimate.bytes;
        drop(estimate);
        let buffer = Workspace::new(cuda, bytes)?;
        // SAFETY: as above; the size can be read and written, and the buffer has that size and lives until the last step.
        let status = unsafe { with_values!(self, cusparseSpGEMM_compute, &mut bytes, buffer.address()) };
        check("cusparseSpGEMM_compute", status)?;
        let most = estimating.max(buffer.bytes);
        Ok((buffer, most))
    }

    /// Computes a product whose pattern is kept.
    fn kept(self, row_offsets: CudaBuffer<u32>) -> Result<SpGemmProduct<'a, T>, Error> {
        let cuda = self.library.enter()?;
        let first = Workspace::of_step(cuda, "cusparseSpGEMMreuse_workEstimation", |bytes, buffer| {
            // SAFETY: as above; the size is written to a valid pointer, and the buffer, if any, has that size and lives
            // until the end of the second step.
            unsafe { with_patterns!(self, cusparseSpGEMMreuse_workEstimation, bytes, buffer) }
        })?;
        let mut bytes = [0; 3];
        let mut count = |buffers: [*mut c_void; 3]| {
            let [second, third, fourth] = &mut bytes;
            // SAFETY: as above; the sizes are written to valid pointers, and the buffers, if any, have these sizes. The
            // third lives until the end of the third step, the fourth as long as values are computed.
            check("cusparseSpGEMMreuse_nnz", unsafe {
                with_patterns!(self, cusparseSpGEMMreuse_nnz, second, buffers[0], third, buffers[1], fourth, buffers[2])
            })?;
            Ok::<_, Error>(bytes)
        };
        let [second, third, fourth] = count([null_mut(); 3])?;
        let second = Workspace::new(cuda, second)?;
        let third = Workspace::new(cuda, third)?;
        let fourth = Workspace::new(cuda, fourth)?;
        count([second.address(), third.address(), fourth.address()])?;
        let counting = bytes_of([&first, &second, &third, &fourth]);
        drop((first, second));
        let stored = self.stored()?;
        // Zeros, as in NVIDIA's sample: it is not documented that with β = 0 the values are not read.
        let (column_indices, values) = (cuda.unwritten(stored)?, cuda.zeros(stored)?);
        let arrays = Arrays { row_offsets, column_indices, values };
        self.point_to(&arrays)?;
        let fifth = Workspace::of_step(cuda, "cusparseSpGEMMreuse_copy", |bytes, buffer| {
            // SAFETY: as above; the size is written to a valid pointer, and the buffer, if any, has that size and lives as
            // long as values are computed. The product's arrays have the number of elements that the library returned.
            unsafe { with_patterns!(self, cusparseSpGEMMreuse_copy, bytes, buffer) }
        })?;
        let buffer_bytes = counting.max(bytes_of([&third, &fourth, &fifth])) as u64;
        drop(third);
        let mut product = SpGemmProduct { call: self, kept: Some([fourth, fifth]), arrays, buffer_bytes };
        product.compute()?;
        Ok(product)
    }

    /// Returns the number of entries of the product, once they are counted.
    fn stored(&self) -> Result<usize, Error> {
        let (mut rows, mut columns, mut stored) = (0, 0, 0);
        // SAFETY: as above; the three numbers are written to valid pointers.
        let status = unsafe { sys::cusparseSpMatGetSize(self.product.get(), &mut rows, &mut columns, &mut stored) };
        check("cusparseSpMatGetSize", status)?;
        let refused = || Error::Cuda {
            what: "cusparseSpMatGetSize".into(),
            reason: format!("the product has {stored} entries, and its offsets have 32 bits"),
        };
        i32::try_from(stored).ok().and_then(|stored| usize::try_from(stored).ok()).ok_or_else(refused)
    }

    /// Sets the arrays of the product's descriptor.
    fn point_to(&self, Arrays { row_offsets, column_indices, values }: &Arrays<T>) -> Result<(), Error> {
        let [row_offsets, column_indices, values] =
            [address(row_offsets), address(column_indices), address(values)].map(<*const c_void>::cast_mut);
        // SAFETY: as above; the arrays have the number of elements that the library returned for the product, and are kept
        // with the descriptor.
        let status =
            unsafe { sys::cusparseCsrSetPointers(self.product.get().cast_mut(), row_offsets, column_indices, values) };
        check("cusparseCsrSetPointers", status)
    }
}

/// The arrays of a product.
struct Arrays<T: Real> {
    row_offsets: CudaBuffer<u32>,
    column_indices: CudaBuffer<u32>,
    values: CudaBuffer<T>,
}

/// A product made by cuSPARSE.
pub struct SpGemmProduct<'a, T: Real> {
    // Fields are dropped in this order: descriptors before the arrays.
    call: Call<'a, T>,
    /// The workspaces that the state of a kept pattern refers to.
    kept: Option<[Workspace; 2]>,
    arrays: Arrays<T>,
    buffer_bytes: u64,
}

impl<T: Real> SpGemmProduct<'_, T> {
    /// Recomputes the values from the current values of the two matrices. Queued on the stream.
    ///
    /// # Errors
    /// When the pattern is not [kept](SpGemm::keeps_pattern), or the library or the device fails.
    pub fn compute(&mut self) -> Result<(), Error> {
        if self.kept.is_none() {
            let reason = "the pattern of this product is not kept".into();
            return Err(Error::Cuda { what: "cusparseSpGEMMreuse_compute".into(), reason });
        }
        self.call.library.enter()?;
        // SAFETY: handle, state and descriptors are the library's own. The two matrices are borrowed, and the buffers that
        // the state refers to and the product's arrays are kept with it. The scalars live on the host until the call
        // returns, and freeing an array follows on the same stream.
        let status = unsafe { with_values!(self.call, cusparseSpGEMMreuse_compute) };
        check("cusparseSpGEMMreuse_compute", status)
    }

    /// Returns the peak size in bytes of the buffers that cuSPARSE requested, without the product's own arrays.
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Returns the product on the host.
    ///
    /// # Errors
    /// When the arrays are not those of a matrix, memory runs out, or the device fails.
    pub fn download(&self) -> Result<Csr<T>, Error> {
        let cuda = self.call.library.enter()?;
        let [left, right] = self.call.matrices;
        let Arrays { row_offsets, column_indices, values } = &self.arrays;
        let (row_offsets, column_indices) = (cuda.download(row_offsets)?, cuda.download(column_indices)?);
        Csr::try_new(left.rows(), right.columns(), row_offsets, column_indices, cuda.download(values)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_or_unsupported_is_refused_and_nothing_else() {
        use sys::cusparseStatus_t::*;
        let status = |status| check("cusparseSpGEMM_compute", status).unwrap_err();
        for refused in
            [CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, CUSPARSE_STATUS_ALLOC_FAILED, CUSPARSE_STATUS_NOT_SUPPORTED]
        {
            assert!(SpGemm::is_refusal(&status(refused)), "{refused:?}");
        }
        assert!(SpGemm::is_refusal(&Error::OutOfMemory { what: "an array on the GPU", bytes: 1 }));
        for wrong in [CUSPARSE_STATUS_INVALID_VALUE, CUSPARSE_STATUS_EXECUTION_FAILED] {
            assert!(!SpGemm::is_refusal(&status(wrong)), "{wrong:?}");
        }
    }

    #[test]
    fn every_algorithm_has_a_name_of_its_own() {
        let mut names: Vec<_> = INTERFACES.iter().flat_map(|interface| interface.algorithms).map(|it| it.0).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    }
}
