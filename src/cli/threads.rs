//! The threads that run all parallel work.

use std::num::NonZero;
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::{distributed, output};

/// Largest number of threads on a machine with fewer cores: with more, they would mostly wait for each other.
const MOST_ON_FEW_CORES: usize = 256;

/// The variable with the requested number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Creates the threads: one per core or the number requested in the environment, and fewer, with a note, if the system
/// refuses that number. Keep the result while anything runs.
pub fn begin() -> Option<ThreadPool> {
    let cores = available_parallelism().map_or(1, NonZero::get).div_ceil(distributed::processes_here());
    let asked = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).filter(|&threads: &usize| threads > 0);
    let most = cores.max(MOST_ON_FEW_CORES);
    let threads = asked.unwrap_or(cores).min(most);
    if asked.is_some_and(|asked| asked > most) {
        output::say(&format!("{VARIABLE}: {threads} threads, the most on this machine"));
    }
    match ThreadPoolBuilder::new().num_threads(threads).build_global() {
        Ok(()) => None,
        Err(error) => fewer(threads, &error),
    }
}

/// A pool in which this thread works, too: with fewer threads, or with this one alone.
fn fewer(threads: usize, error: &ThreadPoolBuildError) -> Option<ThreadPool> {
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
    let mut left = threads;
    while left > 0 {
        left /= 2;
        if let Ok(pool) = pool(left.max(1)) {
            output::say(&format!("cannot create {threads} threads: {error}; using {}", left.max(1)));
            return Some(pool);
        }
    }
    None
}
