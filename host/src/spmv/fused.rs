//! Products with further operations on each element of y.

use std::marker::PhantomData;

use cuda_std::launch::{Call, Grid, Launch};
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::fused::elements::FusedElements;

use super::operands::check_factor;
use super::product::{launch, multiply};
use super::{Operands, ProductOperands, Room, Vectors};
use crate::accumulator::Accumulator;
use crate::device::Device;
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{Buffer, HostMemory, Memory, reserve};
use crate::parallel;
use crate::partial_sums::PartialSums;
use crate::real::Scalar;

/// Operations of a product besides y ← α A x + β y; by default none.
pub struct Epilogue<'a, T: Scalar, M: Memory> {
    /// γ and z: y ← α A x + β y + γ z. z has an element per row.
    pub addend: Option<(T, &'a M::Buffer<T>)>,
    /// Sums over the elements of the new y.
    pub sums: Option<ProductSums<'a, T, M>>,
}

impl<T: Scalar, M: Memory> Default for Epilogue<'_, T, M> {
    fn default() -> Self {
        Self { addend: None, sums: None }
    }
}

/// Sums over the elements of a product y: w · y and, if requested, y · y.
pub struct ProductSums<'a, T: Scalar, M: Memory> {
    /// w, which has an element per row. It may be x.
    pub with: &'a M::Buffer<T>,
    /// Whether there is a second sum, y · y.
    pub squares: bool,
    /// The destination of the sums.
    pub into: &'a mut PartialSums<M>,
}

/// The operands of a product and its epilogue.
pub(crate) struct FusedOperands<'a, T: Scalar, M: Memory> {
    pub operands: Operands<'a, T, M>,
    pub epilogue: Epilogue<'a, T, M>,
}

impl<T: Scalar, M: Memory> FusedOperands<'_, T, M> {
    /// Checks the vectors against the shape of a matrix, and the factors.
    fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        if T::COMPLEX {
            return Err(Error::Operator { operation: "product of complex numbers with an epilogue" });
        }
        self.operands.check(rows, columns)?;
        if let Some((gamma, z)) = self.epilogue.addend {
            check_factor("gamma", gamma)?;
            check_length("z", z.len(), rows)?;
        }
        match &self.epilogue.sums {
            Some(sums) => check_length("w", sums.with.len(), rows),
            None => Ok(()),
        }
    }
}

/// y ← α A x + β y + γ z with sums.
pub(crate) struct FusedProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for FusedProduct<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, FusedOperands<'a, T, M>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        operands.check(matrix.rows(), matrix.columns())?;
        let device = executor.device();
        let mut fused = Fused::new(operands);
        let launches = if format.fuses(matrix, device) {
            vec![format.fused_launch(matrix, &mut fused, device)?]
        } else {
            let mut room = Room::new(workspace, executor);
            let mut launches = format.launches(matrix, fused.vectors, &mut room, device)?;
            reserve(&mut launches, 1)?;
            launches.push(fused.elements(matrix.rows(), device)?);
            launches
        };
        // SAFETY: the vectors match the matrix and are borrowed with it, y and the sums exclusively.
        unsafe { launch(executor, &launches, workspace) }
    }

    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, .. } = operands;
        operands.check(matrix.rows(), matrix.columns())?;
        let FusedOperands { operands: Operands { alpha, x, beta, y }, epilogue } = operands;
        multiply(arithmetic, matrix, format, Operands { alpha, x, beta, y: &mut *y }.on_host())?;
        if let Some((gamma, z)) = epilogue.addend {
            parallel::chunks_mut(y, ELEMENTS_AT_ONCE, 1, &|(chunk, y)| {
                let z = &z[chunk * ELEMENTS_AT_ONCE..];
                y.iter_mut().zip(z).for_each(|(y, &z)| *y = *y + gamma * z);
            });
        }
        let Some(ProductSums { with, squares, into }) = epilogue.sums else { return Ok(()) };
        let dot = sum_of_products(arithmetic, with, y)?;
        match squares {
            true => into.set(&[dot, sum_of_products(arithmetic, y, y)?]),
            false => into.set(&[dot]),
        }
    }
}

/// Elements that a CPU thread takes at a time.
const ELEMENTS_AT_ONCE: usize = 4096;

/// a · b, in 64 bits and in an order independent of the number of threads.
fn sum_of_products<T: Scalar>(arithmetic: Arithmetic, a: &[T], b: &[T]) -> Result<f64, Error> {
    let part = |value: T| value.wide_parts()[0];
    if arithmetic == Arithmetic::Compensated {
        let mut sum = Accumulator::default();
        a.iter().zip(b).for_each(|(&a, &b)| sum.add_product(part(a), part(b)));
        return Ok(sum.combine(1.0, 0.0, 0.0).value());
    }
    let sum_of_chunk = |chunk: usize| {
        let first = chunk * ELEMENTS_AT_ONCE;
        let elements = a[first..].iter().zip(&b[first..]).take(ELEMENTS_AT_ONCE);
        elements.map(|(&a, &b)| part(a) * part(b)).sum::<f64>()
    };
    Ok(parallel::map(a.len().div_ceil(ELEMENTS_AT_ONCE), 1, &sum_of_chunk)?.iter().sum())
}

/// Arguments of fused kernels besides the matrix, except those that depend on the grid.
pub(crate) struct Fused<'a, T: Scalar, M: Memory> {
    vectors: Vectors<T>,
    gamma: T,
    z: Global<T>,
    sums: u32,
    w: Global<T>,
    into: Option<&'a mut PartialSums<M>>,
}

/// Arguments of fused kernels besides the matrix.
pub(crate) struct FusedArguments<T> {
    pub vectors: Vectors<T>,
    pub gamma: T,
    pub z: Global<T>,
    pub sums: u32,
    pub w: Global<T>,
    pub partial_sums: GlobalMut<f64>,
}

impl<'a, T: Scalar, M: Memory> Fused<'a, T, M> {
    /// Takes operands that have been checked.
    fn new(operands: FusedOperands<'a, T, M>) -> Self {
        let FusedOperands { operands, epilogue: Epilogue { addend, sums } } = operands;
        let nothing = Global::from_slice(&[]);
        let (gamma, z) = addend.map_or((T::ZERO, nothing), |(gamma, z)| (gamma, z.global()));
        let vectors = operands.vectors();
        match sums {
            None => Self { vectors, gamma, z, sums: 0, w: nothing, into: None },
            Some(ProductSums { with, squares, into }) => {
                Self { vectors, gamma, z, sums: 1 + u32::from(squares), w: with.global(), into: Some(into) }
            }
        }
    }

    /// The launch of a fused kernel on this grid, which gets the shared memory that the sums need.
    ///
    /// # Errors
    /// When there is no room for the sums of its blocks.
    pub fn launch(&mut self, grid: Grid, call: impl FnOnce(FusedArguments<T>) -> Call) -> Result<Launch, Error> {
        let &mut Self { vectors, gamma, z, sums, w, .. } = self;
        let partial_sums = match &mut self.into {
            None => GlobalMut::from_slice(&mut []),
            Some(into) => {
                into.begin(sums as usize, grid.blocks as usize)?;
                into.global_mut()
            }
        };
        let for_sums = grid.threads_per_block.div_ceil(WARP_LANES) * sums * size_of::<f64>() as u32;
        let grid = Grid { shared_bytes: grid.shared_bytes.max(for_sums), ..grid };
        Ok(Launch { grid, call: call(FusedArguments { vectors, gamma, z, sums, w, partial_sums }) })
    }

    /// The launch that applies the epilogue to a y that is already written.
    fn elements(&mut self, rows: usize, device: &Device) -> Result<Launch, Error> {
        self.launch(device.grid(rows as u64), |FusedArguments { vectors, gamma, z, sums, w, partial_sums }| {
            Call::new(FusedElements { length: rows as u32, y: vectors.y, gamma, z, sums, w, partial_sums })
        })
    }
}
