//! `warp-spmv info` on good input.

use crate::command::{Folder, SMALL, spmv};

#[test]
fn the_report_for_people() {
    let report = spmv(["info", "stencil:27:16"]).succeeded();
    let beginning = "\
matrix      stencil:27:16x16x16
shape       4,096 rows, 4,096 columns, 97,336 stored entries
density     5.802e-3
values      real, general
bandwidth   273 below the diagonal, 273 above

entries in a row
  minimum             8    mean               23.76
  median             27    deviation           4.77
  90 %               27    empty rows             0
  99 %               27    maximum               27

  entries   rows
     8-15    176  ###
    16-31  3,920  ##############################################################

storage                    float64     x CSR       float32     x CSR
CSR                       1.13 MiB      1.00    776.44 KiB      1.00
";
    assert!(report.starts_with(beginning), "{report}");
    assert!(report.contains("\nELL                       1.27 MiB      1.12    864.00 KiB      1.11\n"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
}

#[test]
fn only_the_smallest_of_each_kind_of_format_are_listed_unless_all_are_requested() {
    let [report, all] = [&[][..], &["--all"]]
        .map(|options: &[&str]| spmv(["info", "elasticity:width=4"].iter().chain(options).copied()).succeeded());
    let names = |report: &str, kind: &str| -> Vec<String> {
        let of_kind = report.lines().filter(|line| line.starts_with(kind));
        of_kind.map(|line| line.split("  ").next().unwrap().trim().to_owned()).collect()
    };
    assert_eq!(names(&report, "BCSR"), ["BCSR 2x3", "BCSR 3x2", "BCSR 3x3"]);
    assert_eq!(names(&all, "BCSR").len(), 11);
    let hidden = all.lines().count() - report.lines().count() + 1;
    assert!(report.contains(&format!("\n{hidden} larger variants: --all\n")), "{report}");
    assert!(!all.contains("--all"), "{all}");
    // Records are complete in any case.
    let record = spmv(["info", "elasticity:width=4", "--json"]).record();
    let formats = all.lines().skip_while(|line| !line.starts_with("storage")).skip(1);
    let formats = formats.take_while(|line| !line.starts_with(['-', '*'])).count();
    assert_eq!(record["storage"].as_array().unwrap().len(), formats);
}

#[test]
fn a_plot_shows_entries_and_row_lengths() {
    let folder = Folder::new();
    let (path, plot) = (folder.file("small.mtx", SMALL), folder.path("plot.svg"));
    let plot = plot.to_str().unwrap();
    let report = spmv(["info", &path, "--plot", plot]).succeeded();
    assert_eq!(report, spmv(["info", &path]).succeeded());
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("small.mtx") && svg.contains("Row lengths of") && svg.contains("density of a cell"), "{svg}");
    assert_eq!(folder.names(), ["plot.svg", "small.mtx"]);
    for (arguments, says) in [
        ([&*path, "--plot", &path], "is an input, so it cannot be written"),
        ([&path, "--plot", "nowhere/plot.svg"], "nowhere: No such file or directory"),
    ] {
        let outcome = spmv(["info"].iter().chain(&arguments).copied());
        assert!(outcome.code == Some(2) && outcome.stderr.contains(says), "{}", outcome.stderr);
    }
}

#[test]
fn a_json_record_has_every_field() {
    let folder = Folder::new();
    let path = folder.file("small.mtx", SMALL.replace("real", "integer").replace("0.5", "5"));
    let record = spmv(["info", &path, "--json"]).record();
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(record["matrix"]["name"], path);
    let [rows, columns, nonzeros] = ["rows", "columns", "nonzeros"].map(|size| &record["matrix"][size]);
    assert_eq!([rows, columns, nonzeros], [2, 3, 3]);
    assert_eq!(record["density"], 0.5);
    assert_eq!((&record["field"], &record["symmetry"]), (&"integer".into(), &"general".into()));
    assert_eq!([&record["bandwidth"]["below"], &record["bandwidth"]["above"]], [1, 1]);
    let lengths = &record["row_lengths"];
    let [minimum, median, maximum] = ["minimum", "median", "maximum"].map(|which| &lengths[which]);
    assert_eq!([minimum, median, maximum], [1, 1, 2]);
    assert_eq!([&lengths["mean"], &lengths["standard_deviation"]], [1.5, 0.5]);
    assert_eq!([&lengths["quantile_90"], &lengths["quantile_99"], &lengths["empty_rows"]], [2, 2, 0]);
    let last = &lengths["histogram"][2];
    assert_eq!([&last["from"], &last["to"], &last["rows"]], [2, 3, 1]);

    let csr = &record["storage"][0];
    assert_eq!((&csr["storage"], &csr["formats"][0]), (&"CSR".into(), &"csr-scalar".into()));
    assert_eq!([&csr["float64"]["bytes"], &csr["float32"]["bytes"]], [3 * 12 + 3 * 4, 3 * 8 + 3 * 4]);
    assert_eq!(csr["float64"]["times_csr"], 1.0);
}

#[test]
fn symmetric_files_are_completed() {
    let folder = Folder::new();
    let path = folder.file("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 1\n");
    let record = spmv(["info", &path, "--json"]).record();
    assert_eq!((&record["field"], &record["symmetry"]), (&"pattern".into(), &"symmetric".into()));
    assert_eq!(record["matrix"]["nonzeros"], 3);
    assert_eq!(record["row_lengths"]["empty_rows"], 1);
}

#[test]
fn matrices_without_rows() {
    let folder = Folder::new();
    let path = folder.file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n0 7 0\n");
    let record = spmv(["info", &path, "--json"]).record();
    assert!(record["density"].is_null() && record["row_lengths"]["mean"].is_null(), "{record}");
    assert!(spmv(["info", &path]).succeeded().contains("minimum             -"));
}

/// `run` refuses exactly the formats that `info` predicts to be refused.
#[test]
fn refusals_are_foretold() {
    let folder = Folder::new();
    let dense_row = |rows: usize| {
        let entries: String = (1..=1000).map(|column| format!("1 {column} 1\n")).collect();
        let sizes = format!("{rows} 1000 1000");
        folder.file(format!("{rows}.mtx"), format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n{entries}"))
    };
    // More than ten times the size of CSR, below and above the size from which that matters.
    for (matrix, ell_is_refused) in [
        ("stencil:5:20".into(), [false; 2]),
        (dense_row(60), [false; 2]),
        (dense_row(100), [true, false]),
        (dense_row(200), [true; 2]),
        // Rows too long for the shared memory of a block.
        ("dense:rows=2,columns=30000".into(), [true; 2]),
    ] {
        let record = spmv(["info", &matrix, "--json"]).record();
        let mut any_is_refused = false;
        for storage in record["storage"].as_array().unwrap() {
            for (precision, ell_is_refused) in ["float64", "float32"].into_iter().zip(ell_is_refused) {
                let refused = storage[precision]["refused"].as_bool().unwrap();
                any_is_refused |= refused;
                match storage["storage"].as_str().unwrap() {
                    "ELL" => assert_eq!(refused, ell_is_refused, "{matrix}: {storage}"),
                    // No padding, whatever the rows.
                    "CSR" | "COO" => assert!(!refused, "{matrix}: {storage}"),
                    _ => {}
                }
                let format = storage["formats"][0].as_str().unwrap();
                let arguments =
                    ["run", &matrix, "--executor", "reference", "--precision", precision, "--format", format, "--json"];
                if refused {
                    let message = spmv(arguments).refused();
                    let out_of_proportion = message.contains(" would take ") && message.contains("times the CSR");
                    let no_room =
                        message.contains("number of columns of a row, which must fit the shared memory of a block,");
                    assert!(
                        if storage[precision]["bytes"].is_null() { no_room } else { out_of_proportion },
                        "{message}"
                    );
                } else {
                    assert_eq!(spmv(arguments).record()["bytes"], storage[precision]["bytes"]);
                }
            }
        }
        assert_eq!(spmv(["info", &matrix]).succeeded().contains("* out of proportion"), any_is_refused);
    }
}

/// On a line, a rank needs one element of the previous rank and one of the next.
#[test]
fn ranks_and_what_they_exchange() {
    let record = spmv(["info", "stencil:3:100", "--ranks", "4", "--json"]).record();
    let division = &record["ranks"]["as_given"];
    let numbers = |name: &str| division[name].as_u64().unwrap();
    assert_eq!(["volume", "largest_halo", "most_neighbours", "remote_nnz"].map(numbers), [6, 2, 2, 6]);
    assert!((division["imbalance"].as_f64().unwrap() - 77.0 / 74.5).abs() < 1e-12);
    assert_eq!(record["ranks"]["reordered"]["volume"], 6);
    assert!(spmv(["info", "stencil:3:100", "--json"]).record()["ranks"].is_null());

    // A random numbering hides the structure from the order as given, but not from the other order.
    let record = spmv(["info", "elasticity:width=6", "--ranks", "3", "--json"]).record();
    let volume = |order: &str| record["ranks"][order]["volume"].as_u64().unwrap();
    assert!(volume("reordered") < volume("as_given") / 2);
    if cfg!(feature = "metis") {
        assert!(volume("metis") < volume("as_given") / 2);
        assert!(record["ranks"]["metis"]["imbalance"].as_f64().unwrap() < 1.1, "{record}");
        let text = spmv(["info", "elasticity:width=6", "--ranks", "3"]).succeeded();
        assert!(text.contains("\nMETIS "), "{text}");
    } else {
        assert!(record["ranks"]["metis"].is_null(), "{record}");
    }

    let text = spmv(["info", "uniform:rows=60,columns=40,per-row=2", "--ranks", "1"]).succeeded();
    let lines: Vec<_> = text.lines().rev().take(2).map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0], ["as", "given", "0", "0", "0", "0", "1.000"]);
    assert_eq!(lines[1][..3], ["on", "1", "rank"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The same results without the whole matrix.
    for matrix in ["elasticity:width=6", "uniform:rows=60,columns=40,per-row=2", "helmholtz:grid=5x6", "rmat:scale=7"] {
        for ranks in ["1", "5", "90"] {
            let precision = if matrix.starts_with('h') { "complex128" } else { "float64" };
            let arguments = ["info", matrix, "--ranks", ranks, "--json", "--precision", precision];
            let (whole, parts) = (spmv(arguments).record(), spmv(arguments.iter().chain(&["--only-ranks"])).record());
            assert_eq!(parts["ranks"]["as_given"], whole["ranks"]["as_given"], "{matrix}");
            assert_eq!(parts["matrix"], whole["matrix"]);
            assert!(parts["storage"].is_null() && parts["ranks"]["reordered"].is_null(), "{parts}");
        }
    }
    let text = spmv(["info", "stencil:3:100", "--ranks", "4", "--only-ranks"]).succeeded();
    assert!(
        text.starts_with("matrix      stencil:3:100\nshape       100 rows, ") && text.lines().count() == 5,
        "{text}"
    );
    let message = spmv(["info", "missing.mtx", "--ranks", "4", "--only-ranks"]).refused();
    assert_eq!(message, "--only-ranks takes a generator, not a file");
    let message = spmv(["info", "stencil:3:100", "--ranks", "0"]).refused();
    assert!(message.contains("0 is not in 1..=65536"), "{message}");
}
