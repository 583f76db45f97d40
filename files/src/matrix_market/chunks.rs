//! Texts that are made in parallel and written in order, with the memory of a few chunks.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::extension::has_extension;
use crate::gzip;
use host::error::Error;
use host::replace::replace_file;

/// Items, each about a line, that one thread handles at a time.
const CHUNK: usize = 1 << 15;

/// Chunks for each thread that are made while as many are written.
const CHUNKS_PER_THREAD: usize = 2;

/// A chunk's text, and what it is compressed to.
#[derive(Default)]
struct Chunk {
    text: Vec<u8>,
    compressed: Vec<u8>,
}

/// Writes a file of a first part and the text of a number of items, which `append` appends for any range of
/// them. It is compressed where the path ends in `.gz`: then each chunk is a member of its own.
pub(super) fn write_file(
    path: &Path,
    first: &str,
    items: usize,
    append: &(dyn Fn(Range<usize>, &mut Vec<u8>) + Sync),
) -> Result<(), Error> {
    let compress = has_extension(path, ".gz");
    let chunks = items.div_ceil(CHUNK);
    let batch = CHUNKS_PER_THREAD * rayon::current_num_threads();
    let make = |batch: &mut Vec<Chunk>, numbers: Range<usize>| -> io::Result<()> {
        batch.resize_with(numbers.len(), Chunk::default);
        batch.par_iter_mut().zip(numbers).try_for_each(|(chunk, number)| {
            chunk.text.clear();
            append(number * CHUNK..items.min((number + 1) * CHUNK), &mut chunk.text);
            if compress {
                chunk.compressed.clear();
                gzip::append_member(&chunk.text, &mut chunk.compressed)?;
            }
            Ok(())
        })
    };
    replace_file(path, |file| {
        let mut compressed_first = Vec::new();
        if compress {
            gzip::append_member(first.as_bytes(), &mut compressed_first)?;
        }
        file.write_all(if compress { &compressed_first } else { first.as_bytes() })?;
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
            let (written, made) = rayon::join(write, || make(&mut next, numbers));
            written.and(made)?;
            std::mem::swap(&mut ready, &mut next);
        }
        Ok(())
    })
}
