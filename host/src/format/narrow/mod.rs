//! A matrix in any storage whose values are stored narrower than computed with.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod distinct;
mod encoding;
mod recipe;
mod rounding;
mod search;
mod values;

use std::mem;

use self::encoding::{Encoding, Places, Widening};
pub(crate) use recipe::Recipe;
pub use recipe::ValueStorage;
pub(crate) use search::narrowest;
pub(crate) use values::{HostValues, HostValuesVisitor, NarrowValues, StoredAs, Values, ValuesVisitor};
pub use values::{NarrowType, Narrowed};

use super::storage::{ArraySource, ArrayVisitor};
use super::strategy::{HostStorage, Storage};
use super::{Csr, Format, Matrix};
use crate::error::Error;
use crate::executor::Executor;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{HostMemory, Memory, Transfer};
use crate::real::Scalar;
use crate::spmv::HostOperands;

/// A matrix in another storage, with its values in a [`NarrowType`]. Products use the stored values.
pub struct Narrow<T: Scalar, M: Memory = HostMemory> {
    /// The other storage, whose array of values is empty. It is never exposed.
    pattern: Box<Matrix<T, M>>,
    values: NarrowValues<T, M>,
    largest_change: f64,
}

impl<T: Scalar, M: Memory> Narrow<T, M> {
    /// Stores the values of a matrix by a recipe made for the same number of entries.
    pub(crate) fn new<E: Executor<Memory = M>>(
        executor: &E,
        mut matrix: Matrix<T, M>,
        recipe: &Recipe<T>,
    ) -> Result<Self, Error> {
        let nothing = executor.zeros(0)?;
        let Some(values) = matrix.values_of_places() else {
            return Err(Error::structure(matrix.container_name(), "the values are not one array"));
        };
        let full = mem::replace(values, nothing);
        let marks_absence = matrix.marks_absence();
        let values = executor.run::<Encoding<T>>(Places { values: &full, marks_absence, recipe })?;
        Ok(Self { pattern: Box::new(matrix), values, largest_change: recipe.largest_change })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.pattern.rows()
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.pattern.columns()
    }

    /// Returns the number of stored entries, not counting padding.
    pub fn nnz(&self) -> usize {
        self.pattern.nnz()
    }

    /// Returns the type of the stored values.
    pub fn narrow_type(&self) -> NarrowType {
        self.values.narrow_type()
    }

    /// Returns the largest relative difference between a stored value and the given one: 0 if nothing was lost.
    pub fn largest_change(&self) -> f64 {
        self.largest_change
    }

    /// Returns the bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        self.pattern.bytes() + self.values.bytes()
    }

    /// Returns the number of slots for entries, including padding.
    pub(crate) fn places(&self) -> usize {
        self.values.places()
    }

    /// Returns `None`, because the values are not an array of numbers.
    pub(crate) fn values_of_places(&mut self) -> Option<&mut M::Buffer<T>> {
        None
    }

    /// Passes the arrays of the pattern to a visitor.
    pub(crate) fn for_each_array<'a>(&'a self, visitor: &mut impl ArrayVisitor<'a, M>) {
        self.pattern.for_each_array(visitor);
    }

    /// Moves the arrays to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Narrow<T, N>, Error> {
        Ok(Narrow {
            pattern: Box::new(self.pattern.transfer(to)?),
            values: self.values.transfer(to)?,
            largest_change: self.largest_change,
        })
    }

    /// Copies the arrays to the host's memory.
    pub(crate) fn to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Narrow<T>, Error> {
        Ok(Narrow {
            pattern: Box::new(self.pattern.to_host(executor)?),
            values: self.values.to_host(executor)?,
            largest_change: self.largest_change,
        })
    }

    /// Returns the storage without its values, and the values.
    pub(crate) fn parts(&self) -> (&Matrix<T, M>, &NarrowValues<T, M>) {
        (&self.pattern, &self.values)
    }
}

impl<T: Scalar> Narrow<T> {
    /// Returns a copy.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        let (pattern, values) = (Box::new(self.pattern.try_clone()?), self.values.try_clone()?);
        Ok(Self { pattern, values, largest_change: self.largest_change })
    }

    /// Returns the same matrix with its values as they are computed with.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn widened(&self) -> Result<Matrix<T>, Error> {
        let mut matrix = self.pattern.try_clone()?;
        let values = Widening::on_host(Arithmetic::Parallel, (&self.values, matrix.marks_absence()))?;
        if let Some(place) = matrix.values_of_places() {
            *place = values;
        }
        Ok(matrix)
    }
}

impl<T: Scalar> Clone for Narrow<T> {
    fn clone(&self) -> Self {
        Self { pattern: self.pattern.clone(), values: self.values.clone(), largest_change: self.largest_change }
    }
}

impl<T: Scalar> PartialEq for Narrow<T> {
    /// Returns whether the storages and the bits of the values are the same.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && self.values == other.values
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Narrow<T, M> {
    const CONTAINER_NAME: &'static str = "narrow";

    fn offset_width(&self) -> usize {
        self.pattern.offset_width()
    }

    fn bytes_moved(&self) -> u128 {
        self.pattern.bytes_moved() + self.values.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        let Self { mut pattern, values, .. } = self;
        let values = Widening::by_kernels(executor, (&values, pattern.marks_absence()))?;
        if let Some(place) = pattern.values_of_places() {
            *place = values;
        }
        pattern.into_csr_by_kernels(executor)
    }
}

impl<T: Scalar> HostStorage<T> for Narrow<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        self.widened()?.for_each_entry(visit)
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.widened()?.into_csr()
    }

    /// Not supported, because files hold the [widened](Narrow::widened) matrix.
    fn read<S: ArraySource<T>>(_: usize, _: usize, _: &mut S) -> Result<Self, String> {
        Err("holds a matrix with narrow values, which files cannot hold".into())
    }
}

impl<T: Scalar> Narrow<T> {
    /// Computes y ← α A x + β y on the CPU.
    pub(crate) fn multiply_on_cpu(&self, format: Format, operands: HostOperands<'_, T>) -> Result<(), Error> {
        struct Multiply<'a, T: Scalar> {
            format: Format,
            pattern: &'a Matrix<T>,
            operands: HostOperands<'a, T>,
        }
        impl<T: Scalar> HostValuesVisitor<T> for Multiply<'_, T> {
            type Output = ();

            fn visit<V: StoredAs<T>>(self, values: HostValues<'_, V, T>) -> Result<(), Error> {
                self.format.multiply_narrow_on_cpu(self.pattern, values, self.operands)
            }
        }
        let (pattern, values) = self.parts();
        T::visit_on_host(values, Multiply { format, pattern, operands })
    }
}
