//! `run` and `solve` on several ranks that are threads; `scripts/mpi-tests.sh` tests ranks that are processes.

use serde_json::Value;
use warp_spmv::Csr;
use warp_spmv::io::{MatrixMarketOptions, read_vector, write_matrix_market};
use warp_spmv::synthetic::{Generator, reorder};

use super::{Folder, Outcome, SMALL, spmv};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns the sum of a field over the parts of all ranks.
fn sum(record: &Value, field: &str) -> u64 {
    record["parts"].as_array().unwrap().iter().map(|part| part[field].as_u64().unwrap()).sum()
}

#[test]
fn products_are_those_of_one_rank() {
    let folder = Folder::new();
    let [alone, together] = ["alone.mtx", "together.mtx"].map(|name| folder.name(name));
    for (matrix, precision, tolerance, of_matrix) in [
        ("stencil:5:13x9", "float64", 1e-14, &[][..]),
        ("rectangle:rows=50,columns=90,per-row=4", "float64", 1e-14, &[]),
        ("rectangle:rows=90,columns=3,per-row=2", "float32", 1e-5, &[]),
        ("helmholtz:grid=7x6", "complex128", 1e-14, &[]),
        ("rectangle:rows=50,columns=90,per-row=4", "float64", 1e-14, &["--transposed"]),
        ("rmat:scale=6", "float32", 1e-5, &["--transposed"]),
    ] {
        let common = ["run", matrix, "--precision", precision, "--alpha", "-2", "--beta", "0.5", "--repeat", "2"];
        let arguments = |more: &[&str]| -> Vec<String> {
            common.iter().chain(of_matrix).chain(more).map(|&text| text.into()).collect()
        };
        spmv(arguments(&["--executor", "reference", "--output", &alone])).succeeded();
        for (ranks, executor) in [("1", "cpu"), ("2", "cpu"), ("3", "emulated"), ("7", "reference"), ("200", "cpu")] {
            let more = ["--ranks", ranks, "--executor", executor, "--output", &together, "--json"];
            let record = spmv(arguments(&more)).record();
            assert_eq!(
                (&record["ranks"], &record["processes"]),
                (&ranks.parse::<u64>().unwrap().into(), &false.into())
            );
            assert_eq!(record["parts"].as_array().unwrap().len().to_string(), ranks);
            assert_eq!(record["verification"]["passed"], true, "{record}");
            assert!(number(&record["verification"]["relative_error"]) < tolerance, "{record}");
            assert_eq!(
                [sum(&record, "rows"), sum(&record, "nonzeros")],
                ["rows", "nonzeros"].map(|of| record["matrix"][of].as_u64().unwrap())
            );
            assert_eq!(sum(&record, "halo") > 0, ranks != "1", "{record}");
            assert_eq!((&record["executor"], &record["output"]), (&executor.into(), &(&*together).into()));
            if precision == "complex128" {
                continue;
            }
            let [alone, together] = [&alone, &together].map(|file| read_vector::<f64>(file, None).unwrap());
            let off = alone.iter().zip(&together).map(|(alone, together)| (alone - together).abs()).fold(0.0, f64::max);
            assert!(alone.len() == together.len() && off <= 100.0 * tolerance, "{matrix}, {ranks} ranks: {off}");
        }
    }
}

#[test]
fn the_report_for_people_and_the_formats() {
    let folder = Folder::new();
    let file = folder.file("m.mtx", SMALL);
    let report = spmv(["run", &file, "--ranks", "2", "--format", "sell-p", "--executor", "cpu"]).succeeded();
    for line in ["ranks         2 threads, float64, ", "multiply ", "verification  passed", "\nrank              rows "]
    {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    let tables: Vec<_> = report.lines().filter(|line| line.contains("  sell-p")).collect();
    assert!(tables.len() == 2 && tables[0].starts_with("0 ") && tables[1].starts_with("1 "), "{report}");
}

#[test]
fn by_which_way_elements_go_and_when() {
    let common = ["run", "stencil:7:12", "--executor", "cpu", "--ranks"];
    let with = |more: &[&str]| spmv(common.iter().chain(more));
    let record = with(&["3", "--json"]).record();
    let exchange = record["exchange"].as_str().unwrap();
    assert!(exchange.starts_with("through the host: ") && record["timeline"].is_null(), "{record}");
    let record = with(&["3", "--exchange", "host", "--timeline", "--json"]).record();
    assert_eq!(record["exchange"], "through the host: it was requested");
    let timelines = record["timeline"].as_array().unwrap();
    assert_eq!(timelines.len(), 3);
    for (rank, steps) in timelines.iter().enumerate() {
        assert_eq!(steps["rank"], rank);
        let [pack, exchange, local, remote] =
            ["pack", "exchange", "local", "remote"].map(|step| [0, 1].map(|end| number(&steps[step][end])));
        let order = [0.0, pack[0], pack[1], exchange[0], local[0], local[1], exchange[1], remote[0], remote[1]];
        assert!(order.is_sorted(), "{steps}");
    }
    let text = with(&["1", "--timeline"]).succeeded();
    assert!(text.contains("exchange      through the host: there is one rank\n"), "{text}");
    assert!(text.contains("\nmicroseconds ") && text.ends_with(" none               none\n"), "{text}");
    let arguments = ["solve", "stencil:5:9", "--ranks", "2", "--executor", "cpu", "--exchange", "host"];
    let text = spmv(arguments).succeeded();
    assert!(text.contains("exchange      through the host: it was requested\n"), "{text}");
}

#[test]
fn solutions_are_those_of_one_rank() {
    let folder = Folder::new();
    let [alone, together] = ["alone.mtx", "together.mtx"].map(|name| folder.name(name));
    for (method, more) in [
        ("cg", &[][..]),
        ("pipelined-cg", &["--precision", "float64"]),
        ("cg", &["--preconditioner", "ic0"]),
        ("gmres", &["--preconditioner", "block-jacobi-4"]),
        ("chebyshev", &[]),
    ] {
        let common = ["solve", "stencil:7:6x5x7", "--seed", "3", "--tolerance", "1e-11", "--method", method];
        let arguments =
            |last: &[&str]| -> Vec<String> { common.iter().chain(more).chain(last).map(|&text| text.into()).collect() };
        spmv(arguments(&["--executor", "reference", "--out", &alone])).succeeded();
        for (ranks, executor) in [("1", "reference"), ("4", "cpu"), ("2", "emulated")] {
            let last = ["--ranks", ranks, "--executor", executor, "--out", &together, "--json"];
            let record = spmv(arguments(&last)).record();
            assert_eq!((&record["converged"], &record["method"]), (&true.into(), &method.into()), "{record}");
            assert_eq!(record["residual"]["verification"]["passed"], true, "{record}");
            let tolerance = number(&record["tolerance"]["norm"]);
            assert!(
                number(&record["residual"]["exact"]) <= 1.1 * tolerance && number(&record["error"]) < 1e-9,
                "{record}"
            );
            assert_eq!(record["history"].as_array().unwrap().len() as u64, record["iterations"].as_u64().unwrap() + 1);
            let [alone, together] = [&alone, &together].map(|file| read_vector::<f64>(file, None).unwrap());
            assert!(
                alone.len() == 210
                    && alone.iter().zip(&together).all(|(alone, together)| (alone - together).abs() < 1e-8)
            );
            let again = spmv(arguments(&last)).record();
            assert_eq!(again["history"], record["history"]);
        }
    }
}

/// Writes the matrix of a grid whose vertices are numbered at random, and returns its path.
fn numbered_at_random(folder: &Folder) -> String {
    let grid: Csr<f64> = "stencil:5:24x15".parse::<Generator>().unwrap().generate().unwrap();
    let shuffled = reorder::shuffle(grid.rows(), 1).unwrap().apply_symmetric(&grid).unwrap();
    let file = folder.name("random.mtx");
    write_matrix_market(&file, &shuffled, MatrixMarketOptions::default()).unwrap();
    file
}

#[test]
fn rows_in_another_order_give_the_same_products_and_solutions() {
    let folder = Folder::new();
    let [alone, together] = ["alone.mtx", "together.mtx"].map(|name| folder.name(name));
    let matrix = numbered_at_random(&folder);
    let run = ["run", &*matrix, "--alpha", "-2", "--beta", "0.5", "--repeat", "2"];
    let solve = ["solve", &*matrix, "--seed", "3", "--tolerance", "1e-11", "--preconditioner", "ic0"];
    for (common, written) in [(&run[..], "--output"), (&solve, "--out")] {
        let with = |file: &str, more: &[&str]| spmv(common.iter().chain(&[written, file]).chain(more));
        with(&alone, &["--executor", "reference"]).succeeded();
        // Vectors from files are in the order of the matrix, too.
        let vectors: &[&str] = if common[0] == "run" { &["--x", &alone] } else { &["--rhs", &alone] };
        let common: Vec<_> = common.iter().filter(|text| !["--seed", "3"].contains(text)).copied().collect();
        let of_file = |more: &[&str]| spmv(common.iter().chain(vectors).chain(&[written, &*together]).chain(more));
        let orders = if cfg!(feature = "metis") { &["rcm", "metis"][..] } else { &["rcm"] };
        for (ranks, &order) in ["1", "2", "7"].iter().flat_map(|&ranks| orders.iter().map(move |order| (ranks, order)))
        {
            let last = ["--ranks", ranks, "--executor", "cpu", "--partition", order, "--json"];
            let record = with(&together, &last).record();
            assert_eq!(sum(&record, "rows"), 360);
            let verification =
                if run[0] == common[0] { &record["verification"] } else { &record["residual"]["verification"] };
            assert_eq!(verification["passed"], true, "{record}");
            let partition = &record["partition"];
            let [volume, as_given] = ["volume", "volume_as_given"].map(|field| partition[field].as_u64().unwrap());
            assert_eq!((&partition["name"], volume), (&order.into(), sum(&record, "halo")));
            assert!(number(&partition["time"]) > 0.0, "{record}");
            assert!(2 * volume < as_given || ranks == "1" && as_given == 0, "{record}");
            let vectors = [&alone, &together].map(|file| read_vector::<f64>(file, None).unwrap());
            let off =
                vectors[0].iter().zip(&vectors[1]).map(|(alone, other)| (alone - other).abs()).fold(0.0, f64::max);
            assert!(vectors[1].len() == 360 && off < 1e-8, "{ranks} ranks: {off}");

            let [expected, found] = [&["--executor", "reference"][..], &last].map(|more| {
                of_file(more).succeeded();
                read_vector::<f64>(&together, None).unwrap()
            });
            let off = expected.iter().zip(&found).map(|(alone, other)| (alone - other).abs()).fold(0.0, f64::max);
            assert!(off < 1e-7, "{ranks} ranks, vectors of a file: {off}");
        }
        let record = with(&together, &["--ranks", "3", "--executor", "cpu", "--json"]).record();
        let (partition, halo) = (&record["partition"], sum(&record, "halo"));
        assert_eq!((&partition["name"], &partition["time"]), (&"rows".into(), &Value::Null));
        assert_eq!([&partition["volume"], &partition["volume_as_given"]].map(Value::as_u64), [Some(halo); 2]);
        let text = with(&together, &["--ranks", "2", "--executor", "cpu", "--partition", "rcm"]).succeeded();
        assert!(text.contains("\npartition     rcm, ") && text.contains(" elements exchanged, "), "{text}");
    }
}

#[test]
fn vectors_come_from_files() {
    let folder = Folder::new();
    let matrix = folder.file("m.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 2\n2 2 4\n3 3 5\n");
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n2\n8\n15\n");
    let (out, plot) = (folder.name("x.mtx"), folder.name("r.svg"));
    let files = ["--rhs", &*b, "--start", &*b, "--out", &*out, "--plot", &*plot];
    let arguments = ["solve", &*matrix, "--ranks", "2", "--executor", "cpu", "--tolerance", "1e-13"];
    let text = spmv(arguments.iter().chain(&files)).succeeded();
    assert!(text.contains("outcome       converged after ") && !text.contains("error of x"), "{text}");
    let x = read_vector::<f64>(&out, None).unwrap();
    assert!(x.iter().zip([1.0, 2.0, 3.0]).all(|(x, expected)| (x - expected).abs() < 1e-10), "{x:?}");
    assert!(std::fs::read_to_string(&plot).unwrap().contains("<svg"));
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let wide = folder.file("wide.mtx", SMALL);
    let bad = folder.file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 4\n9 2 3\n");
    for (arguments, says) in [
        (&["run", "stencil:5:9", "--ranks", "0"][..], "'0' for '--ranks <N>'"),
        (&["run", "stencil:5:9", "--ranks", "2", "--format", "all"], "--format all does not go with several ranks"),
        (&["run", "stencil:5:9", "--ranks", "2", "--measure", "2"], "--measure does not go with several ranks"),
        (&["solve", "stencil:5:9", "--ranks", "2", "--time"], "--time does not go with several ranks"),
        (&["run", "stencil:5:9", "--gpus", "0"], "'0' for '--gpus <N>'"),
        (&["run", "stencil:5:9", "--gpus", "2", "--ranks", "2"], "'--gpus <N>' cannot be used with '--ranks <N>'"),
        (&["run", "stencil:5:9", "--gpus", "2", "--executor", "cpu"], "--gpus does not go with --executor cpu"),
        // More than any machine has: the message gives their number, or why there are none.
        (
            &["solve", "stencil:5:9", "--gpus", "10000"],
            "--gpus is 10000, but there are only |executor cuda is not available: ",
        ),
        (&["run", "stencil:5:9", "--exchange", "host"], "--exchange requires several ranks"),
        (&["pagerank", "rmat:scale=4", "--exchange", "host"], "--exchange requires several ranks"),
        (&["pagerank", "rmat:scale=4", "--gpus", "2", "--executor", "cpu"], "--gpus does not go with --executor cpu"),
        (
            &["pagerank", "rmat:scale=4", "--unweighted", "--ranks", "2", "--executor", "cpu", "--exchange", "mpi"],
            ": exchange by mpi: ",
        ),
        (&["run", "stencil:5:9", "--timeline"], "--timeline requires several ranks"),
        (&["solve", "stencil:5:9", "--partition", "rcm"], "--partition requires several ranks"),
        (&["run", "stencil:5:9", "--ranks", "2", "--partition", "best"], "'best' for '--partition <ORDER>'"),
        (
            &["run", &wide, "--ranks", "2", "--executor", "cpu", "--partition", "rcm"],
            "wide.mtx: 2 rows and 3 columns, expected a square matrix for --partition rcm",
        ),
        (&["run", "stencil:5:9", "--ranks", "2", "--exchange", "fast"], "'fast' for '--exchange <WAY>'"),
        (&["run", "stencil:5:9", "--ranks", "2", "--executor", "cpu", "--exchange", "nccl"], ": exchange by nccl: "),
        (
            &["solve", "stencil:5:9", "--ranks", "3", "--executor", "cpu", "--exchange", "peer-copies"],
            ": exchange by peer-copies: ",
        ),
        (&["run", "missing.mtx", "--ranks", "2"], "missing.mtx: "),
        (&["run", "stencil:4:9", "--ranks", "2"], "stencil: "),
        (&["run", &bad, "--ranks", "2"], "bad.mtx:4: "),
        (
            &["solve", &wide, "--ranks", "2", "--executor", "cpu"],
            "wide.mtx: 2 rows and 3 columns, expected a square matrix",
        ),
        (&["solve", "stencil:5:9", "--ranks", "2", "--executor", "cpu", "--rhs", &wide], "rank "),
        (&["run", "uniform:rows=3000,per-row=2", "--ranks", "2", "--executor", "cpu", "--format", "dia"], "rank "),
    ] {
        let message = spmv(arguments).refused();
        assert!(says.split('|').any(|says| message.contains(says)), "{arguments:?}: {message}");
    }
    assert_eq!(folder.names(), ["bad.mtx", "wide.mtx"]);
}

#[test]
fn a_method_that_does_not_converge() {
    let arguments = ["solve", "stencil:5:30", "--ranks", "3", "--iterations", "4", "--executor", "cpu", "--json"];
    let Outcome { code, stdout, stderr, .. } = spmv(arguments);
    assert_eq!((code, &*stderr), (Some(3), "warp-spmv: error: not converged: iteration limit, after 4 iterations\n"));
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["iterations"], 4);
}

/// Imitates a process started by `mpirun`, as far as a program can tell without MPI.
#[cfg(not(feature = "mpi"))]
#[test]
fn processes_need_a_program_with_mpi() {
    let as_rank = |rank: &str, arguments: &[&str]| -> Outcome {
        let mut command = super::command(arguments);
        command.env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", rank);
        command.output().unwrap().into()
    };
    for (arguments, says) in [
        (&["run", "stencil:5:9"][..], "this program was built without the feature `mpi`"),
        (&["info", "rmat:scale=4"], "mpirun has started 2 processes, but this subcommand does not support several"),
        (&["pagerank", "rmat:scale=4"], "this program was built without the feature `mpi`"),
    ] {
        assert!(as_rank("0", arguments).refused().contains(says));
        // The first rank reports for all.
        let Outcome { code, stdout, stderr, .. } = as_rank("1", arguments);
        assert_eq!((code, &*stdout, &*stderr), (Some(2), "", ""));
    }
}
