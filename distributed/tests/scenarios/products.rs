//! Products of distributed matrices, compared with the reference.

use std::collections::BTreeSet;
use std::ops::Range;

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::FillLimit;
use warp_spmv::solver::Operator;
use warp_spmv::synthetic::Generator;
use warp_spmv::verify::{ExactElement, exact, verify};
use warp_spmv::{Csr, Format, PartialSums, ProductSums, Scalar};
use warp_spmv_distributed::{
    Communicator, DistributedMatrix, Distribution, Engine, Error, MatrixOptions, Ranges, Route, Rows, Statistics,
    Timeline,
};

use crate::shared::Numbers;
use crate::shared::matrices::{factor, matrices};
use crate::shared::solver::laplacian;

/// Divisions of the numbers below `total`, one of them by `weights`.
fn ways_to_divide(total: usize, weights: &[usize], ranks: usize) -> Vec<Ranges> {
    let total = total as u64;
    // All on one rank: the others have none.
    let on_last = (0..=ranks).map(|rank| if rank == ranks { total } else { 0 }).collect();
    vec![
        Ranges::even(total, ranks).unwrap(),
        Ranges::balanced(weights.iter().copied(), ranks).unwrap(),
        Ranges::try_new(on_last).unwrap(),
    ]
}

/// A rank's part of a vector.
fn part<T: Copy>(vector: &[T], ranges: &Ranges, rank: usize) -> Vec<T> {
    let range = ranges.of(rank);
    vector[range.start as usize..range.end as usize].to_vec()
}

/// Multiplies a matrix, and compares this rank's rows with the exact ones.
fn check<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    (name, matrix): (&str, &Csr<T>),
    distribution: Distribution,
    options: &MatrixOptions,
) -> Result<(), Error> {
    let rank = communicator.rank();
    let mut numbers = Numbers::new(7);
    let (x, old_y): (Vec<T>, Vec<T>) = (numbers.vector(matrix.columns()), numbers.vector(matrix.rows()));
    let rows = Rows::of(matrix, distribution.rows.of(rank))?;
    let own = distribution.columns.of(rank);
    let needed: BTreeSet<u64> = (distribution.rows.of(rank))
        .flat_map(|row| matrix.row(row as usize).map(|(column, _)| u64::from(column)))
        .filter(|column| !own.contains(column))
        .collect();
    let own_x = executor.upload(part(&x, &distribution.columns, rank))?;
    let ranges = distribution.rows.clone();
    let mut distributed = DistributedMatrix::new(communicator, executor, distribution, rows, options)?;
    assert_eq!(distributed.halo(), needed.len(), "{name}");
    assert_eq!(distributed.remote().is_some(), !needed.is_empty(), "{name}");
    for (alpha, beta) in [(factor::<T>(1.5), factor(-0.5)), (T::ONE, T::ZERO)] {
        // With β = 0, the contents of y must not matter.
        let start = if beta == T::ZERO { vec![T::from_f64(f64::NAN); old_y.len()] } else { old_y.clone() };
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut y = executor.upload(part(&start, &ranges, rank))?;
            distributed.apply(alpha, &own_x, beta, &mut y)?;
            results.push(executor.download(&y)?);
        }
        let bits = |y: &[T]| y.iter().flat_map(|y| y.parts()).map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&results[0]), bits(&results[1]), "{name}: another time");
        let expected = part(&exact(matrix, alpha, &x, beta, &start)?, &ranges, rank);
        // No chain of additions is longer than that of a row whose entries are added sequentially: if entries are in two
        // parts, neither has all of them, and joining the parts is one more addition.
        let verification = verify(&results[0], &expected, Format::CSR_SCALAR)?;
        assert!(verification.passed(), "{name}, rank {rank}, {ranges:?}: {verification:?}");
    }
    Ok(())
}

/// All matrices in chosen formats, and in each of the others in turn.
pub fn on_cpu<T: Scalar>(communicator: &Communicator) -> Result<(), Error> {
    let formats: Vec<_> = Format::STANDARD.iter().copied().filter(|format| format.reproducible()).collect();
    for (number, (name, matrix)) in matrices::<T>().iter().enumerate() {
        let lengths: Vec<_> = matrix.row_lengths().collect();
        let ways_of_rows = ways_to_divide(matrix.rows(), &lengths, communicator.ranks());
        let ways_of_columns = ways_to_divide(matrix.columns(), &vec![1; matrix.columns()], communicator.ranks());
        for (way, rows) in ways_of_rows.into_iter().enumerate() {
            // All divisions with one type, and one division of each matrix with the others.
            if T::NAME != "float64" && way != number % 3 {
                continue;
            }
            let columns = ways_of_columns[(way + number) % 3].clone();
            let mut options = MatrixOptions::default();
            if way > 0 {
                options.local = formats[(2 * number + way) % formats.len()];
                options.remote = formats[(3 * number + way) % formats.len()];
                // Some matrices are mostly padding in some formats.
                options.plan.fill_limit = FillLimit { times_csr: 2000.0 };
            }
            check(communicator, &Cpu::new(), (name, matrix), Distribution { rows, columns }, &options)?;
        }
    }
    Ok(())
}

/// All matrices in chosen formats, by a route between GPUs.
#[cfg(feature = "cuda")]
pub fn on_gpus<T: Scalar>(communicator: &Communicator, gpu: &host::executor::Cuda, route: Route) -> Result<(), Error> {
    for (number, (name, matrix)) in matrices::<T>().iter().enumerate() {
        let lengths: Vec<_> = matrix.row_lengths().collect();
        let ways_of_rows = ways_to_divide(matrix.rows(), &lengths, communicator.ranks());
        let ways_of_columns = ways_to_divide(matrix.columns(), &vec![1; matrix.columns()], communicator.ranks());
        for (way, rows) in ways_of_rows.into_iter().enumerate() {
            let columns = ways_of_columns[(way + number) % 3].clone();
            let options = MatrixOptions { route, ..MatrixOptions::default() };
            check(communicator, gpu, (name, matrix), Distribution { rows, columns }, &options)?;
        }
    }
    Ok(())
}

/// A few small matrices, of each kind.
fn small<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let names = ["0 x 5", "5 x 0", "no entry at all", "a few rows of two", "rows and columns that no block divides"];
    matrices().into_iter().filter(|(name, _)| names.contains(&&**name)).collect()
}

fn small_on<T: Scalar, E: Executor>(communicator: &Communicator, executor: &E) -> Result<(), Error> {
    for (name, matrix) in &small::<T>() {
        let rows = Ranges::even(matrix.rows() as u64, communicator.ranks())?;
        let columns = Ranges::even(matrix.columns() as u64, communicator.ranks())?;
        let distribution = Distribution { rows, columns };
        check(communicator, executor, (name, matrix), distribution, &MatrixOptions::default())?;
    }
    Ok(())
}

pub fn on_reference(communicator: &Communicator) -> Result<(), Error> {
    small_on::<f64, _>(communicator, &Reference::new())?;
    small_on::<warp_spmv::Complex<f32>, _>(communicator, &Reference::new())
}

pub fn on_emulator(communicator: &Communicator) -> Result<(), Error> {
    let executor = Emulated::new(communicator.rank() as u64);
    small_on::<f32, _>(communicator, &executor)?;
    small_on::<warp_spmv::Complex<f64>, _>(communicator, &executor)
}

/// Halos that are empty, have one element, or have all elements that a rank does not own.
pub fn halos(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let count = 3 * ranks as u32;
    // Entries in the columns from `below` before the diagonal up to it, or in all.
    let matrix = |below: Option<u32>| {
        let of_row = |row: u32| match below {
            Some(below) => row.saturating_sub(below)..row + 1,
            None => 0..count,
        };
        let entries: Vec<_> = (0..count).flat_map(|row| of_row(row).map(move |column| (row, column))).collect();
        let (rows, columns): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        let values: Vec<f64> =
            rows.iter().zip(&columns).map(|(row, column)| f64::from(row * 3 + column) - 5.0).collect();
        Csr::try_from_triplets(count as usize, count as usize, &rows, &columns, &values).unwrap()
    };
    let others = 3 * (ranks - 1);
    for (below, halo, sent) in [
        (Some(0), 0, 0),
        (Some(1), usize::from(rank > 0), usize::from(rank + 1 < ranks)),
        // Each element is sent to every other rank.
        (None, others, others),
    ] {
        let matrix = matrix(below);
        let distribution = Distribution::square(Ranges::even(count.into(), ranks)?);
        let rows = Rows::of(&matrix, distribution.rows.of(rank))?;
        let cpu = Cpu::new();
        let options = MatrixOptions::default();
        let distributed = DistributedMatrix::new(communicator, &cpu, distribution.clone(), rows, &options)?;
        assert_eq!((distributed.halo(), distributed.sent()), (halo, sent), "{below:?}");
        check(communicator, &cpu, ("halos", &matrix), distribution, &options)?;
    }
    Ok(())
}

/// Products with several vectors at once, more and fewer than before, and with one in between.
pub fn several_vectors(communicator: &Communicator) -> Result<(), Error> {
    type T = warp_spmv::Complex<f64>;
    let rank = communicator.rank();
    for (name, matrix) in small::<T>() {
        let rows = Ranges::balanced(matrix.row_lengths(), communicator.ranks())?;
        let columns = Ranges::even(matrix.columns() as u64, communicator.ranks())?;
        let own = Rows::of(&matrix, rows.of(rank))?;
        let distribution = Distribution { rows: rows.clone(), columns: columns.clone() };
        let options = MatrixOptions { local: Format::SELL_P, remote: Format::COO, ..MatrixOptions::default() };
        let mut distributed = DistributedMatrix::new(communicator, &Cpu::new(), distribution, own, &options)?;
        for vectors in [2, 5, 1, 3, 0] {
            let mut numbers = Numbers::new(vectors as u64);
            let x: Vec<Vec<T>> = (0..vectors).map(|_| numbers.vector(matrix.columns())).collect();
            let y: Vec<Vec<T>> = (0..vectors).map(|_| numbers.vector(matrix.rows())).collect();
            let parts = |vectors: &[Vec<T>], ranges| -> Vec<T> {
                vectors.iter().flat_map(|vector| part(vector, ranges, rank)).collect()
            };
            let (alpha, beta) = (factor(0.75), factor(-1.5));
            let mut computed = parts(&y, &rows);
            distributed.apply_columns(vectors, alpha, &parts(&x, &columns), beta, &mut computed)?;
            let length = computed.len() / vectors.max(1);
            for (vector, (x, y)) in x.iter().zip(&y).enumerate() {
                let expected = part(&exact(&matrix, alpha, x, beta, y)?, &rows, rank);
                let computed = &computed[vector * length..][..length];
                let verification = verify(computed, &expected, Format::CSR_SCALAR)?;
                assert!(verification.passed(), "{name}, vector {vector} of {vectors}: {verification:?}");
            }
        }
        // All ranks learn that one of them has such a format.
        let local = if rank == 0 { Format::Coo16 } else { Format::SELL_P };
        let options = MatrixOptions { local, ..options };
        let (own, distribution) = (Rows::of(&matrix, rows.of(rank))?, Distribution { rows, columns });
        let mut distributed = DistributedMatrix::new(communicator, &Cpu::new(), distribution, own, &options)?;
        let error = distributed.apply_columns(2, T::ONE, &vec![], T::ZERO, &mut vec![]).unwrap_err().to_string();
        assert_eq!(error, "the operator has no product with several vectors");
    }
    Ok(())
}

/// Sums over the elements of a product computed with it, for rows that need other ranks and for others.
pub fn sums_with_products(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let emulator = Emulated::new(rank as u64);
    // Few rows of a rank have entries of other ranks, or most of them have.
    for (grid, few) in [([4, 24 * ranks], true), ([20, ranks], false)] {
        let matrix = laplacian::<f64>(&grid);
        let size = matrix.rows();
        let ranges = Ranges::even(size as u64, ranks)?;
        let rows = Rows::of(&matrix, ranges.of(rank))?;
        let distribution = Distribution::square(ranges.clone());
        let options = MatrixOptions { local: Format::Dia, ..MatrixOptions::default() };
        let mut distributed = DistributedMatrix::new(communicator, &emulator, distribution, rows, &options)?;
        let mut numbers = Numbers::new(44);
        let [x, w]: [Vec<f64>; 2] = std::array::from_fn(|_| numbers.vector(size));
        let exact = exact(&matrix, 1.0, &x, 0.0, &w)?;
        let [own_x, own_w] = [&x, &w].map(|vector| part(vector, &ranges, rank));
        let mut expected = vec![f64::NAN; own_x.len()];
        distributed.apply(1.0, &own_x, 0.0, &mut expected)?;
        for squares in [false, true] {
            let mut y = vec![f64::NAN; own_x.len()];
            let mut sums = PartialSums::new(&emulator, 2)?;
            let into = ProductSums { with: &own_w, squares, into: &mut sums };
            let added_up = distributed.apply_with_sums(1.0, &own_x, 0.0, &mut y, into)?;
            assert_eq!(added_up, ranks == 1 || few && !squares, "{grid:?}, {squares}");
            if !added_up {
                continue;
            }
            let bits = |y: &[f64]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&y), bits(&expected));
            let sums = sums.totals(&emulator)?;
            assert_eq!(sums.len(), 1 + usize::from(squares));
            let mut of_all = [sums[0]];
            communicator.sum(&mut of_all)?;
            let terms = exact.iter().zip(&w).map(|(y, w)| ExactElement::<f64>::rounded(y) * w);
            let magnitude: f64 = terms.clone().map(f64::abs).sum();
            let error = (of_all[0] - terms.sum::<f64>()).abs();
            assert!(error <= 1e-13 * magnitude, "{grid:?}: off by {error:e} of {magnitude}");
        }
    }
    Ok(())
}

/// A dense matrix with one row more than there are ranks, and its distribution.
fn all_of_all(communicator: &Communicator) -> Result<(Csr<f64>, Distribution), Error> {
    let size = communicator.ranks() + 1;
    let places: Vec<_> = (0..size * size).collect();
    let [rows, columns] = [|place, size| place / size, |place, size| place % size]
        .map(|of: fn(usize, usize) -> usize| places.iter().map(|&place| of(place, size) as u32).collect::<Vec<_>>());
    let matrix = Csr::try_from_triplets(size, size, &rows, &columns, &vec![1.0; size * size])?;
    Ok((matrix, Distribution::square(Ranges::even(size as u64, communicator.ranks())?)))
}

/// Without a GPU on any rank, elements go through the host, and the matrix reports that; other routes are rejected.
pub fn ways(communicator: &Communicator) -> Result<(), Error> {
    let (matrix, distribution) = all_of_all(communicator)?;
    let alone = communicator.ranks() == 1;
    let make = |route: Route| {
        let rows = Rows::of(&matrix, distribution.rows.of(communicator.rank()))?;
        let options = MatrixOptions { route, ..MatrixOptions::default() };
        DistributedMatrix::new(communicator, &Cpu::new(), distribution.clone(), rows, &options)
    };
    for route in Route::ALL {
        let matrix = match make(route) {
            Ok(matrix) => matrix,
            Err(Error::Exchange { way, reason }) => {
                assert!(!alone && way == route.name() && !reason.is_empty(), "{way}: {reason}");
                continue;
            }
            Err(error) => return Err(error),
        };
        assert!(alone || matches!(route, Route::Auto | Route::Host));
        assert_eq!(*matrix.engine() == Engine::Host { reason: "it was requested".into() }, route == Route::Host);
        assert!(matrix.engine().to_string().starts_with("through the host: "));
    }
    Ok(())
}

/// A timed product has the same result, and its steps are in the order of their dependencies.
pub fn timelines(communicator: &Communicator) -> Result<(), Error> {
    let (matrix, distribution) = all_of_all(communicator)?;
    let own = distribution.rows.of(communicator.rank());
    let rows = Rows::of(&matrix, own.clone())?;
    let options = MatrixOptions::default();
    let mut distributed = DistributedMatrix::new(communicator, &Cpu::new(), distribution, rows, &options)?;
    let x: Vec<f64> = own.map(|row| row as f64).collect();
    let mut y = vec![f64::NAN; x.len()];
    let timeline = distributed.apply_timed(2.0, &x, 0.0, &mut y)?;
    let size = matrix.rows() as f64;
    assert_eq!(y, vec![size * (size - 1.0); x.len()]);
    let Timeline { pack, exchange, local, remote, add } = timeline;
    assert!(local.begin <= local.end && add.is_none(), "{timeline:?}");
    if communicator.ranks() == 1 {
        assert_eq!((pack, exchange, remote), Default::default());
    } else {
        let remote = remote.unwrap();
        assert!(pack.begin <= pack.end && pack.end <= exchange.begin && exchange.begin <= local.begin, "{timeline:?}");
        assert!(local.end <= exchange.end, "{timeline:?}");
        assert!(exchange.end <= remote.begin && remote.begin <= remote.end, "{timeline:?}");
    }
    Ok(())
}

/// Each rank holds only its own rows: it computes the ranges from the lengths of some, and generates the rows that it
/// receives.
pub fn generated_rows(communicator: &Communicator) -> Result<(), Error> {
    let rank = communicator.rank();
    let generator: Generator = "pareto:rows=2600,k=1.1,seed=5".parse().unwrap();
    let rows_of = |ranges: &Ranges| {
        let Range { start, end } = ranges.of(rank);
        Rows::from_csr(generator.generate_rows::<f64>(start as usize..end as usize).unwrap())
    };
    let even = Ranges::even(generator.rows() as u64, communicator.ranks())?;
    let lengths: Vec<_> = rows_of(&even)?.lengths().collect();
    let ranges = Ranges::balanced_together(communicator, &lengths)?;
    let whole = generator.generate::<f64>().unwrap();
    assert_eq!(ranges, Ranges::balanced(whole.row_lengths(), communicator.ranks())?);
    assert_eq!(rows_of(&ranges)?, Rows::of(&whole, ranges.of(rank))?);
    let distribution = Distribution::square(ranges);
    check(communicator, &Cpu::new(), ("generated", &whole), distribution.clone(), &MatrixOptions::default())?;
    // A rank's own result agrees with that for the whole.
    let (own, cpu) = (rows_of(&distribution.rows)?, Cpu::new());
    let statistics = Statistics::new(&whole, &distribution)?;
    let distributed = DistributedMatrix::new(communicator, &cpu, distribution, own, &MatrixOptions::default())?;
    assert_eq!(distributed.halo() as u64, statistics.parts[rank].halo);
    Ok(())
}
