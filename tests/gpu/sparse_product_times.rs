//! Times products of two sparse matrices against cuSPARSE, and checks that the results agree.

use lab::peers::{BOUND, SpGemm, SpGemmProduct, SpGemms, sparse_product_peers};
use lab::statistics::{geometric_mean, quartiles};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use warp_spmv::executor::{Cuda, CudaMemory, Executor};
use warp_spmv::format::Matrix;
use warp_spmv::sparse_product::{SparseProduct, multiply};
use warp_spmv::verify::{Accumulator, ExactSum, verify};
use warp_spmv::{Csr, Error, Real};

use crate::scenarios::generated;

/// Matrices multiplied by themselves.
const SQUARES: &[&str] = &[
    "stencil:7:100",
    "stencil:27:64",
    "banded:rows=500000,bands=21",
    "uniform:rows=500000,per-row=8",
    "small-world:vertices=500000,neighbours=10,rewired=0.1",
    "barabasi-albert:vertices=200000,edges-per-vertex=4",
    "rmat:scale=15,edges-per-vertex=8",
    "pareto:rows=500000,k=1.2,base=3",
];

/// Stencil points and side of cubes whose Galerkin products are timed. The sides are multiples of [`AGGREGATE`].
const CUBES: &[(usize, usize)] = &[(7, 99), (27, 66)];

/// Side of the cubes of unknowns that are aggregated into one.
const AGGREGATE: usize = 3;

/// Number of timed turns of each side, after one warm-up turn.
const TURNS: usize = 7;

/// Number of rows that a thread checks at a time.
const ROWS_AT_ONCE: usize = 256;

/// Multiplies each pair of matrices by our kernels and by every algorithm of cuSPARSE, and prints a line of times per pair.
pub fn time_sparse_products<T: Real>(gpu: &Cuda) {
    let SpGemms { present: peers, absent } = sparse_product_peers(gpu);
    for absent in &absent {
        println!("- {}: {}", absent.library, absent.reason);
    }
    let Some(peer) = peers.first() else { return };
    println!(
        "\nCompared with {}, {}: medians in ms; theirs over ours; peak MB of buffers besides A, B and C\n",
        peer.library(),
        T::NAME
    );
    let kept = || peers.iter().filter(|peer| peer.keeps_pattern());
    let mut header = "| product | rows | entries of A | of B | products | entries of C | ours, new |".to_owned();
    peers.iter().for_each(|peer| header += &format!(" {}, new |", peer.name()));
    header += " ours, new values |";
    kept().for_each(|peer| header += &format!(" {}, new values |", peer.name()));
    println!("{header}\n|{}", "---|".repeat(8 + peers.len() + kept().count()));
    let (mut ratios, mut wrong) = ([Vec::new(), Vec::new()], 0);
    let squares = SQUARES.iter().map(|&name| square(name));
    for (name, left, right) in squares.chain(CUBES.iter().flat_map(|&cube| galerkin(cube))) {
        let contests = time_product::<T>(gpu, &peers, &name, &left, &right);
        for (contest, ratios) in contests.iter().zip(&mut ratios) {
            ratios.extend(contest.ratio());
            wrong += contest.theirs.iter().filter(|entrant| matches!(entrant, Entrant::Wrong(_))).count();
        }
    }
    for (ratios, what) in ratios.into_iter().zip(["new products", "new values"]) {
        let (count, mean) = (ratios.len(), geometric_mean(ratios));
        let mean = mean.map_or("none".to_owned(), |mean| format!("{mean:.2}"));
        println!(
            "\n{what}, {}: geometric mean of the fastest of cuSPARSE over ours, {count} products: {mean}",
            T::NAME
        );
    }
    assert_eq!(wrong, 0, "{}: the table lists the failures", T::NAME);
}

/// A product's name, A and B.
type Pair<T> = (String, Csr<T>, Csr<T>);

fn square<T: Real>(name: &str) -> Pair<T> {
    let matrix = generated::<T>(name);
    (format!("A A, {name}"), matrix.clone(), matrix)
}

/// A P and R (A P) of a cube, where P is constant on small cubes and smoothed once, as in smoothed aggregation, and R
/// is its transpose.
fn galerkin<T: Real>((points, side): (usize, usize)) -> [Pair<T>; 2] {
    let name = format!("stencil:{points}:{side}");
    let matrix = generated::<f64>(&name);
    let coarse = side / AGGREGATE;
    let aggregate = |row: usize| {
        let [x, y, z] = [row % side, row / side % side, row / side / side].map(|place| place / AGGREGATE);
        (x + coarse * (y + coarse * z)) as u32
    };
    let rows = matrix.rows();
    let offsets: Vec<u32> = (0..=rows as u32).collect();
    let tentative =
        Csr::try_new(rows, coarse.pow(3), offsets, (0..rows).map(aggregate).collect(), vec![1.0; rows]).unwrap();
    // I − ω D⁻¹ A.
    let smoothed = (0..rows).flat_map(|row| {
        let is_diagonal = move |column: u32| column as usize == row;
        let diagonal = matrix.row(row).find(|&(column, _)| is_diagonal(column)).map_or(1.0, |(_, value)| value);
        let identity = move |column| if is_diagonal(column) { 1.0 } else { 0.0 };
        matrix.row(row).map(move |(column, value)| identity(column) - 2.0 / 3.0 * value / diagonal)
    });
    let smoothed: Vec<f64> = smoothed.collect();
    let mut smoothing = matrix.clone();
    smoothing.values_mut().copy_from_slice(&smoothed);
    let prolongation = multiply(&smoothing, &tentative).unwrap();
    let (restriction, right) = (prolongation.transposed().unwrap(), multiply(&matrix, &prolongation).unwrap());
    [("A P", matrix, prolongation), ("R (A P)", restriction, right)]
        .map(|(product, left, right)| (format!("{product}, {name}"), left.cast().unwrap(), right.cast().unwrap()))
}

/// Outcome of one algorithm of cuSPARSE.
enum Entrant {
    /// Median of the times in seconds, and bytes of the buffers.
    Timed(f64, u64),
    /// The product is too large, or not supported.
    Refused(String),
    /// The algorithm failed, or its result is wrong.
    Wrong(String),
}

impl Entrant {
    fn failed(error: &Error) -> Self {
        if SpGemm::is_refusal(error) { Self::Refused(error.to_string()) } else { Self::Wrong(error.to_string()) }
    }

    fn time(&self) -> Option<f64> {
        if let Self::Timed(time, _) = self { Some(*time) } else { None }
    }
}

/// Our times beside those of each algorithm of cuSPARSE.
#[derive(Default)]
struct Contest {
    /// Times of all turns in seconds.
    ours: Vec<f64>,
    theirs: Vec<Entrant>,
}

impl Contest {
    /// Returns the median of our times; `None` without any turn.
    fn time(&self) -> Option<f64> {
        quartiles(&self.ours).map(|[_, median, _]| median)
    }

    /// Returns the fastest time of cuSPARSE over ours.
    fn ratio(&self) -> Option<f64> {
        let fastest = self.theirs.iter().filter_map(Entrant::time).min_by(f64::total_cmp)?;
        Some(fastest / self.time()?)
    }

    /// Returns the cells of a table, ours first, with the `bytes` of ours if known.
    fn cells(&self, bytes: Option<u64>) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let ours = self.time().map_or("not timed".into(), |time| format!("{:.3}", 1e3 * time));
        let mut cells = match bytes {
            Some(bytes) => format!(" {ours}; {:.1} |", megabytes(bytes)),
            None => format!(" {ours} |"),
        };
        for entrant in &self.theirs {
            cells += &match entrant {
                &Entrant::Timed(time, bytes) => {
                    let ratio = self.time().map_or(f64::NAN, |ours| time / ours);
                    format!(" {:.3}; {ratio:.2}; {:.1} |", 1e3 * time, megabytes(bytes))
                }
                Entrant::Refused(reason) => format!(" refused: {reason} |"),
                Entrant::Wrong(reason) => format!(" WRONG: {reason} |"),
            };
        }
        cells
    }
}

/// Times new products and new values, checks both, and prints a line.
fn time_product<T: Real>(gpu: &Cuda, peers: &[SpGemm<'_>], name: &str, left: &Csr<T>, right: &Csr<T>) -> [Contest; 2] {
    let upload = |matrix: &Csr<T>| matrix.clone().upload(gpu).unwrap_or_else(|error| panic!("{name}: {error}"));
    let sides = [&upload(left), &upload(right)];
    let (mut ours, bytes) = our_product(gpu, sides).unwrap_or_else(|error| panic!("{name}: ours: {error}"));
    let expected = download(gpu, ours.matrix()).unwrap_or_else(|error| panic!("{name}: ours: {error}"));
    let checker = Checker { left, right, expected: &expected };
    checker.check(expected.clone()).unwrap_or_else(|error| panic!("{name}: ours: {error}"));
    let [mut anew, mut again] = [Contest::default(), Contest::default()];
    for peer in peers {
        let (of_new, of_values) = enter(gpu, peer, sides, &mut ours, [&mut anew.ours, &mut again.ours], &checker);
        anew.theirs.push(of_new);
        again.theirs.extend(of_values);
    }
    let products: usize = left.column_indices().iter().map(|&inner| right.range(inner as usize).len()).sum();
    println!(
        "| {name} | {} | {} | {} | {products} | {} |{}{}",
        left.rows(),
        left.nnz(),
        right.nnz(),
        expected.nnz(),
        anew.cells(Some(bytes)),
        again.cells(None)
    );
    [anew, again]
}

/// Returns our product, and the peak of bytes that it took besides its own arrays.
fn our_product<T: Real>(
    gpu: &Cuda,
    [left, right]: [&Csr<T, CudaMemory>; 2],
) -> Result<(SparseProduct<T, CudaMemory>, u64), Error> {
    gpu.reset_peak();
    let before = gpu.memory_use().now;
    let product = SparseProduct::new(gpu, left, right)?;
    let most = gpu.memory_use().peak - before;
    let workspace = most.saturating_sub(product.matrix().bytes() as u64);
    let stated = SparseProduct::workspace_bytes(gpu, left, right);
    assert!(workspace <= stated, "{workspace} bytes were taken, {stated} stated");
    Ok((product, workspace))
}

fn download<T: Real>(gpu: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Csr<T>, Error> {
    Matrix::Csr(matrix.duplicate(gpu)?).download(gpu)?.into_csr()
}

/// Times one algorithm of cuSPARSE in turns with ours: new products and, if it keeps the pattern, new values.
fn enter<T: Real>(
    gpu: &Cuda,
    peer: &SpGemm<'_>,
    [left, right]: [&Csr<T, CudaMemory>; 2],
    kept: &mut SparseProduct<T, CudaMemory>,
    [our_new, our_values]: [&mut Vec<f64>; 2],
    checker: &Checker<'_, T>,
) -> (Entrant, Option<Entrant>) {
    let timed = in_turns(gpu, our_new, || SparseProduct::new(gpu, left, right), || peer.multiply(left, right));
    let (mut product, time) = match timed {
        Ok(timed) => timed,
        Err(error) => {
            let of_values = peer.keeps_pattern().then(|| Entrant::Refused("there is no product".into()));
            return (Entrant::failed(&error), of_values);
        }
    };
    let entrant = |product: &SpGemmProduct<'_, T>, time| {
        let checked = product.download().map_err(|error| error.to_string()).and_then(|product| checker.check(product));
        checked.map_or_else(Entrant::Wrong, |()| Entrant::Timed(time, product.buffer_bytes()))
    };
    let of_new = entrant(&product, time);
    if !peer.keeps_pattern() {
        return (of_new, None);
    }
    let timed = in_turns(gpu, our_values, || kept.compute(gpu, left, right).map(|_| ()), || product.compute());
    let of_values = match timed {
        Ok(((), time)) => entrant(&product, time),
        Err(error) => Entrant::failed(&error),
    };
    (of_new, Some(of_values))
}

/// Runs our work and theirs in turns, and adds our times to `our_times`. Returns their last result and the median of
/// their times; freeing the previous result is included in the time.
fn in_turns<O, R>(
    gpu: &Cuda,
    our_times: &mut Vec<f64>,
    mut ours: impl FnMut() -> Result<O, Error>,
    mut theirs: impl FnMut() -> Result<R, Error>,
) -> Result<(R, f64), Error> {
    let (mut our_last, mut their_last, mut their_times) = (None, None, Vec::new());
    for turn in 0..=TURNS {
        let our_time = gpu.time(&mut || {
            drop(our_last.take());
            our_last = Some(ours()?);
            Ok(())
        });
        let our_time = our_time.unwrap_or_else(|error| panic!("ours: {error}"));
        let their_time = gpu.time(&mut || {
            drop(their_last.take());
            their_last = Some(theirs()?);
            Ok(())
        })?;
        if turn > 0 {
            our_times.push(our_time.as_secs_f64());
            their_times.push(their_time.as_secs_f64());
        }
    }
    let [_, median, _] = quartiles(&their_times).expect("there are turns");
    Ok((their_last.expect("there are turns"), median))
}

/// Checks products of two matrices.
struct Checker<'a, T: Real> {
    left: &'a Csr<T>,
    right: &'a Csr<T>,
    /// Our product.
    expected: &'a Csr<T>,
}

impl<T: Real> Checker<'_, T> {
    /// Compares the pattern of a product, after sorting its rows, with ours, and its values with the exact ones.
    fn check(&self, mut product: Csr<T>) -> Result<(), String> {
        product.sort_rows().map_err(|error| error.to_string())?;
        let same = product.row_offsets() == self.expected.row_offsets()
            && product.column_indices() == self.expected.column_indices();
        if !same {
            return Err(format!(
                "{} entries, expected the same {} entries as ours",
                product.nnz(),
                self.expected.nnz()
            ));
        }
        let places = || vec![0_usize; self.right.columns()];
        let chunks = (0..product.rows().div_ceil(ROWS_AT_ONCE)).into_par_iter();
        let chunks = chunks.map_init(places, |places, chunk| self.check_rows(&product, chunk, places));
        let none = || (0, 0.0);
        let both = |(wrong, worst): (usize, f64), other: (usize, f64)| Ok((wrong + other.0, worst.max(other.1)));
        match chunks.try_reduce(none, both).map_err(|error| error.to_string())? {
            (0, _) => Ok(()),
            (wrong, worst) => Err(format!("{wrong} values are wrong, the worst by {worst:.2} of its bound")),
        }
    }

    /// Returns the number of wrong values in a chunk of rows, and the largest error over its bound. `places` has one
    /// element per column.
    fn check_rows(&self, product: &Csr<T>, chunk: usize, places: &mut [usize]) -> Result<(usize, f64), Error> {
        let rows = chunk * ROWS_AT_ONCE..product.rows().min((chunk + 1) * ROWS_AT_ONCE);
        let range = product.range(rows.start).start..product.range(rows.end - 1).end;
        let mut sums = vec![Accumulator::default(); range.len()];
        for row in rows {
            for entry in product.range(row) {
                places[product.column_indices()[entry] as usize] = entry - range.start;
            }
            for (inner, factor) in self.left.row(row) {
                for (column, value) in self.right.row(inner as usize) {
                    sums[places[column as usize]].add(factor, value);
                }
            }
        }
        let exact: Vec<_> = sums.into_iter().map(|sum| sum.combined(T::ONE, T::ZERO, T::ZERO)).collect();
        let result = verify(&product.values()[range], &exact, BOUND)?;
        Ok((result.wrong, result.worst))
    }
}
