//! Every public function whose memory grows with the matrix, with each of its large allocations refused in turn: an
//! out-of-memory error or the usual result, and never an abort.

use std::error::Error;
use std::fs;

use warp_spmv::distributed::{
    self, Communicator, DistributedMatrix, Distribution, MatrixOptions, Ranges, renumber_elements, renumbered,
    renumbered_ranges, restore_elements, transitions, transposed,
};
use warp_spmv::executor::{Cpu, Executor, Reference};
use warp_spmv::format::{FillLimit, HybSplit, Matrix, Offsets};
use warp_spmv::io::{self, MatrixMarketOptions, ReadOptions, Symmetry};
use warp_spmv::select::{Analysis, Measure, Sampling, Selection};
use warp_spmv::solver::dense::{Multicolumn, Space};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::solver::{
    Lobpcg, MethodName, Operator, Options, Pagerank, Solver, SpectralBounds, SpectrumEnd, power_iteration,
};
use warp_spmv::sparse_product::{self, SparseProduct};
use warp_spmv::synthetic::{Generator, reorder};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Complex, Csr, Format, Layout, Multivector, Plan, PlanOptions, Transposed};

use super::Turn;
use super::refusing::{LARGE, LARGE_BESIDE_COMPRESSION, grant, refuse};

type Failure = Box<dyn Error>;

/// Calls with the first, the second and each further large allocation refused, alone and with all that follow, until a
/// call makes too few to refuse any. `prepare` makes the input of a call beforehand.
fn each_refused<I, R, E: Into<Failure>>(what: &str, prepare: impl Fn() -> I, call: impl Fn(I) -> Result<R, E>) {
    each_refused_from(LARGE, what, prepare, call);
}

/// [`each_refused`], where allocations of at least `least` bytes count as large.
fn each_refused_from<I, R, E: Into<Failure>>(
    least: usize,
    what: &str,
    prepare: impl Fn() -> I,
    call: impl Fn(I) -> Result<R, E>,
) {
    for all in [false, true] {
        for granted in 0.. {
            let input = prepare();
            // An unchecked allocation aborts the process after this line. Captured output would be lost with it, and is
            // copied in memory that may be refused.
            if std::env::args().any(|argument| argument == "--nocapture") {
                println!("{what}: {granted} granted, {} refused", if all { "all others" } else { "one" });
            }
            refuse(least, granted, all);
            let result = call(input);
            let refused = grant();
            match result {
                // Some calls succeed without it.
                Ok(_) if refused => {}
                Ok(_) => break,
                Err(error) => {
                    let message = error.into().to_string();
                    assert!(refused, "{what}: {message}");
                    assert!(message.contains("memory"), "{what}: {message}");
                }
            }
        }
    }
}

/// [`each_refused`] for a product, after which y is unchanged unless the product succeeded. Of several vectors, which
/// are multiplied sequentially, some may be complete; each has `length` elements, none of which becomes 7.
fn each_product_refused<P>(
    what: &str,
    (vectors, length): (usize, usize),
    prepare: impl Fn() -> P,
    product: impl Fn(&mut P, &mut Vec<f64>) -> Result<(), warp_spmv::Error>,
) {
    let prepare = || (prepare(), vec![7.0; vectors * length]);
    each_refused(what, prepare, |(mut plan, mut y)| {
        let result = product(&mut plan, &mut y);
        let old = |y: &[f64]| y.iter().filter(|&&y| y == 7.0).count();
        let is_whole = |y: &[f64]| old(y) == length || vectors > 1 && old(y) == 0;
        assert!(result.is_ok() || y.chunks(length).all(is_whole), "{what}: y is partly written");
        result
    });
}

fn generated(text: &str) -> Csr<f64> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

/// A grid whose arrays are all large, even with one byte per row.
fn grid() -> Csr<f64> {
    let grid = generated("stencil:5:210x160");
    assert!(grid.rows() >= LARGE);
    grid
}

/// The same with compression, except for arrays with fewer than 8 bytes per row.
fn grid_beside_compression() -> Csr<f64> {
    let grid = generated("stencil:5:300x230");
    assert!(8 * grid.rows() >= LARGE_BESIDE_COMPRESSION);
    grid
}

/// Returns the matrix for a preconditioner. For multigrid, whose levels take many arrays, only those with 8 bytes per
/// row are large.
fn grid_for(name: PreconditionerName) -> Csr<f64> {
    match name {
        PreconditionerName::Amg(_) | PreconditionerName::Saddle(_) => {
            let grid = generated("stencil:5:70x65");
            assert!(8 * grid.rows() >= LARGE);
            grid
        }
        _ => grid(),
    }
}

/// A matrix with a long row, whose columns are in no order and repeated.
fn unsorted() -> Csr<f64> {
    let (rows, long) = (LARGE as u32, LARGE as u32 / 2);
    let row_indices: Vec<u32> = (0..rows).chain((0..long).map(|_| 7)).collect();
    let offsets = (0..=rows).map(|row| if row > 7 { row + long } else { row }).collect::<Vec<_>>();
    let columns = (0..row_indices.len() as u32).map(|entry| entry.wrapping_mul(7919) % 1000).collect();
    Csr::try_new(rows as usize, 1000, offsets, columns, vec![1.0; row_indices.len()]).unwrap()
}

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

#[test]
fn conversions_and_products() {
    let _turn = Turn::wait();
    let matrix = grid();
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let cpu = Cpu::new();
    for &format in Format::ALL {
        let name = |what: &str| format!("{format}, {what}");
        each_refused(&name("bytes"), || (), |()| format.bytes::<f64, f32>(&matrix));
        each_refused(&name("from CSR"), || matrix.clone(), |matrix| Matrix::try_from_csr(matrix, format, UNLIMITED));
        let stored = Matrix::try_from_csr(matrix.clone(), format, UNLIMITED).unwrap();
        each_refused(&name("to CSR"), || stored.clone(), Matrix::into_csr);
        each_refused(&name("a copy"), || (), |()| stored.try_clone());
        each_refused(&name("how it is stored"), || (), |()| stored.is_stored_as(format));
        let (x, plan) = (vec![1.0; columns], |executor| Plan::from_matrix(executor, stored.clone(), format).unwrap());
        each_product_refused(&name("a product"), (1, rows), || plan(&cpu), |plan, y| plan.apply(1.0, &x, 0.5, y));
        let reference = || Plan::from_matrix(&Reference::new(), stored.clone(), format).unwrap();
        each_product_refused(&name("the reference"), (1, rows), reference, |plan, y| plan.apply(1.0, &x, 0.5, y));
        each_refused(&name("a plan"), || matrix.clone(), |matrix| Plan::with_format(&cpu, matrix, format));
        if format.multiplies_transposed() {
            let (plan, x) = (plan(&cpu), vec![1.0; rows]);
            let product = |_: &mut (), y: &mut Vec<f64>| plan.apply_transposed(1.0, &x, 0.5, y);
            each_product_refused(&name("transposed"), (1, columns), || (), product);
        }
        if format.multiplies_multivectors() {
            for (layout, length) in [(Layout::RowMajor, (1, 3 * rows)), (Layout::ColumnMajor, (3, rows))] {
                let (shape, x) = (Multivector { vectors: 3, layout }, vec![1.0; 3 * columns]);
                each_product_refused(
                    &name("three vectors"),
                    length,
                    || plan(&cpu),
                    |plan, y| plan.apply_multivector(shape, 1.0, &x, 0.5, y),
                );
            }
        }
    }
}

#[test]
fn parts_in_several_territories() {
    let _turn = Turn::wait();
    // Each has more than 32 parts of 8,192 entries.
    for generator in ["stencil:5:280x200", "rectangle:rows=40000,columns=30000,per-row=8"] {
        let matrix = generated(generator);
        assert!(matrix.nnz() > 33 << 13);
        let convert = |matrix| Matrix::try_from_csr(matrix, Format::CLUSTERED, UNLIMITED);
        each_refused(generator, || matrix.clone(), convert);
    }
}

#[test]
fn csr_and_the_choice() {
    let _turn = Turn::wait();
    for matrix in [grid(), unsorted()] {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let cpu = Cpu::new();
        each_refused("a copy", || (), |()| matrix.try_clone());
        each_refused("a copy on an executor", || (), |()| matrix.duplicate(&cpu));
        each_refused("another type", || (), |()| matrix.cast::<f32>());
        each_refused("the transpose", || (), |()| matrix.transposed());
        if rows == columns {
            each_refused("a sparse product", || (), |()| sparse_product::multiply(&matrix, &matrix));
            let prepare = || SparseProduct::new(&cpu, &matrix, &matrix).unwrap();
            each_refused("its new values", prepare, |mut product| {
                product.compute(&cpu, &matrix, &matrix).map(Csr::nnz)
            });
        }
        each_refused("sorting", || matrix.clone(), |mut matrix| matrix.sort_rows());
        each_refused(
            "summing duplicates",
            || {
                let mut matrix = matrix.clone();
                matrix.sort_rows().unwrap();
                matrix
            },
            |mut matrix| matrix.sum_duplicates(),
        );
        let (offsets, column_indices, values) = matrix.clone().into_parts();
        let wide: Vec<u64> = (0..offsets.len()).map(|row| offsets.get(row) as u64).collect();
        let row_indices: Vec<u32> =
            (0..rows).flat_map(|row| std::iter::repeat_n(row as u32, matrix.range(row).len())).collect();
        let prepare = || (wide.clone(), column_indices.clone(), values.clone());
        each_refused("wide offsets", prepare, |(wide, column_indices, values)| {
            Csr::try_new(rows, columns, wide, column_indices, values)
        });
        each_refused(
            "triplets",
            || (),
            |()| Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values),
        );
        each_refused("lengths", || (), |()| Offsets::from_lengths(matrix.row_lengths()));
        each_refused("a split", || (), |()| HybSplit::IMBALANCE_LIMIT.width::<f64, f64>(&matrix));
        for sampling in [Sampling::Part, Sampling::Everything] {
            each_refused("an analysis", || (), |()| Analysis::with_sampling(&matrix, sampling));
        }
        let selection = Selection { measure: Measure::Best(2), store: None, ..Selection::default() };
        each_refused("a choice", || matrix.clone(), |matrix| Plan::automatic(&cpu, matrix, &selection));
        let (x, y) = (vec![1.0; columns], vec![0.0; rows]);
        each_refused("the exact answer", || (), |()| exact(&matrix, 1.0, &x, 0.0, &y));
        let expected = exact(&matrix, 1.0, &x, 0.0, &y).unwrap();
        each_refused("the comparison", || (), |()| verify(&y, &expected, Format::CSR_SCALAR));
        each_refused("an array", || (), |()| cpu.zeros::<f64>(rows));
        each_refused("a copied array", || (), |()| cpu.duplicate(&x));
        each_refused("a downloaded array", || (), |()| cpu.download(&x));
    }
}

#[test]
fn solvers() {
    let _turn = Turn::wait();
    let matrix = grid();
    let rows = matrix.rows();
    let cpu = Cpu::new();
    let plan = || Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
    let options = Options { iteration_limit: 3, ..Options::default() };
    let b = vec![1.0; rows];
    for &method in MethodName::ALL {
        each_refused(
            &format!("{method}"),
            || (plan(), vec![0.0; rows]),
            |(mut plan, mut x)| method.solve(&mut Solver::new(&cpu, &mut plan).options(options), &b, &mut x),
        );
    }
    for &name in PreconditionerName::ALL {
        let matrix = grid_for(name);
        let (rows, b) = (matrix.rows(), vec![1.0; matrix.rows()]);
        each_refused(&format!("{name}"), || (), |()| Preconditioner::new(&cpu, &matrix, name));
        let plan = || Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let made = || (plan(), Preconditioner::new(&cpu, &matrix, name).unwrap(), vec![0.0; rows]);
        each_refused(&format!("GMRES and {name}"), made, |(mut plan, mut preconditioner, mut x)| {
            let mut solver = Solver::new(&cpu, &mut plan).preconditioner(&mut preconditioner).options(options);
            MethodName::Gmres.solve(&mut solver, &b, &mut x)
        });
    }
    each_refused(
        "power iteration",
        || (plan(), vec![0.0; rows]),
        |(mut plan, mut x)| power_iteration(&cpu, &mut plan, &mut x, &options, None),
    );
    each_refused("the bounds of a spectrum", plan, |mut plan| SpectralBounds::estimate(&cpu, &mut plan, None, 5));
    let pairs = || (plan(), Multicolumn::zeros(&cpu, rows, 2).unwrap());
    let lobpcg = Lobpcg { end: SpectrumEnd::Smallest, options };
    each_refused("LOBPCG", pairs, |(mut plan, mut x)| lobpcg.solve(&cpu, &mut plan, None, &mut x, None));
    let mut edges = generated("rmat:scale=16,edges-per-vertex=2");
    edges.values_mut().fill(1.0);
    each_refused("a graph", || (), |()| Pagerank::with_format(&cpu, &edges, Format::CSR_SCALAR));
    let graph = || Pagerank::with_format(&cpu, &edges, Format::CSR_SCALAR).unwrap();
    each_refused("PageRank", graph, |mut graph| graph.rank(0.85, None, &options, None));
    each_refused("columns", || (), |()| Multicolumn::<f64, _>::zeros(&cpu, rows, 2));
    each_refused("a space", || (), |()| Space::new(&cpu, 1 << 15, 1 << 15));
}

/// Without memory for new values, the old ones stay, including those of a stored transpose.
#[test]
fn new_values() {
    let _turn = Turn::wait();
    let matrix = grid();
    let rows = matrix.rows();
    let cpu = Cpu::new();
    let mut new = matrix.clone();
    new.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    let x = vec![1.0; rows];
    for (format, keep_places) in [(Format::CSR_TILED, false), (Format::SELL_P, false), (Format::SELL_P, true)] {
        let transposed = Transposed::Stored(format);
        let options = PlanOptions { updates: true, keep_places, transposed, ..PlanOptions::default() };
        let plan = |matrix: Csr<f64>| Plan::with_options(&cpu, matrix, format, options);
        let products = |plan: &mut Plan<f64, Cpu>, [y, z]: &mut [Vec<f64>; 2]| {
            plan.apply(1.0, &x, 0.0, y).unwrap();
            plan.apply_transposed(1.0, &x, 0.0, z).unwrap();
        };
        let [old, updated] = [&matrix, &new].map(|matrix| {
            let mut results = [vec![0.0; rows], vec![0.0; rows]];
            products(&mut plan(matrix.clone()).unwrap(), &mut results);
            results
        });
        let name = |what: &str| format!("{format}, places kept: {keep_places}, {what}");
        each_refused(&name("a plan with its transpose"), || matrix.clone(), plan);
        let made = || (plan(matrix.clone()).unwrap(), [vec![0.0; rows], vec![0.0; rows]]);
        each_refused(&name("new values"), made, |(mut plan, mut results)| {
            let result = plan.update_values(new.values());
            products(&mut plan, &mut results);
            assert!(results == *if result.is_ok() { &updated } else { &old }, "{format}");
            result
        });
    }
    for &name in PreconditionerName::ALL {
        let matrix = grid_for(name);
        let mut new = matrix.clone();
        new.values_mut().iter_mut().for_each(|value| *value *= 2.0);
        let (rows, x) = (matrix.rows(), vec![1.0; matrix.rows()]);
        let options = PreconditionerOptions { updates: true, ..PreconditionerOptions::default() };
        let make = |matrix| Preconditioner::with_options(&cpu, matrix, name, options);
        let [old, updated] = [&matrix, &new].map(|matrix| {
            let mut z = vec![0.0; rows];
            make(matrix).unwrap().apply(1.0, &x, 0.0, &mut z).unwrap();
            z
        });
        each_refused(&format!("{name} for updates"), || (), |()| make(&matrix));
        let made = || (make(&matrix).unwrap(), vec![0.0; rows]);
        each_refused(&format!("{name}, new values"), made, |(mut preconditioner, mut z)| {
            let result = preconditioner.update_values(new.values());
            preconditioner.apply(1.0, &x, 0.0, &mut z).unwrap();
            assert!(z == *if result.is_ok() { &updated } else { &old }, "{name}");
            result
        });
    }
}

#[test]
fn files() {
    let _turn = Turn::wait();
    let folder = tempfile::tempdir().unwrap();
    let (matrix, larger) = (grid(), grid_beside_compression());
    for (name, least, matrix) in [
        ("m.mtx", LARGE, &matrix),
        ("m.wspmv", LARGE, &matrix),
        ("m.npz", LARGE_BESIDE_COMPRESSION, &larger),
        ("m.mtx.gz", LARGE_BESIDE_COMPRESSION, &larger),
    ] {
        let path = folder.path().join(name);
        let options = ReadOptions::default();
        each_refused_from(least, &format!("writing {name}"), || (), |()| io::write(&path, matrix));
        each_refused_from(least, &format!("reading {name}"), || (), |()| io::read::<f64>(&path, &options));
        each_refused_from(
            least,
            &format!("reading {name} as stored"),
            || (),
            |()| io::read_matrix::<f64>(&path, &options),
        );
    }
    let path = folder.path().join("m.mtx");
    each_refused("reading coordinates", || (), |()| io::read_coordinates::<f64>(&path, &ReadOptions::default()));
    let (coordinates, _) = io::read_coordinates::<f64>(&path, &ReadOptions::default()).unwrap();
    each_refused("writing coordinates", || (), |()| io::write_coordinates(&path, &coordinates));
    let (unsorted, unsorted_path) = (unsorted(), folder.path().join("u.mtx"));
    each_refused(
        "writing what is not sorted",
        || (),
        |()| io::write_matrix_market(&unsorted_path, &unsorted, MatrixMarketOptions::default()),
    );
    let symmetric = MatrixMarketOptions { symmetry: Symmetry::Symmetric, ..Default::default() };
    each_refused("writing a triangle", || (), |()| io::write_matrix_market(&unsorted_path, &matrix, symmetric));
    let vector = vec![0.1; matrix.rows()];
    each_refused("writing a vector", || (), |()| io::write_vector(&path, &vector));
    each_refused("reading a vector", || (), |()| io::read_vector::<f64>(&path, None));
    each_refused("reading a dense matrix", || (), |()| io::read_dense::<f64>(&path, &ReadOptions::default()));
    let (rows, pattern) = (matrix.rows(), folder.path().join("p.mtx"));
    let mut text = format!("%%MatrixMarket matrix coordinate pattern symmetric\n{rows} {rows} {rows}\n");
    (1..=rows).rev().for_each(|row| text.push_str(&format!("{row} {}\n", row.div_ceil(2))));
    fs::write(&pattern, text).unwrap();
    each_refused("reading a pattern in no order", || (), |()| io::read::<f64>(&pattern, &ReadOptions::default()));
}

#[test]
fn generators_and_orders() {
    let _turn = Turn::wait();
    // Every kind, with sizes that make all arrays large.
    let generators = [
        "banded:rows=35000,bands=3",
        "barabasi-albert:vertices=35000,edges-per-vertex=2",
        "block-diagonal:size=2,blocks=17500",
        "dense:rows=200,columns=200",
        "elasticity:width=30,depth=20",
        "gauge:grid=14x14x14x13",
        "helmholtz:grid=210x160",
        "lp-like:times=3",
        "pareto:rows=35000,k=1.5",
        "permutation:rows=35000",
        "rectangle:rows=35000,columns=35000,per-row=2",
        "rmat:scale=16,edges-per-vertex=2,numbering=shuffled",
        "small-world:vertices=35000,neighbours=2,rewired=0.1",
        "stencil:5:210x160",
        "uniform:rows=35000,per-row=2.5,lengths=poisson",
    ];
    for help in Generator::HELP.iter().filter(|help| !help.name.ends_with("-like")) {
        assert!(generators.iter().any(|text| text.starts_with(help.name)), "{}", help.name);
    }
    for text in generators {
        let generator: Generator = text.parse().unwrap();
        match generator.is_complex() {
            true => each_refused(text, || (), |()| generator.generate::<Complex<f64>>()),
            false => each_refused(text, || (), |()| generator.generate::<f64>()),
        }
    }
    let matrix = grid();
    each_refused("by row length", || (), |()| reorder::by_row_length(&matrix));
    each_refused("shuffled", || (), |()| reorder::shuffle(matrix.rows(), 1));
    each_refused("reverse Cuthill-McKee", || (), |()| reorder::reverse_cuthill_mckee(&matrix));
    let ordering = reorder::shuffle(matrix.rows(), 1).unwrap();
    each_refused("the inverse", || (), |()| ordering.inverse());
    let (vector, old) = (vec![1.0; matrix.rows()], ordering.old_places().to_vec());
    each_refused("a vector in order", || (), |()| ordering.apply(&vector));
    each_refused("rows in order", || (), |()| ordering.apply_rows(&matrix));
    each_refused("rows and columns in order", || (), |()| ordering.apply_symmetric(&matrix));
    each_refused("an ordering", || old.clone(), reorder::Ordering::try_new);

    let alone = Communicator::alone();
    let ranges = Ranges::even(matrix.rows() as u64, 1).unwrap();
    each_refused("an order of ranks", || (), |()| distributed::reverse_cuthill_mckee(&alone, &matrix, &ranges));
    let numbers = ordering.inverse().unwrap().old_places().to_vec();
    each_refused("rows of ranks numbered anew", || (), |()| renumbered(&alone, &matrix, &ranges, &numbers, &ranges));
    each_refused("ranges for them", || (), |()| renumbered_ranges(&alone, &matrix, &ranges, &numbers));
    each_refused("elements, too", || (), |()| renumber_elements(&alone, &vector, &ranges, &numbers, &ranges));
    each_refused("and back", || (), |()| restore_elements(&alone, &vector, &ranges, &numbers, &ranges));
    each_refused("rows of the transpose", || (), |()| transposed(&alone, &matrix, &ranges, &ranges));
    let (cpu, options, square) = (Cpu::new(), MatrixOptions::default(), Distribution::square(ranges.clone()));
    let divided = |()| DistributedMatrix::from_csr(&alone, &cpu, square.clone(), &matrix, &options);
    each_refused("a matrix of ranks", || (), divided);
    let (rows, columns, offsets) = (matrix.rows(), matrix.columns(), matrix.row_offsets().try_clone().unwrap());
    let graph = Csr::try_new(rows, columns, offsets, matrix.column_indices().to_vec(), vec![1.0; matrix.nnz()]);
    let graph = graph.unwrap();
    each_refused("transitions", || (), |()| transitions(&alone, &graph, &ranges));
}
