//! What the readers let a caller choose.

use host::memory::available_memory;

/// What a reader calls now and then, with the bytes that it has handled and the bytes that there are.
///
/// The calls, about one for each MiB, may come from several threads at once, so the numbers need not arrive in
/// order. When a file with entries has been read, one call has had both numbers equal. A text compressed with
/// gzip is gone through twice, first to decompress it and then to read it, each time with its own numbers. Where the entries of a
/// text have to be gone through twice, each time is half of it.
pub type ReadProgress<'a> = Option<&'a (dyn Fn(u64, u64) + Sync)>;

/// How to read a file.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Told how far the reader is.
    pub progress: ReadProgress<'a>,
    /// Bytes that a compressed file may have when it is decompressed, which happens in memory: 4 GiB unless
    /// it is changed. A file of 4 MiB can decompress to so many.
    pub decompressed_limit: u64,
    /// Bytes that are taken of a pipe or a device, which does not tell how many it has and may go on for ever: half of the
    /// memory that the machine [has left](host::memory::available_memory), unless a number is given.
    pub streamed_limit: Option<u64>,
}

/// [`ReadOptions::streamed_limit`] where the machine does not say what memory it has left.
const STREAMED_LIMIT: u64 = 4 << 30;

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self { progress: None, decompressed_limit: 4 << 30, streamed_limit: None }
    }
}

impl ReadOptions<'_> {
    /// Bytes that may be taken of what has no size.
    pub(super) fn streamed_limit(&self) -> u64 {
        let half_of = |bytes: u128| u64::try_from(bytes / 2).unwrap_or(u64::MAX);
        self.streamed_limit.unwrap_or_else(|| available_memory().map_or(STREAMED_LIMIT, half_of))
    }

    /// Tells the caller how far the reader is.
    pub(super) fn report(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress(done, total);
        }
    }
}
