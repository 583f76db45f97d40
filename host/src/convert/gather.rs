//! Elements of an array in another order.

use std::marker::PhantomData;

use gpu_kernels::convert::sliced::SlicedFromCsr;

use super::primitives::launch;
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::memory::{Buffer, HostMemory, Memory, copy};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Destinations of the elements of an array: one place for each element; the remaining places get 0.
pub(crate) struct Order<M: Memory> {
    /// Number of elements.
    count: usize,
    /// Index of the element at each place; the remaining places hold indices of no element, each once.
    elements: M::Buffer<u32>,
    /// Row offsets of a matrix that has one entry in each of its first rows, one per element, and none in the others.
    row_offsets: M::Buffer<u32>,
    /// 0 and 1: beginning and end of the only slice of a sliced matrix of width 1.
    slice_begins: M::Buffer<u64>,
}

/// Largest number of places: there is one more offset than rows.
pub(crate) const MOST_PLACES: usize = u32::MAX as usize - 1;

impl<M: Memory> Order<M> {
    /// Moves an order of `count` elements to an executor. `elements` holds each number below its length once, and has
    /// at most [`MOST_PLACES`] elements.
    pub fn new<E: Executor<Memory = M>>(executor: &E, count: usize, elements: Vec<u32>) -> Result<Self, Error> {
        let row_offsets = parallel::map(elements.len() + 1, ROWS_AT_ONCE, &|row| row.min(count) as u32)?;
        Ok(Self {
            count,
            elements: executor.upload(elements)?,
            row_offsets: executor.upload(row_offsets)?,
            slice_begins: executor.upload(copy(&[0, 1])?)?,
        })
    }

    /// Returns the bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        let numbers = self.elements.len() as u128 + self.row_offsets.len() as u128;
        4 * numbers + 8 * self.slice_begins.len() as u128
    }
}

/// Moves the elements of an array to their places.
pub(crate) struct Gather<T>(PhantomData<T>);

impl<T: Scalar> Operation for Gather<T> {
    type Operands<'a, M: Memory> = (&'a Order<M>, &'a M::Buffer<T>);
    type Output<M: Memory> = M::Buffer<T>;

    /// Works as if a matrix with an entry in some rows were converted to one slice whose rows have this order. Takes 4
    /// additional bytes per place.
    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (order, array): Self::Operands<'_, K::Memory>,
    ) -> Result<<K::Memory as Memory>::Buffer<T>, Error> {
        check_length("values", array.len(), order.count)?;
        let places = order.elements.len();
        if places == 0 {
            return executor.zeros(0);
        }
        let mut columns = executor.unwritten(places)?;
        let mut gathered = executor.unwritten(places)?;
        let kernel = SlicedFromCsr {
            rows: places as u32,
            slice_size: places as u32,
            slices: 1,
            slice_begins: order.slice_begins.global(),
            sorted: 1,
            row_indices: order.elements.global(),
            row_offsets: order.row_offsets.global(),
            // Any number is a column.
            column_indices: order.elements.global(),
            values: array.global(),
            new_column_indices: columns.global_mut(),
            new_values: gathered.global_mut(),
        };
        // SAFETY: the offsets are those of a row for each place, with `count` entries together, of which there are no
        // more than places. The slice has a place for each row, and `Order` each row once.
        unsafe { launch(executor, executor.device().grid(places as u64), kernel) }?;
        Ok(gathered)
    }

    fn on_host(_: Arithmetic, (order, array): Self::Operands<'_, HostMemory>) -> Result<Vec<T>, Error> {
        check_length("values", array.len(), order.count)?;
        let at = |place: usize| array.get(order.elements[place] as usize).copied().unwrap_or(T::ZERO);
        parallel::map(order.elements.len(), ROWS_AT_ONCE, &at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Reference};

    fn check<E: Executor<Memory = HostMemory>>(executor: &E, places: u32, count: u32) {
        // 7 has no factor in common with any number of places.
        let elements: Vec<u32> = (0..places).map(|place| (place * 7 + 3) % places).collect();
        let array: Vec<f64> = (0..count).map(|element| -f64::from(element)).collect();
        let value = |&element: &u32| array.get(element as usize).map_or(0, |value| value.to_bits());
        let expected: Vec<u64> = elements.iter().map(value).collect();
        let order = Order::new(executor, count as usize, elements).unwrap();
        let gathered = executor.run::<Gather<f64>>((&order, &array)).unwrap();
        assert_eq!(gathered.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), expected);
        let error = executor.run::<Gather<f64>>((&order, &vec![0.0; count as usize + 1])).unwrap_err();
        assert_eq!(error.to_string(), format!("values has length {}, expected {count}", count + 1));
    }

    #[test]
    fn each_element_goes_to_its_place() {
        for places in [0, 1, 2, 33, 1000] {
            let places = if cfg!(miri) { places.min(40) } else { places };
            for count in [places, places - places / 3, 0] {
                check(&Reference::new(), places, count);
                check(&Cpu::new(), places, count);
                // Miri has no lanes.
                if !cfg!(miri) {
                    (0..5).for_each(|seed| check(&Emulated::new(seed), places, count));
                }
            }
        }
    }
}
