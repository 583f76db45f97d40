//! Containers.

use std::path::Path;

use files::{FileKind, Number, ReadOptions, parse, read, read_container, write_container};
use host::{Complex, Csr, Error};

use crate::common::{Folder, assert_same, check_error, matrices, matrix, seal};

fn round_trips<T: Number>() {
    let folder = Folder::new();
    let path = folder.path("m.wspmv");
    for matrix in matrices::<T>() {
        write_container(&path, &matrix).unwrap();
        assert_same(&read_container::<T>(&path).unwrap(), &matrix);
        let loaded = read::<T>(&path, &ReadOptions::default()).unwrap();
        assert_same(&loaded.matrix, &matrix);
        assert_eq!((loaded.kind, loaded.header.entries), (FileKind::Container, matrix.nnz() as u64));
    }
    assert_eq!(folder.names(), ["m.wspmv"]);
}

#[test]
fn matrices_keep_their_bits_and_their_order() {
    round_trips::<f64>();
    round_trips::<f32>();
    round_trips::<Complex<f64>>();
    round_trips::<Complex<f32>>();
    let folder = Folder::new();
    let path = folder.path("m.wspmv");
    let disorder = Csr::try_new(2, 9, vec![0u32, 3, 4], vec![8, 0, 8, 0], vec![2.0, 5.0, 1.0, f64::NAN]).unwrap();
    write_container(&path, &disorder).unwrap();
    assert_same(&read_container::<f64>(&path).unwrap(), &disorder);
}

fn bytes<T: Number>(matrix: &Csr<T>) -> Vec<u8> {
    let folder = Folder::new();
    write_container(folder.path("m"), matrix).unwrap();
    std::fs::read(folder.path("m")).unwrap()
}

fn refused(bytes: &[u8], phrase: &str) {
    let error = parse::<f64>(bytes, "m.wspmv", &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Contents { .. }), "{error}");
    check_error(&error, Path::new("m.wspmv"), phrase);
}

fn example() -> Csr<f64> {
    Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 0, 2], &[4.0, -1.0, 0.5]).unwrap()
}

/// Byte by byte, as `docs/container.md` describes it.
#[test]
fn the_bytes() {
    let bytes = bytes(&example());
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(bytes[..8], *b"\x89WSPMV\r\n");
    assert_eq!((half(8), half(12)), (1, 3));
    assert_eq!(bytes[16..32], *b"CSR\0\0\0\0\0\0\0\0\0\0\0\0\0");
    assert_eq!([32, 40, 48, 56].map(number), [2, 3, 3, bytes.len() as u64]);
    assert_eq!((bytes[64], bytes[65]), (10, 4));
    assert!(bytes[66..124].iter().all(|&byte| byte == 0));
    assert_eq!(half(124), crc32fast::hash(&[&bytes[..124], &bytes[128..320]].concat()));
    for (entry, name, element, begin, contents) in [
        (128, "row_offsets", 3, 320, &[0u32, 1, 3].map(u32::to_le_bytes).concat()),
        (192, "column_indices", 3, 384, &[0u32, 0, 2].map(u32::to_le_bytes).concat()),
        (256, "values", 10, 448, &[4.0f64, -1.0, 0.5].map(f64::to_le_bytes).concat()),
    ] {
        assert_eq!(bytes[entry..entry + name.len()], *name.as_bytes());
        assert!(bytes[entry + name.len()..entry + 24].iter().all(|&byte| byte == 0));
        assert_eq!((half(entry + 24), half(entry + 28)), (element, crc32fast::hash(contents)));
        assert_eq!((number(entry + 32), number(entry + 40)), (3, begin));
        assert!(bytes[entry + 48..entry + 64].iter().all(|&byte| byte == 0));
        assert_eq!(bytes[begin as usize..begin as usize + contents.len()], **contents);
    }
    assert_eq!(bytes.len(), 448 + 24);
}

#[test]
fn truncated_files() {
    let bytes = bytes(&example());
    for length in 8..bytes.len() {
        refused(&bytes[..length], "the file is truncated: ");
    }
    let folder = Folder::new();
    for length in 0..8 {
        let path = folder.file("m.wspmv", &bytes[..length]);
        check_error(&read_container::<f64>(&path).unwrap_err(), &path, "not a warp-spmv container");
    }
}

/// Every bit of the file is protected by a checksum, or has only one valid value.
#[test]
fn altered_files() {
    let whole = bytes(&matrix::<f32>(3, 9, 9, 30));
    for place in 8..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << bit;
            let error = parse::<f32>(&bytes, "m.wspmv", &ReadOptions::default()).unwrap_err().to_string();
            let also = match place {
                8..12 => "version",
                12..16 => "truncated",
                _ => "altered",
            };
            assert!(error.contains("altered") || error.contains(also), "{place}: {error}");
        }
    }
    refused(&[&whole[..], b"\0"].concat(), "the file is altered: ");
    // The effect of a transfer as text.
    let error = parse::<f64>(&[b"\x89WSPMV\n", &whole[8..]].concat(), "m.wspmv", &ReadOptions::default());
    check_error(&error.unwrap_err(), Path::new("m.wspmv"), "unknown kind of file");
}

/// Errors that no checksum detects: files that were written incorrectly.
#[test]
fn files_that_contradict_themselves() {
    let whole = bytes(&example());
    for (place, value, says) in [
        (8, 2, "a container of version 2, but this program supports up to 1"),
        (8, 0, "version 0, which does not exist"),
        (12, 65, "65 sections, expected at most 64"),
        (12, 2, "begins at byte 320, expected 256"),
        (16, b'X', "in the unknown format 'XSR'"),
        (17, 0, "is not a name"),
        (16, 0, "is not a name"),
        (17, 0x1b, "is not a name"),
        (32, 3, "3 row offsets for 3 rows, expected rows + 1"),
        (36, 1, "4294967298 rows are more than"),
        (40, 2, "entry 2 is in column 2 of 2"),
        (47, 0xff, "columns are more than"),
        (48, 4, "the header has 4 entries, but the arrays have 3"),
        (64, 9, "section 'values' is of type float64, expected float32"),
        (64, 99, "unknown element type 99"),
        (64, 3, "values of type uint32, expected real or complex numbers"),
        (65, 8, "the header has offsets of 8 bytes, but section 'row_offsets' has 4"),
        (66, 1, "a reserved byte of the header is not 0"),
        (128, b's', "there is no section 'row_offsets'"),
        (152, 9, "section 'row_offsets' is of type float32, expected uint32 or uint64"),
        (152, 13, "unknown element type 13"),
        (155, 1, "unknown element type"),
        (160, 2, "a byte before section 'column_indices' is not 0"),
        (167, 0xff, "section 'row_offsets' ends beyond the end of the file"),
        (160, 100, "section 'row_offsets' ends beyond the end of the file"),
        (168, 0x80, "section 'row_offsets' begins at byte 384, expected 320"),
        (176, 1, "a reserved byte"),
        (288, 2, "the sections end at byte 464 of 472"),
        (320, 1, "the first row offset is 1, expected 0"),
        (324, 4, "row 1 ends before it begins"),
        (328, 2, "the last row offset is 2, expected 3"),
        (340, 1, "a byte before section 'column_indices' is not 0"),
        (384, 3, "entry 0 is in column 3 of 3"),
    ] {
        let mut bytes = whole.clone();
        assert_ne!(bytes[place], value, "{place}");
        bytes[place] = value;
        if place != 12 || value != 65 {
            seal(&mut bytes);
        }
        refused(&bytes, says);
    }
    // A section that the format does not have.
    let mut more = whole.clone();
    more[12] = 4;
    let entry =
        [&b"surplus\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0"[..], &[0; 12], &512u64.to_le_bytes(), &[0; 16]];
    more.splice(320..320, entry.concat());
    for entry in [128, 192, 256] {
        let begin = u64::from_le_bytes(more[entry + 40..entry + 48].try_into().unwrap()) + 64;
        more[entry + 40..entry + 48].copy_from_slice(&begin.to_le_bytes());
    }
    more.resize(576, 0);
    more[320 + 40..320 + 48].copy_from_slice(&576u64.to_le_bytes());
    more[56..64].copy_from_slice(&576u64.to_le_bytes());
    seal(&mut more);
    refused(&more, "section 'surplus' is not part of the format CSR");
}

#[test]
fn another_precision() {
    let narrow = bytes(&matrix::<f32>(5, 30, 30, 200));
    let wide = parse::<f64>(&narrow, "m", &ReadOptions::default()).unwrap().matrix;
    assert_same(&wide, &matrix::<f32>(5, 30, 30, 200).cast().unwrap());
    let rounded = bytes(&example());
    assert_same(&parse::<f32>(&rounded, "m", &ReadOptions::default()).unwrap().matrix, &example().cast().unwrap());
    let large = bytes(&Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[f64::INFINITY, 1e300]).unwrap());
    let error = parse::<f32>(&large, "m", &ReadOptions::default()).unwrap_err();
    check_error(&error, Path::new("m"), "values[1] is 1");
    assert!(error.to_string().ends_with("expected a number in the range of float32"));
}

#[test]
fn complex_values_are_read_in_another_precision_and_never_as_real_ones() {
    let options = ReadOptions::default();
    let wide = matrix::<Complex<f64>>(5, 30, 30, 200);
    let small = |value: &Complex<f64>| Complex { re: value.re.signum(), im: value.im.clamp(-1.0, 1.0) };
    let values = wide.values().iter().map(small).collect();
    let (rows, columns) = (wide.rows(), wide.columns());
    let (offsets, indices, _) = wide.into_parts();
    let wide = Csr::try_new(rows, columns, offsets, indices, values).unwrap();
    let written = bytes(&wide);
    let narrow = parse::<Complex<f32>>(&written, "m", &options).unwrap();
    assert_same(&narrow.matrix, &wide.cast().unwrap());
    assert_eq!(narrow.header.field, files::Field::Complex);
    let narrow = bytes(&narrow.matrix);
    let again = parse::<Complex<f64>>(&narrow, "m", &options).unwrap().matrix;
    assert_same(&again, &wide.cast::<Complex<f32>>().unwrap().cast().unwrap());
    for bytes in [&written, &narrow] {
        let error = parse::<f64>(bytes, "m", &options).unwrap_err();
        check_error(&error, Path::new("m"), "the values are complex, expected real ones");
    }
    let real = bytes(&example());
    assert_same(&parse::<Complex<f64>>(&real, "m", &options).unwrap().matrix, &example().cast().unwrap());
}
