//! The Matrix Market reader and writer on files.

use std::fs;
use std::io::Write;
use std::path::Path;

use files::{Number, ReadOptions, read, read_matrix_market, read_vector, write_vector};
use host::Error;

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[track_caller]
fn check_file_error(error: &Error, path: &Path, phrase: &str) {
    assert!(matches!(error, Error::File { path: found, .. } if found == path), "{error:?}");
    let message = error.to_string();
    assert!(message.contains(phrase) && !message.contains('\n'), "{message}");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.mtx");
    check_file_error(&read_matrix_market::<f64>(&missing, None).unwrap_err(), &missing, "No such file");
    check_file_error(&read_vector::<f64>(&missing, None).unwrap_err(), &missing, "No such file");
    check_file_error(&read_matrix_market::<f64>(folder.path(), None).unwrap_err(), folder.path(), "is a directory");
    let empty = folder.path().join("empty.mtx");
    fs::write(&empty, "").unwrap();
    let error = read_matrix_market::<f64>(&empty, None).unwrap_err().to_string();
    assert!(error.ends_with("empty.mtx:1: the file is empty, expected '%%MatrixMarket'"), "{error}");
}

/// Writes bits, reads them back, and compares the bits, except those of a NaN.
fn check_bits<T: Number>(path: &Path, vector: &[T], bits: impl Fn(T) -> u64) {
    write_vector(path, vector).unwrap();
    let read = read_vector::<T>(path, None).unwrap();
    assert_eq!(read.len(), vector.len());
    for (&written, &read) in vector.iter().zip(&read) {
        let both_nan = written.parts()[0].is_nan() && read.parts()[0].is_nan();
        assert!(both_nan || bits(written) == bits(read), "{written:?} became {read:?}");
    }
}

#[test]
fn vectors_keep_their_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let special = [0.0, -0.0, 1.0, 0.1, -1e16, 1e300, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::EPSILON];
    check_bits(&path, &special, f64::to_bits);
    check_bits(&path, &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN], f64::to_bits);
    check_bits(&path, &[f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::NAN, f32::NEG_INFINITY, 0.1], |x| {
        x.to_bits().into()
    });
    check_bits::<f64>(&path, &[], f64::to_bits);
    // A stride that is coprime to 2^64 covers all magnitudes.
    let bits = || (0..100_000u64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    check_bits(&path, &bits().map(f64::from_bits).collect::<Vec<_>>(), f64::to_bits);
    check_bits(&path, &bits().map(|bits| f32::from_bits((bits >> 32) as u32)).collect::<Vec<_>>(), |x| {
        x.to_bits().into()
    });
    assert_eq!(names(folder.path()), ["x.mtx"]);
}

#[test]
fn the_text_of_a_vector() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    write_vector(&path, &[1.0, -0.1, 1e300, f64::NAN, f64::NEG_INFINITY]).unwrap();
    let expected = "%%MatrixMarket matrix array real general\n5 1\n1.0\n-0.1\n1e+300\nNaN\n-inf\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn targets_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("results");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("kept"), "kept").unwrap();
    check_file_error(&write_vector(&directory, &[1.0]).unwrap_err(), &directory, "is a directory");
    assert_eq!(names(&directory), ["kept"]);

    let nowhere = folder.path().join("missing").join("x.mtx");
    check_file_error(&write_vector(&nowhere, &[1.0]).unwrap_err(), &nowhere, "No such file");

    let protected = directory.join("kept");
    let mut permissions = fs::metadata(&protected).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&protected, permissions).unwrap();
    check_file_error(&write_vector(&protected, &[1.0]).unwrap_err(), &protected, "write-protected");
    assert_eq!(fs::read_to_string(&protected).unwrap(), "kept");
    check_file_error(&write_vector("", &[1.0]).unwrap_err(), Path::new(""), "No such file");
    assert_eq!((names(folder.path()), names(&directory)), (vec!["results".into()], vec!["kept".into()]));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn permissions_are_the_usual_ones_or_those_of_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let (usual, path) = (folder.path().join("usual"), folder.path().join("x.mtx"));
        fs::write(&usual, "").unwrap();
        write_vector(&path, &[1.0]).unwrap();
        assert_eq!(mode(&path), mode(&usual));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o626)).unwrap();
        write_vector(&path, &[2.0]).unwrap();
        assert_eq!(mode(&path), 0o626);
        assert_eq!(read_vector::<f64>(&path, None).unwrap(), [2.0]);
    }

    #[test]
    fn a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.mtx"), folder.path().join("link.mtx"));
        write_vector(&real, &[1.0]).unwrap();
        symlink("real.mtx", &link).unwrap();
        write_vector(&link, &[2.0]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read_vector::<f64>(&real, None).unwrap(), [2.0]);
    }

    #[test]
    fn a_pipe_is_written_and_read_and_stays_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let vector: Vec<f64> = (0..50_000).map(f64::from).collect();
        let read = std::thread::scope(|scope| {
            scope.spawn(|| write_vector(&pipe, &vector).unwrap());
            read_vector::<f64>(&pipe, None).unwrap()
        });
        assert_eq!(read, vector);
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    /// A pipe with a valid beginning may be endless.
    #[test]
    fn an_endless_pipe_is_left_after_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let options = ReadOptions { streamed_limit: Some(3 << 20), ..ReadOptions::default() };
        for beginning in ["%%MatrixMarket matrix coordinate real general\n9 9 9\n", "PK\u{3}\u{4}"] {
            let error = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut pipe = fs::File::create(&pipe).unwrap();
                    pipe.write_all(beginning.as_bytes()).unwrap();
                    while pipe.write_all(&b"1 1 1\n".repeat(1000)).is_ok() {}
                });
                read::<f64>(&pipe, &options).map(drop).unwrap_err()
            });
            let expected =
                format!("{}: has no size and continues after 3145728 bytes; save it to a file first", pipe.display());
            assert_eq!(error.to_string(), expected);
        }
    }
}
