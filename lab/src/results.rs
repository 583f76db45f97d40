//! Files of results: read whole, written whole.

use std::fs;
use std::io::Write;
use std::path::Path;

use host::io::replace_file;

use crate::error::Error;
use crate::record::{Entry, SCHEMA};

/// Reads the entries of a file.
///
/// # Errors
/// When the file cannot be read, is not an array of entries, or was written by a newer version of this program; the
/// message says where.
pub fn read(path: &Path) -> Result<Vec<Entry>, Error> {
    let text = fs::read(path).map_err(|source| Error::File { path: path.into(), source })?;
    let refused = |reason: String| Error::Results { path: path.into(), reason };
    let entries: Vec<Entry> =
        serde_json::from_slice(&text).map_err(|error| refused(format!("not a file of results: {error}")))?;
    if let Some(newer) = entries.iter().find(|entry| entry.schema > SCHEMA) {
        return Err(refused(format!(
            "the results of {} have version {}, and this program reads up to {SCHEMA}",
            newer.filename, newer.schema
        )));
    }
    Ok(entries)
}

/// Writes entries to a file, in place of what was there: the old file stays until the new one is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, entries: &[Entry]) -> Result<(), Error> {
    replace_file(path, |file| {
        // An entry in a line: short enough to look at, for tools that compare lines as well.
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

    #[test]
    fn a_file_of_ginkgo_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ginkgo.json");
        let text = r#"[{"filename": "a.mtx", "rows": 2, "cols": 2, "nonzeros": 3, "spmv": {"csr": {"storage": 48,
            "max_relative_norm2": 1e-16, "time": 2e-6, "repetitions": 10, "completed": true}},
            "optimal": {"spmv": "csr"}}]"#;
        fs::write(&path, text).unwrap();
        let entries = read(&path).unwrap();
        assert_eq!(entries[0].spmv["csr"].seconds(), Some(2e-6));
        assert_eq!(entries[0].optimal.as_ref().unwrap().spmv, "csr");
    }

    #[test]
    fn what_is_no_file_of_results_is_refused_with_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        let newer = serde_json::to_string(&[Entry { schema: SCHEMA + 1, ..entry("new") }]).unwrap();
        for (text, says) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[{\"filename\": \"a\"", "at line 1 column 17"),
            ("[{\"rows\": 1}]", "missing field `filename`"),
            ("{}", "expected a sequence"),
            (newer.as_str(), "the results of new have version 2, and this program reads up to 1"),
        ] {
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
        assert!(matches!(read(&folder.path().join("none")), Err(Error::File { .. })));
    }
}
