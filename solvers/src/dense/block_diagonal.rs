//! Block-diagonal matrices with dense blocks.

use std::marker::PhantomData;

use cuda_std::GpuScalar;
use cuda_std::launch::Launch;
use gpu_kernels::dense::block_diagonal::BlockDiagonal as Kernel;
use host::device::Device;
use host::error::{Error, check_length};
use host::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use host::format::LARGEST_DIMENSION;
use host::memory::{Buffer, HostMemory, Memory};
use host::parallel;
use host::real::{Real, Scalar, parts_of, parts_of_mut};

use super::sums::{Summation, with_summation};

/// Rows of the largest block: one lane of a warp per row.
pub const LARGEST_BLOCK: usize = 32;

/// Blocks that a CPU thread takes at a time.
const BLOCKS_AT_ONCE: usize = 64;

/// A square matrix with dense blocks on its diagonal, all of one size except the last, which has the remaining rows.
pub struct BlockDiagonal<T: Real, M: Memory> {
    rows: usize,
    size: usize,
    /// Block by block, each by columns; 0 past the last row.
    values: M::Buffer<T>,
}

impl<T: Real, M: Memory> BlockDiagonal<T, M> {
    /// Moves the matrix to an executor. There are `size` · `size` values per block, by columns; in the last block, those
    /// past the last row are 0. O(rows · size) bytes.
    ///
    /// # Errors
    /// When the size is not from 1 to [`LARGEST_BLOCK`], there are too many rows, the number of values is wrong, a value
    /// past the last row is not 0, or memory runs out.
    pub fn new<E: Executor<Memory = M>>(executor: &E, rows: usize, size: usize, values: Vec<T>) -> Result<Self, Error> {
        check_values(rows, size, &values)?;
        Ok(Self { rows, size, values: executor.upload(values)? })
    }

    /// Replaces the values, given as for [`new`](Self::new). On failure the old values are kept.
    ///
    /// # Errors
    /// When the number of values is wrong, a value past the last row is not 0, memory runs out, or the device fails.
    pub fn update_values<E: Executor<Memory = M>>(&mut self, executor: &E, values: Vec<T>) -> Result<(), Error> {
        check_values(self.rows, self.size, &values)?;
        executor.copy(&executor.upload(values)?, &mut self.values)
    }

    /// Returns the number of rows of a block.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// Checks the values of `rows` rows in blocks of `size`.
fn check_values<T: Real>(rows: usize, size: usize, values: &[T]) -> Result<(), Error> {
    if !(1..=LARGEST_BLOCK).contains(&size) {
        return Err(Error::Setting { what: "the block size", value: size.to_string(), expected: "1 to 32" });
    }
    if rows > LARGEST_DIMENSION {
        let (value, limit) = (rows as u128, LARGEST_DIMENSION as u128);
        return Err(Error::TooLarge { what: "number of rows", value, limit });
    }
    let blocks = rows.div_ceil(size);
    check_length("the array of blocks", values.len(), blocks * size * size)?;
    // Rows missing from the last block.
    let absent = blocks * size - rows;
    let last = &values[values.len() - if absent > 0 { size * size } else { 0 }..];
    let inside = |place: usize| place % size < size - absent && place / size < size - absent;
    if let Some(place) = (0..last.len()).find(|&place| !inside(place) && last[place] != T::ZERO) {
        let reason = format!("value {place} of the last block is past the last row and not 0");
        return Err(Error::structure("block-diagonal", reason));
    }
    Ok(())
}

/// y ← B x for a block-diagonal B with dense blocks. For complex vectors, B multiplies their real and imaginary parts.
pub struct BlockDiagonalProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for BlockDiagonalProduct<T> {
    type Operands<'a, M: Memory> = BlockDiagonalOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        operands: BlockDiagonalOperands<'_, T, K::Memory>,
    ) -> Result<(), Error> {
        let launch = launch(operands, executor.device())?;
        // SAFETY: the lengths were checked, the blocks keep their invariants, the arrays are borrowed, y exclusively.
        unsafe { executor.launch(&launch) }
    }

    fn on_host(arithmetic: Arithmetic, operands: BlockDiagonalOperands<'_, T, HostMemory>) -> Result<(), Error> {
        with_summation!(arithmetic, S => multiply_on_host::<T, S>(operands))
    }
}

/// The operands of [`BlockDiagonalProduct`].
pub struct BlockDiagonalOperands<'a, T: Scalar, M: Memory> {
    /// B, with one row per part of an element.
    pub matrix: &'a BlockDiagonal<T::Real, M>,
    /// The vector that is multiplied.
    pub x: &'a M::Buffer<T>,
    /// The result.
    pub y: &'a mut M::Buffer<T>,
}

impl<T: Scalar, M: Memory> BlockDiagonalOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        check_length("the parts of x", self.x.len() * T::PARTS, self.matrix.rows)?;
        check_length("the parts of y", self.y.len() * T::PARTS, self.matrix.rows)
    }
}

/// Returns the launch of y ← B x.
fn launch<T: Scalar, M: Memory>(operands: BlockDiagonalOperands<'_, T, M>, device: &Device) -> Result<Launch, Error> {
    operands.check()?;
    let BlockDiagonalOperands { matrix, x, y } = operands;
    let (count, lanes) = (matrix.rows.div_ceil(matrix.size), matrix.size.next_power_of_two());
    let kernel = Kernel {
        rows: matrix.rows as u32,
        count: count as u32,
        size: matrix.size as u32,
        lanes: lanes as u32,
        values: matrix.values.global(),
        x: x.global_parts(),
        y: y.global_parts_mut(),
    };
    Ok(Launch::new(device.grid(count as u64 * lanes as u64), kernel))
}

/// y ← B x on the host.
fn multiply_on_host<T: Scalar, S: Summation>(operands: BlockDiagonalOperands<'_, T, HostMemory>) -> Result<(), Error> {
    operands.check()?;
    let BlockDiagonalOperands { matrix: BlockDiagonal { size, values, .. }, x, y } = operands;
    let (x, y) = (parts_of(x), parts_of_mut(y));
    parallel::chunks_mut(y, *size, BLOCKS_AT_ONCE, &|(block, y)| {
        let (x, values) = (&x[block * size..][..y.len()], &values[block * size * size..]);
        for (row, y) in y.iter_mut().enumerate() {
            let mut sum = S::default();
            for (column, element) in x.iter().enumerate() {
                sum.add(column, values[column * size + row].to_f64(), element.to_f64());
            }
            *y = sum.combine(T::Real::ONE, T::Real::ZERO, T::Real::ZERO);
        }
    });
    Ok(())
}
