//! Elements of an array in another order.

use std::marker::PhantomData;

use gpu_kernels::convert::radix::CountUp;
use gpu_kernels::convert::sliced::SlicedFromCsr;

use super::primitives::launch;
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::memory::{Buffer, HostMemory, Memory, copy};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// An order of the elements of an array: each of them once.
pub(crate) struct Order<M: Memory> {
    /// Which element is at each place.
    elements: M::Buffer<u32>,
    /// 0 and 1: where the only slice of a sliced matrix of width 1 begins and ends.
    slice_begins: M::Buffer<u64>,
}

/// Elements at most: a kernel counts them and one more with 32 bits.
pub(crate) const MOST_ELEMENTS: usize = u32::MAX as usize - 1;

impl<M: Memory> Order<M> {
    /// Moves an order to an executor. `elements` holds each number below its length once, and at most [`MOST_ELEMENTS`].
    pub fn new<E: Executor<Memory = M>>(executor: &E, elements: Vec<u32>) -> Result<Self, Error> {
        Ok(Self { elements: executor.upload(elements)?, slice_begins: executor.upload(copy(&[0, 1])?)? })
    }

    /// Bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        4 * self.elements.len() as u128 + 8 * self.slice_begins.len() as u128
    }
}

/// An array in another order.
pub(crate) struct Gather<T>(PhantomData<T>);

impl<T: Scalar> Operation for Gather<T> {
    type Operands<'a, M: Memory> = (&'a Order<M>, &'a M::Buffer<T>);
    type Output<M: Memory> = M::Buffer<T>;

    /// As a matrix with an entry in each row goes into one slice, whose rows have this order. Takes 8 bytes for each element
    /// besides.
    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (order, array): Self::Operands<'_, K::Memory>,
    ) -> Result<<K::Memory as Memory>::Buffer<T>, Error> {
        let count = order.elements.len();
        check_length("values", array.len(), count)?;
        if count == 0 {
            return executor.zeros(0);
        }
        let mut row_offsets = executor.unwritten(count + 1)?;
        let mut columns = executor.unwritten(count)?;
        let mut gathered = executor.unwritten(count)?;
        let device = executor.device();
        let numbers = CountUp { count: count as u32 + 1, numbers: row_offsets.global_mut() };
        // SAFETY: the array has an element more than there are rows, which `Order` keeps below 2^32 - 1.
        unsafe { launch(executor, device.grid(count as u64 + 1), numbers) }?;
        let kernel = SlicedFromCsr {
            rows: count as u32,
            slice_size: count as u32,
            slices: 1,
            slice_begins: order.slice_begins.global(),
            sorted: 1,
            row_indices: order.elements.global(),
            row_offsets: row_offsets.global(),
            // Any number is a column.
            column_indices: order.elements.global(),
            values: array.global(),
            new_column_indices: columns.global_mut(),
            new_values: gathered.global_mut(),
        };
        // SAFETY: the offsets are those of `count` rows with an entry each, whose arrays have `count` elements; the slice has
        // a place for each row, and `Order` each row once.
        unsafe { launch(executor, device.grid(count as u64), kernel) }?;
        Ok(gathered)
    }

    fn on_host(_: Arithmetic, (order, array): Self::Operands<'_, HostMemory>) -> Result<Vec<T>, Error> {
        check_length("values", array.len(), order.elements.len())?;
        parallel::map(array.len(), ROWS_AT_ONCE, &|place| array[order.elements[place] as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Reference};

    fn check<E: Executor<Memory = HostMemory>>(executor: &E, count: u32) {
        // 7 has no factor in common with any of the counts.
        let elements: Vec<u32> = (0..count).map(|place| (place * 7 + 3) % count).collect();
        let array: Vec<f64> = (0..count).map(|element| -f64::from(element)).collect();
        let expected: Vec<u64> = elements.iter().map(|&element| array[element as usize].to_bits()).collect();
        let order = Order::new(executor, elements).unwrap();
        let gathered = executor.run::<Gather<f64>>((&order, &array)).unwrap();
        assert_eq!(gathered.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), expected);
        let error = executor.run::<Gather<f64>>((&order, &vec![0.0; count as usize + 1])).unwrap_err();
        assert_eq!(error.to_string(), format!("values has length {}, expected {count}", count + 1));
    }

    #[test]
    fn each_element_goes_to_its_place() {
        for count in [0, 1, 2, 33, 1000] {
            let count = if cfg!(miri) { count.min(40) } else { count };
            check(&Reference::new(), count);
            check(&Cpu::new(), count);
            // Miri has no lanes.
            if !cfg!(miri) {
                (0..5).for_each(|seed| check(&Emulated::new(seed), count));
            }
        }
    }
}
