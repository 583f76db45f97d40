//! Options of the readers.

use host::memory::available_memory;

/// A function that a reader calls from time to time, with the number of bytes handled so far and in total.
///
/// The calls, about one per MiB, may come from several threads at once, so the numbers need not arrive in order. By the time
/// a file with entries has been read, one call has had both numbers equal. A text compressed with gzip is processed twice,
/// first decompressed and then read, each time with its own numbers. If the entries of a text need two passes, each pass
/// counts for half of it.
pub type ReadProgress<'a> = Option<&'a (dyn Fn(u64, u64) + Sync)>;

/// How to read a file.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Called with the progress of the reader.
    pub progress: ReadProgress<'a>,
    /// Maximum number of bytes of a compressed file after decompression, which happens in memory: 4 GiB by default. A
    /// file of 4 MiB can decompress to this size.
    pub decompressed_limit: u64,
    /// Maximum number of bytes read from a pipe or a device, whose size is unknown and may be infinite: by default half of
    /// the memory that the machine [has available](host::memory::available_memory).
    pub streamed_limit: Option<u64>,
}

/// [`ReadOptions::streamed_limit`] if the machine does not report its available memory.
const STREAMED_LIMIT: u64 = 4 << 30;

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self { progress: None, decompressed_limit: 4 << 30, streamed_limit: None }
    }
}

impl ReadOptions<'_> {
    /// Maximum number of bytes to read from a source of unknown size.
    pub(super) fn streamed_limit(&self) -> u64 {
        let half_of = |bytes: u128| u64::try_from(bytes / 2).unwrap_or(u64::MAX);
        self.streamed_limit.unwrap_or_else(|| available_memory().map_or(STREAMED_LIMIT, half_of))
    }

    /// Reports the reader's progress to the caller.
    pub(super) fn report(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress(done, total);
        }
    }
}
