//! Files of results: this program's, another's, and invalid ones.

use lab::record::Entry;
use lab::report::{import, read};

use crate::report::records::plausible;

/// The error for a file with this text, without the folder's name.
#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(&path, text).unwrap();
    let message = read([&path]).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

fn read_text(text: &str) -> Vec<Entry> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(&path, text).unwrap();
    read([path]).unwrap()
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<_> = plausible().into_iter().filter(|entry| entry.schema > 0).collect();
    let paths = ["a.json", "b.json"].map(|name| folder.path().join(name));
    for (path, part) in paths.iter().zip(entries.chunks(4)) {
        std::fs::write(path, serde_json::to_string_pretty(part).unwrap()).unwrap();
    }
    // File by file.
    let read = read(&paths).unwrap();
    assert_eq!(read.len(), 8);
    for (read, written) in read.iter().zip(&entries) {
        assert_eq!(
            (&read.filename, &read.env, &read.row_lengths),
            (&written.filename, &written.env, &written.row_lengths)
        );
        let names = |entry: &Entry| entry.spmv.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(read), names(written));
    }
}

#[test]
fn a_compressed_file_is_read() {
    use std::io::Write;
    let text = r#"[{"filename": "a", "rows": 1, "cols": 1, "nonzeros": 1, "spmv": {"csr": {"time": 0.1}}}]"#;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json.gz");
    std::fs::write(&path, &compressed).unwrap();
    assert_eq!(read([&path]).unwrap(), read_text(text));
    assert!(refused(&compressed[..compressed.len() - 9]).starts_with("x.json: "));
}

#[test]
fn files_that_are_refused() {
    let run =
        |run: &str| format!("[{{\"filename\":\"a\",\"rows\":1,\"cols\":1,\"nonzeros\":1,\"spmv\":{{\"csr\":{run}}}}}]");
    for (text, says) in [
        ("".into(), "x.json:1:1: EOF while parsing a value"),
        ("not JSON".into(), "x.json:1:2: expected ident"),
        ("[]".into(), "x.json:1:1: the array is empty, expected an entry for each matrix"),
        ("{}".into(), "x.json:1:1: invalid type: map, expected a sequence"),
        ("[\n  {\"filename\": \"a\",\n".into(), "x.json:3:1: EOF while parsing"),
        ("[1]".into(), "x.json:1:2: entry 1: invalid type: integer `1`, expected struct Entry"),
        (
            "[\n\n  {\"rows\":1,\"cols\":1,\"nonzeros\":1,\"spmv\":{}}]".into(),
            "x.json:3:3: entry 1: missing field `filename`",
        ),
        ("[{\"filename\":\"a\"}]".into(), "x.json:1:2: entry 1: missing field `rows`"),
        (
            "[\n{\"schema\":2,\"anything\":1}]".into(),
            "x.json:2:1: entry 1: schema 2 is of a newer version; this one reads up to schema 1",
        ),
        (
            run("{\"completed\":true,\"time\":\"1\"}"),
            "x.json:1:2: entry 1: spmv.csr.time: invalid type: string \"1\", expected f64",
        ),
        (
            run("{\"completed\":true,\"time\":0}"),
            "x.json:1:2: entry 1: spmv.csr: the time is 0, expected a positive number of seconds",
        ),
        (run("{\"completed\":true,\"time\":1e999}"), "x.json:1:92: entry 1: number out of range"),
        (run("{\"completed\":true,\"time\":-1}"), "the time is -1, expected a positive number of seconds"),
    ] {
        let message = refused(&text);
        assert!(message.contains(says), "{text}: {message}");
    }
    assert!(refused(b"[\xff]").contains("valid UTF-8"));
    assert!(refused(format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000))).contains("recursion limit"));
}

#[test]
fn a_file_that_is_not_there() {
    let message = read(["/nowhere/x.json"]).unwrap_err().to_string();
    assert!(message.starts_with("/nowhere/x.json: No such file"), "{message}");
}

/// As written by Ginkgo's benchmarks, with the sizes at both positions where they have been.
const GINKGO: &str = r#"[
    {"filename": "/data/a.mtx", "problem": {"name": "a", "rows": 3, "cols": 4, "nonzeros": 5},
     "spmv": {"coo": {"storage": 80, "max_relative_norm2": 1e-16, "time": 2e-6, "repetitions": 10, "completed": true},
              "ell": {"completed": false, "error": "bad allocation"}, "csr": {"time": 1e-6}, "dense": {}},
     "optimal": {"spmv": "csr"}},
    {"filename": "b.mtx", "rows": 3, "cols": 3, "nonzeros": 3, "precision": "float32", "spmv": {}, "optimal": {}}
]"#;

#[test]
fn a_file_of_ginkgo() {
    let entries = read_text(GINKGO);
    let [first, second] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((first.rows, first.cols, first.nonzeros, first.schema), (3, 4, 5, 0));
    let times = ["other-coo", "other-csr", "other-ell", "other-dense"].map(|name| first.spmv[name].seconds());
    assert_eq!(times, [Some(2e-6), Some(1e-6), None, None]);
    assert_eq!(first.spmv["other-ell"].error.as_deref(), Some("bad allocation"));
    // None of it counts as ours.
    assert!(first.spmv.values().all(|run| run.is_peer()));
    assert_eq!(first.optimal.as_ref().unwrap().spmv, "other-csr");
    assert_eq!((second.optimal.as_ref(), &*second.env.precision), (None, "float32"));
}

#[test]
fn an_import_joins_the_same_matrix() {
    let mut entries = read_text(
        r#"[{"schema": 1, "filename": "a.mtx", "rows": 3, "cols": 4, "nonzeros": 5,
             "spmv": {"coo": {"completed": true, "time": 1e-6, "library": "warp-spmv"}}}]"#,
    );
    assert_eq!(import(&mut entries, "ginkgo", read_text(GINKGO)).unwrap(), 1);
    let names: Vec<_> = entries[0].spmv.keys().map(String::as_str).collect();
    assert_eq!(names, ["coo", "ginkgo-coo", "ginkgo-csr", "ginkgo-dense", "ginkgo-ell"]);
    let of_ginkgo = &entries[0].spmv["ginkgo-coo"];
    assert_eq!((of_ginkgo.library.as_deref(), of_ginkgo.is_peer()), (Some("ginkgo"), true));
    assert!(!entries[0].spmv["coo"].is_peer());
}
