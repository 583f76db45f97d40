//! `warp-spmv pagerank`.

use serde_json::Value;
use warp_spmv::io::read_vector;

use crate::command::{Folder, Outcome, SMALL, spmv};
use crate::scipy::{has_scipy, script};

/// 1 → 2, 1 → 3, 2 → 3, 3 → 1; 4 → 3; 5 has no edges.
const GRAPH: &str = "%%MatrixMarket matrix coordinate pattern general\n5 5 5\n1 2\n1 3\n2 3\n3 1\n4 3\n";

fn pagerank(arguments: &[&str]) -> Outcome {
    spmv(["pagerank"].iter().chain(arguments))
}

#[test]
fn the_ranks_of_a_small_graph() {
    let folder = Folder::new();
    let graph = folder.file("graph.mtx", GRAPH);
    let out = folder.path("ranks.mtx");
    for (executor, precision, near) in [
        ("reference", "float64", 1e-9),
        ("cpu", "float64", 1e-9),
        ("cpu", "float32", 1e-5),
        ("emulated", "float32", 1e-5),
    ] {
        let arguments = ["--executor", executor, "--precision", precision, "--tolerance", &near.to_string(), "--json"];
        let files = [&*graph, "--out", out.to_str().unwrap(), "--top", "3"];
        let record = pagerank(&[&files[..], &arguments].concat()).record();
        assert_eq!((&record["converged"], &record["outcome"]), (&true.into(), &"converged".into()));
        assert!(record["residual"].as_f64().unwrap() <= near && (record["sum"].as_f64().unwrap() - 1.0).abs() < 1e-5);
        let top: Vec<_> = record["top"].as_array().unwrap().iter().map(|ranked| &ranked["vertex"]).collect();
        assert_eq!(top, [3, 1, 2]);
        let x = read_vector::<f64>(&out, None).unwrap();
        // The share of every vertex, including a fifth of that of the vertex without edges: s = 0.15 / 5 + 0.85 s / 5.
        let s = 0.03 / 0.83;
        let [half, whole] = [0.425, 0.85];
        let expected = [s + whole * x[2], s + half * x[0], s + half * x[0] + whole * x[1] + whole * x[3], s, s];
        assert!(x.iter().zip(expected).all(|(x, expected)| (x - expected).abs() < near), "{x:?}");
        assert!((record["top"][0]["rank"].as_f64().unwrap() - x[2]).abs() < 1e-7, "{record}");
    }
}

#[test]
fn the_report_for_people() {
    let folder = Folder::new();
    let graph = folder.file("graph.mtx", GRAPH);
    let report = pagerank(&[&graph, "--executor", "cpu", "--format", "csr-vector", "--top", "2"]).succeeded();
    for line in [
        "/graph.mtx\n",
        "shape         5 vertices, 5 edges\n",
        "damping       0.85\n",
        "format        csr-vector, float64\n",
        "outcome       converged after ",
        ", the ranks add up to 1.000000\n",
        " 1 vertex 3, 3.",
        " 2 vertex 1, 3.",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    assert!(!report.contains("vertex 2"), "{report}");
}

/// Values are weights, unless `--unweighted` is given.
#[test]
fn heavy_edges_and_equal_ones() {
    let folder = Folder::new();
    let graph = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 9\n1 3 1\n2 1 1\n3 1 1\n";
    let graph = folder.file("graph.mtx", graph);
    let ranks = |arguments: &[&str]| {
        let record = pagerank(&[&[&*graph, "--executor", "cpu", "--json"], arguments].concat()).record();
        let mut ranks = [0.0; 3];
        for ranked in record["top"].as_array().unwrap() {
            ranks[ranked["vertex"].as_u64().unwrap() as usize - 1] = ranked["rank"].as_f64().unwrap();
        }
        ranks
    };
    let [_, heavy, light] = ranks(&[]);
    assert!(heavy > 2.0 * light);
    let [_, left, right] = ranks(&["--unweighted"]);
    assert!((left - right).abs() < 1e-12 && (left + right - (heavy + light)).abs() < 1e-5);
    // The same without stored values.
    for format in ["csr-tiled", "auto"] {
        let [_, narrow_left, narrow_right] = ranks(&["--unweighted", "--narrow", "--format", format]);
        assert!((left - narrow_left).abs() < 1e-12 && (right - narrow_right).abs() < 1e-12, "{format}");
    }
    let record =
        pagerank(&[&graph, "--unweighted", "--narrow", "--format", "csr-tiled", "--executor", "cpu", "--json"]);
    assert_eq!(record.record()["values"]["type"], "same");
    let text = pagerank(&[&graph, "--unweighted", "--narrow", "--format", "coo", "--executor", "cpu"]).succeeded();
    assert!(!text.contains("values "), "{text}");
    // With a damping factor of 0, no rank is passed on.
    assert!(ranks(&["--damping", "0"]).iter().all(|rank| (rank - 1.0 / 3.0).abs() < 1e-12));

    let negative = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -1\n2 1 1\n";
    let negative = folder.file("negative.mtx", negative);
    assert!(pagerank(&[&negative]).refused().contains("weight -1 is not finite and non-negative"));
    pagerank(&[&negative, "--unweighted", "--executor", "cpu"]).succeeded();
}

#[test]
fn what_does_not_converge() {
    let folder = Folder::new();
    let graph = folder.file("graph.mtx", GRAPH);
    let Outcome { code, stdout, stderr, .. } = pagerank(&[&graph, "--executor", "cpu", "--iterations", "2", "--json"]);
    assert_eq!((code, &*stderr), (Some(3), "warp-spmv: error: not converged: iteration limit, after 2 iterations\n"));
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&record["converged"], &record["iterations"]), (&false.into(), &2.into()));
    assert_eq!(record["history"].as_array().unwrap().len(), 2);
}

#[test]
fn a_graph_without_vertices_or_edges() {
    let folder = Folder::new();
    for (vertices, ranks) in [(0, 0), (3, 3)] {
        let text = format!("%%MatrixMarket matrix coordinate pattern general\n{vertices} {vertices} 0\n");
        let record = pagerank(&[&folder.file("graph.mtx", text), "--executor", "cpu", "--json"]).record();
        assert_eq!(record["top"].as_array().unwrap().len(), ranks, "{record}");
    }
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let (graph, wide) = (folder.file("graph.mtx", GRAPH), folder.file("wide.mtx", SMALL));
    let nowhere = folder.path("nowhere/x");
    for (arguments, says) in [
        (&[&*wide] as &[&str], &*format!("{wide}: 2 rows and 3 columns, expected a square matrix")),
        (&["missing.mtx"], "missing.mtx: "),
        (&[&graph, "--damping", "1"], "expected a number from 0 to below 1"),
        (&[&graph, "--damping", "nan"], "expected a number from 0 to below 1"),
        (&[&graph, "--tolerance", "-1"], "'-1'"),
        (&[&graph, "--top", "few"], "'few' for '--top <N>'"),
        (&[&graph, "--out", nowhere.to_str().unwrap()], "nowhere: "),
    ] {
        let message = pagerank(arguments).refused();
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
    assert_eq!(folder.names(), ["graph.mtx", "wide.mtx"]);
}

/// Python multiplies dense matrices until nothing changes.
#[test]
fn the_same_ranks_as_by_numpy() {
    if !has_scipy() {
        return;
    }
    let folder = Folder::new();
    let [npz, out] = ["graph.npz", "ranks.mtx"].map(|name| folder.path(name).display().to_string());
    for generator in ["rmat:scale=6,edges-per-vertex=4", "small-world:vertices=60,neighbours=4,rewired=0.2"] {
        spmv(["convert", generator, &npz]).succeeded();
        for (executor, damping) in [("cpu", "0.85"), ("emulated", "0.5")] {
            let arguments = ["--damping", damping, "--tolerance", "1e-12", "--unweighted", "--executor", executor];
            pagerank(&[&[&*npz, "--out", &out], &arguments[..]].concat()).succeeded();
            let other_side = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/command/pagerank_numpy.py");
            script([other_side, &npz, damping, &out]);
        }
    }
}
