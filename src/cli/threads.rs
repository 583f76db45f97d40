//! The threads that everything in parallel runs on.

use std::num::NonZero;
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::{distributed, output};

/// How many threads may be asked for on a machine with fewer cores: more of them wait for each other most of the time.
const MOST_ON_FEW_CORES: usize = 256;

/// The variable that asks for a number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Makes the threads: as many as there are cores or as the environment asks for, and fewer, with a note, where the
/// system refuses that number. Keep what is returned for as long as anything runs.
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

/// A pool that this thread works in, too: of fewer threads, or of this one alone.
fn fewer(threads: usize, error: &ThreadPoolBuildError) -> Option<ThreadPool> {
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
    let mut left = threads;
    while left > 0 {
        left /= 2;
        if let Ok(pool) = pool(left.max(1)) {
            output::say(&format!("{threads} threads cannot be had: {error}; using {}", left.max(1)));
            return Some(pool);
        }
    }
    None
}
