//! The Rutherford-Boeing reader.

use std::path::Path;

use files::{Field, FileKind, Header, ReadOptions, Symmetry, parse, read_rutherford_boeing};
use host::{Complex, Csr, Error};

use crate::common::{self, Folder, assert_same};

/// A file with a type, numbers of rows, columns and entries, and formats of pointers, indices and values.
fn file(kind: &str, sizes: [u64; 3], formats: [&str; 3], body: &str) -> String {
    let [rows, columns, entries] = sizes;
    let [pointers, indices, values] = formats;
    format!(
        "{:72}{:8}\n{:14}{:14}{:14}{:14}\n{kind:14}{rows:14}{columns:14}{entries:14}{:14}\n{pointers:16}{indices:16}{values:20}\n{body}",
        "a title", "key", 3, 1, 1, 1, 0
    )
}

const FORMATS: [&str; 3] = ["(4I3)", "(4I3)", "(3E9.2)"];
const BODY: &str = "  1  2  4  5\n  1  2  3  1\n 1.50E+00-2.50D+00     3.00\n 4.00-010\n";

fn parsed(text: &str) -> Result<(Csr<f64>, Header), Error> {
    let loaded = parse::<f64>(text.as_bytes(), "t.rb", &ReadOptions::default())?;
    assert_eq!(loaded.kind, FileKind::RutherfordBoeing);
    Ok((loaded.matrix, loaded.header))
}

fn matrix(rows: usize, columns: usize, entries: &[(u32, u32, f64)]) -> Csr<f64> {
    let row_indices: Vec<_> = entries.iter().map(|entry| entry.0).collect();
    let column_indices: Vec<_> = entries.iter().map(|entry| entry.1).collect();
    let values: Vec<_> = entries.iter().map(|entry| entry.2).collect();
    Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values).unwrap()
}

#[test]
fn the_same_matrix_in_many_ways() {
    let expected = matrix(3, 3, &[(0, 0, 1.5), (0, 2, 4e-10), (1, 1, -2.5), (2, 1, 3.0)]);
    let plain = file("rua", [3, 3, 4], FORMATS, BODY);
    // Adjacent numbers without blanks, several lines per array, other letters.
    let narrow =
        file("RRA", [3, 3, 4], ["(3I1)", "(4I1)", "(2D8.1)"], "124\n5\n1231\n  1.5E+0  -2.5E0\n   3.0D04.00D-10\n");
    let scaled = file(
        "rua",
        [3, 3, 4],
        ["(4I3)", "(4I3)", "(1P,4F6.1)"],
        "  1  2  4  5\n  1  2  3  1\n   150 -25.0   300 4E-10\n",
    );
    // (1P: a number without an exponent was multiplied by ten.)
    let scaled = scaled.replace(" 4E-10", "40E-10");
    // A Harwell-Boeing file with right-hand sides.
    let line = format!("{:14}{:14}{:14}{:14}\n", 3, 1, 1, 1);
    let older = plain.replace(&line, &format!("{:14}{:14}{:14}{:14}{:14}\n", 4, 1, 1, 1, 1));
    let older =
        older.replace("(3E9.2)", "(3E9.2)             (3E9.2)").replace(BODY, &format!("F{:27}\n{BODY} 1.0\n", 1));
    for text in [plain.clone(), narrow, scaled, older] {
        let windows = text.replace('\n', "\r\n");
        for text in [&text, &windows, text.trim_end()] {
            let (found, header) = parsed(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_same(&found, &expected);
            assert_eq!((header.field, header.symmetry, header.entries), (Field::Real, Symmetry::General, 4));
        }
    }
    let folder = Folder::new();
    let path = folder.file("m.rb", &plain);
    assert_same(&read_rutherford_boeing::<f64>(&path, &ReadOptions::default()).unwrap(), &expected);
    assert_same(&read_rutherford_boeing::<f32>(&path, &ReadOptions::default()).unwrap(), &expected.cast().unwrap());
}

#[test]
fn the_types() {
    let columns = "  1  2  3  3\n  2  3\n";
    for (kind, body, values, field, symmetry) in [
        ("pua", "", [1.0, 1.0], Field::Pattern, Symmetry::General),
        ("psa", "", [1.0, 1.0], Field::Pattern, Symmetry::Symmetric),
        ("isa", " -7 12\n", [-7.0, 12.0], Field::Integer, Symmetry::Symmetric),
        ("Rza", "2.5-3.", [2.5, -3.0], Field::Real, Symmetry::SkewSymmetric),
    ] {
        let format = if kind == "isa" { "(2I3)" } else { "(2F3.1)" };
        let text = file(kind, [3, 3, 2], ["(4I3)", "(4I3)", format], &format!("{columns}{body}"));
        let mut entries = vec![(1, 0, values[0]), (2, 1, values[1])];
        match symmetry {
            Symmetry::General | Symmetry::Hermitian => {}
            Symmetry::Symmetric => entries.extend([(0, 1, values[0]), (1, 2, values[1])]),
            Symmetry::SkewSymmetric => entries.extend([(0, 1, -values[0]), (1, 2, -values[1])]),
        }
        let (found, header) = parsed(&text).unwrap();
        assert_same(&found, &matrix(3, 3, &entries));
        assert_eq!((header.field, header.symmetry, header.entries), (field, symmetry, 2), "{kind}");
    }
}

#[test]
fn complex_values() {
    let parsed = |text: &str| parse::<Complex<f64>>(text.as_bytes(), "t.rb", &ReadOptions::default());
    let columns = "  1  2  3  3\n  2  3\n";
    let (first, second) = (Complex::new(2.5, -1.0), Complex::new(-3.0, 4.0));
    // Three fields per line: the second value begins on one line and ends on the next.
    let body = " 2.5-1.0-3.0\n 4.0\n";
    for (kind, symmetry, across) in [
        ("cua", Symmetry::General, None),
        ("CRA", Symmetry::General, None),
        ("csa", Symmetry::Symmetric, Some([first, second])),
        ("cza", Symmetry::SkewSymmetric, Some([-first, -second])),
        ("cha", Symmetry::Hermitian, Some([first.conj(), second.conj()])),
    ] {
        let loaded =
            parsed(&file(kind, [3, 3, 2], ["(4I3)", "(4I3)", "(3F4.1)"], &format!("{columns}{body}"))).unwrap();
        let (mut rows, mut columns, mut values) = (vec![1, 2], vec![0, 1], vec![first, second]);
        if let Some(across) = across {
            rows.extend([0, 1]);
            columns.extend([1, 2]);
            values.extend(across);
        }
        assert!(loaded.matrix == Csr::try_from_triplets(3, 3, &rows, &columns, &values).unwrap(), "{kind}");
        assert_eq!((loaded.header.field, loaded.header.symmetry), (Field::Complex, symmetry), "{kind}");
    }
    // A complex type accepts real files.
    let real = parsed(&file("rsa", [1, 1, 1], ["(4I3)", "(4I3)", "(3F4.1)"], "  1  2\n  1\n 2.5\n")).unwrap();
    assert_eq!(*real.matrix.values(), [Complex::new(2.5, 0.0)]);
    assert_eq!(real.header.field, Field::Real);
    let refused = |text: &str, expected: &str| assert_eq!(parsed(text).unwrap_err().to_string(), expected);
    let sizes = [2, 2, 1];
    let formats = ["(4I3)", "(4I3)", "(2F4.1)"];
    let diagonal = |im: &str| file("cha", sizes, formats, &format!("  1  2  2\n  1\n 2.5{im:>4}\n"));
    assert_eq!(parsed(&diagonal("-0.0")).unwrap().matrix.values().len(), 1);
    refused(&diagonal("1.0"), "t.rb:7: value 1 of the diagonal is not real, in a hermitian matrix");
    let body = |values: &str| file("cua", sizes, formats, &format!("  1  2  2\n  1\n{values}"));
    refused(&body(" 2.5\n"), "t.rb:7: the line has 1 of 2 parts of values: columns 5 to 8 are blank");
    refused(&body("2\n"), "t.rb:7: the line has 1 of 2 parts of values: columns 5 to 8 are blank");
    refused(&body(" 2.5 1.x\n"), "t.rb:7: expected a real number in the range of complex128, found '1.x'");
    refused(&body(""), "t.rb:6: 2 parts of values announced, more than the 0 bytes left can hold");
    refused(&file("cha", [2, 3, 1], formats, ""), "t.rb:3: a hermitian matrix is square, but this one is 2 x 3");
}

#[test]
fn small_and_empty_matrices() {
    let empty = file("rua", [0, 0, 0], FORMATS, "  1\n");
    assert_same(&parsed(&empty).unwrap().0, &matrix(0, 0, &[]));
    let wide = file("rra", [2, 5, 0], FORMATS, "  1  1  1  1\n  1  1\n");
    assert_same(&parsed(&wide).unwrap().0, &matrix(2, 5, &[]));
    let twice = file("rua", [1, 1, 2], FORMATS, "  1  3\n  1  1\n     1.25     2.50\n");
    assert_same(&parsed(&twice).unwrap().0, &matrix(1, 1, &[(0, 0, 3.75)]));
}

#[track_caller]
fn refused(text: &str, line: u64, phrase: &str) {
    let error = parsed(text).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with(&format!("t.rb:{line}: ")) && message.contains(phrase), "{message}\n{text}");
    assert!(!message.contains(char::is_control) && message.len() < 300, "{message:?}");
}

#[test]
fn headers_that_are_wrong() {
    let sizes = [3, 3, 4];
    for (kind, says) in [
        ("cua", "the values are complex, expected real ones"),
        ("cha", "the values are complex, expected real ones"),
        ("rha", "only a complex matrix can be hermitian"),
        ("rue", "elements that are not assembled"),
        ("qua", "values in a file of their own"),
        ("pza", "a pattern has no signs"),
    ] {
        refused(&file(kind, sizes, FORMATS, BODY), 3, says);
    }
    refused(&file("rua", [1 << 40, 3, 4], FORMATS, BODY), 3, "1099511627776 rows are more than");
    refused(&file("rua", [3, 1 << 30, 4], FORMATS, BODY), 3, "1073741824 columns in a file of");
    refused(&file("rsa", [3, 4, 4], FORMATS, BODY), 3, "but this one is 3 x 4");
    refused(&file("rua", sizes, ["(4X3)", "(4I3)", "(3E9.2)"], BODY), 4, "unknown Fortran format '(4X3)'");
    refused(&file("rua", sizes, ["(4I3)", "(4I3)", ""], BODY), 4, "unknown Fortran format ''");
    let good = file("rua", sizes, FORMATS, BODY);
    refused(&good.replacen("             4", "            -4", 1), 3, "columns 43 to 56, found '-4'");
}

#[test]
fn bodies_that_are_wrong() {
    let with = |body: &str| file("rua", [3, 3, 4], FORMATS, body);
    for (body, line, says) in [
        ("", 4, "announced, more than the 0 bytes left can hold"),
        ("  2  2  4  5\n", 5, "the first column begins at '2', expected 1"),
        ("  1  2  1  5\n", 5, "expected a column pointer from 2 to 5, found '1'"),
        ("  1  2  9  5\n", 5, "expected a column pointer from 2 to 5, found '9'"),
        ("  1  2  x  5\n", 5, "found 'x'"),
        ("  1  21 2  5\n", 5, "found '1 2'"),
        ("  1  2  4\n5   \n", 5, "the line has 3 of 4 column pointers: columns 10 to 12 are blank"),
        ("  1  2  4  4\n  1  2  3  1\n", 5, "the last column ends before entry 4, expected 5"),
        ("  1  2  4  5\n", 5, "announced, more than the 0 bytes left"),
        ("  1  2  4  5\n  1  2  4  1\n", 6, "expected a row index from 1 to 3, found '4'"),
        ("  1  2  4  5\n  1  2  0  1\n", 6, "expected a row index from 1 to 3, found '0'"),
        ("  1  2  4  5\n  1  2  3\n 1\n", 6, "the line has 3 of 4 row indices: columns 10 to 12 are blank"),
        ("  1  2  4  5\n  1  2  3  1\n 1.50E+00-2.50D+00     3.00\n", 7, "the file ends after 3 of 4 values"),
        ("  1  2  4  5\n  1  2  3  1\n 1.50E+00 2.50x+00     3.00\n", 7, "found '2.50x+00'"),
        ("  1  2  4  5\n  1  2  3  1\n 1.50E+00-1.0D+999     3.00\n", 7, "in the range of float64, found '-1.0D+999'"),
        ("  1  2  4  5\n  1  2  3  1\n 1.50E+00\n  3.00\n  4.00\n", 7, "the line has 1 of 3 values"),
    ] {
        refused(&with(body), line, says);
    }
    let above = "  1  1  2  3\n  1  3\n     1.50     2.50\n";
    refused(&file("rsa", [3, 3, 2], FORMATS, above), 7, "row 1 and column 2 is not in the half that a symmetric");
    let diagonal = "  1  2  2  2\n  1\n     1.50\n";
    refused(&file("rza", [3, 3, 1], FORMATS, diagonal), 7, "row 1 and column 1 is not in the half that a skew-");
    refused(&file("iua", [3, 3, 1], ["(4I3)", "(4I3)", "(4I3)"], "  1  2  2  2\n  1\n1.5\n"), 7, "found '1.5'");
    let many = file("rua", [3, 3, 99_999_999_999], ["(4I3)", "(4I3)", "(3E9.2)"], "  1  2  4  5\n");
    refused(&many, 5, "the last column ends before entry 5");
}

/// Any truncated file is an error, and so is any missing line.
#[test]
fn truncated_files() {
    let text = file("rua", [3, 3, 4], FORMATS, BODY);
    let end = text.trim_end().len() - " 4.00-010".len();
    for length in 0..end {
        let error = parse::<f64>(&text.as_bytes()[..length], "t.rb", &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("t.rb:"), "{error}");
    }
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    for missing in 1..lines.len() {
        let text: String =
            lines.iter().enumerate().filter(|&(line, _)| line != missing).map(|(_, line)| *line).collect();
        common::check_error(
            &parse::<f64>(text.as_bytes(), "t.rb", &ReadOptions::default()).unwrap_err(),
            Path::new("t.rb"),
            "",
        );
    }
}
