//! Loops on rayon's threads. The work is behind a reference to a trait object, so that rayon's machinery, which is a
//! hundred times the code of most loops, is compiled once and not once for each loop and type of element. A call through
//! the reference costs nothing beside a chunk or a row.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Error;

/// Rows that a thread converts at a time.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// Calls `work` once with each number below `count`. A thread takes `at_least` neighbours at a time.
pub fn for_each(count: usize, at_least: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_min_len(at_least).for_each(work);
}

/// The start of an array whose elements different threads write.
struct Base<T>(*mut T);

// SAFETY: who writes through the pointer says which elements are whose.
unsafe impl<T: Send> Sync for Base<T> {}

impl<T> Base<T> {
    // A method, so that closures borrow the whole struct, which threads may share.
    fn get(&self) -> *mut T {
        self.0
    }
}

/// What `work` gives for each number below `count`. A thread takes `at_least` neighbours at a time.
pub fn map<R: Send>(count: usize, at_least: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if std::mem::needs_drop::<R>() {
        // When `work` panics, those that are there must be dropped.
        let mut results: Vec<Option<R>> = std::iter::repeat_with(|| None).take(count).collect();
        chunks_mut(&mut results, 1, at_least, &|(number, result)| result[0] = Some(work(number)));
        return results.into_iter().flatten().collect();
    }
    filled(Vec::with_capacity(count), count, at_least, work)
}

/// [`map`] for results that nothing is to be done with when they are dropped. `what` is what they are, together.
///
/// # Errors
/// When memory runs out.
pub fn try_map<R: Copy + Send>(
    what: &'static str,
    count: usize,
    at_least: usize,
    work: &(dyn Fn(usize) -> R + Sync),
) -> Result<Vec<R>, Error> {
    let mut results = Vec::new();
    let bytes = count as u128 * size_of::<R>() as u128;
    results.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { what, bytes })?;
    Ok(filled(results, count, at_least, work))
}

/// The results in a vector that is empty and has room for them; their type is one that needs no drop.
fn filled<R: Send>(mut results: Vec<R>, count: usize, at_least: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    assert!(results.is_empty() && results.capacity() >= count);
    let base = Base(results.spare_capacity_mut().as_mut_ptr());
    for_each(count, at_least, &|number| {
        // SAFETY: there is room for `count` results, and each number comes once, so nobody else has this place.
        unsafe { base.get().add(number).write(MaybeUninit::new(work(number))) }
    });
    // SAFETY: each has been written, for otherwise `for_each` would have panicked.
    unsafe { results.set_len(count) };
    results
}

/// What `work` gives for each item and its number.
pub fn map_items<I: Send, R: Send>(items: Vec<I>, work: &(dyn Fn((usize, I)) -> R + Sync)) -> Vec<R> {
    let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let take = |number: usize| items[number].lock().ok().and_then(|mut item| item.take());
    map(items.len(), 1, &|number| work((number, take(number).expect("each number comes once"))))
}

/// What is done with a chunk, and its number.
pub type ChunkWork<'a, T> = dyn Fn((usize, &mut [T])) + Sync + 'a;

/// Calls `work` with the number of each chunk of `length` elements and the chunk; the last may be shorter. A thread takes
/// `at_least` neighbours at a time.
///
/// # Panics
/// When `length` is 0.
pub fn chunks_mut<T: Send>(elements: &mut [T], length: usize, at_least: usize, work: &ChunkWork<'_, T>) {
    let all = elements.len();
    let base = Base(elements.as_mut_ptr());
    for_each(all.div_ceil(length), at_least, &|chunk| {
        let begin = chunk * length;
        // SAFETY: the chunk lies within the slice, and each number comes once, so nobody else has these elements.
        work((chunk, unsafe { std::slice::from_raw_parts_mut(base.get().add(begin), length.min(all - begin)) }));
    });
}

/// Sets each element to what `work` gives for its number. A thread takes `at_once` neighbours at a time.
pub fn fill<T: Send>(elements: &mut [T], at_once: usize, work: &(dyn Fn(usize) -> T + Sync)) {
    chunks_mut(elements, at_once, 1, &|(chunk, elements)| {
        elements.iter_mut().enumerate().for_each(|(place, element)| *element = work(chunk * at_once + place));
    });
}

/// The first that `search` finds in ranges of `at_once` numbers below `count`, each searched from its start.
pub fn first<R: Send>(count: usize, at_once: usize, search: &(dyn Fn(Range<usize>) -> Option<R> + Sync)) -> Option<R> {
    let found = AtomicUsize::new(usize::MAX);
    let of_range = |range: usize| {
        if range > found.load(Ordering::Relaxed) {
            return None;
        }
        let result = search(range * at_once..count.min((range + 1) * at_once));
        if result.is_some() {
            found.fetch_min(range, Ordering::Relaxed);
        }
        result
    };
    map(count.div_ceil(at_once), 1, &of_range).into_iter().flatten().next()
}

/// Whether `holds` is true for all numbers below `count`. A thread takes `at_once` neighbours at a time.
pub fn all(count: usize, at_once: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    first(count, at_once, &|mut range| range.find(|&number| !holds(number))).is_none()
}

/// Does both, on two threads where one is free.
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    /// Work that is done once.
    type Once<'a> = &'a mut (dyn FnMut() + Send);

    fn both(first: Once<'_>, second: Once<'_>) {
        rayon::join(first, second);
    }

    let (mut of_first, mut of_second) = (None, None);
    let (mut first, mut second) = (Some(first), Some(second));
    both(&mut || of_first = first.take().map(|work| work()), &mut || of_second = second.take().map(|work| work()));
    (of_first.expect("it was done"), of_second.expect("it was done"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once_and_results_are_in_order() {
        for count in [0, 1, 2, 100, 1000] {
            let squares: Vec<_> = (0..count).map(|number| (number * number).to_string()).collect();
            assert_eq!(map(count, 7, &|number| (number * number).to_string()), squares);
            let items: Vec<_> = (0..count).map(|number| number.to_string()).collect();
            let lengths = map_items(items, &|(number, item)| (number, item));
            assert!(
                lengths
                    .iter()
                    .enumerate()
                    .all(|(place, (number, item))| { place == *number && *item == number.to_string() })
            );
        }
    }

    #[test]
    fn chunks_are_whole_but_the_last() {
        for (length, at_once) in [(0, 3), (1, 3), (3, 3), (10, 3), (999, 1), (1000, 64)] {
            let mut elements = vec![(0, 0, 0); length];
            chunks_mut(&mut elements, at_once, 2, &|(chunk, elements)| {
                let length = elements.len();
                elements.iter_mut().enumerate().for_each(|(place, element)| *element = (chunk, place, length));
            });
            let expected: Vec<_> = elements
                .chunks(at_once)
                .enumerate()
                .flat_map(|(chunk, of_chunk)| (0..of_chunk.len()).map(move |place| (chunk, place, of_chunk.len())))
                .collect();
            assert_eq!(elements, expected);
            let mut numbers = vec![0; length];
            fill(&mut numbers, at_once, &|number| number + 1);
            assert!(numbers.into_iter().eq(1..=length));
        }
    }

    #[test]
    fn the_first_is_found_whoever_finds_another_sooner() {
        let wanted = [(0, None), (10, None), (500, Some(400)), (1000, Some(400)), (401, Some(400))];
        for (count, expected) in wanted {
            assert_eq!(first(count, 7, &|mut range| range.find(|&number| number >= 400)), expected);
            assert_eq!(all(count, 7, &|number| number < 400), expected.is_none());
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_everything_is_dropped_once() {
        let work = |number: usize| {
            assert!(number != 50, "as meant");
            Box::new(number)
        };
        // The leak sanitizer counts the boxes.
        assert!(std::panic::catch_unwind(|| map(100, 1, &work)).is_err());
        assert!(std::panic::catch_unwind(|| join(|| 1, || panic!("as meant"))).is_err());
        assert_eq!(join(|| 1, || "two"), (1, "two"));
    }
}
