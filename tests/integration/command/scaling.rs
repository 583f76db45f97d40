//! `warp-spmv scaling`: the same partitions as `info` and `run`, and times predicted for a machine.

use serde_json::Value;

use super::{Folder, SMALL, spmv};

/// A machine on which only bytes take time: a second per byte in memory, ten on a link, a hundred between hosts.
const SLOW: &str = r#"{"schema": 1, "name": "slow", "gpus_per_host": 2, "memory": 1e4, "copy": 1, "launch": 0,
    "link": {"latency": 0, "bandwidth": 0.1}, "network": {"latency": 0, "bandwidth": 0.01},
    "all_reduce": {"start": 0, "step_in_host": 0, "step_between_hosts": 0}}"#;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The partition equals that of `info --ranks`, though the whole matrix is never made, and that of the ranks of `run`.
#[test]
fn partitions_are_those_of_other_commands() {
    let folder = Folder::new();
    let file = folder.name("m.mtx");
    spmv(["convert", "elasticity:width=6", &file]).succeeded();
    for matrix in [
        "stencil:27:13x9x40",
        "rmat:scale=10",
        "small-world:vertices=500,neighbours=6,rewired=0.1",
        &file,
        "uniform:rows=3000,columns=700,per-row=3",
    ] {
        let record = spmv(["scaling", matrix, "--ranks", "1,3,4,8,64", "--json"]).record();
        let steps = record["steps"].as_array().unwrap();
        assert_eq!(steps.iter().map(|step| number(&step["ranks"])).collect::<Vec<_>>(), [1.0, 3.0, 4.0, 8.0, 64.0]);
        for step in steps {
            let ranks = step["ranks"].to_string();
            let partition = &step["partition"];
            let info = &spmv(["info", matrix, "--ranks", &ranks, "--json"]).record()["ranks"]["as_given"];
            for (ours, theirs) in [
                ("volume", "volume"),
                ("largest_halo", "largest_halo"),
                ("most_neighbours", "most_neighbours"),
                ("remote_nonzeros", "remote_nnz"),
                ("imbalance", "imbalance"),
            ] {
                assert_eq!(partition[ours], info[theirs], "{matrix} on {ranks}: {ours}");
            }
            assert_eq!(step["matrix"]["nonzeros"], record["matrix"]["nonzeros"]);
        }
        let parts = &spmv(["run", matrix, "--ranks", "3", "--executor", "cpu", "--json"]).record()["parts"];
        let most = |field: &str| parts.as_array().unwrap().iter().map(|part| part[field].as_u64().unwrap()).max();
        let partition = &steps[1]["partition"];
        assert_eq!(
            (partition["largest_halo"].as_u64(), partition["most_nonzeros"].as_u64()),
            (most("halo"), most("nonzeros"))
        );
    }
}

#[test]
fn times_follow_from_the_machine() {
    let folder = Folder::new();
    let machine = folder.file("slow.json", SLOW);
    let scaling = |more: &[&str]| {
        let common = ["scaling", "stencil:3:8", "--machine", &machine, "--json"];
        spmv(common.iter().chain(more).copied()).record()
    };
    let record = scaling(&["--ranks", "1,4"]);
    let [alone, together] = [0, 1].map(|step| record["steps"][step].clone());
    let bytes = 22.0 * 12.0 + 8.0 * (4.0 + 16.0);
    assert_eq!([number(&alone["product"]["seconds"]), number(&alone["product"]["efficiency"])], [bytes, 1.0]);
    assert_eq!((&alone["product"]["bound"], &alone["partition"]["volume"]), (&"memory".into(), &0.into()));
    assert_eq!(number(&alone["cg"]["seconds"]), bytes + 11.0 * 64.0);
    // 2 rows per rank: 2 elements packed, one of 8 bytes on the network, 2 remote entries in 2 rows.
    let product = &together["product"];
    assert_eq!((number(&product["seconds"]), &product["bound"]), (40.0 + 800.0 + 80.0, &"network-bandwidth".into()));
    assert!((number(&product["efficiency"]) - bytes / 4.0 / 920.0).abs() < 1e-12);
    assert_eq!(number(&product["phases"]["local"]), 88.0);
    assert_eq!(number(&together["pipelined_cg"]["seconds"]), 920.0 + 13.0 * 16.0);

    // Another format, and narrower values.
    let record = scaling(&["--ranks", "1", "--entry-bytes", "1", "--precision", "float32"]);
    assert_eq!(number(&record["steps"][0]["product"]["seconds"]), 22.0 + 8.0 * 8.0);

    // 8 rows per rank: the same number of bytes as alone, plus those of the exchange.
    let record = scaling(&["--ranks", "1,4", "--weak"]);
    let together = &record["steps"][1];
    assert_eq!((&together["matrix"]["name"], &together["matrix"]["rows"]), (&"stencil:3:32".into(), &32.into()));
    let efficiency = number(&together["product"]["efficiency"]);
    assert!((efficiency - bytes / number(&together["product"]["seconds"])).abs() < 1e-12, "{record}");

    let text = spmv(["scaling", "stencil:7:20", "--machine", &machine, "--ranks", "1,8"]).succeeded();
    assert!(
        text.starts_with("matrix      stencil:7:20x20x20\nshape       8,000 rows, 8,000 columns, 53,600"),
        "{text}"
    );
    assert!(text.contains("\nmachine     slow\n") && text.ends_with("* more than the 9.77 KiB of a GPU\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let text = spmv(["scaling", "uniform:rows=6,columns=4,per-row=2", "--ranks", "2"]).succeeded();
    assert!(text.lines().last().unwrap().ends_with(&format!("-{:>18}", "-")), "{text}");
}

/// From times measured with ranks of this process, `--fit` finds a machine that explains them.
#[test]
fn machines_are_fitted_to_records() {
    let folder = Folder::new();
    let (records, machine) = (folder.name("records.json"), folder.name("machine.json"));
    let common = |command: &'static str, ranks: &'static str| {
        vec![command, "stencil:7:12", "--ranks", ranks, "--executor", "cpu", "--json"]
    };
    let solve =
        [common("solve", "2"), vec!["--method", "pipelined-cg", "--tolerance", "0", "--iterations", "60"]].concat();
    let run = |arguments: Vec<&str>| String::from_utf8(super::command(arguments).output().unwrap().stdout).unwrap();
    let text = [run(common("run", "1")), run(common("run", "2")), run(solve)].concat();
    std::fs::write(&records, &text).unwrap();
    let fitted = spmv(["scaling", "--fit", &records, "--out", &machine, "--json"]).record();
    let jobs: Vec<_> = fitted["runs"].as_array().unwrap().iter().map(|run| run["job"].as_str().unwrap()).collect();
    assert_eq!(jobs, ["product", "product", "pipelined-cg"]);
    let off = |which: &str| -> f64 {
        let of = |run: &Value| (number(&run[which]) / number(&run["measured"]) - 1.0).powi(2);
        fitted["runs"].as_array().unwrap().iter().map(of).sum()
    };
    // The given machine is a GPU, and a CPU was measured.
    assert!(off("fitted") < off("given"), "{fitted}");
    assert_eq!(fitted["fitted"]["name"], fitted["given"]["name"]);
    // Predictions with the written machine equal the fitted ones.
    let again = spmv(["scaling", "--fit", &records, "--machine", &machine, "--json"]).record();
    let predicted = |record: &Value, which: &str| -> Vec<f64> {
        record["runs"].as_array().unwrap().iter().map(|run| number(&run[which])).collect()
    };
    assert_eq!(predicted(&again, "given"), predicted(&fitted, "fitted"));
    let table = spmv(["scaling", "--fit", &records]).succeeded();
    assert!(table.contains("\npipelined CG      2 ") && table.contains("\nall-reduce: start "), "{table}");

    // Records of another matrix.
    std::fs::write(&records, text.lines().nth(1).unwrap().replace("stencil:7:12x12x12", "stencil:7:12x12x13")).unwrap();
    let message = spmv(["scaling", "--fit", &records]).refused();
    let expected = "product of stencil:7:12x12x13, float64, on 2 ranks: rank 0 has a different part of the matrix: rows 864, not 936";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let file = folder.file("m.mtx", SMALL);
    let (broken, other) = (folder.file("broken.json", "{"), folder.file("other.json", SLOW.replace("0.01", "0")));
    for (arguments, expected) in [
        (&["scaling"] as &[&str], "the following required arguments were not provided: <FILE|GENERATOR>; try --help"),
        (&["scaling", "stencil:3:9", "--ranks", "2,0"], "invalid value '0' for '--ranks <N,...>'"),
        (
            &["scaling", "stencil:3:9", "--fit", &file],
            "the argument '[FILE|GENERATOR]' cannot be used with '--fit <FILE>'",
        ),
        (&["scaling", &file, "--weak"], &format!("{file}: is a file, but --weak requires a generator")),
        (&["scaling", "stencil:27:1000", "--weak", "--ranks", "1,1024"], "stencil: grid is \"1000x1000x1024000\""),
        (&["scaling", "gauge:grid=4x4"], "gauge: the values are complex, expected real ones; "),
        (&["scaling", "stencil:3:9", "--machine", &broken], &format!("{broken}:1:1: EOF while parsing")),
        (&["scaling", "stencil:3:9", "--machine", &other], &format!("{other}:1:1: network.bandwidth is 0, expected a")),
        (&["scaling", "stencil:3:9", "--machine", "nowhere.json"], "nowhere.json: No such file"),
        (
            &["scaling", "stencil:3:9", "--out", "m.json"],
            "the argument '[FILE|GENERATOR]' cannot be used with '--out <FILE>'",
        ),
        (&["scaling", "--fit", &broken], &format!("{broken}:1:1: EOF while parsing")),
        (&["scaling", "--fit", &broken, "--out", &broken], &format!("{broken}: is an input, so it cannot be written")),
        (&["scaling", "nowhere.mtx"], "nowhere.mtx: No such file"),
    ] {
        let message = spmv(arguments).refused();
        assert!(message.starts_with(expected), "{arguments:?}: {message}");
    }
    assert_eq!(folder.names(), ["broken.json", "m.mtx", "other.json"]);
    spmv(["scaling", "gauge:grid=4x4", "--precision", "complex64", "--ranks", "2"]).succeeded();
}
