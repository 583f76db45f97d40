//! Loops on rayon's threads. The work is behind a reference to a trait object, so that rayon's machinery, a hundred times
//! the code of most loops, is compiled once instead of once per loop and element type. A call through the reference is cheap
//! compared with a chunk or a row.

mod outside;

use std::cmp::Ordering;
use std::error::Error as _;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::thread;

use rayon::prelude::*;

use crate::error::Error;
use crate::memory;

/// Rows that a thread converts at a time.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// Calls `work` once with each number less than `count`. A thread takes at least `at_least` consecutive numbers at a time.
pub fn for_each(count: usize, at_least: usize, work: &(dyn Fn(usize) + Sync)) {
    if rayon::current_thread_index().is_some() {
        (0..count).into_par_iter().with_min_len(at_least).for_each(work);
    } else if count <= at_least || threads() == 1 {
        (0..count).for_each(work);
    } else {
        outside::with_the_pool(count, at_least, work);
    }
}

/// Whether this thread can share work: it is in a pool, or there is the global pool, which is created here if necessary. If
/// the system refuses its threads, rayon would panic in every call, so rayon is not called at all.
fn has_pool() -> bool {
    static GLOBAL: OnceLock<bool> = OnceLock::new();
    let begun = || match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // An error without a source means that the pool already existed.
        Err(error) => error.source().is_none(),
    };
    rayon::current_thread_index().is_some() || *GLOBAL.get_or_init(begun)
}

/// Number of threads that share the work of this one; 1 if the system refuses more.
pub fn threads() -> usize {
    if has_pool() { rayon::current_num_threads() } else { 1 }
}

/// Sorts by `compare`; equal elements may be reordered.
pub fn sort_unstable_by<T: Send>(elements: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if has_pool() { elements.par_sort_unstable_by(compare) } else { elements.sort_unstable_by(compare) }
}

/// The start of an array whose elements different threads write.
struct Base<T>(*mut T);

// SAFETY: code that writes through the pointer determines which elements belong to which thread.
unsafe impl<T: Send> Sync for Base<T> {}

impl<T> Base<T> {
    // A method, so that closures capture the whole struct, which threads may share.
    fn get(&self) -> *mut T {
        self.0
    }
}

/// Collects the results of `work` for each number less than `count`. A thread takes `at_least` consecutive numbers at a
/// time.
///
/// # Errors
/// When memory runs out.
pub fn map<R: Send>(count: usize, at_least: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Result<Vec<R>, Error> {
    if std::mem::needs_drop::<R>() {
        // If `work` panics, existing results must be dropped.
        let mut results: Vec<Option<R>> = memory::with_capacity(count)?;
        results.resize_with(count, || None);
        chunks_mut(&mut results, 1, at_least, &|(number, result)| result[0] = Some(work(number)));
        let mut all = memory::with_capacity(count)?;
        all.extend(results.into_iter().flatten());
        return Ok(all);
    }
    let mut results = memory::with_capacity(count)?;
    let base = Base(results.spare_capacity_mut().as_mut_ptr());
    for_each(count, at_least, &|number| {
        // SAFETY: there is room for `count` results, and each number occurs once, so nothing else accesses this slot.
        unsafe { base.get().add(number).write(MaybeUninit::new(work(number))) }
    });
    // SAFETY: each has been written, or `for_each` would have panicked.
    unsafe { results.set_len(count) };
    Ok(results)
}

/// Collects the results of `work` for each item and its index.
///
/// # Errors
/// When memory runs out.
pub fn map_items<I: Send, R: Send>(items: Vec<I>, work: &(dyn Fn((usize, I)) -> R + Sync)) -> Result<Vec<R>, Error> {
    let items = memory::collect(items.into_iter().map(|item| Mutex::new(Some(item))))?;
    let take = |number: usize| items[number].lock().ok().and_then(|mut item| item.take());
    map(items.len(), 1, &|number| work((number, take(number).expect("each number comes once"))))
}

/// Work on a chunk and its index.
pub type ChunkWork<'a, T> = dyn Fn((usize, &mut [T])) + Sync + 'a;

/// Fallible work on a chunk and its index.
pub type FallibleChunkWork<'a, T> = dyn Fn((usize, &mut [T])) -> Result<(), Error> + Sync + 'a;

/// Calls `work` with each chunk of `length` elements and its index; the last may be shorter. A thread takes `at_least`
/// consecutive chunks at a time.
///
/// # Panics
/// When `length` is 0.
pub fn chunks_mut<T: Send>(elements: &mut [T], length: usize, at_least: usize, work: &ChunkWork<'_, T>) {
    let all = elements.len();
    let base = Base(elements.as_mut_ptr());
    for_each(all.div_ceil(length), at_least, &|chunk| {
        let begin = chunk * length;
        // SAFETY: the chunk lies within the slice, and each number occurs once, so nothing else accesses these
        // elements.
        work((chunk, unsafe { std::slice::from_raw_parts_mut(base.get().add(begin), length.min(all - begin)) }));
    });
}

/// Calls `work` with each part and its index: the first part ends before the first of `ends`, and each further one begins
/// where its predecessor ends. Allocates nothing.
///
/// # Panics
/// When `ends` decrease, or are beyond the elements.
pub fn parts_mut<T: Send>(elements: &mut [T], ends: &[usize], work: &ChunkWork<'_, T>) {
    assert!(ends.is_sorted() && ends.last().is_none_or(|&last| last <= elements.len()), "parts in order");
    let base = Base(elements.as_mut_ptr());
    for_each(ends.len(), 1, &|part| {
        let begin = if part > 0 { ends[part - 1] } else { 0 };
        // SAFETY: the ends do not decrease, so the part lies within the slice, and no two parts overlap; each number occurs
        // once, so nothing else accesses these elements.
        work((part, unsafe { std::slice::from_raw_parts_mut(base.get().add(begin), ends[part] - begin) }));
    });
}

/// [`chunks_mut`] for fallible work.
///
/// # Errors
/// An error of `work`, of an unspecified chunk.
///
/// # Panics
/// When `length` is 0.
pub fn try_chunks_mut<T: Send>(
    elements: &mut [T],
    length: usize,
    work: &FallibleChunkWork<'_, T>,
) -> Result<(), Error> {
    let failed = Mutex::new(Ok(()));
    chunks_mut(elements, length, 1, &|chunk| {
        if let Err(error) = work(chunk)
            && let Ok(mut failed) = failed.lock()
        {
            *failed = Err(error);
        }
    });
    failed.into_inner().unwrap_or(Ok(()))
}

/// Sets each element to the result of `work` for its index. A thread takes `at_once` consecutive elements at a time.
pub fn fill<T: Send>(elements: &mut [T], at_once: usize, work: &(dyn Fn(usize) -> T + Sync)) {
    chunks_mut(elements, at_once, 1, &|(chunk, elements)| {
        elements.iter_mut().enumerate().for_each(|(place, element)| *element = work(chunk * at_once + place));
    });
}

/// The first result of `search` in ranges of `at_once` numbers less than `count`, each searched from its start.
pub fn first<R: Send>(count: usize, at_once: usize, search: &(dyn Fn(Range<usize>) -> Option<R> + Sync)) -> Option<R> {
    let least = AtomicUsize::new(usize::MAX);
    let found = Mutex::new(None);
    for_each(count.div_ceil(at_once), 1, &|range| {
        if range > least.load(Relaxed) {
            return;
        }
        if let Some(result) = search(range * at_once..count.min((range + 1) * at_once))
            && let Ok(mut found) = found.lock()
            && least.fetch_min(range, Relaxed) > range
        {
            *found = Some(result);
        }
    });
    found.into_inner().ok().flatten()
}

/// Whether `holds` is true for all numbers less than `count`. A thread takes `at_once` consecutive numbers at a time.
pub fn all(count: usize, at_once: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    first(count, at_once, &|mut range| range.find(|&number| !holds(number))).is_none()
}

/// Does both: `first` on a thread of its own if there can be one, and `second`, which may be bound to this thread, here.
pub fn beside<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    let first = Mutex::new(Some(first));
    let take = || first.lock().ok().and_then(|mut first| first.take()).map(|work| work());
    let both = |of_first: Option<A>, of_second: B| (of_first.expect("it was done"), of_second);
    // A thread of a pool must not wait for another one that needs the pool.
    if rayon::current_thread_index().is_some() {
        return both(take(), second());
    }
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, take) {
        Ok(thread) => {
            let of_second = second();
            both(thread.join().unwrap_or_else(|panic| resume_unwind(panic)), of_second)
        }
        Err(_) => both(take(), second()),
    })
}

/// Does both, on two threads if one is free.
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    /// Work that runs once.
    type Once<'a> = &'a mut (dyn FnMut() + Send);

    fn both(first: Once<'_>, second: Once<'_>) {
        if has_pool() {
            rayon::join(first, second);
        } else {
            first();
            second();
        }
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
            assert_eq!(map(count, 7, &|number| (number * number).to_string()).unwrap(), squares);
            let items: Vec<_> = (0..count).map(|number| number.to_string()).collect();
            let lengths = map_items(items, &|(number, item)| (number, item)).unwrap();
            assert!(
                lengths
                    .iter()
                    .enumerate()
                    .all(|(place, (number, item))| { place == *number && *item == number.to_string() })
            );
        }
    }

    #[test]
    fn work_beside_other_work_stays_where_it_must() {
        let here = thread::current().id();
        let (first, second) = beside(|| thread::current().id(), || thread::current().id());
        assert!(first != here && second == here);
        // A thread of the only pool does both.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (first, second) = pool.install(|| beside(|| map(3, 1, &|number| number).unwrap(), || 7));
        assert_eq!((first, second), (vec![0, 1, 2], 7));
        let caught = std::panic::catch_unwind(|| beside(|| panic!("of the thread"), || 7));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"of the thread"));
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
    fn parts_are_as_long_as_their_ends_say() {
        for ends in [&[][..], &[0], &[3, 3, 10], &[0, 1, 100]] {
            let mut elements = vec![usize::MAX; 101];
            parts_mut(&mut elements, ends, &|(part, elements)| elements.fill(part));
            let part_of = |place: usize| ends.iter().position(|&end| place < end).unwrap_or(usize::MAX);
            assert!(elements.into_iter().eq((0..101).map(part_of)), "{ends:?}");
        }
        for ends in [&[2, 1][..], &[102]] {
            assert!(std::panic::catch_unwind(|| parts_mut(&mut vec![0; 101], ends, &|_| ())).is_err());
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

    #[test]
    #[ignore = "the next one runs it, in a process of its own"]
    fn alone() {
        assert_eq!(threads(), 1);
        assert_eq!(map(100, 1, &|number| number).unwrap(), (0..100).collect::<Vec<_>>());
        assert_eq!(join(|| 1, || 2), (1, 2));
        let mut numbers = [3, 1, 2];
        sort_unstable_by(&mut numbers, Ord::cmp);
        assert_eq!(numbers, [1, 2, 3]);
        use crate::executor::{Cpu, Executor};
        let matrix = crate::Csr::try_from_triplets(2, 2, &[1, 0], &[0, 1], &[2.0, 3.0]).unwrap();
        let cpu = Cpu::new();
        for &format in crate::Format::ALL {
            let mut plan = crate::Plan::with_format(&cpu, matrix.clone(), format).unwrap();
            let mut y = cpu.zeros(2).unwrap();
            plan.apply(1.0, &vec![1.0, 10.0], 0.0, &mut y).unwrap();
            assert_eq!(y, [30.0, 2.0]);
        }
    }

    /// No system has the memory for stacks of a million gigabytes.
    #[test]
    #[cfg_attr(miri, ignore = "it starts a process")]
    fn threads_that_cannot_be_had_are_done_without() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "parallel::tests::alone", "--ignored", "--test-threads=1"]);
        let output = command.env("RUST_MIN_STACK", (1_u64 << 50).to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
