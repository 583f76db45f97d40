//! New values for the entries of a matrix, where a format has them.

use std::marker::PhantomData;

use gpu_kernels::dense::gather::Scatter as Kernel;

use super::gather::MOST_PLACES;
use super::primitives::launch;
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{Buffer, HostMemory, Memory, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// In place of an entry, where a place has none.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

/// Where the entries of a matrix are: each at a place of its own.
pub(crate) struct Places<M: Memory> {
    entries: usize,
    places: usize,
    /// Kernels take the entries in their order: the place of each. The host takes the places in theirs, which it writes in
    /// parallel: the entry of each, or [`NO_ENTRY`].
    numbers: M::Buffer<u32>,
}

impl<M: Memory> Places<M> {
    /// Bytes of the array.
    pub fn bytes(&self) -> u128 {
        4 * self.numbers.len() as u128
    }
}

/// Makes [`Places`] from the number of entries and the entry of each place, or [`NO_ENTRY`]. Each entry is at one place;
/// there are [`MOST_PLACES`] at most.
pub(crate) struct Placement;

impl Operation for Placement {
    type Operands<'a, M: Memory> = (usize, Vec<u32>);
    type Output<M: Memory> = Places<M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (entries, entry_at): (usize, Vec<u32>),
    ) -> Result<Places<K::Memory>, Error> {
        let mut places = zeros::<u32>(entries)?;
        for (place, &entry) in entry_at.iter().enumerate() {
            if let Some(of_entry) = places.get_mut(entry as usize) {
                *of_entry = place as u32;
            }
        }
        Ok(Places { entries, places: entry_at.len(), numbers: executor.upload(places)? })
    }

    fn on_host(_: Arithmetic, (entries, entry_at): (usize, Vec<u32>)) -> Result<Places<HostMemory>, Error> {
        Ok(Places { entries, places: entry_at.len(), numbers: entry_at })
    }
}

/// Writes new values to the places of their entries, and leaves other places as they are.
pub(crate) struct Scatter<T>(PhantomData<T>);

/// The operands of [`Scatter`].
pub(crate) struct ScatterOperands<'a, T: Scalar, M: Memory> {
    pub places: &'a Places<M>,
    /// A value for each entry.
    pub values: &'a M::Buffer<T>,
    /// Whether the format marks places without an entry, so that no value may be the mark.
    pub marks_absence: bool,
    /// The values of the matrix.
    pub at_places: &'a mut M::Buffer<T>,
}

impl<T: Scalar> Operation for Scatter<T> {
    type Operands<'a, M: Memory> = ScatterOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ScatterOperands { places, values, marks_absence, at_places } = operands;
        check_length("values", values.len(), places.entries)?;
        check_length("the places of entries", places.numbers.len(), places.entries)?;
        check_length("the values of the matrix", at_places.len(), places.places)?;
        let kernel = Kernel {
            count: places.entries as u64,
            places: places.numbers.global(),
            from: values.global(),
            marks_absence: marks_absence.into(),
            to: at_places.global_mut(),
        };
        let grid = executor.device().uneven_grid(places.entries as u64);
        // SAFETY: there are as many places as values, all of them inside the other array and no two the same.
        unsafe { launch(executor, grid, kernel) }
    }

    fn on_host(_: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ScatterOperands { places, values, marks_absence, at_places } = operands;
        check_length("values", values.len(), places.entries)?;
        check_length("the entries of places", places.numbers.len(), places.places)?;
        check_length("the values of the matrix", at_places.len(), places.places)?;
        parallel::chunks_mut(at_places, ROWS_AT_ONCE, 1, &|(chunk, at_places)| {
            let entries = &places.numbers[chunk * ROWS_AT_ONCE..];
            for (at_place, &entry) in at_places.iter_mut().zip(entries) {
                if let Some(&value) = values.get(entry as usize) {
                    *at_place = if marks_absence { value.present() } else { value };
                }
            }
        });
        Ok(())
    }
}

const _: () = assert!(MOST_PLACES < NO_ENTRY as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Executor, Reference};

    fn check<E: Executor<Memory = HostMemory>>(executor: &E, places: u32, entries: u32) {
        // 7 has no factor in common with any number of places.
        let entry_at = |place: u32| Some(place * 7 % places).filter(|&entry| entry < entries);
        let numbers = (0..places).map(|place| entry_at(place).unwrap_or(NO_ENTRY)).collect();
        let placed = executor.run::<Placement>((entries as usize, numbers)).unwrap();
        let mark = f64::from_bits(u64::MAX);
        for marks_absence in [false, true] {
            let values: Vec<f64> = (0..entries).map(|entry| if entry == 1 { mark } else { f64::from(entry) }).collect();
            let mut at_places = vec![-1.0; places as usize];
            let operands =
                ScatterOperands { places: &placed, values: &values, marks_absence, at_places: &mut at_places };
            executor.run::<Scatter<f64>>(operands).unwrap();
            for (place, value) in at_places.iter().enumerate() {
                match entry_at(place as u32) {
                    None => assert_eq!(*value, -1.0),
                    Some(1) => assert!(value.is_nan() && (value.to_bits() == u64::MAX) != marks_absence),
                    Some(entry) => assert_eq!(*value, f64::from(entry)),
                }
            }
            let values = vec![0.0; entries as usize + 1];
            let operands =
                ScatterOperands { places: &placed, values: &values, marks_absence, at_places: &mut at_places };
            let error = executor.run::<Scatter<f64>>(operands).unwrap_err();
            assert_eq!(error.to_string(), format!("values has length {}, expected {entries}", entries + 1));
        }
    }

    #[test]
    fn each_value_goes_to_its_place() {
        for places in [1, 2, 33, 1000] {
            let places = if cfg!(miri) { places.min(40) } else { places };
            for entries in [places, places - places / 3, 0] {
                check(&Reference::new(), places, entries);
                check(&Cpu::new(), places, entries);
                // Miri has no lanes.
                if !cfg!(miri) {
                    (0..5).for_each(|seed| check(&Emulated::new(seed), places, entries));
                }
            }
        }
    }
}
