//! Solves with triangular matrices on every executor, level by level.

use std::marker::PhantomData;

use cuda_std::launch::{Call, Grid, Launch};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::triangular::TriangularLevels;
use host::device::Device;
use host::error::{Error, check_length, check_square};
use host::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use host::format::{Csr, LARGEST_DIMENSION, Offsets};
use host::memory::{Buffer, HostMemory, Memory, collect, copy, reserve, with_capacity, zeros};
use host::parallel;
use host::real::{Real, Scalar, parts_of, parts_of_mut};

use crate::dense::{Summation, with_summation};
use crate::levels::{Side, levels};

/// Largest number of lanes of a small level. Several small levels share one launch of one block, because a launch takes
/// longer than such a level. The limit is not larger because neighbouring rows of a level read x far apart, about one
/// sector per cycle on one multiprocessor.
const SMALL_LEVEL: u32 = 1024;

/// Most threads of that block: with more, each has too few registers.
const MOST_THREADS: u32 = 768;

/// Least number of rows of a level that the CPU solves in parallel, and rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 1024;

/// A triangular matrix in the memory of an executor, with its rows ordered by level: rows of a level depend only on
/// elements of the solution from previous levels. It may be triangular in another order than that of the vectors, at no
/// cost: rows and columns are then stored by their vector elements.
pub struct Triangular<T: Real, M: Memory> {
    /// The off-diagonal entries, with rows in level order.
    entries: Csr<T, M>,
    /// The element of b and x of each row in that order.
    order: M::Buffer<u32>,
    /// The original row of each row in that order, on the host.
    order_on_host: Vec<u32>,
    /// One over the diagonal, in that order.
    inverse_diagonal: M::Buffer<T>,
    /// The offset of each level in that order.
    level_offsets: M::Buffer<u32>,
    /// The same offsets, on the host.
    levels: Vec<u32>,
    lanes: u32,
    batches: Vec<Batch>,
}

/// Levels solved by one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    first_level: u32,
    end_level: u32,
    /// Lanes needed for the largest of them.
    lanes: u64,
}

impl<R: Real, M: Memory> Triangular<R, M> {
    /// Finds the levels of a matrix, given by its off-diagonal entries and one over its diagonal, and moves it to an
    /// executor. A complex matrix with a real diagonal becomes a real one, with one row and column per part. `elements` has
    /// the element of b and x of each row, a permutation; without it the matrix is in vector order. O(rows + nnz) on the
    /// host; takes the memory of the matrix, or of the real one, once more.
    ///
    /// # Errors
    /// When an entry is not on `side` of the diagonal, the operands do not fit each other, or memory runs out.
    pub fn new<T: Scalar<Real = R>, E: Executor<Memory = M>>(
        executor: &E,
        side: Side,
        beside_diagonal: &Csr<T>,
        inverse_diagonal: &[R],
        elements: Option<&[u32]>,
    ) -> Result<Self, Error> {
        let rows = beside_diagonal.rows();
        check_square("the triangular matrix", rows, beside_diagonal.columns())?;
        check_length("the inverse of the diagonal", inverse_diagonal.len(), rows)?;
        if let Some(elements) = elements {
            check_permutation(elements, rows)?;
        }
        let parts = rows.saturating_mul(T::PARTS);
        if parts > LARGEST_DIMENSION {
            let (value, limit) = (parts as u128, LARGEST_DIMENSION as u128);
            return Err(Error::TooLarge { what: "number of rows", value, limit });
        }
        let (mut levels, order_on_host) = levels(side, beside_diagonal)?;
        levels.iter_mut().for_each(|place| *place *= T::PARTS as u32);
        let first_part = |row: u32| elements.map_or(row, |elements| elements[row as usize]) * T::PARTS as u32;
        let order =
            collect((0..parts).map(|place| first_part(order_on_host[place / T::PARTS]) + (place % T::PARTS) as u32))?;
        let entries_of = |place: usize| beside_diagonal.row(order_on_host[place / T::PARTS] as usize);
        let offsets = Offsets::from_lengths((0..parts).map(|place| entries_of(place).len() * T::PARTS))?;
        let mut column_indices = with_capacity(offsets.get(parts))?;
        for (column, _) in (0..parts).flat_map(entries_of) {
            column_indices.extend((0..T::PARTS as u32).map(|part| first_part(column) + part));
        }
        let values = values_in_order(&order_on_host, beside_diagonal)?;
        let inverse_diagonal = in_order(&order_on_host, inverse_diagonal, T::PARTS)?;
        let lanes = lanes_for(parts, values.len());
        Ok(Self {
            entries: Csr::try_new(parts, parts, offsets, column_indices, values)?.upload(executor)?,
            order: executor.upload(order)?,
            order_on_host,
            inverse_diagonal: executor.upload(inverse_diagonal)?,
            level_offsets: executor.upload(copy(&levels)?)?,
            batches: batches(&levels, lanes)?,
            lanes,
            levels,
        })
    }

    /// Returns the number of rows of the matrix.
    pub fn rows(&self) -> usize {
        self.entries.rows()
    }

    /// Prepares the values of a matrix of the same pattern, and one over its diagonal, in level order. The matrix is given
    /// as for [`new`](Self::new), in any precision.
    ///
    /// # Errors
    /// When the number of rows or entries differs, or memory runs out.
    pub(crate) fn new_values<S: Scalar, E: Executor<Memory = M>>(
        &self,
        executor: &E,
        beside_diagonal: &Csr<S>,
        inverse_diagonal: &[R],
    ) -> Result<TriangularValues<R, M>, Error> {
        let rows = self.order_on_host.len();
        check_length("the inverse of the diagonal", inverse_diagonal.len(), rows)?;
        check_length("the diagonal of the triangular matrix", beside_diagonal.rows(), rows)?;
        let values = values_in_order(&self.order_on_host, beside_diagonal)?;
        check_length("values", values.len(), self.entries.nnz())?;
        let inverse_diagonal = in_order(&self.order_on_host, inverse_diagonal, S::PARTS)?;
        Ok(TriangularValues { values: executor.upload(values)?, inverse_diagonal: executor.upload(inverse_diagonal)? })
    }

    /// Replaces the values; levels and order are kept.
    ///
    /// # Errors
    /// When the device fails.
    pub(crate) fn take_values<E: Executor<Memory = M>>(
        &mut self,
        executor: &E,
        new: TriangularValues<R, M>,
    ) -> Result<(), Error> {
        self.entries.update_values(executor, &new.values)?;
        executor.copy(&new.inverse_diagonal, &mut self.inverse_diagonal)
    }
}

/// Checks that each row has its own element, on which solving relies.
fn check_permutation(elements: &[u32], rows: usize) -> Result<(), Error> {
    check_length("the elements of the rows", elements.len(), rows)?;
    let mut taken = zeros::<u8>(rows)?;
    let mut takes =
        |element: u32| taken.get_mut(element as usize).is_some_and(|taken| std::mem::replace(taken, 1) == 0);
    if elements.iter().all(|&element| takes(element)) {
        return Ok(());
    }
    Err(Error::structure("triangular", "two rows have the same element of the vectors, or one has none"))
}

/// Values of a triangular matrix in level order.
pub(crate) struct TriangularValues<T: Real, M: Memory> {
    values: M::Buffer<T>,
    inverse_diagonal: M::Buffer<T>,
}

/// Returns the values of the rows in this order; of a complex matrix, those of the real one with one row and column per
/// part.
fn values_in_order<S: Scalar, R: Real>(order: &[u32], matrix: &Csr<S>) -> Result<Vec<R>, Error> {
    let mut values = with_capacity(matrix.nnz() * S::PARTS * S::PARTS)?;
    for &row in order {
        for part in 0..S::PARTS {
            for (_, value) in matrix.row(row as usize) {
                // (a + b i) (x + y i) = a x − b y + (b x + a y) i
                let [a, b] = value.parts().map(R::from_f64);
                let factors = if part == 0 { [a, -b] } else { [b, a] };
                values.extend_from_slice(&factors[..S::PARTS]);
            }
        }
    }
    Ok(values)
}

/// Returns the elements of the rows in this order, each repeated for each of its parts.
fn in_order<T: Copy>(order: &[u32], elements: &[T], parts: usize) -> Result<Vec<T>, Error> {
    collect((0..order.len() * parts).map(|place| elements[order[place / parts] as usize]))
}

/// Returns the lanes per row: about four entries each, which are loaded at the same time.
fn lanes_for(rows: usize, nnz: usize) -> u32 {
    match nnz / rows.max(1) {
        0..=4 => 1,
        5..=24 => 4,
        _ => 16,
    }
}

/// Returns the launches: consecutive small levels share one, any other level has its own.
///
/// # Errors
/// When memory runs out.
fn batches(levels: &[u32], lanes: u32) -> Result<Vec<Batch>, Error> {
    let mut batches: Vec<Batch> = Vec::new();
    for (level, range) in (0..).zip(levels.windows(2)) {
        let work = u64::from(range[1] - range[0]) * u64::from(lanes);
        let small = |work| work <= u64::from(SMALL_LEVEL);
        match batches.last_mut() {
            Some(batch) if small(batch.lanes) && small(work) => {
                (batch.end_level, batch.lanes) = (level + 1, batch.lanes.max(work));
            }
            _ => {
                reserve(&mut batches, 1)?;
                batches.push(Batch { first_level: level, end_level: level + 1, lanes: work });
            }
        }
    }
    Ok(batches)
}

/// x ← T⁻¹ b for a triangular T; for complex vectors, applied to their real and imaginary parts.
pub struct TriangularSolve<T>(PhantomData<T>);

impl<T: Scalar> Operation for TriangularSolve<T> {
    type Operands<'a, M: Memory> = TriangularOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        operands: TriangularOperands<'_, T, K::Memory>,
    ) -> Result<(), Error> {
        let launches = solve_launches(operands, executor.device())?;
        // SAFETY: the lengths were checked, the matrix keeps its invariants, the arrays are borrowed, x exclusively.
        unsafe { executor.launch_all(&launches) }
    }

    fn on_host(arithmetic: Arithmetic, operands: TriangularOperands<'_, T, HostMemory>) -> Result<(), Error> {
        with_summation!(arithmetic, S => solve_on_host::<T, S>(operands))
    }
}

/// The operands of [`TriangularSolve`].
pub struct TriangularOperands<'a, T: Scalar, M: Memory> {
    /// T, with one row per part of an element.
    pub matrix: &'a Triangular<T::Real, M>,
    /// The right-hand side.
    pub b: &'a M::Buffer<T>,
    /// The result.
    pub x: &'a mut M::Buffer<T>,
}

impl<T: Scalar, M: Memory> TriangularOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        check_length("the parts of b", self.b.len() * T::PARTS, self.matrix.rows())?;
        check_length("the parts of x", self.x.len() * T::PARTS, self.matrix.rows())
    }
}

/// Returns the launches of x ← T⁻¹ b, in order.
fn solve_launches<T: Scalar, M: Memory>(
    operands: TriangularOperands<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    operands.check()?;
    let TriangularOperands { matrix, b, x } = operands;
    let (b, x) = (b.global_parts(), x.global_parts_mut());
    let launch = |&batch: &Batch| {
        let call = match matrix.entries.row_offsets() {
            Offsets::Narrow(offsets) => kernel(matrix, batch, offsets.global(), b, x),
            Offsets::Wide(offsets) => kernel(matrix, batch, offsets.global(), b, x),
        };
        Launch { grid: grid(batch, device), call }
    };
    collect(matrix.batches.iter().map(launch))
}

/// Returns one block for several levels, a grid of any size for a single one.
fn grid(batch: Batch, device: &Device) -> Grid {
    if batch.end_level - batch.first_level == 1 {
        return device.grid(batch.lanes);
    }
    let most = device.threads_per_multiprocessor.clamp(WARP_LANES, MOST_THREADS) / WARP_LANES * WARP_LANES;
    let threads_per_block = batch.lanes.next_multiple_of(WARP_LANES.into()).min(most.into()) as u32;
    Grid { blocks: 1, threads_per_block, shared_bytes: 0 }
}

fn kernel<T: Real, O: Offset, M: Memory>(
    matrix: &Triangular<T, M>,
    batch: Batch,
    row_offsets: Global<O>,
    b: Global<T>,
    x: GlobalMut<T>,
) -> Call {
    fn with_lanes<T: Real, O: Offset, M: Memory, const LANES: u32>(
        matrix: &Triangular<T, M>,
        Batch { first_level, end_level, .. }: Batch,
        row_offsets: Global<O>,
        b: Global<T>,
        x: GlobalMut<T>,
    ) -> Call {
        Call::new(TriangularLevels::<T, O, LANES> {
            first_level,
            end_level,
            level_offsets: matrix.level_offsets.global(),
            order: matrix.order.global(),
            row_offsets,
            column_indices: matrix.entries.column_indices().global(),
            values: matrix.entries.values().global(),
            inverse_diagonal: matrix.inverse_diagonal.global(),
            b,
            x,
        })
    }
    match matrix.lanes {
        1 => with_lanes::<T, O, M, 1>(matrix, batch, row_offsets, b, x),
        4 => with_lanes::<T, O, M, 4>(matrix, batch, row_offsets, b, x),
        _ => with_lanes::<T, O, M, 16>(matrix, batch, row_offsets, b, x),
    }
}

/// x ← T⁻¹ b on the host: large levels in parallel. The result does not depend on the number of threads.
fn solve_on_host<T: Scalar, S: Summation>(operands: TriangularOperands<'_, T, HostMemory>) -> Result<(), Error> {
    operands.check()?;
    let TriangularOperands { matrix, b, x } = operands;
    let (b, x) = (parts_of(b), Shared(parts_of_mut(x).as_mut_ptr()));
    let solve = |place: usize| {
        let mut sum = S::default();
        for (number, (column, value)) in matrix.entries.row(place).enumerate() {
            // SAFETY: columns are elements of x, whose length was checked, and of previous levels, which are solved.
            let element = unsafe { x.element(column).read() };
            sum.add(number, value.to_f64(), element.to_f64());
        }
        let row = matrix.order[place];
        let difference = sum.combine(-1.0, 1.0, b[row as usize].to_f64());
        let element = T::Real::from_f64(difference * matrix.inverse_diagonal[place].to_f64());
        // SAFETY: the order is a permutation of the elements of x, so no other thread accesses this element in this level.
        unsafe { x.element(row).write(element) }
    };
    for level in matrix.levels.windows(2) {
        let places = level[0] as usize..level[1] as usize;
        if places.len() < ROWS_AT_ONCE {
            places.for_each(solve);
        } else {
            parallel::for_each(places.len(), ROWS_AT_ONCE, &|place| solve(places.start + place));
        }
    }
    Ok(())
}

/// The start of x. The rows of a level write different elements, and read those of previous levels.
struct Shared<T>(*mut T);

// SAFETY: users of the pointer ensure that no element is accessed by two threads at once while it is written.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Returns a pointer to an element of x.
    ///
    /// # Safety
    /// `element` must be an index of x.
    unsafe fn element(&self, element: u32) -> *mut T {
        // SAFETY: ensured by the caller.
        unsafe { self.0.add(element as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_values_take_the_place_of_the_old_ones() {
        let cpu = host::executor::Cpu::new();
        let mut lower = Csr::try_from_triplets(5, 5, &[2, 3, 3, 4], &[0, 0, 2, 1], &[1.0; 4]).unwrap();
        let mut triangular = Triangular::<f64, _>::new(&cpu, Side::Lower, &lower, &[1.0; 5], None).unwrap();
        let places = |triangular: &Triangular<f64, HostMemory>| {
            let Triangular { entries, order, inverse_diagonal, level_offsets, levels, .. } = triangular;
            let numbers = [entries.values(), inverse_diagonal].map(|array| array.as_ptr());
            (numbers, [entries.column_indices(), order, level_offsets, levels].map(|array| array.as_ptr()))
        };
        let before = places(&triangular);
        lower.values_mut().copy_from_slice(&[2.0, 3.0, 4.0, 5.0]);
        let inverse_diagonal = [0.1, 0.2, 0.3, 0.4, 0.5];
        let new = triangular.new_values(&cpu, &lower, &inverse_diagonal).unwrap();
        triangular.take_values(&cpu, new).unwrap();
        assert_eq!(places(&triangular), before, "an array is another one");
        let fresh = Triangular::<f64, _>::new(&cpu, Side::Lower, &lower, &inverse_diagonal, None).unwrap();
        assert_eq!(triangular.entries, fresh.entries);
        assert_eq!(triangular.inverse_diagonal, fresh.inverse_diagonal);
        let error = triangular.new_values(&cpu, &lower, &[1.0; 4]).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "the inverse of the diagonal has length 4, expected 5");
    }

    #[test]
    fn rows_have_elements_of_their_own() {
        assert!(check_permutation(&[2, 0, 1], 3).is_ok());
        for elements in [&[2, 0, 2][..], &[0, 1, 3], &[0, 1]] {
            assert!(check_permutation(elements, 3).is_err(), "{elements:?}");
        }
    }

    #[test]
    fn neighbouring_small_levels_are_one_launch() {
        let batch = |first_level, end_level, lanes| Batch { first_level, end_level, lanes };
        assert_eq!(
            batches(&[0, 10, 1034, 2059, 2060, 2062], 1).unwrap(),
            [batch(0, 2, 1024), batch(2, 3, 1025), batch(3, 5, 2)]
        );
        assert_eq!(batches(&[0, 256, 513], 4).unwrap(), [batch(0, 1, 1024), batch(1, 2, 1028)]);
        assert_eq!(batches(&[0], 16).unwrap(), []);
    }
}
