//! Compressed texts.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use files::{FileKind, ReadOptions, parse, parse_matrix_market, read, read_matrix_market, read_matrix_market_with};
use files::{read_vector, write_vector};
use flate2::Compression;
use flate2::write::GzEncoder;
use host::Error;

use crate::common::{Folder, assert_same, check_error};

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn limited(decompressed_limit: u64) -> ReadOptions<'static> {
    ReadOptions { decompressed_limit, ..ReadOptions::default() }
}

const TEXT: &[u8] = b"%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 4\n2 3 0.5\n2 1 -1\n";

#[test]
fn names_do_not_matter() {
    let folder = Folder::new();
    let expected = parse_matrix_market::<f64>(TEXT, "t", None).unwrap().0;
    for (name, contents) in [("a.mtx", compressed(TEXT)), ("b.mtx.gz", TEXT.to_vec()), ("c", compressed(TEXT))] {
        let path = folder.file(name, contents);
        assert_same(&read_matrix_market::<f64>(&path, None).unwrap().0, &expected);
        let loaded = read::<f64>(&path, &ReadOptions::default()).unwrap();
        assert_same(&loaded.matrix, &expected);
        assert_eq!((loaded.kind, loaded.header.entries), (FileKind::MatrixMarket, 3));
    }
}

#[test]
fn several_members_are_one_text() {
    let expected = parse_matrix_market::<f64>(TEXT, "t", None).unwrap().0;
    for split in 0..=TEXT.len() {
        let (first, second) = TEXT.split_at(split);
        let bytes = [compressed(first), compressed(b""), compressed(second)].concat();
        assert_same(&parse_matrix_market::<f64>(&bytes, "t", None).unwrap().0, &expected);
    }
}

/// No byte can be lost, added or altered without an error, except for those of the header that do not affect the text.
#[test]
fn damage_is_noticed() {
    const HEADER: usize = 10;
    let whole = [compressed(&TEXT[..20]), compressed(&TEXT[20..])].concat();
    let second = compressed(&TEXT[..20]).len();
    for length in 2..whole.len() {
        // Without the second member the text is complete for the decompressor, but not for the reader.
        let error = parse::<f64>(&whole[..length], "t.gz", &ReadOptions::default()).unwrap_err();
        let phrase = if length == second { "unknown object" } else { "truncated" };
        check_error(&error, "t.gz".as_ref(), phrase);
    }
    for place in (HEADER..second).chain(second + HEADER..whole.len()) {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << bit;
            check_error(&parse::<f64>(&bytes, "t.gz", &ReadOptions::default()).unwrap_err(), "t.gz".as_ref(), "gzip: ");
        }
    }
    let longer = [&whole, &b"more"[..]].concat();
    check_error(&parse::<f64>(&longer, "t.gz", &ReadOptions::default()).unwrap_err(), "t.gz".as_ref(), "gzip: ");
    let twice = compressed(&whole);
    let error = parse_matrix_market::<f64>(&twice, "t.gz", None).unwrap_err();
    check_error(&error, "t.gz".as_ref(), "more than once");
}

#[test]
fn the_limit_is_exact_and_can_be_raised() {
    let bytes = compressed(TEXT);
    let length = TEXT.len() as u64;
    for limit in [length, length + 1, u64::MAX] {
        assert!(parse::<f64>(&bytes, "t.gz", &limited(limit)).is_ok());
    }
    for limit in [0, 1, length - 1] {
        let error = parse::<f64>(&bytes, "t.gz", &limited(limit)).unwrap_err();
        assert!(matches!(error, Error::Contents { .. }));
        check_error(&error, "t.gz".as_ref(), &format!("more than the {limit} bytes allowed"));
    }
    // A bomb: decompression makes it a thousand times as long.
    let folder = Folder::new();
    let bomb = folder.file("bomb.mtx.gz", compressed(&[b'\n'; 20 << 20]));
    assert!(bomb.metadata().unwrap().len() < 100_000);
    let error = read_matrix_market_with::<f64>(&bomb, &limited(1 << 20)).unwrap_err();
    check_error(&error, &bomb, "more than the 1048576 bytes allowed");
}

#[test]
fn progress_goes_through_the_file_and_then_through_the_text() {
    let text = [TEXT.strip_suffix(b"2 1 -1\n").unwrap(), &[b'\n'; 5_000_000], b"2 1 -1\n"].concat();
    let bytes = compressed(&text);
    let (decompressed, read) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |done, total| {
        assert!(done <= total);
        let which = if total == bytes.len() as u64 { &decompressed } else { &read };
        which.fetch_max(done, Ordering::Relaxed);
    };
    parse_matrix_market::<f64>(&bytes, "t.gz", Some(&progress)).unwrap();
    assert_eq!((decompressed.into_inner(), read.into_inner()), (bytes.len() as u64, text.len() as u64));
}

#[test]
fn vectors_are_compressed_and_decompressed() {
    let folder = Folder::new();
    let vector: Vec<f64> = (0..100_000).map(|place| f64::from(place) / 7.0).collect();
    write_vector(folder.path("x.mtx.gz"), &vector).unwrap();
    assert_eq!(std::fs::read(folder.path("x.mtx.gz")).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(read_vector::<f64>(folder.path("x.mtx.gz"), None).unwrap(), vector);
}
