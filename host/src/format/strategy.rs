//! What a format has to say of itself. A format is a storage, which is its arrays, and a strategy, which is how they are
//! multiplied; several strategies may share a storage.

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

/// What a format may have no kernel for.
const NARROW_VALUES: &str = "values that are stored narrower than computed with";

/// What no format has a kernel for yet.
pub(super) const OTHER_PRODUCTS_OF_NARROW_VALUES: &str =
    "several vectors or the transpose, where values are stored narrower than computed with";

/// How a storage is multiplied, and with which parameters it is made.
pub(crate) trait Strategy: Copy + Eq + Hash + Debug + 'static {
    /// The storage.
    type Matrix<T: Scalar, M: Memory>: Storage<T, M>;

    /// Every strategy of the storage that has a name of its own.
    const ALL: &'static [Self];

    /// Those of them that stand for all where trying all would take too long.
    const STANDARD: &'static [Self] = Self::ALL;

    /// The name, as users write it: its own, if it is one of [`ALL`](Self::ALL), otherwise that of the one that differs
    /// from it in its parameters alone.
    fn name(self) -> &'static str;

    /// The parameters that can follow the name, where this strategy is one of [`ALL`](Self::ALL).
    fn keys(self) -> &'static [Key<Self>] {
        &[]
    }

    /// Why the parameters, each of them right by itself, do not go together.
    fn contradiction(self) -> Option<String> {
        None
    }

    /// The name of the storage alone.
    fn storage(self) -> &'static str;

    /// Whether the other strategy has the same arrays, parameters included.
    fn shares_arrays(self, other: Self) -> bool {
        self.storage() == other.storage()
    }

    /// Whether a place of the storage stands for a row and a column, so that it can hold one entry only: the conversion
    /// then sums duplicates in their order.
    fn sums_duplicates(self) -> bool {
        false
    }

    /// Whether where entries are depends on their values.
    fn looks_at_values(self) -> bool {
        false
    }

    /// Whether the entries of a row come back to CSR sorted by column.
    fn sorts_rows(self) -> bool {
        self.sums_duplicates()
    }

    /// Whether the same call gives the same bits every time on the same device.
    fn reproducible(self) -> bool {
        true
    }

    /// Whether it multiplies several vectors at once.
    fn multiplies_multivectors(self) -> bool {
        false
    }

    /// Whether it multiplies the transpose.
    fn multiplies_transposed(self) -> bool {
        false
    }

    /// The strategy that this one stands for with a matrix of this many rows and this longest row.
    fn resolved_by(self, _rows: usize, _longest_row: impl FnOnce() -> usize) -> Self {
        self
    }

    /// The longest chain of additions that any product of a row of `length` entries goes through, on any executor.
    ///
    /// Every addition joins sums of different entries, whether along a row, in a tree over the lanes, where intervals meet,
    /// or in an atomic unit; so the row's length bounds their number, in whatever order they come. Duplicates that a
    /// conversion has summed are links of the chain as well.
    fn longest_chain(self, length: usize) -> usize {
        length
    }

    /// Bytes that the arrays of `matrix` take with values of `V`. Nothing is converted.
    ///
    /// # Errors
    /// When memory runs out.
    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error>;

    /// `matrix` in this storage, converted on the host.
    ///
    /// # Errors
    /// When that would take more than `limit` allows, or memory runs out.
    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Self::Matrix<T, HostMemory>, Error>;

    /// `matrix` in this storage, converted by kernels: the same arrays, bit for bit.
    ///
    /// # Errors
    /// When that would take more than `limit` allows, memory runs out, or the device fails.
    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Self::Matrix<T, K::Memory>, Error>;

    /// Whether the matrix is stored with the parameters that this strategy multiplies with.
    fn fits<T: Scalar, M: Memory>(self, _matrix: &Self::Matrix<T, M>) -> bool {
        true
    }

    /// Whether the matrix is stored with the parameters that this strategy chooses for it.
    ///
    /// # Errors
    /// When memory runs out.
    fn is_chosen_for<T: Scalar>(self, matrix: &Self::Matrix<T, HostMemory>) -> Result<bool, Error> {
        Ok(self.fits(matrix))
    }

    /// The launches of y ← α A x + β y, in order. The vectors fit the matrix, and the matrix the strategy.
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

    /// Whether it has a kernel that does more with each element of y while it is at hand, and that pays on the device.
    fn fuses<T: Scalar, M: Memory>(self, _matrix: &Self::Matrix<T, M>, _device: &Device) -> bool {
        false
    }

    /// The launch of y ← α A x + β y + γ z with sums, where it [has such a kernel](Self::fuses). The vectors fit the matrix.
    ///
    /// # Errors
    /// When there is none, or no room for the sums.
    fn fused_launch<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _fused: &mut Fused<'_, T, M>,
        _device: &Device,
    ) -> Result<Launch, Error> {
        Err(self.fuses_nothing())
    }

    /// Whether it multiplies with values that are stored narrower than they are computed with.
    fn multiplies_narrow(self) -> bool {
        false
    }

    /// Whether the storage [marks](gpu_kernels::absent) places without an entry.
    fn marks_absence(self) -> bool {
        <Self::Matrix<f64, HostMemory> as Storage<f64, HostMemory>>::MARKS_ABSENCE
    }

    /// [`launches`](Self::launches) with other values than the matrix's own at its places.
    ///
    /// # Errors
    /// When there are none, memory runs out, or the device cannot run them.
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

    /// y ← α A x + β y on the CPU, with other values than the matrix's own at its places, as many as it has.
    ///
    /// # Errors
    /// When the format cannot do it, or memory runs out.
    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _values: HostValues<'_, V, T>,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_narrow_values())
    }

    /// y ← α A x + β y on the CPU, in parallel. The vectors fit the matrix, and the matrix the strategy.
    ///
    /// # Errors
    /// When memory runs out.
    fn multiply_on_cpu<T: Scalar>(
        self,
        matrix: &Self::Matrix<T, HostMemory>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error>;

    /// The launches of Y ← α A X + β Y, in order; X and Y fit the matrix.
    ///
    /// # Errors
    /// When there are none, memory runs out, or the device cannot run them.
    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _tiles: &Tiles<T>,
        _room: &mut Room<'_, T, M>,
        _device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Err(self.multiplies_no_multivectors())
    }

    /// Y ← α A X + β Y on the CPU for vectors in row-major layout, in parallel; X and Y fit the matrix.
    ///
    /// # Errors
    /// When the format cannot do it.
    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _vectors: usize,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_multivectors())
    }

    /// The launches of y ← α Aᵀ x + β y, or the same with Aᴴ, in order; x has an element for each row, y one for each column.
    ///
    /// # Errors
    /// When there are none.
    fn transposed_launches<T: Scalar, M: Memory>(
        self,
        _matrix: &Self::Matrix<T, M>,
        _transposition: Transposition,
        _vectors: Vectors<T>,
        _device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Err(self.multiplies_no_transpose())
    }

    /// y ← α Aᵀ x + β y, or the same with Aᴴ, on the CPU, in parallel; x has an element for each row, y one for each column.
    ///
    /// # Errors
    /// When the format cannot do it, or memory runs out.
    fn multiply_transposed_on_cpu<T: Scalar>(
        self,
        _matrix: &Self::Matrix<T, HostMemory>,
        _transposition: Transposition,
        _operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        Err(self.multiplies_no_transpose())
    }

    /// The error of a format without a kernel for an epilogue.
    fn fuses_nothing(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "an epilogue" }
    }

    /// The error of a format without kernels for several vectors.
    fn multiplies_no_multivectors(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "several right-hand sides" }
    }

    /// The error of a format without kernels for narrow values.
    fn multiplies_no_narrow_values(self) -> Error {
        Error::Unsupported { format: self.name(), operation: NARROW_VALUES }
    }

    /// The error of a format without kernels for the transpose.
    fn multiplies_no_transpose(self) -> Error {
        Error::Unsupported { format: self.name(), operation: "the transposed matrix" }
    }
}

/// The arrays of a format. `storage!` makes the type and its methods that treat all arrays alike.
pub(crate) trait Storage<T: Scalar, M: Memory>: Sized {
    /// The name in a container's header.
    const CONTAINER_NAME: &'static str;

    /// Whether places without an entry hold the [mark](gpu_kernels::absent).
    const MARKS_ABSENCE: bool = false;

    /// Bytes of an offset, where the arrays have offsets of either width; otherwise 0.
    fn offset_width(&self) -> usize {
        0
    }

    /// Bytes of the arrays that a product reads, and of what it writes besides y.
    fn bytes_moved(&self) -> u128;

    /// The same matrix in CSR, converted by kernels.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error>;
}

/// Arrays in the host's memory.
pub(crate) trait HostStorage<T: Scalar>: Storage<T, HostMemory> {
    /// Calls `visit` with row, column and value of each entry; a row's entries in the order that CSR gets them.
    ///
    /// # Errors
    /// When memory runs out, of which most formats need none.
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error>;

    /// The same matrix in CSR.
    ///
    /// # Errors
    /// When memory runs out.
    fn into_csr(self) -> Result<Csr<T>, Error>;

    /// A matrix from the arrays of a file, every invariant checked.
    ///
    /// # Errors
    /// What is wrong with them, in a sentence.
    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String>;
}
