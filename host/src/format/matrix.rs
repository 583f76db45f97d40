//! A matrix in any storage format.

use super::formats::{formats, with_storage};
use super::storage::{ArraySource, ArrayVisitor};
use super::strategy::{HostStorage, Storage};
use super::{Csr, FillLimit, Format, Narrow};
use crate::error::Error;
use crate::executor::operation::{Executor, KernelExecutor};
use crate::memory::{HostMemory, Memory, Transfer};
use crate::real::Scalar;

macro_rules! define_matrix {
    ([$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]) => {
        /// A matrix in any of the storage formats.
        #[non_exhaustive]
        pub enum Matrix<T: Scalar, M: Memory = HostMemory> {
            $(#[doc = $about] $(#[$condition])* $Name(super::$module::$Name<T, M>),)*
            /// Any of these, with its values stored narrower.
            Narrow(Narrow<T, M>),
        }

        impl<T: Scalar, M: Memory> From<Narrow<T, M>> for Matrix<T, M> {
            fn from(matrix: Narrow<T, M>) -> Self {
                Self::Narrow(matrix)
            }
        }

        $($(#[$condition])* impl<T: Scalar, M: Memory> From<super::$module::$Name<T, M>> for Matrix<T, M> {
            fn from(matrix: super::$module::$Name<T, M>) -> Self {
                Self::$Name(matrix)
            }
        })*

        impl<T: Scalar> Matrix<T> {
            /// Builds a matrix from the arrays of a file, in the storage named `container_name`; checks every
            /// invariant.
            ///
            /// # Errors
            /// Returns a sentence that describes what is wrong with them.
            #[doc(hidden)]
            pub fn read<S: ArraySource<T>>(
                container_name: &str,
                rows: usize,
                columns: usize,
                source: &mut S,
            ) -> Result<Self, String> {
                $($(#[$condition])* {
                    if container_name == <super::$module::$Name<T> as Storage<T, HostMemory>>::CONTAINER_NAME {
                        return super::$module::$Name::read(rows, columns, source).map(Self::$Name);
                    }
                })*
                Err(format!("holds a matrix in the unknown format '{container_name}'"))
            }
        }

        impl<T: Scalar> PartialEq for Matrix<T> {
            /// Returns whether both are stored the same way, with the same parameters and the same bits in every array.
            fn eq(&self, other: &Self) -> bool {
                match (self, other) {
                    $($(#[$condition])* (Self::$Name(left), Self::$Name(right)) => left == right,)*
                    (Self::Narrow(left), Self::Narrow(right)) => left == right,
                    _ => false,
                }
            }
        }
    };
}
formats!([define_matrix] {});

/// The values of all slots of a matrix.
pub(crate) struct ValueArrays<'a, T: Scalar, M: Memory> {
    /// Values of the first slots.
    pub first: &'a mut M::Buffer<T>,
    /// Values of the remaining slots, if they are a separate array.
    pub second: Option<&'a mut M::Buffer<T>>,
}

impl<T: Scalar, M: Memory> Matrix<T, M> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        with_storage!(self, matrix => matrix.rows())
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        with_storage!(self, matrix => matrix.columns())
    }

    /// Returns the numbers of rows and columns.
    #[inline]
    pub(crate) fn dimensions(&self) -> (usize, usize) {
        with_storage!(self, matrix => (matrix.rows(), matrix.columns()))
    }

    /// Returns the number of stored entries, not counting padding.
    pub fn nnz(&self) -> usize {
        with_storage!(self, matrix => matrix.nnz())
    }

    /// Returns the values of all slots, if they are one array.
    pub(crate) fn values_of_places(&mut self) -> Option<&mut M::Buffer<T>> {
        with_storage!(self, matrix => matrix.values_of_places())
    }

    /// Returns the values of all slots, if they are one array or two.
    pub(crate) fn value_arrays(&mut self) -> Option<ValueArrays<'_, T, M>> {
        match self {
            Self::Hyb(matrix) => Some(matrix.value_arrays()),
            _ => self.values_of_places().map(|first| ValueArrays { first, second: None }),
        }
    }

    /// Returns whether slots without an entry hold the [mark](gpu_kernels::absent).
    pub(crate) fn marks_absence(&self) -> bool {
        fn marks<T: Scalar, M: Memory, S: Storage<T, M>>(_: &S) -> bool {
            S::MARKS_ABSENCE
        }
        with_storage!(self, matrix => marks::<T, M, _>(matrix))
    }

    /// Returns the bytes of the arrays, including padding.
    pub fn bytes(&self) -> u128 {
        with_storage!(self, matrix => matrix.bytes())
    }

    /// Returns the slots per entry in the arrays over entries: 1 without padding or without entries, less where two
    /// entries share a slot, as in [`ClusteredSymmetric`](super::ClusteredSymmetric).
    pub fn fill(&self) -> f64 {
        let places = with_storage!(self, matrix => matrix.places());
        if self.nnz() == 0 { 1.0 } else { places as f64 / self.nnz() as f64 }
    }

    /// Returns the bytes of the arrays that a product reads, and of what it writes besides y.
    pub(super) fn bytes_moved(&self) -> u128 {
        with_storage!(self, matrix => matrix.bytes_moved())
    }

    /// Returns the least number of bytes that y ← A x moves: the arrays that it reads, x and y once each, and whatever
    /// else it writes and reads again.
    pub fn bytes_needed(&self) -> u128 {
        self.bytes_moved() + size_of::<T>() as u128 * (self.rows() as u128 + self.columns() as u128)
    }

    /// Returns the largest relative difference between a stored value and the given one: 0 if no value was
    /// [rounded](super::ValueStorage::Rounded).
    pub fn largest_change(&self) -> f64 {
        match self {
            Self::Narrow(narrow) => narrow.largest_change(),
            _ => 0.0,
        }
    }

    /// Returns the name of the storage in a container, which has 16 bytes for it.
    #[doc(hidden)]
    pub fn container_name(&self) -> &'static str {
        fn name<T: Scalar, M: Memory, S: Storage<T, M>>(_: &S) -> &'static str {
            const { assert!(S::CONTAINER_NAME.len() <= 16) };
            S::CONTAINER_NAME
        }
        with_storage!(self, matrix => name::<T, M, _>(matrix))
    }

    /// Returns the bytes of an offset if the arrays have offsets of either width, otherwise 0.
    #[doc(hidden)]
    pub fn offset_width(&self) -> usize {
        with_storage!(self, matrix => matrix.offset_width())
    }

    /// Passes the parameters and every array to a visitor.
    #[doc(hidden)]
    pub fn for_each_array<'a>(&'a self, visitor: &mut impl ArrayVisitor<'a, M>) {
        with_storage!(self, matrix => matrix.for_each_array(visitor));
    }

    /// Moves the arrays to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Matrix<T, N>, Error> {
        with_storage!(self, matrix => Ok(matrix.transfer(to)?.into()))
    }

    /// Copies the matrix to the host's memory.
    ///
    /// # Errors
    /// When the matrix is not in the executor's memory, memory runs out, or the device fails.
    pub fn to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Matrix<T>, Error> {
        with_storage!(self, matrix => Ok(matrix.to_host(executor)?.into()))
    }

    /// Converts the matrix to CSR with kernels.
    pub(crate) fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        with_storage!(self, matrix => matrix.into_csr_by_kernels(executor))
    }
}

impl<T: Scalar> Matrix<T> {
    /// Converts `matrix` to the storage of `format`.
    ///
    /// # Errors
    /// When the result would exceed `limit`, or the format is [`Format::Auto`].
    pub fn try_from_csr(matrix: Csr<T>, format: Format, limit: FillLimit) -> Result<Self, Error> {
        format.convert(matrix, limit)
    }

    /// Returns whether the arrays are stored as `format` needs them, with the parameters that it chooses for this
    /// matrix. O(1), except O(slots) for HYB.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn is_stored_as(&self, format: Format) -> Result<bool, Error> {
        format.is_chosen_for(self)
    }

    /// Calls `visit` with row, column and value of each entry; the entries of a row come in the order of
    /// [`into_csr`](Self::into_csr).
    ///
    /// # Errors
    /// When memory runs out; most formats need none.
    pub(crate) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) -> Result<(), Error> {
        with_storage!(self, matrix => HostStorage::for_each_entry(matrix, &mut visit))
    }

    /// Converts the matrix to CSR.
    ///
    /// # Errors
    /// When memory runs out; the matrix is then dropped.
    pub fn into_csr(self) -> Result<Csr<T>, Error> {
        with_storage!(self, matrix => HostStorage::into_csr(matrix))
    }
}

impl<T: Scalar> Matrix<T> {
    /// Returns a copy.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn try_clone(&self) -> Result<Self, Error> {
        with_storage!(self, matrix => Ok(matrix.try_clone()?.into()))
    }
}

impl<T: Scalar> Clone for Matrix<T> {
    fn clone(&self) -> Self {
        with_storage!(self, matrix => matrix.clone().into())
    }
}
