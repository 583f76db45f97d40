//! The lines after the size line, in parallel.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::cursor::{Cursor, Problem};
use super::document::Document;
use crate::error::Error;
use crate::io::Progress;

/// Bytes that one thread handles at a time.
const CHUNK: usize = 1 << 20;

/// What a chunk of lines holds, up to the first that is wrong.
struct Chunk<C> {
    bytes: Range<usize>,
    contents: C,
    entries: u64,
    problem: Option<Problem>,
}

/// Reads the entries that follow position `begin`, one a line, into one container for each chunk of lines, and
/// makes sure that there are `announced` of them. `make` makes a container with room for a number of entries,
/// `read` reads one entry into it.
pub(super) fn read_entries<C: Send>(
    document: &Document<'_>,
    begin: usize,
    announced: u64,
    progress: Progress<'_>,
    make: impl Fn(usize) -> C + Sync,
    read: impl Fn(&mut Cursor<'_>, &mut C) -> Result<(), Problem> + Sync,
) -> Result<Vec<C>, Error> {
    let total = document.text.len();
    let done = AtomicU64::new(begin as u64);
    let first_wrong = AtomicUsize::new(total);
    let read_chunk = |bytes: Range<usize>| {
        // The header has made sure that this many entries fit the file.
        let share = (announced as u128 * bytes.len() as u128 / (total - begin) as u128) as usize;
        let mut chunk = Chunk { contents: make(share), entries: 0, problem: None, bytes };
        // Behind a line that is wrong nothing matters.
        if chunk.bytes.start > first_wrong.load(Ordering::Relaxed) {
            return chunk;
        }
        let mut cursor = Cursor::new(&document.text[..chunk.bytes.end], chunk.bytes.start);
        while cursor.skip_to_content() {
            if let Err(problem) = read(&mut cursor, &mut chunk.contents).and_then(|()| cursor.end_line()) {
                first_wrong.fetch_min(chunk.bytes.start, Ordering::Relaxed);
                chunk.problem = Some(problem);
                break;
            }
            chunk.entries += 1;
        }
        if let Some(progress) = progress {
            let length = chunk.bytes.len() as u64;
            progress(done.fetch_add(length, Ordering::Relaxed) + length, total as u64);
        }
        chunk
    };
    let chunks: Vec<_> = split(document.text, begin).into_par_iter().map(read_chunk).collect();

    let mut found = 0;
    let mut containers = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        if chunk.entries > announced - found {
            return Err(document.error(
                nth_entry(document, &chunk.bytes, announced - found),
                format!("one entry more than the {announced} announced"),
            ));
        }
        if let Some(problem) = chunk.problem {
            return Err(document.problem(&problem));
        }
        found += chunk.entries;
        containers.push(chunk.contents);
    }
    if found < announced {
        return Err(document.error_at_end(format!("the file ends after {found} of {announced} entries announced")));
    }
    Ok(containers)
}

/// Parts of about equal length that end where lines do.
fn split(text: &[u8], mut begin: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::with_capacity((text.len() - begin).div_ceil(CHUNK));
    while begin < text.len() {
        let mut end = Cursor::new(text, text.len().min(begin + CHUNK));
        end.skip_line();
        parts.push(begin..end.at());
        begin = end.at();
    }
    parts
}

/// Where the entry with a number, from 0, begins in a chunk whose entries up to there are right.
fn nth_entry(document: &Document<'_>, bytes: &Range<usize>, number: u64) -> usize {
    let mut cursor = Cursor::new(&document.text[..bytes.end], bytes.start);
    for _ in 0..number {
        cursor.skip_to_content();
        cursor.skip_line();
    }
    cursor.skip_to_content();
    cursor.at()
}
