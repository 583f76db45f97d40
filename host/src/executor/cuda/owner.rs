//! State that all handles of an executor share with its arrays and recordings.

use std::num::NonZeroU64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cust::sys::CUcontext;

use super::context::Context;
use super::pool::Pool;
use super::recorder::Recorder;
use super::stream::Stream;
use crate::error::Error;

/// The memory of an executor, its stream and its context.
pub(super) struct Owner {
    /// Held while an array is freed, and while a recording is checked and launched: a launch either precedes the freeing of
    /// the arrays that it uses, or does not happen.
    pub freeing: Mutex<()>,
    /// Distinguishes the arrays of this executor from those of others: unique among all owners in this process.
    pub id: NonZeroU64,
    pub meter: Meter,
    // Dropped in this order, the context last.
    pub recorder: Recorder,
    pub pool: Pool,
    context: Context,
}

/// The number of owners made so far.
static OWNERS: AtomicU64 = AtomicU64::new(0);

impl Owner {
    pub fn new(pool: Pool, recorder: Recorder, context: Context) -> Self {
        // Saturation is out of reach: creating an owner takes microseconds.
        let id = NonZeroU64::MIN.saturating_add(OWNERS.fetch_add(1, Ordering::Relaxed));
        Self { freeing: Mutex::default(), id, meter: Meter::default(), recorder, pool, context }
    }

    /// Makes the context current on the calling thread, since another executor may have changed it. Returns an error on a
    /// thread whose default stream is not the executor's.
    pub fn enter(&self) -> Result<(), Error> {
        if self.stream().is_of_another_thread() {
            let reason = "it is the default stream of the thread that created the executor, not of this thread".into();
            return Err(Error::Cuda { what: "using the stream".into(), reason });
        }
        self.enter_to_free()
    }

    /// As [`enter`](Self::enter), for freeing, which any thread may do.
    pub fn enter_to_free(&self) -> Result<(), Error> {
        self.context.enter()
    }

    /// The handle of the context.
    pub fn context(&self) -> CUcontext {
        self.context.handle()
    }

    /// Whether the context is the device's primary one.
    pub fn is_primary(&self) -> bool {
        matches!(self.context, Context::Primary(_))
    }

    /// The stream that everything is queued on.
    pub fn stream(&self) -> &Stream {
        self.pool.stream()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Streams and pools are freed in the current context. If it cannot be entered, they are gone with it.
        let _ = self.enter_to_free();
    }
}

/// Bytes of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Current value.
    pub now: u64,
    /// Maximum.
    pub peak: u64,
}

/// Counts the bytes of an executor's arrays.
#[derive(Default)]
pub(super) struct Meter {
    now: AtomicU64,
    peak: AtomicU64,
    /// Number of arrays freed so far: earlier recordings may use one of them.
    freed: AtomicU64,
}

impl Meter {
    pub fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    pub fn remove(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
        self.lose();
    }

    /// Notes that the lender of an array may free it from now on.
    pub fn lose(&self) {
        self.freed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn freed(&self) -> u64 {
        self.freed.load(Ordering::Relaxed)
    }

    pub fn read(&self) -> MemoryUse {
        let [now, peak] = [&self.now, &self.peak].map(|bytes| bytes.load(Ordering::Relaxed));
        MemoryUse { now, peak }
    }

    /// Restarts the measurement of the peak.
    pub fn reset_peak(&self) {
        self.peak.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
