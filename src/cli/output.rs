//! Output of the command.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;

/// Checks, before the work rather than after it, that files can be written: that their folders exist, and that none of
/// them is the same as another output or as an input, whatever their paths.
pub fn check_files<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Error> {
    let inputs: Vec<_> = inputs.into_iter().filter_map(|input| Some((input, Place::of(input)?))).collect();
    let mut places: Vec<Place> = Vec::new();
    for output in outputs {
        check_folder(output)?;
        let Some(place) = Place::of(output) else { continue };
        if let Some((input, _)) = inputs.iter().find(|(_, read)| *read == place) {
            return Err(Error::Usage(format!("{}: is an input, so it cannot be written", input.display())));
        }
        if places.contains(&place) {
            return Err(Error::Usage(format!("{}: would be written twice", output.display())));
        }
        places.push(place);
    }
    Ok(())
}

/// The identity of a file: links and other spellings of a path are the same place.
#[derive(PartialEq)]
enum Place {
    /// An existing file, by its device and its number there.
    #[cfg(unix)]
    File(u64, u64),
    /// Any other path.
    Path(PathBuf),
}

impl Place {
    /// None for anything but a regular file, such as a pipe, which may be written any number of times.
    fn of(path: &Path) -> Option<Self> {
        match path.metadata() {
            Ok(metadata) if !metadata.is_file() => None,
            #[cfg(unix)]
            Ok(metadata) => {
                use std::os::unix::fs::MetadataExt;
                Some(Self::File(metadata.dev(), metadata.ino()))
            }
            #[cfg(not(unix))]
            Ok(_) => path.canonicalize().ok().map(Self::Path),
            Err(_) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                Some(Self::Path(folder.canonicalize().ok()?.join(path.file_name()?)))
            }
        }
    }
}

/// Checks, before the work rather than after it, that the folder of a file exists.
pub fn check_folder(file: &Path) -> Result<(), Error> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        Err(source) => Err(source),
    }
    .map_err(|source| warp_spmv::Error::File { path: folder.into(), source }.into())
}

/// Writes results to standard output. It is not an error if the reader has closed it (`| head`).
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    ignore_broken_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// The result of writing to standard output.
pub fn ignore_broken_pipe(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Stdout),
    }
}

/// Writes a line to standard error. A failure cannot be reported anywhere.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "warp-spmv: {}", printable(line));
}

/// The text with control characters escaped, so that it is one line and cannot control the terminal.
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

/// A record as one line of JSON. Non-finite numbers become null.
pub fn json(record: &impl serde::Serialize) -> String {
    // Records have no maps, so this cannot fail.
    serde_json::to_string(record).expect("a record is JSON") + "\n"
}
