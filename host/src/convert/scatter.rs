//! Scatters new values to the entries of a matrix in any format.

use std::marker::PhantomData;

use cuda_std::launch::Grid;
use gpu_kernels::dense::scatter::{self as kernel, GROUP, SHARED_BYTES, ScatterChunks, chunk};

use super::gather::MOST_PLACES;
use super::primitives::launch;
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::format::ValueArrays;
use crate::memory::{Buffer, HostMemory, Memory, with_capacity, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Mark of a slot without an entry.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

/// Slots of the entries of a matrix: a separate slot for each entry, in one array or in two.
pub(crate) struct Places<M: Memory> {
    entries: usize,
    /// Number of slots in each array.
    places: [usize; 2],
    order: Order<M>,
}

/// Representation of the slots.
enum Order<M: Memory> {
    /// For the host: the entry of each slot, or [`NO_ENTRY`]. It writes the slots in parallel.
    EntryOfPlace(M::Buffer<u32>),
    /// For kernels: the slot of each entry.
    PlaceOfEntry(M::Buffer<u32>),
    /// For kernels, if consecutive entries have adjacent slots: [`GROUP`] slots at a time.
    Groups(Groups<M>),
}

/// Groups of slots of each chunk of entries.
struct Groups<M: Memory> {
    /// Offset of the groups of each chunk.
    offsets: M::Buffer<u32>,
    /// First slot of each group, divided by [`GROUP`].
    groups: M::Buffer<u32>,
    /// Entry within the chunk for each slot of each group, two per element.
    entries: M::Buffer<u32>,
}

impl<M: Memory> Places<M> {
    /// Returns the bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        4 * match &self.order {
            Order::EntryOfPlace(numbers) | Order::PlaceOfEntry(numbers) => numbers.len() as u128,
            Order::Groups(Groups { offsets, groups, entries }) => {
                offsets.len() as u128 + groups.len() as u128 + entries.len() as u128
            }
        }
    }
}

/// Makes [`Places`] from the number of entries, the number of slots in each array, and the entry of each slot, or
/// [`NO_ENTRY`]. Each entry has exactly one slot; there are at most [`MOST_PLACES`] slots.
pub(crate) struct Placement<T>(PhantomData<T>);

impl<T: Scalar> Operation for Placement<T> {
    type Operands<'a, M: Memory> = (usize, [usize; 2], Vec<u32>);
    type Output<M: Memory> = Places<M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (entries, places, entry_at): (usize, [usize; 2], Vec<u32>),
    ) -> Result<Places<K::Memory>, Error> {
        check_places(places, &entry_at)?;
        let mut place_of = zeros::<u32>(entries)?;
        for (place, &entry) in entry_at.iter().enumerate() {
            if let Some(place_of) = place_of.get_mut(entry as usize) {
                *place_of = place as u32;
            }
        }
        drop(entry_at);
        let order = match grouped(&place_of, chunk::<T>() as usize)? {
            Some(Groups { offsets, groups, entries }) => Order::Groups(Groups {
                offsets: executor.upload(offsets)?,
                groups: executor.upload(groups)?,
                entries: executor.upload(entries)?,
            }),
            None => Order::PlaceOfEntry(executor.upload(place_of)?),
        };
        Ok(Places { entries, places, order })
    }

    fn on_host(
        _: Arithmetic,
        (entries, places, entry_at): (usize, [usize; 2], Vec<u32>),
    ) -> Result<Places<HostMemory>, Error> {
        check_places(places, &entry_at)?;
        Ok(Places { entries, places, order: Order::EntryOfPlace(entry_at) })
    }
}

/// Checks that there is exactly one entry, or [`NO_ENTRY`], per slot of the arrays.
fn check_places(places: [usize; 2], entry_at: &[u32]) -> Result<(), Error> {
    check_length("the entries of the slots", entry_at.len(), places[0].saturating_add(places[1]))
}

/// With fewer entries per group on average, groups cost more than they save.
const FEWEST_OF_GROUP: usize = 2;

/// Returns the groups of slots of the entries, in chunks of `in_chunk`; `None` if groups would have few entries.
fn grouped(place_of: &[u32], in_chunk: usize) -> Result<Option<Groups<HostMemory>>, Error> {
    // Slots of a chunk in order, each with its entry.
    let mut sorted =
        parallel::map(place_of.len(), ROWS_AT_ONCE, &|entry| (place_of[entry], (entry % in_chunk) as u16))?;
    parallel::chunks_mut(&mut sorted, in_chunk, 1, &|(_, places)| places.sort_unstable());
    let chunks = place_of.len().div_ceil(in_chunk);
    let of_chunk = |chunk: usize| {
        let places = &sorted[chunk * in_chunk..place_of.len().min((chunk + 1) * in_chunk)];
        places.chunk_by(|(one, _), (other, _)| one / GROUP == other / GROUP)
    };
    let counts = parallel::map(chunks, 1, &|chunk| of_chunk(chunk).count())?;
    let mut ends = with_capacity(chunks)?;
    let mut count = 0;
    for of_chunk in counts {
        count += of_chunk;
        ends.push(count);
    }
    if count.saturating_mul(FEWEST_OF_GROUP) > place_of.len() {
        return Ok(None);
    }
    let mut groups = zeros::<u32>(count)?;
    parallel::parts_mut(&mut groups, &ends, &|(chunk, groups)| {
        for (group, places) in groups.iter_mut().zip(of_chunk(chunk)) {
            *group = places[0].0 / GROUP;
        }
    });
    // Two entries per element.
    let elements = GROUP as usize / 2;
    let mut entries = zeros::<u32>(count * elements)?;
    let entry_ends = parallel::map(chunks, ROWS_AT_ONCE, &|chunk| ends[chunk] * elements)?;
    parallel::parts_mut(&mut entries, &entry_ends, &|(chunk, entries)| {
        for (group, places) in entries.chunks_exact_mut(elements).zip(of_chunk(chunk)) {
            let mut entry_at = [kernel::NO_ENTRY; GROUP as usize];
            for &(place, entry) in places {
                entry_at[(place % GROUP) as usize] = entry.into();
            }
            for (element, pair) in group.iter_mut().zip(entry_at.chunks_exact(2)) {
                *element = pair[0] | pair[1] << 16;
            }
        }
    });
    let mut offsets = with_capacity(chunks + 1)?;
    offsets.push(0);
    offsets.extend(ends.iter().map(|&end| end as u32));
    Ok(Some(Groups { offsets, groups, entries }))
}

/// Returns the error for an order made by another executor.
fn foreign() -> Error {
    Error::Foreign { what: "the places of entries".into() }
}

/// Writes new values to the slots of their entries, and leaves other slots unchanged.
pub(crate) struct Scatter<T>(PhantomData<T>);

/// Operands of [`Scatter`].
pub(crate) struct ScatterOperands<'a, T: Scalar, M: Memory> {
    pub places: &'a Places<M>,
    /// A value for each entry.
    pub values: &'a M::Buffer<T>,
    /// Whether the format marks slots without an entry, so that no value may be the mark.
    pub marks_absence: bool,
    /// Values of the matrix, in one array or in two.
    pub at_places: ValueArrays<'a, T, M>,
}

impl<T: Scalar, M: Memory> ScatterOperands<'_, T, M> {
    fn check(&self) -> Result<(), Error> {
        let ValueArrays { first, second } = &self.at_places;
        let second = second.as_ref().map_or(0, |second| second.len());
        check_length("values", self.values.len(), self.places.entries)?;
        check_length("the values of the matrix", first.len(), self.places.places[0])?;
        check_length("the other values of the matrix", second, self.places.places[1])
    }
}

impl<T: Scalar> Operation for Scatter<T> {
    type Operands<'a, M: Memory> = ScatterOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        operands.check()?;
        let ScatterOperands { places, values, marks_absence, at_places: ValueArrays { first: to, second: rest } } =
            operands;
        let (count, marks_absence, split) = (places.entries as u64, marks_absence.into(), places.places[0] as u32);
        let (from, to) = (values.global(), to.global_mut());
        // If there is only one array, nothing goes to `rest`.
        let rest = rest.map_or(to, |rest| rest.global_mut());
        // SAFETY: `Placement` gave each entry a separate slot, and checked that the arrays have as many slots.
        unsafe {
            match &places.order {
                Order::Groups(Groups { offsets, groups, entries }) => {
                    let (group_offsets, groups, entries) = (offsets.global(), groups.global(), entries.global());
                    let kernel =
                        ScatterChunks { count, group_offsets, groups, entries, from, marks_absence, split, to, rest };
                    let blocks = places.entries.div_ceil(chunk::<T>() as usize) as u32;
                    let threads_per_block = executor.device().tuning.threads_per_block();
                    launch(executor, Grid { blocks, threads_per_block, shared_bytes: SHARED_BYTES }, kernel)
                }
                Order::PlaceOfEntry(of_entries) => {
                    let places = of_entries.global();
                    let kernel = kernel::Scatter { count, places, from, marks_absence, split, to, rest };
                    launch(executor, executor.device().uneven_grid(count), kernel)
                }
                Order::EntryOfPlace(_) => Err(foreign()),
            }
        }
    }

    fn on_host(_: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        operands.check()?;
        let ScatterOperands { places, values, marks_absence, at_places: ValueArrays { first, second } } = operands;
        let Order::EntryOfPlace(entry_at) = &places.order else { return Err(foreign()) };
        let (of_first, of_second) = entry_at.split_at(first.len());
        let parts = [Some((first, of_first)), second.map(|second| (second, of_second))];
        for (at_places, entry_at) in parts.into_iter().flatten() {
            parallel::chunks_mut(at_places, ROWS_AT_ONCE, 1, &|(chunk, at_places)| {
                for (at_place, &entry) in at_places.iter_mut().zip(&entry_at[chunk * ROWS_AT_ONCE..]) {
                    if let Some(&value) = values.get(entry as usize) {
                        *at_place = if marks_absence { value.present() } else { value };
                    }
                }
            });
        }
        Ok(())
    }
}

const _: () = assert!(MOST_PLACES < NO_ENTRY as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Executor, Reference};

    /// Scatters a value for each entry to two arrays of slots: `entry_at` returns the entry of a slot. One of the
    /// values is the mark.
    fn check<E: Executor<Memory = HostMemory>>(
        executor: &E,
        places: [u32; 2],
        entries: u32,
        entry_at: impl Fn(u32) -> Option<u32>,
    ) {
        let all = places[0] + places[1];
        let numbers = (0..all).map(|place| entry_at(place).unwrap_or(NO_ENTRY)).collect();
        let sizes = places.map(|places| places as usize);
        let placed = executor.run::<Placement<f64>>((entries as usize, sizes, numbers)).unwrap();
        let mark = f64::from_bits(u64::MAX);
        for marks_absence in [false, true] {
            let mut values: Vec<f64> =
                (0..entries).map(|entry| if entry == 1 { mark } else { f64::from(entry) }).collect();
            let [mut first, mut second] = sizes.map(|places| vec![-1.0; places]);
            let mut scatter = |values: &Vec<f64>| {
                let at_places = ValueArrays { first: &mut first, second: (places[1] > 0).then_some(&mut second) };
                executor.run::<Scatter<f64>>(ScatterOperands { places: &placed, values, marks_absence, at_places })
            };
            scatter(&values).unwrap();
            values.push(0.0);
            let error = scatter(&values).unwrap_err();
            assert_eq!(error.to_string(), format!("values has length {}, expected {entries}", entries + 1));
            for (place, value) in first.iter().chain(&second).enumerate() {
                match entry_at(place as u32) {
                    None => assert_eq!(*value, -1.0),
                    Some(1) => assert!(value.is_nan() && (value.to_bits() == u64::MAX) != marks_absence),
                    Some(entry) => assert_eq!(*value, f64::from(entry)),
                }
            }
        }
    }

    fn check_on_all(places: [u32; 2], entries: u32, entry_at: impl Fn(u32) -> Option<u32>) {
        check(&Reference::new(), places, entries, &entry_at);
        check(&Cpu::new(), places, entries, &entry_at);
        // Miri has no lanes.
        if !cfg!(miri) {
            (0..5).for_each(|seed| check(&Emulated::new(seed), places, entries, &entry_at));
        }
    }

    #[test]
    fn each_value_goes_to_its_place() {
        for all in [1, 2, 33, 1000] {
            let all = if cfg!(miri) { all.min(40) } else { all };
            for entries in [all, all - all / 3, 0] {
                for second in [0, all / 5] {
                    // 7 has no factor in common with any number of slots.
                    let entry_at = |place: u32| Some(place * 7 % all).filter(|&entry| entry < entries);
                    check_on_all([all - second, second], entries, entry_at);
                }
            }
        }
    }

    /// Consecutive rows of 27 entries, in slots as in ELL, with one slot of padding each; the last ones in another
    /// array.
    #[test]
    fn entries_of_neighbouring_rows_go_together() {
        let (rows, width) = if cfg!(miri) { (9, 5) } else { (170, 27) };
        let entries = rows * width;
        let entry_at =
            |place: u32| Some(place % rows * width + place / rows).filter(|&entry| place < entries && entry < entries);
        let of_entries: Vec<u32> = (0..entries).map(|entry| entry % width * rows + entry / width).collect();
        let Groups { offsets, groups, entries: in_groups } = grouped(&of_entries, 2048).unwrap().unwrap();
        assert_eq!(offsets.len(), entries.div_ceil(2048) as usize + 1);
        assert_eq!((offsets[0], *offsets.last().unwrap() as usize), (0, groups.len()));
        // 20 bytes per group, and about 75 rows of a chunk in 10 groups.
        assert!(cfg!(miri) || 4 * (groups.len() + in_groups.len()) < 3 * entries as usize);
        check_on_all([entries, rows], entries, entry_at);
        check_on_all([entries - 100.min(entries / 2), rows + 100.min(entries / 2)], entries, entry_at);
    }

    #[test]
    fn entries_of_other_places_are_refused() {
        let refused = Cpu::new().run::<Placement<f64>>((1, [1, 1], vec![0, NO_ENTRY, NO_ENTRY])).err();
        assert_eq!(refused.unwrap().to_string(), "the entries of the slots has length 3, expected 2");
        if !cfg!(miri) {
            let refused = Emulated::new(0).run::<Placement<f64>>((1, [1, 1], vec![0])).err();
            assert_eq!(refused.unwrap().to_string(), "the entries of the slots has length 1, expected 2");
        }
    }

    #[test]
    fn entries_far_apart_are_not_grouped() {
        let places: Vec<u32> = (0..5000).map(|entry| entry * 8).collect();
        assert!(grouped(&places, 2048).unwrap().is_none());
        assert!(grouped(&[], 2048).unwrap().is_some_and(|groups| groups.groups.is_empty()));
    }
}
