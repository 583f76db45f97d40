//! Text produced in parallel and written in order, with the memory of a few chunks.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use crate::extension::has_extension;
use crate::gzip;
use host::error::Error;
use host::parallel;
use host::replace::replace_file;

/// Items, about one line each, that a thread handles at a time.
const CHUNK: usize = 1 << 15;

/// Maximum length of an item's text: two indices of up to 10 digits, and a complex number of two parts with up to 24
/// characters each.
const LONGEST_ITEM: usize = 80;

/// Chunks per thread that are produced while as many are written.
const CHUNKS_PER_THREAD: usize = 2;

/// A chunk's text and its compressed form, or the error.
#[derive(Default)]
struct Chunk {
    text: Vec<u8>,
    compressed: Vec<u8>,
    failure: Option<io::Error>,
}

/// Writes a file that consists of `first` and the text of `items` items; `append` appends the text of any range of
/// them. The file is compressed if the path ends in `.gz`; each chunk is then a member of its own.
pub(super) fn write_file(
    path: &Path,
    first: &str,
    items: usize,
    append: &(dyn Fn(Range<usize>, &mut Vec<u8>) + Sync),
) -> Result<(), Error> {
    let compress = has_extension(path, ".gz");
    replace_file(path, |file| {
        let mut compressed_first = Vec::new();
        if compress {
            gzip::append_member(first.as_bytes(), &mut compressed_first)?;
        }
        file.write_all(if compress { &compressed_first } else { first.as_bytes() })?;
        write_items(file, compress, items, append)
    })
}

/// Writes the text of `items` items, as [`write_file`] does.
pub(super) fn write_items(
    file: &mut (impl Write + Send),
    compress: bool,
    items: usize,
    append: &(dyn Fn(Range<usize>, &mut Vec<u8>) + Sync),
) -> io::Result<()> {
    let chunks = items.div_ceil(CHUNK);
    let batch = CHUNKS_PER_THREAD * parallel::threads();
    let make_one = |number: usize, Chunk { text, compressed, .. }: &mut Chunk| -> io::Result<()> {
        let range = number * CHUNK..items.min((number + 1) * CHUNK);
        text.clear();
        // Reserves memory in advance, since `append` cannot fail.
        text.try_reserve(range.len() * LONGEST_ITEM)?;
        append(range, text);
        if compress {
            compressed.clear();
            gzip::append_member(text, compressed)?;
        }
        Ok(())
    };
    let make = |batch: &mut Vec<Chunk>, numbers: Range<usize>| -> io::Result<()> {
        batch.resize_with(numbers.len(), Chunk::default);
        parallel::chunks_mut(batch, 1, 1, &|(place, chunk)| {
            chunk[0].failure = make_one(numbers.start + place, &mut chunk[0]).err();
        });
        batch.iter_mut().find_map(|chunk| chunk.failure.take()).map_or(Ok(()), Err)
    };
    let (mut ready, mut next) = (Vec::new(), Vec::new());
    make(&mut ready, 0..chunks.min(batch))?;
    let mut made = ready.len();
    while !ready.is_empty() {
        let numbers = made..chunks.min(made + batch);
        made = numbers.end;
        let write = || {
            let mut parts = ready.iter().map(|chunk| if compress { &chunk.compressed } else { &chunk.text });
            parts.try_for_each(|part| file.write_all(part))
        };
        let (written, made) = parallel::join(write, || make(&mut next, numbers));
        written.and(made)?;
        std::mem::swap(&mut ready, &mut next);
    }
    Ok(())
}
