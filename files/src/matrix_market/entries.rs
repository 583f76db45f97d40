//! The lines after the size line, read in parallel, some chunks at a time.

use std::ops::Range;

use super::cursor::{Cursor, Kind, Problem};
use super::document::Document;
use crate::ReadProgress;
use host::error::Error;
use host::{memory, parallel};

/// Minimum (except for the last) and maximum number of bytes that a thread handles at a time.
const CHUNK: (usize, usize) = (1 << 14, 1 << 18);

/// Chunks per thread in a batch, if they are long enough.
const CHUNKS_PER_THREAD: usize = 4;

/// A batch is this fraction of the text, unless that is too short for all threads.
const BATCHES: usize = 32;

/// Minimum number of bytes between two progress reports.
const REPORT: usize = 1 << 20;

/// Entries that a line can yield: its own, and the one implied by a symmetry.
const ENTRIES_PER_LINE: usize = 2;

/// A collection that entries are read into.
pub(super) trait Contents: Send + Sized {
    /// An empty collection with room for `entries` entries.
    fn with_capacity(entries: usize) -> Result<Self, Error>;

    /// Makes room for the entries of a line.
    fn make_room(&mut self) -> Result<(), Kind>;

    /// Removes the entries, and keeps the capacity.
    fn clear(&mut self);
}

impl<V: Send> Contents for Vec<V> {
    fn with_capacity(entries: usize) -> Result<Self, Error> {
        memory::with_capacity(entries)
    }

    #[inline]
    fn make_room(&mut self) -> Result<(), Kind> {
        // A call per line would take longer than this check.
        if self.capacity() - self.len() >= ENTRIES_PER_LINE {
            return Ok(());
        }
        let bytes = (self.len() + ENTRIES_PER_LINE) * size_of::<V>();
        self.try_reserve(ENTRIES_PER_LINE).map_err(|_| Kind::Memory { bytes })
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// For entries that are only checked.
impl Contents for () {
    fn with_capacity(_: usize) -> Result<Self, Error> {
        Ok(())
    }

    fn make_room(&mut self) -> Result<(), Kind> {
        Ok(())
    }

    fn clear(&mut self) {}
}

/// The contents of a chunk of lines, up to the first invalid one.
pub(super) struct Chunk<C> {
    pub contents: C,
    pub entries: u64,
    pub problem: Option<Problem>,
}

/// Estimated number of bytes per line.
const BYTES_PER_LINE: usize = 16;

/// Reads lines in parallel: chunks in the order of the text, up to the first invalid line.
pub(super) fn read_lines<C: Contents>(
    document: &Document<'_>,
    bytes: Range<usize>,
    read: impl Fn(&mut Cursor<'_>, &mut C) -> Result<(), Problem> + Sync,
) -> Result<Vec<Chunk<C>>, Error> {
    let chunk = (bytes.len() / (parallel::threads() * CHUNKS_PER_THREAD)).clamp(CHUNK.0, CHUNK.1);
    let ranges = split(&document.text[..bytes.end], bytes.start, chunk)?;
    let mut chunks = memory::with_capacity(ranges.len())?;
    for range in &ranges {
        let contents = C::with_capacity(range.len() / BYTES_PER_LINE)?;
        chunks.push(Chunk { contents, entries: 0, problem: None });
    }
    parallel::chunks_mut(&mut chunks, 1, 1, &|(number, chunk)| chunk[0].fill(document, &ranges[number], &read));
    let wrong = chunks.iter().position(|chunk| chunk.problem.is_some());
    chunks.truncate(wrong.map_or(chunks.len(), |wrong| wrong + 1));
    Ok(chunks)
}

/// The entries of a document, one per line.
pub(super) struct Entries<'a> {
    document: &'a Document<'a>,
    announced: u64,
    begin: usize,
    /// Parts of about equal length that end at line ends.
    chunks: Vec<Range<usize>>,
    chunks_at_once: usize,
    /// Number of passes through the entries, for the progress.
    pub passes: u64,
    progress: ReadProgress<'a>,
}

impl<'a> Entries<'a> {
    /// The entries from position `begin` on, of which there should be `announced`.
    pub fn new(
        document: &'a Document<'_>,
        begin: usize,
        announced: u64,
        progress: ReadProgress<'a>,
    ) -> Result<Self, Error> {
        let threads = parallel::threads();
        let batch = (document.text.len() - begin) / BATCHES;
        let chunk = (batch / (threads * CHUNKS_PER_THREAD)).clamp(CHUNK.0, CHUNK.1);
        let chunks_at_once = (batch / chunk).clamp(CHUNKS_PER_THREAD, threads * CHUNKS_PER_THREAD);
        let chunks = split(document.text, begin, chunk)?;
        Ok(Self { document, announced, begin, chunks, chunks_at_once, passes: 1, progress })
    }

    /// Passes through all entries; `pass` is the zero-based pass number. `read` reads one entry, including the end of
    /// its line, into the contents of its chunk, in parallel; `take` receives the contents of some chunks in file
    /// order, and returns whether to continue. It never receives more entries than announced, or any after an invalid
    /// one. Returns whether all entries were read.
    pub fn for_each_batch<C: Contents>(
        &self,
        pass: u64,
        read: impl Fn(&mut Cursor<'_>, &mut C) -> Result<(), Problem> + Sync,
        mut take: impl FnMut(&[&C]) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let Self { document, announced, .. } = *self;
        let total = document.text.len();
        let mut batch: Vec<Chunk<C>> = Vec::new();
        let (mut found, mut reported) = (0, self.begin);
        // The first batch is a single chunk, which may be all that the caller needs.
        let (first, others) = self.chunks.split_at(self.chunks.len().min(1));
        for ranges in first.chunks(1).chain(others.chunks(self.chunks_at_once)) {
            while batch.len() < ranges.len() {
                // The header check ensures that this many entries fit the file.
                let length = ranges[batch.len()].len() as u128;
                let share = (u128::from(announced) * length).div_ceil((total - self.begin) as u128) as usize;
                let contents = C::with_capacity(share + share / 16)?;
                batch.push(Chunk { contents, entries: 0, problem: None });
            }
            batch.truncate(ranges.len());
            parallel::chunks_mut(&mut batch, 1, 1, &|(number, chunk)| chunk[0].fill(document, &ranges[number], &read));
            for (chunk, range) in batch.iter().zip(ranges) {
                if chunk.entries > announced - found {
                    return Err(document.error(
                        nth_entry(document, range, announced - found),
                        format!("one entry more than the {announced} announced"),
                    ));
                }
                if let Some(problem) = &chunk.problem {
                    return Err(document.problem(problem));
                }
                found += chunk.entries;
            }
            if !take(&batch.iter().map(|chunk| &chunk.contents).collect::<Vec<_>>())? {
                return Ok(false);
            }
            let done = ranges.last().map_or(total, |range| range.end);
            if done == total || done - reported >= REPORT {
                reported = done;
                self.report(pass, done);
            }
        }
        if found < announced {
            return Err(document.error_at_end(format!("the file ends after {found} of {announced} entries announced")));
        }
        Ok(true)
    }

    /// Reports that a pass has reached a position.
    fn report(&self, pass: u64, done: usize) {
        if let Some(progress) = self.progress {
            let total = self.document.text.len() as u64;
            progress((pass * total + done as u64) / self.passes, total);
        }
    }
}

impl<C: Contents> Chunk<C> {
    /// Reads the entries of some lines.
    fn fill(
        &mut self,
        document: &Document<'_>,
        bytes: &Range<usize>,
        read: &impl Fn(&mut Cursor<'_>, &mut C) -> Result<(), Problem>,
    ) {
        self.contents.clear();
        self.entries = 0;
        let mut cursor = Cursor::new(&document.text[..bytes.end], bytes.start);
        while cursor.skip_to_content() {
            let room = self.contents.make_room().map_err(|kind| Problem { at: cursor.at(), kind });
            if let Err(problem) = room.and_then(|()| read(&mut cursor, &mut self.contents)) {
                self.problem = Some(problem);
                return;
            }
            self.entries += 1;
        }
    }
}

/// Splits a text into parts of about `chunk` bytes that end at line ends.
fn split(text: &[u8], mut begin: usize, chunk: usize) -> Result<Vec<Range<usize>>, Error> {
    let mut parts = memory::with_capacity((text.len() - begin).div_ceil(chunk))?;
    while begin < text.len() {
        let mut end = Cursor::new(text, text.len().min(begin + chunk));
        end.skip_line();
        parts.push(begin..end.at());
        begin = end.at();
    }
    Ok(parts)
}

/// The position of the entry with a zero-based number in a chunk whose entries up to there are valid.
pub(super) fn nth_entry(document: &Document<'_>, bytes: &Range<usize>, number: u64) -> usize {
    let mut cursor = Cursor::new(&document.text[..bytes.end], bytes.start);
    for _ in 0..number {
        cursor.skip_to_content();
        cursor.skip_line();
    }
    cursor.skip_to_content();
    cursor.at()
}
