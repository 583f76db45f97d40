//! Traits of a format: a storage, which is its arrays, and a strategy, which is how they are multiplied. Several
//! strategies may share a storage.

use std::fmt::Debug;
use std::hash::Hash;

use cuda_std::launch::Launch;

use super::narrow::{HostValues, StoredAs, Values};
use super::storage::ArraySource;
use super::text::Key;
use super::{Csr, FillLimit};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::transposed::Transposition;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// An operation without a kernel in some formats.
const NARROW_VALUES: &str = "values stored narrower than computed with";

/// An operation without a kernel in any format yet.
pub(super) const OTHER_PRODUCTS_OF_NARROW_VALUES: &str =
    "several vectors or the transpose, with values stored narrower than computed with";

/// How a storage is multiplied, and the parameters with which it is built.
pub(crate) trait Strategy: Copy + Eq + Hash + Debug + 'static {
    /// The storage.
    type Matrix<T: Scalar, M: Memory>: Storage<T, M>;

    /// All strategies of the storage that have names of their own.
    const ALL: &'static [Self];

    /// Those that represent all where trying all would take too long.
    const STANDARD: &'static [Self] = Self::ALL;

    /// Returns the name, as users write it: its own, if it is one of [`ALL`](Self::ALL), otherwise that of the strategy
    /// that differs from it only in its parameters.
    fn name(self) -> &'static str;

    /// Returns the parameters that can follow the name, if this strategy is one of [`ALL`](Self::ALL).
    fn keys(self) -> &'static [Key<Self>] {
        &[]
    }

    /// Explains why parameters that are valid one by one contradict each other.
    fn contradiction(self) -> Option<String> {
        None
    }

    /// Returns the name of the storage alone.
    fn storage(self) -> &'static str;

    /// Returns whether the other strategy has the same arrays, including parameters.
    fn shares_arrays(self, other: Self) -> bool {
        self.storage() == other.storage()
    }

    /// Returns whether a slot of the storage stands for a row and a column and so holds one entry only; the conversion
    /// then sums duplicates in their order.
    fn sums_duplicates(self) -> bool {
        false
    }

    /// Returns whether the positions of entries depend on their values.
    fn looks_at_values(self) -> bool {
        false
    }

    /// Returns whether converting back to CSR sorts the entries of each row by column.
    fn sorts_rows(self) -> bool {
        self.sums_duplicates()
    }

    /// Returns whether repeated calls on the same device give the same bits.
    fn reproducible(self) -> bool {
        true
    }

    /// Returns whether it multiplies several vectors at once.
    fn multiplies_multivectors(self) -> bool {
        false
    }

    /// Returns whether it multiplies the transpose.
    fn multiplies_transposed(self) -> bool {
        false
    }

    /// Returns the strategy that this one stands for, given the number of rows and the length of the longest row.
    fn resolved_by(self, _rows: usize, _longest_row: impl FnOnce() -> usize) -> Self {
        self
    }

    /// Returns the longest chain of additions in any product of a row of `length` entries, on any executor.
    ///
    /// Every addition joins sums of different entries, whether along a row, in a tree over the lanes, where intervals
    /// meet, or in an atomic unit; so the row's length bounds their number, in any order. Duplicates that a conversion
    /// has summed are links of the chain as well.
    fn longest_chain(self, length: usize) -> usize {
        length
    }

    /// Returns the bytes that the arrays of `matrix` take with values of `V`, without converting anything.
    ///
    /// # Errors
    /// When memory runs out.
    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error>;

    /// Converts `matrix` to this storage on the host.
    ///
    /// # Errors
    /// When the result would exceed `limit`, or memory runs out.
    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Self::Matrix<T, HostMemory>, Error>;

    /// Converts `matrix` to this storage with kernels: the same arrays, bit for bit.
    ///
    /// # Errors
    /// When the result would exceed `limit`, memory runs out, or the device fails.
    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Self::Matrix<T, K::Memory>, Error>;

    /// Returns whether the matrix is stored with the parameters that this strategy multiplies with.
    fn fits<T: Scalar, M: Memory>(self, _matrix: &Self::Matrix<T, M>) -> bool {
        true
    }

    /// Returns whether the matrix is stored with the parameters that this strategy chooses for it.
    ///
    /// # Errors
    /// When memory runs out.
    fn is_chosen_for<T: Scalar>(self, matrix: &Self::Matrix<T, HostMemory>) -> Result<bool, Error> {
        Ok(self.fits(matrix))
    }

    /// Returns the launches of y ← α A x + β y, in order. The vectors fit the matrix, and the matrix the strategy.
    ///
    /// # Errors
    /// When memory runs out, or the device cannot run them.
    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Self::Matrix<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error>;

    /// Returns whether a kernel exists that fuses further work on each element of y, and is worthwhile on the device.
    fn fuses<T: Scalar, M: Memory>(self, _matrix: &Self::Matrix<T, M>, _device: &Device) -> bool {
        false
    }

    /// Returns the launch of y ← α A x + β y + γ z with sums, where [such a kernel](Self::fuses) exists. The vectors
    /// fit the matrix.
    ///
    /// # Errors
    /// When no such kernel exists, or the sums have no workspace.
    fn fused_launch<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _fused: &mut Fused<'_, T, M>,
        _device: &Device,
    ) -> Result<Launch, Error> {
        Err(self.fuses_nothing())
    }

    /// Returns whether it multiplies with values stored narrower than computed with.
    fn multiplies_narrow(self) -> bool {
        false
    }

    /// Returns whether the storage [marks](gpu_kernels::absent) slots without an entry.
    fn marks_absence(self) -> bool {
        <Self::Matrix<f64, HostMemory> as Storage<f64, HostMemory>>::MARKS_ABSENCE
    }

    /// Returns [`launches`](Self::launches) with other values in place of the matrix's own.
    ///
    /// # Errors
    /// When no kernel exists, memory runs out, or the device cannot run them.
    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _values: Values<V, T>,
        _vectors: Vectors<T>,
        _room: &mut Room<'_, T, M>,
        _device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Err(self.multiplies_no_narrow_values())
    }

    /// Computes y ← α A x + β y on the CPU, with other values in place of the matrix's own, equal in number.
    ///
    /// # Errors
    /// When the format does not support it, or memory runs out.
    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _values: HostValues<'_, V, T>,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_narrow_values())
    }

    /// Computes y ← α A x + β y on the CPU, in parallel. The vectors fit the matrix, and the matrix the strategy.
    ///
    /// # Errors
    /// When memory runs out.
    fn multiply_on_cpu<T: Scalar>(
        self,
        matrix: &Self::Matrix<T, HostMemory>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error>;

    /// Returns the launches of Y ← α A X + β Y, in order; X and Y fit the matrix.
    ///
    /// # Errors
    /// When no kernel exists, memory runs out, or the device cannot run them.
    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _tiles: &Tiles<T>,
        _room: &mut Room<'_, T, M>,
        _device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Err(self.multiplies_no_multivectors())
    }

    /// Computes Y ← α A X + β Y on the CPU for vectors in row-major layout, in parallel; X and Y fit the matrix.
    ///
    /// # Errors
    /// When the format does not support it.
    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _vectors: usize,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_multivectors())
    }

    /// Returns the launches of y ← α Aᵀ x + β y, or the same with Aᴴ, in order; x has an element per row, y one per
    /// column.
    ///
    /// # Errors
    /// When no kernel exists.
    fn transposed_launches<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _transposition: Transposition,
        _vectors: Vectors<T>,
        _device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Err(self.multiplies_no_transpose())
    }

    /// Computes y ← α Aᵀ x + β y, or the same with Aᴴ, on the CPU, in parallel; x has an element per row, y one per
    /// column.
    ///
    /// # Errors
    /// When the format does not support it, or memory runs out.
    fn multiply_transposed_on_cpu<T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _transposition: Transposition,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_transpose())
    }

    /// Returns the error of a format without a kernel for an epilogue.
    fn fuses_nothing(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "an epilogue" }
    }

    /// Returns the error of a format without kernels for several vectors.
    fn multiplies_no_multivectors(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "several right-hand sides" }
    }

    /// Returns the error of a format without kernels for narrow values.
    fn multiplies_no_narrow_values(self) -> Error {
        Error::Unsupported { format: self.name(), operation: NARROW_VALUES }
    }

    /// Returns the error of a format without kernels for the transpose.
    fn multiplies_no_transpose(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "the transposed matrix" }
    }
}

/// The arrays of a format. `storage!` defines the type and the methods that treat all arrays alike.
pub(crate) trait Storage<T: Scalar, M: Memory>: Sized {
    /// Name in a container's header.
    const CONTAINER_NAME: &'static str;

    /// Whether slots without an entry hold the [mark](gpu_kernels::absent).
    const MARKS_ABSENCE: bool = false;

    /// Returns the bytes of an offset if the arrays have offsets of either width, otherwise 0.
    fn offset_width(&self) -> usize {
        0
    }

    /// Returns the bytes of the arrays that a product reads, and of what it writes besides y.
    fn bytes_moved(&self) -> u128;

    /// Converts the matrix to CSR with kernels.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error>;
}

/// Arrays in the host's memory.
pub(crate) trait HostStorage<T: Scalar>: Storage<T, HostMemory> {
    /// Calls `visit` with row, column and value of each entry; the entries of a row come in the order of CSR.
    ///
    /// # Errors
    /// When memory runs out; most formats need none.
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error>;

    /// Converts the matrix to CSR.
    ///
    /// # Errors
    /// When memory runs out.
    fn into_csr(self) -> Result<Csr<T>, Error>;

    /// Builds a matrix from the arrays of a file; checks every invariant.
    ///
    /// # Errors
    /// Returns a sentence that describes what is wrong with them.
    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String>;
}
