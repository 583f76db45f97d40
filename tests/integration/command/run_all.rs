//! `warp-spmv run --format all`.

use serde_json::Value;
use warp_spmv::Format;

use crate::command::{Folder, SMALL, spmv};

fn names() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

#[test]
fn a_json_record_of_every_format() {
    for executor in ["cpu", "emulated"] {
        let arguments =
            ["run", "stencil:7:6x5x4", "--format", "all", "--executor", executor, "--repeat", "4", "--json"];
        let record = spmv(arguments).record();
        assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!((&record["matrix"]["rows"], &record["precision"]), (&120.into(), &"float64".into()));
        assert_eq!((&record["executor"], &record["source"]), (&executor.into(), &"generate".into()));
        assert!(record["load"].as_f64().unwrap() > 0.0 && record["environment"]["threads"].as_u64().unwrap() > 0);
        let nonzeros = record["matrix"]["nonzeros"].as_u64().unwrap();
        let rows = record["formats"].as_array().unwrap();
        let mut found: Vec<_> = rows.iter().map(|row| row["format"].as_str().unwrap()).collect();
        let median = |row: &Value| row["result"]["multiply"]["median"].as_f64().unwrap();
        assert!(rows.is_sorted_by(|left, right| median(left) <= median(right)));
        let csr = rows.iter().find(|row| row["format"] == "csr-vector").unwrap();
        for row in rows {
            let result = &row["result"];
            let number = |name: &str| result[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"));
            let near = |name: &str, expected: f64| {
                assert!((number(name) - expected).abs() <= 1e-9 * expected.abs(), "{name} of {row}");
            };
            assert!(row["error"].is_null() && result["verification"]["passed"] == true, "{row}");
            assert_eq!(result["multiply"]["repeats"], 4);
            let [low, high] =
                ["lower_quartile", "upper_quartile"].map(|name| result["multiply"][name].as_f64().unwrap());
            assert!(low <= median(row) && median(row) <= high);
            near("gflops", 2.0 * nonzeros as f64 / median(row) / 1e9);
            near("gbps", number("bytes_needed") / median(row) / 1e9);
            near("convert_in_multiplications", number("convert") / median(csr));
            // Two entries can share one slot.
            let least = if row["format"] == "clustered-symmetric" { 0.5 } else { 1.0 };
            assert!(number("fill") >= least);
        }
        assert_eq!(csr["result"]["bytes"], nonzeros * 12 + 4 * 121);
        assert_eq!(csr["result"]["bytes_needed"], nonzeros * 12 + 4 * 121 + 8 * 240);
        let automatic = rows.iter().find(|row| row["format"] == "csr-automatic").unwrap();
        assert_eq!((&automatic["result"]["resolved"], &automatic["storage"]), (&"csr-scalar".into(), &"CSR".into()));
        // Formats that share their storage were converted together.
        let conversions = |storage: &str| {
            let same = rows.iter().filter(|row| row["storage"] == storage);
            same.map(|row| row["result"]["convert"].as_f64().unwrap().to_bits()).collect::<Vec<_>>()
        };
        for (storage, formats) in [("CSR", 12), ("ELL", 2), ("COO", 3), ("DIA", 1)] {
            let conversions = conversions(storage);
            assert!(conversions.len() == formats && conversions.iter().all(|&time| time == conversions[0]));
        }
        found.sort_unstable();
        let mut expected = names();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn the_table_for_people() {
    let table = spmv(["run", "stencil:5:9", "--format", "all", "--executor", "cpu"]).succeeded();
    assert!(table.contains("multiply      median of 50, and quartiles; converting in multiplications in csr-vector\n"));
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    let rows: Vec<_> = table.lines().skip_while(|line| !line.starts_with("format ")).skip(1).collect();
    assert_eq!(rows.len(), Format::ALL.len());
    for name in names() {
        assert_eq!(rows.iter().filter(|row| row.starts_with(&format!("{name} "))).count(), 1, "{name}");
    }
    let emulated = spmv(["run", "stencil:5:3", "--format", "all", "--executor", "emulated"]).succeeded();
    assert!(emulated.contains(", whose times say nothing about a GPU\n"), "{emulated}");
}

/// A format that does not apply to a matrix is listed last with the reason, and does not stop the others.
#[test]
fn formats_that_do_not_apply() {
    let folder = Folder::new();
    let entries: String = (1..=3000).map(|column| format!("1 {column} 1\n")).collect();
    let sizes = "3000 3000 3000\n";
    let path = folder.file("wide.mtx", format!("%%MatrixMarket matrix coordinate real general\n{sizes}{entries}"));
    let record = spmv(["run", &path, "--format", "all", "--executor", "cpu", "--repeat", "1", "--json"]).record();
    let rows = record["formats"].as_array().unwrap();
    assert_eq!(rows.len(), Format::ALL.len());
    let refused: Vec<_> = rows.iter().filter(|row| row["result"].is_null()).collect();
    for name in ["ell", "ell-subwarp", "dia"] {
        let row = refused.iter().find(|row| row["format"] == name).unwrap_or_else(|| panic!("{name} was not refused"));
        assert!(row["error"].as_str().unwrap().contains(" would take "), "{row}");
    }
    let first = rows.iter().position(|row| row["result"].is_null()).unwrap();
    assert!(rows[first..].iter().all(|row| row["result"].is_null()));
    let table = spmv(["run", &path, "--format", "all", "--executor", "cpu", "--repeat", "1"]).succeeded();
    assert!(table.lines().any(|line| line.starts_with("dia ") && line.contains(" DIA would take ")), "{table}");
}

#[test]
fn stored_arrays_and_operands_are_used() {
    let folder = Folder::new();
    let (text, stored) = (folder.file("m.mtx", SMALL), folder.path("m.wspmv"));
    let stored = stored.to_str().unwrap();
    let x = folder.file("x.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    spmv(["convert", &text, stored, "--format", "ell"]).succeeded();
    let arguments = ["--format", "all", "--executor", "cpu", "--beta", "2", "--alpha", "-1", "--x", &x, "--json"];
    let record = spmv(["run", stored].into_iter().chain(arguments)).record();
    for row in record["formats"].as_array().unwrap() {
        assert_eq!(row["result"]["verification"]["passed"], true, "{row}");
        if row["storage"] == "ELL" {
            assert_eq!(row["result"]["convert"], 0.0);
        }
    }
    assert_eq!((&record["alpha"], &record["beta"]), (&(-1.0).into(), &2.0.into()));
}

#[test]
fn matrices_without_entries_rows_or_columns() {
    let folder = Folder::new();
    for sizes in ["0 0 0", "0 5 0", "5 0 0", "3 4 0"] {
        let matrix = folder.file("empty.mtx", format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n"));
        for executor in ["cpu", "emulated"] {
            let arguments = ["run", &matrix, "--format", "all", "--executor", executor, "--repeat", "1", "--json"];
            let record = spmv(arguments).record();
            let passed = |row: &Value| row["result"]["verification"]["passed"] == true;
            assert!(record["formats"].as_array().unwrap().iter().all(passed), "{sizes}");
        }
    }
}

#[test]
fn one_output_for_all_is_refused() {
    let message = spmv(["run", "stencil:5:3", "--format", "all", "--output", "y.mtx"]).refused();
    assert_eq!(message, "--output takes the y of one format, not of --format all");
}
