//! The common entry point for files of all kinds.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use files::{FileKind, ReadOptions, parse, read, write};

use crate::common::{Folder, assert_same, check_error, matrix};

#[test]
fn what_is_written_by_name_is_read_by_contents() {
    let folder = Folder::new();
    let matrix = matrix::<f64>(1, 60, 50, 400);
    for (name, kind) in [
        ("m.mtx", FileKind::MatrixMarket),
        ("m.Mtx.Gz", FileKind::MatrixMarket),
        ("m.npz", FileKind::Npz),
        ("m.wspmv", FileKind::Container),
    ] {
        write(folder.path(name), &matrix).unwrap();
        std::fs::rename(folder.path(name), folder.path("m")).unwrap();
        let most = AtomicU64::new(0);
        let progress = |done, total| {
            assert!(done <= total);
            most.fetch_max(done, Ordering::Relaxed);
        };
        let options = ReadOptions { progress: Some(&progress), ..ReadOptions::default() };
        let loaded = read::<f64>(folder.path("m"), &options).unwrap();
        assert_same(&loaded.matrix, &matrix);
        assert_eq!((loaded.kind, loaded.header.rows, loaded.header.entries), (kind, 60, matrix.nnz() as u64));
        assert!(most.into_inner() >= folder.path("m").metadata().unwrap().len(), "{name}");
    }
}

#[test]
fn names_that_say_nothing() {
    let folder = Folder::new();
    let matrix = matrix::<f32>(1, 6, 5, 4);
    for name in ["m", "m.txt", "mtx", "m.mtx.bz2", "m.gz", "m.npz.gz", ".wspm"] {
        let path = folder.path(name);
        check_error(&write(&path, &matrix).unwrap_err(), &path, "should end in .mtx, .mtx.gz, .npz or .wspmv");
    }
    assert!(folder.names().is_empty());
}

#[test]
fn contents_of_no_known_kind() {
    for (contents, says) in [
        (&b""[..], "the file is empty"),
        (
            b"hello\nthere\n",
            "unknown kind of file: expected Matrix Market ('%%MatrixMarket'), Rutherford-Boeing, .npz or .wspmv, found 'hello'",
        ),
        (b"\x7fELF\x02\x01", r"found '\x7fELF\x02\x01'"),
        (b"\x89HDF\r\n\x1a\n", r"found '\x89HDF'"),
        (b"title\n\nrua\n", "found 'title'"),
        (b"title\n\nxua\n(26I3)\n", "found 'title'"),
        (b"\xef\xbb\xbf%% no banner\n", "unknown banner"),
    ] {
        let error = parse::<f64>(contents, "t", &ReadOptions::default()).unwrap_err();
        check_error(&error, Path::new("t"), says);
        assert!(error.to_string().starts_with("t:1: "), "{error}");
    }
    check_error(&parse::<f64>(b"PK\x03\x04", "t", &ReadOptions::default()).unwrap_err(), Path::new("t"), "");
}
