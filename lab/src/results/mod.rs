//! Files of results, read and written as a whole.

mod read;

use std::io::Write;
use std::path::Path;

use host::replace::replace_file;

pub(crate) use read::OTHER_PREFIX;
pub use read::read;

use crate::error::Error;
use crate::record::Entry;

/// Writes entries to a file, which is replaced only when the new one is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, entries: &[Entry]) -> Result<(), Error> {
    replace_file(path, |file| {
        // One entry per line: short enough to read, and suitable for tools that compare lines.
        for (place, entry) in entries.iter().enumerate() {
            file.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *file, entry)?;
        }
        file.write_all(if entries.is_empty() { b"[]\n" } else { b"\n]\n" })
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SCHEMA;

    fn entry(filename: &str) -> Entry {
        Entry { schema: SCHEMA, filename: filename.into(), rows: 3, cols: 4, nonzeros: 5, ..Entry::default() }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        for entries in [vec![], vec![entry("a")], vec![entry("a"), entry("b \"quoted\" </script>")]] {
            write(&path, &entries).unwrap();
            assert_eq!(read(&path).unwrap(), entries);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
