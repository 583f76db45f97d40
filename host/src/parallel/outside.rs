//! Loops of threads outside rayon's pool, which take part in them.

use std::hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// Time for which a thread that is done looks whether the others are, before it sleeps until they are, since waking up takes
/// as long. It does not look for those that have not begun, which may need its core.
const SPIN: Duration = Duration::from_micros(50);

/// Time after which threads that should help are late: several times as long as it takes to wake up.
const LATE: Duration = Duration::from_micros(100);

/// Number of threads up to which one more than cores matters.
const FEW_THREADS: usize = 4;

/// Number of times each thread takes numbers in a loop, so that one that began late takes fewer.
const TURNS: usize = 16;

/// Number of threads that each one calls for help.
const CALLED_BY_EACH: usize = 2;

/// The loop on a thread outside the pool, which takes part. In rayon's own loops it would sleep until one thread of the pool
/// is awake, has woken others, and all are done; that takes as long as a product of 100,000 entries, and all threads but one
/// may be scheduled on the same core for milliseconds (docs/experiments/cpu.md).
pub(super) fn with_the_pool(count: usize, at_least: usize, work: &(dyn Fn(usize) + Sync)) {
    let threads = rayon::current_num_threads();
    let at_once = at_least.max(count / (threads * TURNS)).max(1);
    let helpers = threads.min(count.div_ceil(at_once)) - 1;
    let new = AtomicUsize::default;
    let shared = SharedLoop { count, at_once, helpers, work, taken: new(), called: new(), at_work: new() };
    match helpers_of_outsiders() {
        Some(pool) => pool.in_place_scope(|scope| shared.lead(scope, Duration::MAX)),
        None => rayon::in_place_scope(|scope| shared.lead(scope, LATE)),
    }
}

/// Threads for this alone, one less than a pool of few threads has. With the pool's own, there would be one thread more than
/// cores, and two of them may share one while another is idle. Many threads sleep less if they are those of all loops.
fn helpers_of_outsiders() -> Option<&'static ThreadPool> {
    static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let begin = || {
        let threads = rayon::current_num_threads();
        let pool = || ThreadPoolBuilder::new().num_threads(threads - 1).build().ok();
        (threads <= FEW_THREADS).then(pool).flatten()
    };
    HELPERS.get_or_init(begin).as_ref()
}

/// A loop whose numbers threads take when they have time.
struct SharedLoop<'a> {
    count: usize,
    at_once: usize,
    /// Number of threads that can help.
    helpers: usize,
    work: &'a (dyn Fn(usize) + Sync),
    /// Numbers taken, in order.
    taken: AtomicUsize,
    /// Helpers that have been called, and those at work, who stay until all numbers are taken.
    called: AtomicUsize,
    at_work: AtomicUsize,
}

impl<'s> SharedLoop<'s> {
    /// The caller's part. If no helper has begun after the time `late`, all threads are called.
    fn lead(&'s self, scope: &Scope<'s>, late: Duration) {
        let begin = Instant::now();
        self.call_helpers(scope);
        let mut all_called = false;
        while self.take() {
            // Rayon wakes none if one looks for work; but that one may wait for the core of this thread.
            let alone = self.at_work.load(Relaxed) == 0 && !self.all_taken();
            if alone && !all_called && begin.elapsed() > late {
                scope.spawn_broadcast(|scope, _| self.help(scope));
                all_called = true;
            }
        }
        let end = Instant::now();
        while self.at_work.load(Relaxed) > 0 && end.elapsed() < SPIN {
            hint::spin_loop();
        }
    }

    fn help(&'s self, scope: &Scope<'s>) {
        self.at_work.fetch_add(1, Relaxed);
        self.call_helpers(scope);
        while self.take() {}
        self.at_work.fetch_sub(1, Relaxed);
    }

    /// Each thread wakes others, since that takes microseconds.
    fn call_helpers(&'s self, scope: &Scope<'s>) {
        for _ in 0..CALLED_BY_EACH {
            if self.all_taken() || self.called.fetch_add(1, Relaxed) >= self.helpers {
                return;
            }
            scope.spawn(|scope| self.help(scope));
        }
    }

    fn all_taken(&self) -> bool {
        self.taken.load(Relaxed) >= self.count
    }

    /// Takes the next numbers and works on them; false if none are left.
    fn take(&self) -> bool {
        let begin = self.taken.fetch_add(self.at_once, Relaxed);
        let numbers = begin.min(self.count)..self.count.min(begin + self.at_once);
        let any = !numbers.is_empty();
        numbers.for_each(self.work);
        any
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use super::super::{for_each, threads};
    use super::*;

    #[test]
    fn a_thread_outside_the_pool_takes_part() {
        if threads() == 1 {
            return;
        }
        let (both, workers) = (Barrier::new(2), Mutex::new(Vec::new()));
        for_each(2, 1, &|_| {
            both.wait();
            workers.lock().unwrap().push((thread::current().id(), rayon::current_thread_index().is_some()));
        });
        let mut workers = workers.into_inner().unwrap();
        workers.sort_by_key(|&(_, in_pool)| in_pool);
        assert!(matches!(workers[..], [(here, false), (_, true)] if here == thread::current().id()), "{workers:?}");
        // Whatever the smallest number of them is that a thread takes, each number comes once.
        let loops = [(1, 0), (3, 0), (1000, 1), (1000, 999), (1001, 70), (5, 6)];
        for ((count, at_least), busy) in loops.into_iter().flat_map(|numbers| [(numbers, false), (numbers, true)]) {
            let numbers = Mutex::new(Vec::new());
            // The helpers are late.
            if busy {
                let sleep = |_: rayon::BroadcastContext<'_>| thread::sleep(LATE * 10);
                helpers_of_outsiders()
                    .map_or_else(|| rayon::spawn_broadcast(sleep), |pool| pool.spawn_broadcast(sleep));
            }
            for_each(count, at_least, &|number| {
                if busy {
                    thread::sleep(LATE / 100);
                }
                numbers.lock().unwrap().push(number);
            });
            let mut numbers = numbers.into_inner().unwrap();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count} {at_least}");
        }
    }
}
