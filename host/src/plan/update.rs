//! New values for a plan's matrix.

use super::transpose::{NewTranspose, Transpose};
use super::{Plan, Vector, workspace};
use crate::convert::gather::MOST_PLACES;
use crate::convert::scatter::{NO_ENTRY, Placement, Places, Scatter, ScatterOperands};
use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::executor::transfer::overwrite;
use crate::format::{Csr, FillLimit, Format, Matrix, Offsets, ValueArrays};
use crate::memory::{Buffer, Memory, reserve, with_capacity, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;
use crate::spmv::Workspace;

/// Data that a plan keeps for updates.
pub(super) enum Kept<M: Memory> {
    /// The matrix without its values, which is converted again.
    Pattern(Pattern<M>),
    /// The slots of the entries in the format.
    Places(Places<M>),
}

impl<M: Memory> Kept<M> {
    /// Data to keep of a matrix that is about to be converted to a format; `None` if the format has the values in the same
    /// order.
    pub fn for_updates<T: Scalar, E: Executor<Memory = M>>(
        executor: &E,
        matrix: &Csr<T, M>,
        format: Format,
        limit: FillLimit,
        keep_places: bool,
    ) -> Result<Option<Self>, Error> {
        if [Format::CSR_SCALAR, Format::COO].iter().any(|&other| format.shares_arrays(other)) {
            return Ok(None);
        }
        if keep_places && let Some(places) = places(executor, matrix, format, limit)? {
            return Ok(Some(Self::Places(places)));
        }
        Ok(Some(Self::Pattern(Pattern {
            rows: matrix.rows(),
            columns: matrix.columns(),
            row_offsets: matrix.row_offsets().duplicate(executor)?,
            column_indices: executor.duplicate(matrix.column_indices())?,
            limit,
        })))
    }

    /// Bytes of the arrays.
    fn bytes(&self) -> u128 {
        match self {
            Self::Pattern(pattern) => pattern.row_offsets.bytes() + 4 * pattern.column_indices.len() as u128,
            Self::Places(places) => places.bytes(),
        }
    }
}

/// Bits of a digit. Entries are numbered in digits that every number type represents exactly.
const DIGIT_BITS: u32 = 20;

/// A number per slot, and the number of slots of each array.
type OfPlaces<T> = (Vec<T>, [usize; 2]);

/// Finds the slots of a matrix's entries in a format by converting their numbers, which begin with 1, because padding
/// is 0. Returns `None` if an entry does not have exactly one slot, as when a format adds up two of them.
fn places<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T, E::Memory>,
    format: Format,
    limit: FillLimit,
) -> Result<Option<Places<E::Memory>>, Error> {
    let nnz = matrix.nnz();
    if format.looks_at_values() || nnz > MOST_PLACES {
        return Ok(None);
    }
    let digit_of = |entry: usize, digit: u32| entry >> (digit * DIGIT_BITS) & ((1 << DIGIT_BITS) - 1);
    let digits = |digit: u32| -> Result<Option<OfPlaces<T>>, Error> {
        let number = |entry| T::from_f64((digit_of(entry, digit) + 1) as f64);
        let numbers = Csr {
            rows: matrix.rows,
            columns: matrix.columns,
            stored: matrix.stored,
            row_offsets: matrix.row_offsets.duplicate(executor)?,
            column_indices: executor.duplicate(&matrix.column_indices)?,
            values: executor.upload(parallel::map(nnz, ROWS_AT_ONCE, &number)?)?,
        };
        let mut converted = numbers.convert(executor, format, limit)?;
        let Some(ValueArrays { first, second }) = converted.value_arrays() else { return Ok(None) };
        let mut of_places = executor.download(first)?;
        let second = second.map_or(Ok(Vec::new()), |second| executor.download(second))?;
        reserve(&mut of_places, second.len())?;
        let places = [of_places.len(), second.len()];
        of_places.extend(second);
        Ok(Some((of_places, places)))
    };
    let Some((low, arrays)) = digits(0)? else { return Ok(None) };
    let high = if nnz > 1 << DIGIT_BITS { digits(1)?.map(|(high, _)| high) } else { None };
    if low.len() > MOST_PLACES {
        return Ok(None);
    }
    let mut found = zeros::<u8>(nnz)?;
    let mut entry_at = with_capacity(low.len())?;
    for (place, digit) in low.iter().enumerate() {
        let number = |digit: Option<&T>| digit.map_or(1, |digit| digit.parts()[0] as usize);
        let (low, high) = (number(Some(digit)), number(high.as_ref().and_then(|high| high.get(place))));
        if low == 0 {
            entry_at.push(NO_ENTRY);
            continue;
        }
        let entry = high.saturating_sub(1) << DIGIT_BITS | (low - 1);
        match found.get_mut(entry) {
            Some(found @ 0) => *found = 1,
            _ => return Ok(None),
        }
        entry_at.push(entry as u32);
    }
    if found.contains(&0) {
        return Ok(None);
    }
    executor.run::<Placement<T>>((nnz, arrays, entry_at)).map(Some)
}

/// The matrix from which the plan was made, without its values.
pub(super) struct Pattern<M: Memory> {
    rows: usize,
    columns: usize,
    row_offsets: Offsets<M>,
    column_indices: M::Buffer<u32>,
    limit: FillLimit,
}

impl<M: Memory> Pattern<M> {
    /// The matrix with this pattern and these values.
    fn with_values<T: Scalar, E: Executor<Memory = M>>(
        &self,
        executor: &E,
        values: &M::Buffer<T>,
    ) -> Result<Csr<T, M>, Error> {
        check_length("values", values.len(), self.column_indices.len())?;
        Ok(Csr {
            rows: self.rows,
            columns: self.columns,
            stored: self.column_indices.len(),
            row_offsets: self.row_offsets.duplicate(executor)?,
            column_indices: executor.duplicate(&self.column_indices)?,
            values: executor.duplicate(values)?,
        })
    }
}

/// The parts of a plan that new values change.
#[doc(hidden)]
pub struct NewValues<T: Scalar, E: Executor> {
    matrix: NewMatrix<T, E>,
    transpose: Option<Box<NewTranspose<T, E>>>,
}

/// The effect of new values on a matrix.
enum NewMatrix<T: Scalar, E: Executor> {
    /// They are copied over the old ones.
    Given,
    /// Each is written to its slot.
    Placed,
    /// A new matrix with its workspace.
    Converted(Matrix<T, E::Memory>, Workspace<T, E::Memory>),
}

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// Gives the matrix new values, in the order of the [`Csr`] from which the plan was made: one per entry, including
    /// duplicate entries. The pattern stays, and the plan is then bit-for-bit the same as one of the new matrix in this
    /// format.
    ///
    /// In CSR and COO the values are simply copied over the old ones: whatever an executor [recorded](Executor::repeat) of
    /// the plan stays valid. Only if the old ones are borrowed from the program does the plan get an array of its own the
    /// first time. Other formats store values in another order: a plan made with
    /// [`PlanOptions::updates`](super::PlanOptions::updates) or [`Selection::updates`](crate::select::Selection::updates)
    /// keeps the pattern, and the matrix is converted again, in the executor's memory and without a new choice. That takes
    /// as long as the conversion did, and memory for another matrix in both formats while it lasts; recordings are made
    /// anew. A plan that [keeps places](super::PlanOptions::keep_places) writes each value over the old one instead. A
    /// [stored](super::Transposed) transpose gets the new values as well, in whatever format, if the plan was made for
    /// updates.
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::{Csr, Format, Plan, PlanOptions};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
    /// let options = PlanOptions { updates: true, ..PlanOptions::default() };
    /// let mut plan = Plan::with_options(&Cpu::new(), matrix, Format::SELL_P, options)?;
    /// plan.update_values(&vec![4.0, 5.0, 6.0])?;
    /// let mut y = vec![0.0; 2];
    /// plan.apply(1.0, &vec![1.0, 10.0, 100.0], 0.0, &mut y)?;
    /// assert_eq!(y, [4.0, 650.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the number of values differs from the number of entries, the values are not in the executor's memory, the plan
    /// was not made for updates and its format needs that, memory runs out, or the device fails; the old values then remain.
    /// Also when the format cannot hold the new matrix: with other values, fewer entries of
    /// [`ClusteredSymmetric`](crate::format::ClusteredSymmetric) may be pairs.
    pub fn update_values(&mut self, values: &Vector<T, E>) -> Result<(), Error> {
        let new = self.new_values(values)?;
        self.take_values(values, new)
    }

    /// Computes the effect of new values on the plan, which stays unchanged.
    ///
    /// # Errors
    /// As for [`update_values`](Self::update_values).
    #[doc(hidden)]
    pub fn new_values(&self, values: &Vector<T, E>) -> Result<NewValues<T, E>, Error> {
        let matrix = match &self.kept {
            _ if matches!(self.matrix, Matrix::Csr(_) | Matrix::Coo(_)) => {
                check_length("values", values.len(), self.matrix.nnz())?;
                NewMatrix::Given
            }
            None => return Err(self.not_updatable()),
            Some(Kept::Places(_)) => {
                check_length("values", values.len(), self.matrix.nnz())?;
                NewMatrix::Placed
            }
            Some(Kept::Pattern(pattern)) => {
                let matrix = pattern.with_values(&self.executor, values)?;
                let matrix = matrix.convert(&self.executor, self.format, pattern.limit)?;
                let workspace = workspace(&self.executor, &matrix, self.format)?;
                NewMatrix::Converted(matrix, workspace)
            }
        };
        let transpose = self.transpose.as_ref();
        let transpose = transpose.map(|transpose| transpose.new_values(&self.executor, values)).transpose()?;
        Ok(NewValues { matrix, transpose: transpose.map(Box::new) })
    }

    /// Replaces the old values by new ones, and the plan's data by their effect on it: only a failing device can
    /// interrupt that half way.
    ///
    /// # Errors
    /// When the values belong to another executor, or the device fails.
    #[doc(hidden)]
    pub fn take_values(&mut self, values: &Vector<T, E>, new: NewValues<T, E>) -> Result<(), Error> {
        let not_updatable = self.not_updatable();
        match (new.matrix, &self.kept) {
            (NewMatrix::Converted(matrix, workspace), _) => (self.matrix, self.workspace) = (matrix, workspace),
            (NewMatrix::Placed, Some(Kept::Places(places))) => {
                let marks_absence = self.matrix.marks_absence();
                let at_places = self.matrix.value_arrays().ok_or(not_updatable)?;
                self.executor.run::<Scatter<T>>(ScatterOperands { places, values, marks_absence, at_places })?;
            }
            (NewMatrix::Given | NewMatrix::Placed, _) => {
                let old = self.matrix.values_of_places().ok_or(not_updatable)?;
                overwrite(&self.executor, values, old)?;
            }
        }
        match (&mut self.transpose, new.transpose) {
            (Some(transpose), Some(new)) => transpose.take_values(*new),
            _ => Ok(()),
        }
    }

    fn not_updatable(&self) -> Error {
        Error::NotUpdatable { format: self.format.name() }
    }

    /// Bytes that the plan keeps for [`update_values`](Self::update_values) besides the matrix and its stored transpose: for
    /// a pattern, 4 per entry and 4 or 8 per row; if it [keeps places](super::PlanOptions::keep_places), 2.5 to 10 per
    /// entry, or on the host 4 per slot. With a stored transpose, the same for the transpose, and 8 per entry.
    pub fn update_bytes(&self) -> u128 {
        let of_transpose = self.transpose.as_ref().map_or(0, Transpose::update_bytes);
        self.kept.as_ref().map_or(0, Kept::bytes) + of_transpose
    }
}
