//! Compressed files (RFC 1952) with one or more members.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::contents::{self, STEP};
use super::options::ReadOptions;
use host::error::Error;

/// The first bytes of every compressed file.
const MAGIC: &[u8] = &[0x1f, 0x8b];

/// The compression level: at 6, the usual level, numbers get half a percent smaller and take twice the time.
const LEVEL: Compression = Compression::new(3);

/// Whether these are the bytes of a compressed file.
pub(super) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Decompresses the bytes, if they are compressed.
pub(super) fn decompressed<'a>(
    bytes: &'a [u8],
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<Cow<'a, [u8]>, Error> {
    if !is_compressed(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let total = bytes.len() as u64;
    let fail = |reason| Error::contents(name, format!("gzip: {reason}"));
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut text = Vec::new();
    while append_step(&mut decoder, &mut text, options.decompressed_limit).map_err(fail)? {
        options.report(total - decoder.get_ref().len() as u64, total);
    }
    Ok(Cow::Owned(text))
}

/// All output of a decompressor, up to a limit.
pub(super) fn read_all(mut reader: impl Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while append_step(&mut reader, &mut bytes, limit)? {}
    Ok(bytes)
}

/// Appends some of a decompressor's output. Returns whether there was any.
pub(super) fn append_step(reader: &mut impl Read, bytes: &mut Vec<u8>, limit: u64) -> Result<bool, String> {
    // One byte more than allowed shows whether the limit is exceeded.
    let step = (limit - bytes.len() as u64).saturating_add(1).min(STEP as u64);
    match contents::append_step(reader, bytes, step as usize) {
        Ok(_) if bytes.len() as u64 > limit => {
            Err(format!("decompresses to more than the {limit} bytes allowed; decompress it first, or raise the limit"))
        }
        Ok(read) => Ok(read > 0),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err("the compressed data is truncated".into()),
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            Err(format!("out of memory: there are more than {} bytes", bytes.len()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Appends bytes as one compressed member.
pub(super) fn append_member(bytes: &[u8], compressed: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = GzEncoder::new(Appending(compressed), LEVEL);
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

/// A vector as a writer; by itself, a vector aborts when memory runs out.
struct Appending<'a>(&'a mut Vec<u8>);

impl Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
