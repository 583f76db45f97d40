//! Small text files, read completely.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Returns the text of a file, if it has less than `limit` bytes.
///
/// # Errors
/// When the file cannot be read, is larger, or is not a regular file.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    // Reading from a pipe might block forever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut text = String::new();
    let mut left = File::open(path)?.take(limit);
    left.read_to_string(&mut text)?;
    if left.limit() == 0 {
        return Err(io::Error::other(format!("larger than {limit} bytes")));
    }
    Ok(text)
}
