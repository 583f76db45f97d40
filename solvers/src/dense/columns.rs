//! Products of blocks of vectors with each other, and combinations of their columns. Complex vectors are handled as blocks
//! of their real and imaginary parts.

use std::marker::PhantomData;

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::dense::columns::{CombineColumns, Gram, TILE, TILE_PRODUCTS};
use gpu_kernels::dense::program::STATUS;
use host::PartialSums;
use host::device::{Device, with_shared_for_each_warp};
use host::error::{Error, check_length};
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{Buffer, HostMemory, Memory, collect, zeros};
use host::parallel;
use host::real::{Real, Scalar};

use super::parts::{Columns, ColumnsMut};
use super::sums::{Summation, with_summation};

/// Rows that a CPU thread takes at a time.
const ROWS_AT_ONCE: usize = 1024;

/// XᵀY for two blocks of vectors.
pub(super) struct GramProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for GramProduct<T> {
    type Operands<'a, M: Memory> = GramOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: GramOperands<'_, T, K::Memory>) -> Result<(), Error> {
        let launch = gram_launch(operands, executor.device())?;
        // SAFETY: the lengths were checked, the arrays are borrowed, the partial sums exclusively.
        launch.map_or(Ok(()), |launch| unsafe { executor.launch(&launch) })
    }

    fn on_host(arithmetic: Arithmetic, operands: GramOperands<'_, T, HostMemory>) -> Result<(), Error> {
        with_summation!(arithmetic, S => gram_on_host::<T, S>(operands))
    }
}

/// Y ← α X C + β Y for two blocks of vectors and a few coefficients.
pub(super) struct Combination<T>(PhantomData<T>);

impl<T: Scalar> Operation for Combination<T> {
    type Operands<'a, M: Memory> = CombineOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: CombineOperands<'_, T, K::Memory>) -> Result<(), Error> {
        let launch = combine_launch(operands, executor.device())?;
        // SAFETY: the lengths and slots were checked, the arrays are borrowed, Y exclusively.
        unsafe { executor.launch(&launch) }
    }

    fn on_host(arithmetic: Arithmetic, operands: CombineOperands<'_, T, HostMemory>) -> Result<(), Error> {
        with_summation!(arithmetic, S => combine_on_host::<T, S>(operands))
    }
}

/// The operands of [`GramProduct`].
pub(super) struct GramOperands<'a, T: Scalar, M: Memory> {
    pub(super) x: Columns<'a, T, M>,
    pub(super) y: Columns<'a, T, M>,
    pub(super) scalars: &'a M::Buffer<f64>,
    pub(super) partial_sums: &'a mut PartialSums<M>,
}

/// The operands of [`Combination`].
pub(super) struct CombineOperands<'a, T: Scalar, M: Memory> {
    pub(super) alpha: T::Real,
    pub(super) x: Columns<'a, T, M>,
    /// The slot of the first coefficient.
    pub(super) coefficients: u32,
    pub(super) scalars: &'a M::Buffer<f64>,
    pub(super) beta: T::Real,
    pub(super) y: ColumnsMut<'a, T, M>,
}

impl<T: Scalar, M: Memory> GramOperands<'_, T, M> {
    /// Checks the lengths, makes room for one sum per product, and returns the number of products.
    fn check(&mut self) -> Result<usize, Error> {
        check_length("a column of Y", self.y.rows, self.x.rows)?;
        // With zero columns, the number of rows is arbitrary.
        let products = self.x.columns.saturating_mul(self.y.columns);
        self.partial_sums.begin(products, 1)?;
        Ok(products)
    }
}

impl<T: Scalar, M: Memory> CombineOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        check_length("a column of Y", self.y.rows, self.x.rows)?;
        let coefficients = self.x.columns.saturating_mul(self.y.columns);
        let needed = coefficients.saturating_add(self.coefficients as usize);
        if self.scalars.len() < needed.max(STATUS as usize + 1) {
            return check_length("the array of scalars", self.scalars.len(), needed);
        }
        Ok(())
    }
}

/// Returns the launch of XᵀY; `None` if there are no products.
fn gram_launch<T: Scalar, M: Memory>(
    mut operands: GramOperands<'_, T, M>,
    device: &Device,
) -> Result<Option<Launch>, Error> {
    let products = operands.check()?;
    let GramOperands { x, y, scalars, partial_sums } = operands;
    let rows = x.parts_of_column();
    let grid = device.grid(rows as u64);
    if products == 0 || grid.blocks == 0 {
        partial_sums.begin(products, 0)?;
        return Ok(None);
    }
    let tiles = x.columns.div_ceil(TILE as usize) * y.columns.div_ceil(TILE as usize);
    let too_many =
        |_| Error::TooLarge { what: "number of tiles of XᵀY", value: tiles as u128, limit: i32::MAX as u128 };
    let tiles = i32::try_from(tiles).map_err(too_many)? as u32;
    // About as many blocks as are resident on the device, shared among the tiles.
    let parts = (device.grid(u64::MAX).blocks / tiles).clamp(1, grid.blocks);
    partial_sums.begin(products, parts as usize)?;
    let kernel = Gram {
        rows: rows as u64,
        x_columns: x.columns as u32,
        y_columns: y.columns as u32,
        x: x.part.global_parts(),
        y: y.part.global_parts(),
        scalars: scalars.global(),
        partial_sums: partial_sums.global_mut(),
    };
    let grid = with_shared_for_each_warp(Grid { blocks: parts * tiles, ..grid }, 8 * TILE_PRODUCTS);
    Ok(Some(Launch::new(grid, kernel)))
}

/// Returns the launch of Y ← α X C + β Y.
fn combine_launch<T: Scalar, M: Memory>(operands: CombineOperands<'_, T, M>, device: &Device) -> Result<Launch, Error> {
    operands.check()?;
    let CombineOperands { alpha, x, coefficients, scalars, beta, mut y } = operands;
    let rows = x.parts_of_column();
    let kernel = CombineColumns {
        rows: rows as u64,
        x_columns: x.columns as u32,
        y_columns: y.columns as u32,
        alpha,
        x: x.part.global_parts(),
        first_coefficient: coefficients,
        scalars: scalars.global(),
        beta,
        y: y.part.global_parts_mut(),
    };
    // With zero columns, the number of rows is arbitrary.
    let work = if y.columns == 0 { 0 } else { rows };
    Ok(Launch::new(device.grid(work as u64), kernel))
}

/// XᵀY on the host. The sums do not depend on the number of threads.
fn gram_on_host<T: Scalar, S: Summation>(mut operands: GramOperands<'_, T, HostMemory>) -> Result<(), Error> {
    let products = operands.check()?;
    let GramOperands { x, y, scalars, partial_sums } = operands;
    if scalars[STATUS as usize] != 0.0 {
        return Ok(());
    }
    let (rows, x_columns) = (x.parts_of_column(), x.columns);
    let (x, y) = (x.part.parts(), y.part.parts());
    let chunks = rows.div_ceil(S::CHUNK);
    // All products of a chunk are consecutive.
    let mut sums = zeros::<f64>(chunks.saturating_mul(products))?;
    parallel::chunks_mut(&mut sums, products.max(1), 1, &|(chunk, sums)| {
        let first = chunk * S::CHUNK;
        let length = S::CHUNK.min(rows - first);
        let column = |number: usize| number * rows + first..number * rows + first + length;
        for (number, product) in sums.iter_mut().enumerate() {
            let (x, y) = (&x[column(number % x_columns)], &y[column(number / x_columns)]);
            let mut sum = S::default();
            x.iter().zip(y).enumerate().for_each(|(place, (a, b))| sum.add(place, a.to_f64(), b.to_f64()));
            *product = sum.value();
        }
    });
    for (number, total) in partial_sums.as_mut_slice()[..products].iter_mut().enumerate() {
        // In chunk order.
        *total = (0..chunks).map(|chunk| sums[chunk * products + number]).sum();
    }
    Ok(())
}

/// Y ← α X C + β Y on the host.
fn combine_on_host<T: Scalar, S: Summation>(operands: CombineOperands<'_, T, HostMemory>) -> Result<(), Error> {
    operands.check()?;
    let CombineOperands { alpha, x, coefficients, scalars, beta, mut y } = operands;
    if scalars[STATUS as usize] != 0.0 || x.rows == 0 {
        return Ok(());
    }
    let (rows, x_columns, x) = (x.parts_of_column(), x.columns, x.part.parts());
    let narrowed = |&coefficient: &f64| T::Real::from_f64(coefficient).to_f64();
    let coefficients = collect(scalars[coefficients as usize..][..x_columns * y.columns].iter().map(narrowed))?;
    parallel::chunks_mut(y.part.parts_mut(), rows, 1, &|(column, y)| {
        let coefficients = &coefficients[column * x_columns..][..x_columns];
        parallel::chunks_mut(y, ROWS_AT_ONCE, 1, &|(chunk, y)| {
            for (row, y) in (chunk * ROWS_AT_ONCE..).zip(y) {
                let mut sum = S::default();
                for (i, &coefficient) in coefficients.iter().enumerate() {
                    sum.add(i, x[i * rows + row].to_f64(), coefficient);
                }
                *y = sum.combine(alpha, beta, *y);
            }
        });
    });
    Ok(())
}
