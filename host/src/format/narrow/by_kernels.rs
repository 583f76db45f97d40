//! Narrow values by kernels: which types preserve them, and the conversions there and back.

use cuda_std::OfBits;
use cuda_std::launch::Grid;
use cuda_std::warp::WARP_LANES;
use gpu_kernels::convert::narrow::{Changes, Losses, Narrowed, Unlisted, Widened};

use super::distinct::Distinct;
use super::values::{StoredAs, Storing, Values, ValuesVisitor};
use crate::convert::primitives::{Array, launch};
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::memory::{Buffer, Element, copy};
use crate::real::Scalar;

/// Different values found by kernels.
pub(super) enum Found<T> {
    All(Distinct<T>),
    TooMany,
    /// Every search found more values, up to the largest number of searches.
    Unknown,
}

/// Returns the number of warps of a grid of whole warps.
fn warps(grid: Grid) -> usize {
    grid.blocks as usize * (grid.threads_per_block / WARP_LANES) as usize
}

/// Largest number of searches for values not known yet. In each search, every warp finds one: with a GPU's thousands of
/// warps, two are almost always enough; with an emulator's few warps, it takes more to see that there are too many
/// values.
const MOST_SEARCHES: usize = 32;

/// Returns the different values, if they are few.
pub(super) fn distinct<T: Scalar, K: KernelExecutor>(executor: &K, values: &Array<K, T>) -> Result<Found<T>, Error> {
    let grid = executor.device().grid(values.len() as u64);
    let warps = warps(grid);
    let mut distinct = Distinct::new()?;
    for _ in 0..MOST_SEARCHES {
        let table = executor.upload(copy(&distinct.numbers)?)?;
        let (mut found, mut numbers) = (executor.unwritten(warps)?, executor.unwritten(warps)?);
        let kernel = Unlisted {
            count: values.len() as u64,
            values: values.global(),
            entries: table.len() as u32,
            table: table.global(),
            found: found.global_mut(),
            numbers: numbers.global_mut(),
        };
        // SAFETY: the arrays have the lengths that the kernel asks for, and the table is sorted.
        unsafe { launch(executor, grid, kernel) }?;
        let found: Vec<u32> = executor.download(&found)?;
        if found.iter().all(|&found| found == 0) {
            return Ok(Found::All(distinct));
        }
        let numbers: Vec<T> = executor.download(&numbers)?;
        let mut new = numbers.iter().zip(&found).filter(|&(_, &found)| found != 0);
        if !new.all(|(&number, _)| distinct.insert(number)) {
            return Ok(Found::TooMany);
        }
        distinct.sort();
    }
    Ok(Found::Unknown)
}

/// Returns what types without a table do not preserve, encoded as by [`Losses`].
pub(super) fn losses<T: Scalar, K: KernelExecutor>(executor: &K, values: &Array<K, T>) -> Result<u32, Error> {
    let parts = values.global_parts();
    let count = parts.length() as u64;
    let grid = executor.device().grid(count);
    let mut losses = executor.unwritten(warps(grid))?;
    let kernel = Losses { count, values: parts, losses: losses.global_mut() };
    // SAFETY: the arrays have the lengths that the kernel asks for.
    unsafe { launch(executor, grid, kernel) }?;
    let losses: Vec<u32> = executor.download(&losses)?;
    Ok(losses.into_iter().fold(0, |all, losses| all | losses))
}

/// Stores values by kernels.
pub(super) struct EncodeByKernels<'a, T: Scalar, K: KernelExecutor> {
    pub executor: &'a K,
    pub values: &'a Array<K, T>,
    /// Whether the storage [marks](gpu_kernels::absent) slots without an entry.
    pub marks_absence: bool,
}

impl<T: Scalar, K: KernelExecutor> Storing<T> for EncodeByKernels<'_, T, K> {
    type Memory = K::Memory;

    fn store<V: StoredAs<T> + OfBits<Bits: Element>>(self, table: &Array<K, T>) -> Result<Array<K, V::Bits>, Error> {
        let Self { executor, values, marks_absence } = self;
        let count = values.len();
        let mut stored = executor.unwritten(count)?;
        let kernel = Narrowed::<V, T> {
            count: count as u64,
            marks: marks_absence.into(),
            values: values.global(),
            entries: table.len() as u32,
            table: table.global(),
            stored: stored.global_mut().as_numbers(),
        };
        // SAFETY: the arrays are as long as the kernel asks for, and a recipe's table is sorted.
        unsafe { launch(executor, executor.device().grid(count as u64), kernel) }?;
        Ok(stored)
    }
}

/// Widens values by kernels.
pub(super) struct WidenByKernels<'a, K> {
    pub executor: &'a K,
    /// Number of values.
    pub count: usize,
    /// As for [`EncodeByKernels`].
    pub marks_absence: bool,
}

impl<T: Scalar, K: KernelExecutor> ValuesVisitor<T> for WidenByKernels<'_, K> {
    type Output = Array<K, T>;

    fn visit<V: StoredAs<T>>(self, Values { stored, table }: Values<V, T>) -> Result<Array<K, T>, Error> {
        let Self { executor, count, marks_absence } = self;
        let mut values: Array<K, T> = executor.unwritten(count)?;
        let marks = marks_absence.into();
        let kernel = Widened { count: count as u64, marks, stored, table, values: values.global_mut() };
        // SAFETY: `count` is the number of values, and the table has an entry for each code, as their recipe ensured.
        unsafe { launch(executor, executor.device().grid(count as u64), kernel) }?;
        Ok(values)
    }
}

/// Compares values with their stored versions.
pub(super) struct ChangesByKernels<'a, T: Scalar, K: KernelExecutor> {
    pub executor: &'a K,
    pub values: &'a Array<K, T>,
}

impl<T: Scalar, K: KernelExecutor> ValuesVisitor<T> for ChangesByKernels<'_, T, K> {
    /// The largest change; `None` if a finite value has become infinite.
    type Output = Option<f64>;

    fn visit<V: StoredAs<T>>(self, Values { stored, .. }: Values<V, T>) -> Result<Option<f64>, Error> {
        let Self { executor, values } = self;
        let count = values.len() as u64;
        let grid = executor.device().grid(count);
        let (mut changes, mut beyond) = (executor.unwritten(warps(grid))?, executor.unwritten(warps(grid))?);
        let (values, of_warps) = (values.global(), (changes.global_mut(), beyond.global_mut()));
        let kernel = Changes { count, values, stored, changes: of_warps.0, beyond: of_warps.1 };
        // SAFETY: the arrays have the lengths that the kernel asks for.
        unsafe { launch(executor, grid, kernel) }?;
        let (changes, beyond): (Vec<f64>, Vec<u32>) = (executor.download(&changes)?, executor.download(&beyond)?);
        Ok(beyond.iter().all(|&beyond| beyond == 0).then(|| changes.into_iter().fold(0.0, f64::max)))
    }
}
