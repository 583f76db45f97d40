//! What the command writes to the terminal.

use std::io::{self, Write};
use std::path::Path;

use super::error::Error;

/// Finds out before the work, not after it, that a file has no place.
pub fn check_folder(file: &Path) -> Result<(), Error> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        Err(source) => Err(source),
    }
    .map_err(|source| warp_spmv::Error::File { path: folder.into(), source }.into())
}

/// Writes results to standard output. That nobody reads them any more (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    ignore_broken_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// What came of writing to standard output.
pub fn ignore_broken_pipe(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Stdout),
    }
}

/// Writes a line to standard error. Where that fails, there is nobody to tell.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "warp-spmv: {}", printable(line));
}

/// The text with control characters escaped, so that it is one line and cannot steer a terminal.
pub fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut printable, character| {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
        printable
    })
}

/// A record as one line of JSON. Numbers that are not finite become null.
pub fn json(record: &impl serde::Serialize) -> String {
    // Records have no maps, so that nothing can fail.
    serde_json::to_string(record).expect("a record is JSON") + "\n"
}
