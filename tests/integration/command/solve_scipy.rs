//! The solvers of SciPy find the same x.

use warp_spmv::solver::MethodName;

use crate::command::{Folder, spmv};
use crate::scipy::{has_scipy, script};

/// Points per direction.
const SIDE: usize = 12;

/// Returns the matrix of a grid with the given diagonal, and values for neighbours against and with the wind.
fn grid(diagonal: f64, [against, with]: [f64; 2]) -> String {
    let mut entries = vec![];
    for point in 0..SIDE * SIDE {
        let (x, y) = (point % SIDE, point / SIDE);
        entries.push((point, point, diagonal));
        if x > 0 {
            entries.push((point, point - 1, against));
        }
        if x + 1 < SIDE {
            entries.push((point, point + 1, with));
        }
        if y > 0 {
            entries.push((point, point - SIDE, -1.0));
        }
        if y + 1 < SIDE {
            entries.push((point, point + SIDE, -1.0));
        }
    }
    let lines = entries.iter().map(|(row, column, value)| format!("{} {} {value}\n", row + 1, column + 1));
    let rows = SIDE * SIDE;
    let sizes = format!("{rows} {rows} {}", entries.len());
    format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n{}", lines.collect::<String>())
}

/// Returns SciPy's function for a method, and a matrix that suits it.
fn peer(method: MethodName) -> (&'static str, String) {
    match method.name() {
        "cg" | "pipelined-cg" | "chebyshev" => ("cg", grid(4.0, [-1.0, -1.0])),
        "minres" => ("minres", grid(1.3, [-1.0, -1.0])),
        name @ ("bicgstab" | "gmres") => (name, grid(4.0, [-1.6, -0.4])),
        name => panic!("no function of SciPy is known for {name}"),
    }
}

#[test]
fn the_same_solutions_as_scipy() {
    if !has_scipy() {
        return;
    }
    let folder = Folder::new();
    let b: Vec<f64> = (0..SIDE * SIDE).map(|row| ((row * row + 3) % 17) as f64 - 8.0).collect();
    let [b_path, x_path, npz] = ["b.mtx", "x.mtx", "m.npz"].map(|name| folder.path(name).display().to_string());
    warp_spmv::io::write_vector(&b_path, &b).unwrap();
    for &method in MethodName::ALL {
        let (function, matrix) = peer(method);
        spmv(["convert", &folder.file("m.mtx", matrix), &npz]).succeeded();
        for executor in ["cpu", "emulated"] {
            let arguments = ["--method", method.name(), "--tolerance", "1e-10", "--executor", executor];
            let files = ["solve", &npz, "--rhs", &b_path, "--out", &x_path];
            spmv(files.iter().chain(&arguments)).succeeded();
            let other_side = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/command/solve_scipy.py");
            script([other_side, function, &npz, &b_path, &x_path]);
        }
    }
}
