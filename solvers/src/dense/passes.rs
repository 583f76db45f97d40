//! Passes over the elements of vectors; for complex vectors, over their real and imaginary parts.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use cuda_std::GpuScalar;
use cuda_std::launch::Launch;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::dense::passes::{MOST_COEFFICIENTS, MOST_READ, MOST_SUMS, MOST_WRITTEN, Pass, Slots, VectorPass};
use gpu_kernels::dense::program::STATUS;
use host::PartialSums;
use host::device::{Device, with_shared_for_each_warp};
use host::error::{Error, check_length};
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{Buffer, HostMemory, Memory, collect};
use host::parallel;
use host::real::{Real, Scalar};

use super::parts::{Part, PartMut};
use super::sums::{Summation, with_summation};

/// A pass over the elements of vectors.
pub(super) struct PassOver<T, P>(PhantomData<(T, P)>);

impl<T: Scalar, P: Pass> Operation for PassOver<T, P> {
    type Operands<'a, M: Memory> = PassOperands<'a, T, P, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: PassOperands<'_, T, P, K::Memory>) -> Result<(), Error> {
        let launch = launch(operands, executor.device())?;
        // SAFETY: the lengths and slots were checked, the arrays are borrowed, the written ones exclusively.
        unsafe { executor.launch(&launch) }
    }

    fn on_host(arithmetic: Arithmetic, operands: PassOperands<'_, T, P, HostMemory>) -> Result<(), Error> {
        with_summation!(arithmetic, S => pass_on_host::<T, P, S>(operands))
    }
}

/// The operands of [`PassOver`].
pub(super) struct PassOperands<'a, T: Scalar, P: Pass, M: Memory> {
    /// The slot of each coefficient.
    pub(super) coefficients: [u32; MOST_COEFFICIENTS],
    /// The slots.
    pub(super) scalars: &'a M::Buffer<f64>,
    /// The vectors that are read only.
    pub(super) read: &'a [Part<'a, T, M>],
    /// The vectors that are written.
    pub(super) written: &'a mut [PartMut<'a, T, M>],
    /// The partial sums, which are written.
    pub(super) partial_sums: &'a mut PartialSums<M>,
    /// The pass, as a type only.
    pub(super) pass: PhantomData<P>,
}

impl<T: Scalar, P: Pass, M: Memory> PassOperands<'_, T, P, M> {
    /// Checks all operands against the pass, and returns the number of parts of each vector.
    fn check(&self) -> Result<usize, Error> {
        check_length("the list of vectors that are read", self.read.len(), P::READ)?;
        check_length("the list of vectors that are written", self.written.len(), P::WRITTEN)?;
        let mut lengths = self.read.iter().map(Part::len).chain(self.written.iter().map(PartMut::len));
        let length = lengths.next().unwrap_or(0);
        lengths.try_for_each(|other| check_length("a vector", other, length))?;
        let slots = self.coefficients[..P::COEFFICIENTS].iter().map(|&slot| slot as usize + 1).max();
        let needed = slots.unwrap_or(STATUS as usize + 1);
        if self.scalars.len() < needed {
            check_length("the array of scalars", self.scalars.len(), needed)?;
        }
        Ok(length * T::PARTS)
    }
}

/// Returns the launch of a pass.
fn launch<T: Scalar, P: Pass, M: Memory>(
    operands: PassOperands<'_, T, P, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let length = operands.check()? as u64;
    let PassOperands { coefficients, scalars, read, written, partial_sums, .. } = operands;
    let grid = with_shared_for_each_warp(device.grid(length), 8 * P::SUMS as u32);
    if P::SUMS > 0 {
        partial_sums.begin(P::SUMS, grid.blocks as usize)?;
    }
    let mut kernel = VectorPass {
        length,
        slots: Slots::<P> { places: coefficients, pass: PhantomData },
        scalars: scalars.global(),
        read: [Global::from_slice(&[]); MOST_READ],
        written: [GlobalMut::from_slice(&mut []); MOST_WRITTEN],
        partial_sums: partial_sums.global_mut(),
    };
    kernel.read.iter_mut().zip(read).for_each(|(array, part)| *array = part.global_parts());
    kernel.written.iter_mut().zip(written).for_each(|(array, part)| *array = part.global_parts_mut());
    Ok(Launch::new(grid, kernel))
}

/// Runs a pass on the host. The sums do not depend on the number of threads.
fn pass_on_host<T: Scalar, P: Pass, S: Summation>(operands: PassOperands<'_, T, P, HostMemory>) -> Result<(), Error> {
    let length = operands.check()?;
    let PassOperands { coefficients: slots, scalars, read, written, partial_sums, .. } = operands;
    if scalars[STATUS as usize] != 0.0 {
        return Ok(());
    }
    let mut coefficients = [T::Real::ZERO; MOST_COEFFICIENTS];
    for (coefficient, slot) in coefficients.iter_mut().zip(&slots[..P::COEFFICIENTS]) {
        *coefficient = T::Real::from_f64(scalars[*slot as usize]);
    }
    let mut read_slices = [&[][..]; MOST_READ];
    read_slices.iter_mut().zip(read).for_each(|(slice, part)| *slice = part.parts());
    let mut written: Vec<_> = written.iter_mut().map(|part| part.parts_mut().chunks_mut(S::CHUNK)).collect();
    let chunks = collect((0..length.div_ceil(S::CHUNK)).map(|_| {
        let mut slices: [&mut [T::Real]; MOST_WRITTEN] = Default::default();
        let next = written.iter_mut().map(|chunks| chunks.next().unwrap_or_default());
        slices.iter_mut().zip(next).for_each(|(slice, chunk)| *slice = chunk);
        Mutex::new(slices)
    }))?;
    let sums_of_chunk = |chunk: usize| {
        // Each chunk is taken once.
        let written = std::mem::take(&mut *chunks[chunk].lock().unwrap_or_else(PoisonError::into_inner));
        let first = chunk * S::CHUNK;
        let length = S::CHUNK.min(length - first);
        let read = read_slices.map(|slice| if slice.is_empty() { slice } else { &slice[first..][..length] });
        pass_over_chunk::<T::Real, P, S>(coefficients, read, written, length)
    };
    let sums: Vec<[f64; MOST_SUMS]> = parallel::map(chunks.len(), 1, &sums_of_chunk)?;
    if P::SUMS > 0 {
        // In chunk order.
        let total = |number: usize| sums.iter().map(|sums| sums[number]).sum();
        partial_sums.set(&std::array::from_fn::<f64, MOST_SUMS, _>(total)[..P::SUMS])?;
    }
    Ok(())
}

fn pass_over_chunk<T: Real, P: Pass, S: Summation>(
    coefficients: [T; MOST_COEFFICIENTS],
    read: [&[T]; MOST_READ],
    written: [&mut [T]; MOST_WRITTEN],
    length: usize,
) -> [f64; MOST_SUMS] {
    let mut sums = [S::default(); MOST_SUMS];
    for place in 0..length {
        let (mut old, mut new) = ([T::ZERO; MOST_READ], [T::ZERO; MOST_WRITTEN]);
        (0..P::READ).for_each(|n| old[n] = read[n][place]);
        (P::OVERWRITTEN..P::WRITTEN).for_each(|n| new[n] = written[n][place]);
        let factors = P::element(coefficients, old, &mut new);
        (0..P::WRITTEN).for_each(|n| written[n][place] = new[n]);
        (0..P::SUMS).for_each(|n| sums[n].add(place, factors[n].0.to_f64(), factors[n].1.to_f64()));
    }
    sums.map(|sum| sum.value())
}
