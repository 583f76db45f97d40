//! The Matrix Market reader on texts: one line per case, and each case is passed to every entry point.

use std::sync::atomic::{AtomicU64, Ordering};

use files::{Field, Number, Symmetry, parse_matrix_market, parse_vector, read_matrix_market, read_vector};
use host::format::LARGEST_DIMENSION;
use host::{Csr, Error, Real};

/// A banner with these words, and the text after it.
fn text(words: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut text = format!("%%MatrixMarket matrix {words}\n").into_bytes();
    text.extend_from_slice(body.as_ref());
    text
}

/// The text as it is, with Windows line ends, and without its last line end.
fn variants(text: &[u8]) -> [Vec<u8>; 3] {
    let mut windows = Vec::new();
    for &byte in text {
        if byte == b'\n' {
            windows.push(b'\r');
        }
        windows.push(byte);
    }
    [text.into(), windows, text.strip_suffix(b"\n").unwrap_or(text).into()]
}

/// Rows, columns, and the entries as row, column and value, with one-based rows and columns as in the file.
fn listed<T: Number>(matrix: &Csr<T>) -> (usize, usize, Vec<(usize, usize, f64)>) {
    let entries = (0..matrix.rows())
        .flat_map(|row| matrix.row(row).map(move |(column, value)| (row + 1, column as usize + 1, value.parts()[0])));
    (matrix.rows(), matrix.columns(), entries.collect())
}

fn in_a_file<R>(text: &[u8], read: impl FnOnce(&std::path::Path) -> R) -> R {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.mtx");
    std::fs::write(&path, text).unwrap();
    read(&path)
}

#[track_caller]
fn accept(words: &str, body: impl AsRef<[u8]>, rows: usize, columns: usize, entries: &[(usize, usize, f64)]) {
    let expected = (rows, columns, entries.to_vec());
    for text in variants(&text(words, body)) {
        let shown = text.escape_ascii();
        let parsed = parse_matrix_market::<f64>(&text, "t.mtx", None);
        assert_eq!(listed(&parsed.unwrap_or_else(|error| panic!("{shown}: {error}")).0), expected, "{shown}");
        assert_eq!(listed(&parse_matrix_market::<f32>(&text, "t.mtx", None).unwrap().0), expected, "{shown}");
        assert_eq!(listed(&in_a_file(&text, |path| read_matrix_market::<f64>(path, None)).unwrap().0), expected);
    }
}

/// The error must be that of a line, be one short printable line, and contain the phrase.
#[track_caller]
fn check_error(error: &Error, text: &[u8], line: u64, phrase: &str) {
    let shown = text[..text.len().min(200)].escape_ascii();
    let Error::Parse { line: found, ref reason, .. } = *error else { panic!("{shown}: {error}") };
    assert!(reason.contains(phrase), "{shown}: '{reason}' does not say '{phrase}'");
    assert_eq!(found, line, "{shown}: {reason}");
    assert!(!reason.contains(char::is_control) && reason.len() < 300, "{shown}: {reason:?}");
    assert!(error.to_string().ends_with(&format!("t.mtx:{line}: {reason}")), "{error}");
}

#[track_caller]
fn refuse_text(text: &[u8], line: u64, phrase: &str) {
    for text in variants(text) {
        check_error(&parse_matrix_market::<f64>(&text, "t.mtx", None).unwrap_err(), &text, line, phrase);
        check_error(&parse_matrix_market::<f32>(&text, "t.mtx", None).unwrap_err(), &text, line, phrase);
        let from_file = in_a_file(&text, |path| read_matrix_market::<f64>(path, None));
        check_error(&from_file.unwrap_err(), &text, line, phrase);
    }
}

#[track_caller]
fn refuse(words: &str, body: impl AsRef<[u8]>, line: u64, phrase: &str) {
    refuse_text(&text(words, body), line, phrase);
}

const REAL: &str = "coordinate real general";
const PATTERN: &str = "coordinate pattern general";
const INTEGER: &str = "coordinate integer general";
const SYMMETRIC: &str = "coordinate real symmetric";
const SKEW: &str = "coordinate real skew-symmetric";

#[test]
fn layout_of_a_file() {
    accept(REAL, "2 3 2\n1 1 1.5\n2 3 -2\n", 2, 3, &[(1, 1, 1.5), (2, 3, -2.0)]);
    accept(REAL, "2 3 2\n2 3 -2\n1 1 1.5\n", 2, 3, &[(1, 1, 1.5), (2, 3, -2.0)]);
    accept("COORDINATE Real GENERAL", "1 1 1\n1 1 4\n", 1, 1, &[(1, 1, 4.0)]);
    accept("coordinate double general", "1 1 1\n1 1 4\n", 1, 1, &[(1, 1, 4.0)]);
    accept(" coordinate\treal   general \t", "1 1 1\n1 1 4\n", 1, 1, &[(1, 1, 4.0)]);
    accept(REAL, "% one\n%\n\n  % two\n1 1 1\n1 1 4\n", 1, 1, &[(1, 1, 4.0)]);
    accept(REAL, "1 1 1\n\n \t\n% before\n1 1 4\n%after\n\n", 1, 1, &[(1, 1, 4.0)]);
    accept(REAL, "2 2 2\n1 1 4\n\n%between\n2 2 5\n", 2, 2, &[(1, 1, 4.0), (2, 2, 5.0)]);
    accept(REAL, b"% \xff\xfe\0\n1 1 1\n%\xc3\n1 1 4\n", 1, 1, &[(1, 1, 4.0)]);
    accept(REAL, " \t 2 \t 2  1 \t\n\t2  1\t\t4 \n", 2, 2, &[(2, 1, 4.0)]);
    accept(REAL, "002 02 01\n0000000000000000000000001 01 04\n", 2, 2, &[(1, 1, 4.0)]);
    for text in variants(b"\xef\xbb\xbf%%matrixMARKET MATRIX coordinate real general\n1 1 1\n1 1 4\n") {
        assert_eq!(parse_matrix_market::<f64>(&text, "t.mtx", None).unwrap().0.values(), &[4.0]);
    }
}

#[test]
fn shapes() {
    accept(REAL, "0 0 0\n", 0, 0, &[]);
    accept(REAL, "0 7 0\n", 0, 7, &[]);
    accept(REAL, "7 0 0\n", 7, 0, &[]);
    accept(REAL, "5 5 0\n", 5, 5, &[]);
    accept(REAL, "5 2 1\n5 1 3\n", 5, 2, &[(5, 1, 3.0)]);
    accept(REAL, "1 16777216 1\n1 16777216 3\n", 1, 1 << 24, &[(1, 1 << 24, 3.0)]);
}

#[test]
fn fields_and_symmetries() {
    accept(PATTERN, "2 2 2\n1 2\n2 1\n", 2, 2, &[(1, 2, 1.0), (2, 1, 1.0)]);
    accept(INTEGER, "2 2 2\n1 1 -3\n2 2 +4\n", 2, 2, &[(1, 1, -3.0), (2, 2, 4.0)]);
    // The diagonal is stored once, and a stored zero is an entry.
    accept(SYMMETRIC, "2 2 3\n1 1 1\n2 1 0\n2 2 4\n", 2, 2, &[(1, 1, 1.0), (1, 2, 0.0), (2, 1, 0.0), (2, 2, 4.0)]);
    accept(SKEW, "2 2 1\n2 1 3\n", 2, 2, &[(1, 2, -3.0), (2, 1, 3.0)]);
    accept("coordinate pattern symmetric", "2 2 2\n1 1\n2 1\n", 2, 2, &[(1, 1, 1.0), (1, 2, 1.0), (2, 1, 1.0)]);
    accept("coordinate integer Skew-Symmetric", "2 2 1\n2 1 3\n", 2, 2, &[(1, 2, -3.0), (2, 1, 3.0)]);
    let (_, header) = parse_matrix_market::<f64>(&text(SKEW, "3 3 2\n2 1 3\n3 1 1\n"), "t.mtx", None).unwrap();
    assert_eq!((header.field, header.symmetry), (Field::Real, Symmetry::SkewSymmetric));
    assert_eq!((header.rows, header.columns, header.entries), (3, 3, 2));
}

#[test]
fn duplicates_add_up_in_the_order_of_the_file() {
    accept(REAL, "1 2 3\n1 2 4\n1 1 1\n1 2 8\n", 1, 2, &[(1, 1, 1.0), (1, 2, 12.0)]);
    accept(PATTERN, "1 1 2\n1 1\n1 1\n", 1, 1, &[(1, 1, 2.0)]);
    accept(SYMMETRIC, "2 2 2\n2 1 1\n2 1 2\n", 2, 2, &[(1, 2, 3.0), (2, 1, 3.0)]);
    // 1e30 + 1 - 1e30 is 0, and in any other order it is 1.
    accept(SYMMETRIC, "2 2 3\n2 1 1e30\n2 1 1\n2 1 -1e30\n", 2, 2, &[(1, 2, 0.0), (2, 1, 0.0)]);
}

#[test]
fn numbers() {
    let value = |words: &str, token: &str| {
        let text = text(words, format!("1 1 1\n1 1 {token}\n"));
        parse_matrix_market::<f64>(&text, "t.mtx", None).unwrap().0.values()[0]
    };
    for (token, expected) in [
        ("1", 1.0),
        ("+1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.475", -0.475),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1.5D+3", 1500.0),
        ("1.5d-1", 0.15),
        ("-2D0", -2.0),
        ("0.1", 0.1),
        ("1.7976931348623157e308", f64::MAX),
        ("4.9e-324", f64::from_bits(1)),
        ("1e-999", 0.0),
        ("9007199254740993", 9007199254740992.0),
        ("0.30000000000000004440892098500626161694526672363281250", 0.30000000000000004),
        ("inf", f64::INFINITY),
        ("-Inf", f64::NEG_INFINITY),
        ("+INFINITY", f64::INFINITY),
    ] {
        assert_eq!(value(REAL, token).to_bits(), expected.to_bits(), "{token}");
    }
    assert!(value(REAL, "-0.0").is_sign_negative());
    assert!(value(REAL, "nan").is_nan() && value(REAL, "-NaN").is_nan());
    for (token, expected) in [
        ("0", 0.0),
        ("-0", 0.0),
        ("00000000000000000000000000012", 12.0),
        ("9007199254740993", 9007199254740992.0),
        ("18446744073709551615", 18446744073709551616.0),
        ("-9223372036854775808", -9223372036854775808.0),
    ] {
        assert_eq!(value(INTEGER, token).to_bits(), f64::to_bits(expected), "{token}");
    }
}

#[test]
fn numbers_are_rounded_once() {
    // Slightly above the midpoint of 1 and the next f32: via f64 it is exactly the midpoint, and rounds to 1.
    let text = text(REAL, "1 1 1\n1 1 1.00000005960464477540\n");
    let (matrix, _) = parse_matrix_market::<f32>(&text, "t.mtx", None).unwrap();
    assert_eq!(matrix.values(), &[1.0 + f32::EPSILON]);
}

#[test]
fn a_number_beyond_one_type_only() {
    let text = text(REAL, "1 1 1\n1 1 1e39\n");
    assert_eq!(parse_matrix_market::<f64>(&text, "t.mtx", None).unwrap().0.values(), &[1e39]);
    check_error(
        &parse_matrix_market::<f32>(&text, "t.mtx", None).unwrap_err(),
        &text,
        3,
        "beyond the range of float32",
    );
}

#[test]
fn bad_banners() {
    refuse_text(b"", 1, "the file is empty");
    refuse_text(b" \n", 1, "missing banner");
    refuse_text(b"hello\n", 1, "unknown banner: expected %%MatrixMarket, found 'hello'");
    refuse_text(b"%MatrixMarket matrix coordinate real general\n", 1, "unknown banner");
    refuse_text(b"%% MatrixMarket matrix coordinate real general\n", 1, "unknown banner");
    refuse_text(b"1 1 1\n1 1 1\n", 1, "unknown banner");
    refuse_text(b"\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", 1, "missing banner");
    refuse_text(b"\xff\x00\x07\xc3 \n", 1, r"found '\xff\x00\x07\xc3'");
    let twice = [0x1f, 0x8b, 8];
    assert!(parse_matrix_market::<f64>(&twice, "t.mtx", None).unwrap_err().to_string().contains("gzip"));
    refuse_text(&[b'x'; 5000], 1, "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'");
    refuse_text(b"%%MatrixMarket\n", 1, "missing object");
    refuse_text(
        b"%%MatrixMarket vector coordinate real general\n1 1\n",
        1,
        "unknown object: expected matrix, found 'vector'",
    );
    refuse("coordinat real general", "1 1 0\n", 1, "unknown layout: expected coordinate, array, found 'coordinat'");
    refuse("coordinate float general", "1 1 0\n", 1, "unknown field");
    refuse("coordinate real", "1 1 0\n", 1, "missing symmetry: expected general, symmetric");
    refuse("coordinate real symetric", "1 1 0\n", 1, "unknown symmetry");
    refuse("coordinate real skew", "1 1 0\n", 1, "unknown symmetry");
    refuse("coordinate real general symmetric", "1 1 0\n", 1, "expected the end of the line, found 'symmetric'");
    refuse("coordinate complex general", "1 1 1\n1 1 1 2\n", 1, "the values are complex, expected real ones");
    refuse("coordinate complex hermitian", "1 1 1\n1 1 1 2\n", 1, "the values are complex, expected real ones");
    refuse("array complex general", "1 1\n1 2\n", 1, "an array file holds a dense matrix");
    refuse("coordinate real hermitian", "1 1 1\n1 1 1\n", 1, "only a complex matrix can be hermitian");
    refuse("coordinate pattern hermitian", "1 1 1\n1 1\n", 1, "only a complex matrix can be hermitian");
    refuse("coordinate pattern skew-symmetric", "2 2 1\n2 1\n", 1, "cannot be skew-symmetric");
    refuse("array real general", "1 1\n1\n", 1, "an array file holds a dense matrix");
}

#[test]
fn bad_size_lines() {
    refuse(REAL, "", 1, "the file ends before its size line");
    refuse(REAL, "% only\n%comments\n", 3, "the file ends before its size line");
    refuse(REAL, "2 2\n1 1 1\n", 2, "expected the number of entries, found the end of the line");
    refuse(REAL, "%\n\n2\n", 4, "expected the number of columns, found the end of the line");
    refuse(REAL, "2 2 1 1\n1 1 1\n", 2, "expected the end of the line, found '1'");
    refuse(REAL, "a 2 1\n1 1 1\n", 2, "expected the number of rows, found 'a'");
    refuse(REAL, "2.0 2 1\n1 1 1\n", 2, "expected the number of rows, found '2.0'");
    refuse(REAL, "2 -2 1\n1 1 1\n", 2, "expected the number of columns, found '-2'");
    refuse(SYMMETRIC, "2 3 1\n1 1 1\n", 2, "is square, but this one is 2 x 3");
    refuse(SKEW, "3 2 1\n2 1 1\n", 2, "is square");
}

#[test]
fn sizes_that_the_file_cannot_justify() {
    refuse(REAL, "5 5 1000000000000000\n1 1 1\n", 2, "1000000000000000 entries announced");
    refuse(REAL, "5 5 1000000000000000000\n1 1 1\n", 2, "more than the ");
    refuse(REAL, "5 5 18446744073709551615\n1 1 1\n", 2, "18446744073709551615 entries announced");
    refuse(REAL, "5 5 1180591620717411303424\n1 1 1\n", 2, "'1180591620717411303424' is beyond the range");
    refuse(REAL, "5 5 3\n", 2, "3 entries announced");
    refuse(SYMMETRIC, "5 5 9000000000000000000\n1 1 1\n", 2, "9000000000000000000 entries announced");
    let beyond = LARGEST_DIMENSION + 1;
    refuse(REAL, format!("{beyond} 5 1\n1 1 1\n"), 2, &format!("{beyond} rows are more than the {LARGEST_DIMENSION}"));
    refuse(REAL, format!("5 {beyond} 1\n1 1 1\n"), 2, &format!("{beyond} columns are more than the"));
    refuse(REAL, "5 18446744073709551616 1\n1 1 1\n", 2, "'18446744073709551616' is beyond the range");
    refuse(REAL, "2000000000 5 1\n1 1 1\n", 2, "2000000000 rows in a file of ");
    refuse(REAL, "5 2000000000 1\n1 1 1\n", 2, "2000000000 columns in a file of ");
    refuse(REAL, "16777217 5 1\n1 1 1\n", 2, "16777217 rows in a file of ");
    // A comment of 1 MiB + 1 byte justifies one more row.
    let mut body = vec![b'%'; (1 << 20) + 1];
    body.extend_from_slice(b"\n16777217 5 1\n16777217 1 1\n");
    let (matrix, _) = parse_matrix_market::<f64>(&text(REAL, &body), "t.mtx", None).unwrap();
    assert_eq!((matrix.rows(), matrix.nnz()), (16777217, 1));
}

#[test]
fn bad_entries() {
    refuse(REAL, "2 2 1\n0 1 1\n", 3, "expected a row index from 1 on, found '0'");
    refuse(REAL, "2 2 1\n1 0 1\n", 3, "expected a column index from 1 on, found '0'");
    refuse(REAL, "2 2 1\n-1 1 1\n", 3, "expected a row index from 1 on, found '-1'");
    refuse(REAL, "2 2 1\n1 +1 1\n", 3, "found '+1'");
    refuse(REAL, "2 2 1\n1.0 1 1\n", 3, "found '1.0'");
    refuse(REAL, "2 2 1\n1,1,1\n", 3, "found '1,1,1'");
    refuse(REAL, "2 2 1\n1    \n", 3, "expected a column index from 1 on, found the end of the line");
    refuse(REAL, "2 2 1\n1 1\n", 3, "expected a real number, found the end of the line");
    refuse(REAL, "2 2 1\n3 1 1\n", 3, "row index '3' is beyond the 2 rows of the matrix");
    refuse(REAL, "2 2 1\n1 3 1\n", 3, "column index '3' is beyond the 2 columns of the matrix");
    refuse(REAL, "2 2 1\n4294967297 1 1\n", 3, "row index '4294967297' is beyond");
    refuse(REAL, "2 2 1\n1 18446744073709551617 1\n", 3, "column index '18446744073709551617' is beyond");
    refuse(REAL, "2 2 1\n1180591620717411303425 1 1\n", 3, "row index '1180591620717411303425' is beyond");
    refuse(REAL, "0 0 1\n1 1 1\n", 3, "row index '1' is beyond the 0 rows");
    for token in ["x", "1x", "1.0.0", "--1", "1e", "0x10", "1_000", "1,5", "e5", "d5", "nanx", "infd", "1d5d", "+", "."]
    {
        refuse(REAL, format!("2 2 1\n1 1 {token}\n"), 3, &format!("expected a real number, found '{token}'"));
    }
    refuse(REAL, "2 2 1\n1 1 1e999\n", 3, "'1e999' is beyond the range of float");
    refuse(REAL, "2 2 1\n1 1 -1D999\n", 3, "'-1D999' is beyond the range of float");
    refuse(REAL, "2 2 1\n1 1 1 2\n", 3, "expected the end of the line, found '2'");
    refuse(REAL, "2 2 1\n1 1 1 % no comment here\n", 3, "expected the end of the line, found '%'");
    refuse(REAL, b"2 2 1\n1 1 \xff\xfe\n", 3, r"found '\xff\xfe'");
    refuse(REAL, b"2 2 1\n1 \0 1\n", 3, r"found '\x00'");
    refuse(REAL, format!("2 2 1\n1 1 {}\n", "y".repeat(1000)), 3, "yyy...'");
    refuse(PATTERN, "2 2 1\n1 1 5\n", 3, "expected the end of the line, found '5'");
    for token in ["1.0", "x", "1e3", "-", "+", "--1", "nan"] {
        refuse(INTEGER, format!("2 2 1\n1 1 {token}\n"), 3, &format!("expected an integer, found '{token}'"));
    }
    refuse(INTEGER, "2 2 1\n1 1 18446744073709551616\n", 3, "beyond the range of 64-bit integers");
    refuse(INTEGER, "2 2 1\n1 1 -9223372036854775809\n", 3, "beyond the range of 64-bit integers");
    refuse(SYMMETRIC, "3 3 2\n2 1 1\n1 3 1\n", 4, "entry above the diagonal");
    refuse(SKEW, "3 3 2\n2 1 1\n1 3 1\n", 4, "entry on or above the diagonal");
    refuse(SKEW, "3 3 2\n2 1 1\n2 2 0\n", 4, "entry on or above the diagonal");
    refuse(REAL, "%\n\n2 2 2\n%\n1 1 1\n\n%\n2 x 1\n", 9, "found 'x'");
}

#[test]
fn more_or_fewer_entries_than_announced() {
    refuse(REAL, "2 2 0\n1 1 1\n", 3, "one entry more than the 0 announced");
    refuse(REAL, "2 2 1\n%\n1 1 1\n\n2 2 2\n2 1 1\n", 6, "one entry more than the 1 announced");
    refuse(REAL, "2 2 1\n1 1 1\ngarbage\n", 4, "found 'garbage'");
    refuse(REAL, "2 2 1\n1 1 1\n2 2 2\ngarbage\n", 4, "one entry more than the 1 announced");
    refuse(REAL, "2 2 3\n1 1 1\n2 2 2\n", 4, "the file ends after 2 of 3 entries announced");
    refuse(REAL, "2 2 3\n1 1 1\n2 2 2\n%\n\n%\n", 7, "the file ends after 2 of 3 entries announced");
    // Entries of the other half are not counted.
    refuse(SYMMETRIC, "2 2 2\n2 1 1.000\n", 3, "the file ends after 1 of 2 entries announced");
}

/// Texts of several chunks, with one thing changed.
#[test]
fn the_first_wrong_line_of_a_long_file() {
    const ENTRIES: usize = 600_000;
    let lines = || vec!["7 7 1"; ENTRIES];
    let long = |announced: usize, lines: &[&str]| text(REAL, format!("9 9 {announced}\n{}\n", lines.join("\n")));
    let error = |text: &[u8]| parse_matrix_market::<f64>(text, "t.mtx", None).unwrap_err();

    let whole = long(ENTRIES, &lines());
    assert!(whole.len() > 3 << 20);
    let (matrix, _) = parse_matrix_market::<f64>(&whole, "t.mtx", None).unwrap();
    assert_eq!(listed(&matrix), (9, 9, vec![(7, 7, ENTRIES as f64)]));

    for wrong in [0, 1, 174_000, 350_000, ENTRIES - 1] {
        let mut lines = lines();
        lines[wrong] = "7 7 z";
        lines[ENTRIES - 1] = "7 7 z";
        let text = long(ENTRIES, &lines);
        check_error(&error(&text), &text, wrong as u64 + 3, "found 'z'");
    }
    let surplus = long(400_000, &lines());
    check_error(&error(&surplus), &surplus, 400_003, "one entry more than the 400000 announced");
    let mut late = lines();
    late[500_000] = "7 7 z";
    let late = long(400_000, &late);
    check_error(&error(&late), &late, 400_003, "one entry more than the 400000 announced");
    let short = long(ENTRIES + 1, &lines());
    check_error(&error(&short), &short, ENTRIES as u64 + 2, "the file ends after 600000 of 600001");
}

#[test]
fn progress_ends_at_the_length() {
    let text = text(REAL, format!("9 9 500000\n{}", "7 7 1\n".repeat(500_000)));
    let (calls, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |done, total| {
        assert!(done <= total && total == text.len() as u64);
        calls.fetch_add(1, Ordering::Relaxed);
        most.fetch_max(done, Ordering::Relaxed);
    };
    parse_matrix_market::<f64>(&text, "t.mtx", Some(&progress)).unwrap();
    assert_eq!(most.into_inner(), text.len() as u64);
    assert!((3..100).contains(&calls.into_inner()));
}

#[track_caller]
fn accept_vector(words: &str, body: &str, expected: &[f64]) {
    for text in variants(&text(words, body)) {
        assert_eq!(parse_vector::<f64>(&text, "t.mtx", None).unwrap(), expected);
        assert_eq!(
            parse_vector::<f32>(&text, "t.mtx", None).unwrap().iter().map(|x| x.to_f64()).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(in_a_file(&text, |path| read_vector::<f64>(path, None)).unwrap(), expected);
    }
}

#[track_caller]
fn refuse_vector(words: &str, body: &str, line: u64, phrase: &str) {
    for text in variants(&text(words, body)) {
        check_error(&parse_vector::<f64>(&text, "t.mtx", None).unwrap_err(), &text, line, phrase);
        let from_file = in_a_file(&text, |path| read_vector::<f64>(path, None));
        check_error(&from_file.unwrap_err(), &text, line, phrase);
    }
}

#[test]
fn vectors() {
    const ARRAY: &str = "array real general";
    accept_vector(ARRAY, "3 1\n1\n-2.5\n% c\n\n3e2\n", &[1.0, -2.5, 300.0]);
    accept_vector(ARRAY, "1 3\n1\n2\n3\n", &[1.0, 2.0, 3.0]);
    accept_vector(ARRAY, "1 1\n7\n", &[7.0]);
    accept_vector(ARRAY, "0 1\n", &[]);
    // SciPy declares a single number symmetric.
    accept_vector("array real symmetric", "1 1\n7\n", &[7.0]);
    accept_vector("Array Integer General", "2 1\n-4\n5\n", &[-4.0, 5.0]);
    refuse_vector(ARRAY, "% c\n2 2\n1\n2\n3\n4\n", 3, "found a matrix of 2 x 2");
    refuse_vector(ARRAY, "0 3\n", 2, "found a matrix of 0 x 3");
    refuse_vector(ARRAY, "2 1 2\n1\n2\n", 2, "expected the end of the line, found '2'");
    refuse_vector(ARRAY, "3 1\n1\n22222\n", 4, "the file ends after 2 of 3 entries");
    refuse_vector(ARRAY, "1 1\n1\n2\n", 4, "one entry more than the 1 announced");
    refuse_vector(ARRAY, "1 1\n1 2\n", 3, "expected the end of the line, found '2'");
    refuse_vector(ARRAY, "2000000000 1\n1\n", 2, "2000000000 rows in a file of");
    refuse_vector(ARRAY, "9000000 1\n1\n", 2, "9000000 entries announced");
    refuse_vector("array integer general", "1 1\n1.5\n", 3, "expected an integer, found '1.5'");
    refuse_vector("array real symmetric", "2 2\n1\n2\n3\n", 1, "a vector has no symmetry");
    refuse_vector("array real skew-symmetric", "2 2\n1\n", 1, "a vector has no symmetry");
    refuse_vector("array real skew-symmetric", "1 1\n", 1, "a vector has no symmetry");
    refuse_vector("array pattern general", "1 1\n1\n", 1, "an array file cannot be a pattern");
    refuse_vector(REAL, "1 1 1\n1 1 1\n", 1, "a coordinate file holds a sparse matrix");
}
