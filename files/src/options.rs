//! What the readers let a caller choose.

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
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self { progress: None, decompressed_limit: 4 << 30 }
    }
}

impl ReadOptions<'_> {
    /// Tells the caller how far the reader is.
    pub(super) fn report(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress(done, total);
        }
    }
}
