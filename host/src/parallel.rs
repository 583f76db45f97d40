//! Loops on rayon's threads. The work is behind a reference to a trait object, so that rayon's machinery, which is a
//! hundred times the code of most loops here, is compiled once for each type of element and not once for each loop. A
//! call through it costs nothing beside the chunks that the work is cut into.

use rayon::prelude::*;

/// Calls `work` for each number below `count`, in parallel, and collects what it gives. A thread takes `at_least`
/// neighbours at a time.
pub(crate) fn map<R: Send>(count: usize, at_least: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    (0..count).into_par_iter().with_min_len(at_least).map(work).collect()
}

/// Calls `work` with the number of each item and the item, in parallel, and collects what it gives.
pub(crate) fn map_items<I: Send, R: Send>(items: Vec<I>, work: &(dyn Fn((usize, I)) -> R + Sync)) -> Vec<R> {
    items.into_par_iter().enumerate().map(work).collect()
}

/// What is done with a chunk, and its number.
pub(crate) type ChunkWork<'a, T> = dyn Fn((usize, &mut [T])) + Sync + 'a;

/// Calls `work` with the number of each chunk of `length` elements and the chunk, in parallel. A thread takes `at_least`
/// neighbours at a time.
pub(crate) fn chunks_mut<T: Send>(elements: &mut [T], length: usize, at_least: usize, work: &ChunkWork<'_, T>) {
    elements.par_chunks_mut(length).with_min_len(at_least).enumerate().for_each(work);
}
