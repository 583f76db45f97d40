//! SciPy's archives, without SciPy; `npz_scipy.rs` tests with it.

use std::io::{Cursor, Write};
use std::path::Path;

use files::{Field, FileKind, Loaded, Number, ReadOptions, parse, read, read_npz, write_npz};
use host::{Complex, Csr, Error, Scalar};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::common::{Folder, assert_same, check_error, matrices};

fn round_trips<T: Number>() {
    let folder = Folder::new();
    let path = folder.path("m.npz");
    for matrix in matrices::<T>() {
        write_npz(&path, &matrix).unwrap();
        assert_same(&read_npz::<T>(&path, &ReadOptions::default()).unwrap(), &matrix);
        let loaded = read::<T>(&path, &ReadOptions::default()).unwrap();
        let field = if T::COMPLEX { Field::Complex } else { Field::Real };
        assert_eq!((loaded.kind, loaded.header.field), (FileKind::Npz, field));
    }
    assert_eq!(folder.names(), ["m.npz"]);
}

#[test]
fn matrices_keep_their_bits() {
    round_trips::<f64>();
    round_trips::<f32>();
    round_trips::<Complex<f64>>();
    round_trips::<Complex<f32>>();
}

#[test]
fn the_members() {
    let folder = Folder::new();
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 0, 2], &[4.0f32, -1.0, 0.5]).unwrap();
    write_npz(folder.path("m.npz"), &matrix).unwrap();
    let mut archive = ZipArchive::new(std::fs::File::open(folder.path("m.npz")).unwrap()).unwrap();
    let mut member = |name: &str| {
        let mut bytes = Vec::new();
        std::io::copy(&mut archive.by_name(name).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes[..8], *b"\x93NUMPY\x01\0");
        let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!(data % 64, 0);
        (String::from_utf8(bytes[10..data].to_vec()).unwrap().trim_end().to_owned(), bytes[data..].to_vec())
    };
    for (name, header, data) in [
        ("format.npy", "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", b"csr".to_vec()),
        (
            "shape.npy",
            "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
            [2i64, 3].map(i64::to_le_bytes).concat(),
        ),
        (
            "indptr.npy",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }",
            [0i32, 1, 3].map(i32::to_le_bytes).concat(),
        ),
        (
            "indices.npy",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }",
            [0i32, 0, 2].map(i32::to_le_bytes).concat(),
        ),
        (
            "data.npy",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
            [4f32, -1.0, 0.5].map(f32::to_le_bytes).concat(),
        ),
    ] {
        assert_eq!(member(name), (header.to_owned(), data), "{name}");
    }
    assert_eq!(archive.len(), 5);
}

/// A NumPy array as a file.
fn npy(element: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn numbers(elements: &[i64]) -> Vec<u8> {
    npy(
        "<i8",
        &format!("({},)", elements.len()),
        &elements.iter().flat_map(|element| element.to_le_bytes()).collect::<Vec<_>>(),
    )
}

type Members = Vec<(&'static str, Vec<u8>)>;

/// [[0, 7, 0], [5, 0, 6]] in a format.
fn members(format: &str) -> Members {
    let format_member = ("format", npy("|S3", "()", format.as_bytes()));
    let mut members = vec![format_member, ("shape", numbers(&[2, 3]))];
    members.extend(match format {
        "csr" => [("data", numbers(&[7, 5, 6])), ("indices", numbers(&[1, 0, 2])), ("indptr", numbers(&[0, 1, 3]))],
        "csc" => [("data", numbers(&[5, 7, 6])), ("indices", numbers(&[1, 0, 1])), ("indptr", numbers(&[0, 1, 2, 3]))],
        _ => [("data", numbers(&[6, 7, 5])), ("row", numbers(&[1, 0, 1])), ("col", numbers(&[2, 1, 0]))],
    });
    members
}

/// Replaces members of the same name, or adds them.
fn with(mut members: Members, others: Members) -> Members {
    members.retain(|(name, _)| others.iter().all(|(other, _)| other != name));
    members.extend(others);
    members
}

fn archive(members: &Members) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, contents) in members {
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(contents).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn parsed<T: Number>(members: &Members) -> Result<Loaded<T>, Error> {
    parse(&archive(members), "m.npz", &ReadOptions::default())
}

#[test]
fn every_format_that_is_read() {
    let expected = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[1, 0, 2], &[7.0, 5.0, 6.0]).unwrap();
    let coords = [1i64, 0, 1, 2, 1, 0].map(i64::to_be_bytes).concat();
    let coords =
        with(members("coo"), vec![("coords", npy(">i8", "(2, 3)", &coords)), ("row", vec![]), ("col", vec![])]);
    let unicode = with(members("csr"), vec![("format", npy("<U3", "()", b"c\0\0\0s\0\0\0r\0\0\0"))]);
    for members in [members("csr"), members("csc"), members("coo"), coords, unicode] {
        let loaded = parsed::<f64>(&members).unwrap();
        assert_same(&loaded.matrix, &expected);
        assert_eq!((loaded.header.field, loaded.header.entries), (Field::Integer, 3));
    }
}

#[test]
fn every_type_of_values() {
    let big = [7.0f32, 5.0, 6.0].map(f32::to_be_bytes).concat();
    for (element, data, expected) in [
        ("|i1", vec![0xff, 0x80, 0x7f], [-1.0, -128.0, 127.0]),
        ("|u1", vec![255, 0, 1], [255.0, 0.0, 1.0]),
        ("|b1", vec![0, 1, 1], [0.0, 1.0, 1.0]),
        ("<i2", vec![0xff, 0xff, 0, 0x80, 1, 0], [-1.0, -32768.0, 1.0]),
        (">u2", vec![0xff, 0xff, 0, 0x80, 1, 0], [65535.0, 128.0, 256.0]),
        ("<u4", [u32::MAX, 0, 1].map(u32::to_le_bytes).concat(), [4294967295.0, 0.0, 1.0]),
        (">f4", big, [7.0, 5.0, 6.0]),
        ("<u8", [u64::MAX, 0, 1].map(u64::to_le_bytes).concat(), [18446744073709551615.0, 0.0, 1.0]),
        ("<f8", [f64::INFINITY, -0.0, 1e-320].map(f64::to_le_bytes).concat(), [f64::INFINITY, -0.0, 1e-320]),
    ] {
        let members = with(members("csr"), vec![("data", npy(element, "(3,)", &data))]);
        let matrix = parsed::<f64>(&members).unwrap().matrix;
        assert_eq!(
            matrix.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            expected.map(f64::to_bits),
            "{element}"
        );
    }
    // Rounded once: rounded to f64 first, it would be half way between two floats, and round to the even one.
    let data = with(members("csr"), vec![("data", numbers(&[(1 << 60) + (1 << 36) + 1, 0, 0]))]);
    assert_eq!(parsed::<f32>(&data).unwrap().matrix.values()[0], ((1u64 << 60) + (1 << 37)) as f32);
}

#[test]
fn complex_values_in_either_order_and_of_either_size() {
    let parts = [1.5f32, -2.0, f32::INFINITY, 0.0, 0.0, -0.0];
    let expected = [[1.5, -2.0], [f64::INFINITY, 0.0], [0.0, -0.0]];
    let wide = parts.map(f64::from);
    for (element, data) in [
        ("<c8", parts.map(f32::to_le_bytes).concat()),
        (">c8", parts.map(f32::to_be_bytes).concat()),
        ("<c16", wide.map(f64::to_le_bytes).concat()),
        (">c16", wide.map(f64::to_be_bytes).concat()),
    ] {
        let members = with(members("csr"), vec![("data", npy(element, "(3,)", &data))]);
        let bits = |parts: [f64; 2]| parts.map(f64::to_bits);
        let found = parsed::<Complex<f64>>(&members).unwrap();
        assert_eq!(found.header.field, Field::Complex);
        assert!(found.matrix.values().iter().map(|value| bits(value.parts())).eq(expected.map(bits)), "{element}");
        let found = parsed::<Complex<f32>>(&members).unwrap().matrix;
        assert!(found.values().iter().map(|value| bits(value.parts())).eq(expected.map(bits)), "{element}");
        let error = parsed::<f64>(&members).err().unwrap().to_string();
        assert!(error.ends_with("the values are complex, expected real ones"), "{error}");
    }
    let beyond = [1.0, 2.0, 3.0, 1e300, 0.0, 0.0].map(f64::to_le_bytes).concat();
    let members = with(members("csr"), vec![("data", npy("<c16", "(3,)", &beyond))]);
    let error = parsed::<Complex<f32>>(&members).err().unwrap().to_string();
    let number = format!("data[1] is (3, {})", 1e300);
    assert!(error.ends_with(&format!("{number}, expected a number in the range of complex64")), "{error}");
}

#[test]
fn archives_that_are_wrong() {
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    for (base, others, says) in [
        (
            "csr",
            vec![("format", npy("|S3", "()", b"dia"))],
            "the format 'dia' is not supported, expected csr, csc or coo",
        ),
        ("csr", vec![("format", npy("|S3", "()", b"c\n\x1b"))], r"the format 'c\n\u{1b}' is not supported"),
        ("csr", vec![("format", npy("|S3", "(1,)", b"csr"))], "array 'format' is not text"),
        ("csr", vec![("format", numbers(&[1]))], "array 'format' is not text"),
        ("csr", vec![("shape", numbers(&[2, 3, 4]))], "the matrix has 3 axes, expected 2"),
        ("csr", vec![("shape", numbers(&[-2, 3]))], "shape[0] is -2"),
        ("csr", vec![("shape", numbers(&[3, 3]))], "3 row offsets for 3 rows"),
        ("csr", vec![("shape", numbers(&[2, 2]))], "entry 2 is in column 2 of 2"),
        (
            "csr",
            vec![("shape", numbers(&[1 << 40, 3]))],
            "number of rows is 1099511627776, and the limit is 2147483647",
        ),
        ("csr", vec![("shape", numbers(&[2, 1 << 30]))], "1073741824 columns in a file of"),
        ("coo", vec![("shape", numbers(&[2, 1 << 30]))], "1073741824 columns in a file of"),
        ("csc", vec![("shape", numbers(&[1 << 30, 3]))], "1073741824 rows in a file of"),
        ("coo", vec![("shape", numbers(&[1 << 30, 3]))], "1073741824 rows in a file of"),
        ("csr", vec![("indptr", numbers(&[0, 1, -3]))], "indptr[2] is -3, expected an offset from 0 on"),
        ("csr", vec![("indptr", numbers(&[0, 4, 3]))], "row 1 ends before it begins"),
        ("csc", vec![("indptr", numbers(&[0, 4, 3, 3]))], "column 1 ends before it begins"),
        ("csc", vec![("indptr", numbers(&[0, 1, 2, 1 << 40]))], "the last column offset is 1099511627776, expected 3"),
        ("csc", vec![("indices", numbers(&[1, 0, 2]))], "in row 2 of 2"),
        ("csr", vec![("indices", numbers(&[1, 0]))], "values has length 3, expected 2"),
        ("csr", vec![("indices", numbers(&[1, -1, 2]))], "indices[1] is -1, expected an index"),
        ("csr", vec![("indices", numbers(&[1, 1 << 32, 2]))], "indices[1] is 4294967296, expected an index"),
        ("csr", vec![("indices", npy("<f8", "(3,)", &doubles(&[1.0, 0.0, 2.0])))], "'indices' is of type float64"),
        ("coo", vec![("row", numbers(&[1, 0]))], "has length"),
        ("coo", vec![("coords", numbers(&[1, 0]))], "'coords' has the shape [2]"),
        ("csr", vec![("data", npy("<c16", "(3,)", &[0; 48]))], "the values are complex, expected real ones"),
        ("csr", vec![("data", npy("<c32", "(3,)", &[0; 96]))], "its type is '<c32'"),
        ("csr", vec![("data", npy("<f8", "(3, 1)", &[0; 24]))], "'data' has 2 axes, expected 1"),
        ("csr", vec![("data", npy("<f8", "(4,)", &[0; 24]))], "does not fit its 24 bytes"),
        ("csr", vec![("data", npy("|S8", "(3,)", &[0; 24]))], "'data' is text, expected numbers"),
        ("csr", vec![("data", b"PK".to_vec())], "array 'data': it is not a NumPy array"),
    ] {
        let error = parsed::<f64>(&with(members(base), others)).unwrap_err();
        check_error(&error, Path::new("m.npz"), says);
    }
    for name in ["format", "shape", "data", "indices", "indptr"] {
        let mut members = members("csr");
        members.retain(|(member, _)| *member != name);
        let says = format!("not a SciPy sparse matrix: there is no array '{name}'");
        check_error(&parsed::<f64>(&members).unwrap_err(), Path::new("m.npz"), &says);
    }
    let large = with(members("csr"), vec![("data", npy("<f8", "(3,)", &doubles(&[1.0, -1e39, 0.0])))]);
    check_error(&parsed::<f32>(&large).unwrap_err(), Path::new("m.npz"), "expected a number in the range of float32");
}

/// Columns are checked like rows: a product allocates memory for each.
#[test]
fn wide_matrices() {
    let folder = Folder::new();
    for name in ["m.npz", "m.wspmv"] {
        let path = folder.path(name);
        for (columns, believed) in [(1 << 24, true), ((1 << 24) + 1, false), (i32::MAX as usize, false)] {
            let wide = Csr::try_from_triplets(1, columns, &[0], &[columns as u32 - 1], &[2.5]).unwrap();
            files::write(&path, &wide).unwrap();
            match read::<f64>(&path, &ReadOptions::default()) {
                Ok(read) => assert!(believed && read.matrix == wide, "{name}, {columns}"),
                Err(error) => {
                    check_error(&error, &path, &format!("{columns} columns in a file of "));
                    assert!(!believed, "{name}, {columns}");
                }
            }
        }
    }
}

#[test]
fn truncated_and_altered_archives() {
    let folder = Folder::new();
    let path = folder.path("m.npz");
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 0, 2], &[4.0, -1.0, 0.5]).unwrap();
    write_npz(&path, &matrix).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in 4..whole.len() {
        let error = parse::<f64>(&whole[..length], "m.npz", &ReadOptions::default()).unwrap_err();
        check_error(&error, Path::new("m.npz"), "");
    }
    // Changes that the checksums do not cover must be harmless, and those that they cover must be detected.
    for place in 4..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << bit;
            match parse::<f64>(&bytes, "m.npz", &ReadOptions::default()) {
                Ok(loaded) => assert_same(&loaded.matrix, &matrix),
                Err(error) => check_error(&error, Path::new("m.npz"), ""),
            }
        }
    }
}

#[test]
fn the_limit_is_for_all_arrays_together() {
    let bytes = archive(&members("csr"));
    let total: usize = members("csr").iter().map(|(_, contents)| contents.len()).sum();
    let read =
        |decompressed_limit| parse::<f64>(&bytes, "m.npz", &ReadOptions { decompressed_limit, ..Default::default() });
    assert!(read(total as u64).is_ok());
    check_error(&read(total as u64 - 1).unwrap_err(), Path::new("m.npz"), "bytes allowed; decompress it first");
    check_error(&read(0).unwrap_err(), Path::new("m.npz"), "array 'format': decompresses to more than the 0 bytes");
}
