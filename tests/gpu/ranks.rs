//! Ranks as threads, two on the first GPU and one per GPU: every exchange route against a single rank, and against the
//! route through the host bit by bit; a rank that dies, and one that is silent.

use std::time::{Duration, Instant};

use warp_spmv::distributed::{
    Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Options, Ranges, Route, Rows, Timeline,
    threads,
};
use warp_spmv::executor::{Cpu, Cuda, CudaMemory, Executor};
use warp_spmv::memory::Buffer;
use warp_spmv::solver::{MethodName, Outcome, Solver};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Complex, Csr, Format, Memory, Plan, Scalar};

use crate::scenarios::parts::check_parts_of_arrays;
use crate::scenarios::{Numbers, factor, generated, matrices};
use crate::solvers::solver::{check_report, laplacian, options, relative_residual};

/// Numbers of ranks and of GPUs, which the ranks take in turn.
#[derive(Clone, Copy)]
struct World {
    ranks: usize,
    gpus: u32,
}

impl World {
    fn of(self, communicator: &Communicator) -> Cuda {
        Cuda::new(communicator.rank() as u32 % self.gpus).unwrap()
    }

    fn name(self) -> String {
        format!("{} ranks on {} GPU{}", self.ranks, self.gpus, if self.gpus == 1 { "" } else { "s" })
    }
}

/// Longest silence of a rank allowed here.
const TIMEOUT: Duration = Duration::from_secs(60);

pub fn check_ranks() {
    check_parts_of_arrays(&Cuda::new(0).unwrap());
    let gpus = Cuda::count().unwrap();
    let worlds = [World { ranks: gpus as usize, gpus }, World { ranks: 2, gpus: 1 }];
    for world in worlds.into_iter().filter(|world| world.ranks > 1) {
        for route in [Route::PeerCopies, Route::Nccl] {
            let engine = match on_ranks(world, |communicator| engine(communicator, world, route)) {
                Ok(engines) => engines[0].clone(),
                Err(error) if error.to_string().contains("exchange by ") => {
                    println!("- {}: not checked: {error}", world.name());
                    continue;
                }
                Err(error) => panic!("{}: {error}", world.name()),
            };
            let products = check_products::<f64>(world, route)
                + check_products::<f32>(world, route)
                + check_products::<Complex<f32>>(world, route)
                + check_products::<Complex<f64>>(world, route);
            let methods = check_methods(world, route);
            println!(
                "- {}, {engine}: {products} products and {methods} solutions right, equal to those through the host",
                world.name()
            );
            for (what, time) in [("dies", check_death(world, route)), ("is silent", check_silence(world, route))] {
                println!(
                    "- {}, {engine}: a rank that {what} stops all others after {:.1} s",
                    world.name(),
                    time.as_secs_f64()
                );
            }
            print_timelines(world, route);
        }
    }
}

fn on_ranks<R: Send>(world: World, work: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    threads::run_with(world.ranks, Options { timeout: Some(TIMEOUT) }, work)
}

/// Returns the rank's part of a matrix.
fn part<T: Scalar>(
    communicator: &Communicator,
    gpu: &Cuda,
    matrix: &Csr<T>,
    distribution: &Distribution,
    options: &MatrixOptions,
) -> Result<DistributedMatrix<T, Cuda>, Error> {
    let rows = Rows::of(matrix, distribution.rows.of(communicator.rank()))?;
    DistributedMatrix::new(communicator, gpu, distribution.clone(), rows, options)
}

fn engine(communicator: &Communicator, world: World, route: Route) -> Result<String, Error> {
    let matrix = laplacian::<f64>(&[6, 5]);
    let distribution = Distribution::square(Ranges::even(30, world.ranks)?);
    let options = MatrixOptions { route, ..MatrixOptions::default() };
    Ok(part(communicator, &world.of(communicator), &matrix, &distribution, &options)?.engine().to_string())
}

/// Fills memory that later arrays reuse with NaN.
fn poison<T: Scalar>(gpu: &Cuda) {
    let poison = gpu.upload(vec![T::from_f64(f64::NAN); 1 << 20]).unwrap();
    let (mut reachable, _) = gpu.reachable::<T>(1 << 20).unwrap();
    gpu.copy(&poison, &mut reachable).unwrap();
    gpu.synchronize().unwrap();
}

/// Matrices whose halos are empty, contain everything, or come from one rank alone.
fn with_halos<T: Scalar>() -> Vec<(String, Csr<T>)> {
    type HasEntry = fn(u32, u32) -> bool;
    let size = 40_u32;
    let mut matrices = matrices::<T>();
    let kinds: [(&str, HasEntry); 3] = [
        ("the diagonal", |row, column| row == column),
        ("all entries", |_, _| true),
        ("the last column alone", |_, column| column == 39),
    ];
    for (name, is_there) in kinds {
        let places =
            (0..size * size).map(|place| (place / size, place % size)).filter(|&(row, column)| is_there(row, column));
        let (rows, columns): (Vec<u32>, Vec<u32>) = places.unzip();
        let values = Numbers::new(3).vector(rows.len());
        let size = size as usize;
        matrices.push((name.into(), Csr::try_from_triplets(size, size, &rows, &columns, &values).unwrap()));
    }
    matrices.push(("stencil:7:40".into(), generated("stencil:7:40")));
    matrices
}

fn bits<T: Scalar>(vector: &[T]) -> Vec<u64> {
    vector.iter().flat_map(|element| element.parts()).map(f64::to_bits).collect()
}

/// Number of products queued before the first result is read.
const QUEUED: usize = 5;

/// A matrix, its distribution and storage, and its vectors.
struct Case<T: Scalar> {
    name: String,
    matrix: Csr<T>,
    distribution: Distribution,
    /// Format of the entries in columns of other ranks.
    remote: Format,
    xs: Vec<Vec<T>>,
    old_y: Vec<T>,
}

/// The matrices with halos, each with rows on all ranks, and with all rows on the last rank and x on all.
fn cases<T: Scalar>(world: World) -> Vec<Case<T>> {
    let mut cases = Vec::new();
    for (number, (name, matrix)) in with_halos::<T>().into_iter().enumerate() {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let mut numbers = Numbers::new(11);
        let xs: Vec<Vec<T>> = (0..QUEUED).map(|_| numbers.vector(columns)).collect();
        let old_y: Vec<T> = numbers.vector(rows);
        let even = |total: usize| Ranges::even(total as u64, world.ranks).unwrap();
        let last = (0..=world.ranks).map(|rank| if rank == world.ranks { rows as u64 } else { 0 }).collect();
        for (way, ranges) in [even(rows), Ranges::try_new(last).unwrap()].into_iter().enumerate() {
            cases.push(Case {
                name: name.clone(),
                matrix: matrix.clone(),
                distribution: Distribution { rows: ranges, columns: even(columns) },
                remote: if (number + way) % 2 == 0 { Format::Auto } else { Format::CSR_VECTOR },
                xs: xs.clone(),
                old_y: old_y.clone(),
            });
        }
    }
    cases
}

impl<T: Scalar> Case<T> {
    /// Checks this rank's part of several queued products with different vectors, and of products with several vectors
    /// at once, and returns their bits.
    fn products(&self, communicator: &Communicator, gpu: &Cuda, route: Route) -> Result<Vec<Vec<u64>>, Error> {
        let Self { name, matrix, distribution, remote, xs, old_y } = self;
        let (rank, rows) = (communicator.rank(), matrix.rows());
        poison::<T>(gpu);
        let mut options = MatrixOptions { local: Format::SELL_P, remote: *remote, route, ..MatrixOptions::default() };
        options.plan.fill_limit = warp_spmv::format::FillLimit { times_csr: 1000.0 };
        let mut part = part(communicator, gpu, matrix, distribution, &options)?;
        let own = |vector: &[T], ranges: &Ranges| {
            let own = ranges.of(rank);
            vector[own.start as usize..own.end as usize].to_vec()
        };
        let own_rows = distribution.rows.of(rank);
        let own_rows = own_rows.start as usize..own_rows.end as usize;
        let mut results = Vec::new();
        for (alpha, beta) in [(T::ONE, T::ZERO), (factor::<T>(1.5), factor(-0.5))] {
            let start = if beta == T::ZERO { vec![T::from_f64(f64::NAN); rows] } else { old_y.clone() };
            // All queued before the first result is read.
            let mut ys = Vec::new();
            for x in xs {
                let x = gpu.upload(own(x, &distribution.columns))?;
                let mut y = gpu.upload(own(&start, &distribution.rows))?;
                part.apply(alpha, &x, beta, &mut y)?;
                ys.push(y);
            }
            for (x, y) in xs.iter().zip(&ys) {
                let y = gpu.download(y)?;
                let expected = exact(matrix, alpha, x, beta, &start)?;
                let verification = verify(&y, &expected[own_rows.clone()], Format::CSR_SCALAR)?;
                assert!(verification.passed(), "{name}, rank {rank}: {verification:?}");
                results.push(bits(&y));
            }
        }
        for vectors in [3, 1, 4, 3] {
            let x: Vec<T> = (0..vectors).flat_map(|vector| own(&xs[vector], &distribution.columns)).collect();
            let x = gpu.upload(x)?;
            let mut y = gpu.upload(vec![T::from_f64(f64::NAN); own_rows.len() * vectors])?;
            part.apply_columns(vectors, T::ONE, &x, T::ZERO, &mut y)?;
            let y = gpu.download(&y)?;
            for vector in 0..vectors {
                let expected = exact(matrix, T::ONE, &xs[vector], T::ZERO, &vec![T::ZERO; rows])?;
                let own_y = &y[vector * own_rows.len()..][..own_rows.len()];
                let verification = verify(own_y, &expected[own_rows.clone()], Format::CSR_SCALAR)?;
                assert!(verification.passed(), "{name}, vector {vector} of {vectors}: {verification:?}");
            }
            results.push(bits(&y));
        }
        Ok(results)
    }
}

/// Checks that all cases by `route` are right and equal those through the host bit by bit. Returns the number of
/// products. The ranks are reused, since NCCL takes a second to connect them, and so are their executors, without which
/// the driver would set up each GPU again for each case.
fn check_products<T: Scalar>(world: World, route: Route) -> usize {
    let cases = cases::<T>(world);
    let of = |route: Route| {
        let products = |communicator: &Communicator| {
            let gpu = world.of(communicator);
            cases.iter().map(|case| case.products(communicator, &gpu, route)).collect::<Result<Vec<_>, _>>()
        };
        on_ranks(world, products).unwrap_or_else(|error| panic!("{}, {}: {error}", world.name(), T::NAME))
    };
    let (by_route, again, by_host) = (of(route), of(route), of(Route::Host));
    for (number, Case { name, .. }) in cases.iter().enumerate() {
        for rank in 0..world.ranks {
            let of_rank = |products: &[Vec<Vec<Vec<u64>>>]| products[rank][number].clone();
            let (own, again, by_host) = (of_rank(&by_route), of_rank(&again), of_rank(&by_host));
            assert!(own == again, "{name}, {}: not the same bits twice", world.name());
            assert!(own == by_host, "{name}, {}: not the same bits as through the host", world.name());
        }
    }
    by_route[0].iter().map(Vec::len).sum()
}

/// Methods that sum over the ranks: about as many iterations as on one rank, and the same bits as through the host.
fn check_methods(world: World, route: Route) -> usize {
    let matrix = laplacian::<f64>(&[40, 30]);
    let b: Vec<f64> = Numbers::new(5).vector(matrix.rows());
    let options = options::<f64>();
    let methods = [MethodName::Cg, MethodName::PipelinedCg, MethodName::Gmres];
    for method in methods {
        let cpu = Cpu::new();
        let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
        let mut solver = Solver::new(&cpu, &mut plan).options(options);
        let alone = method.solve(&mut solver, &b, &mut vec![0.0; b.len()]).unwrap().iterations;
        let of = |route: Route| {
            let parts = on_ranks(world, |communicator| {
                let gpu = world.of(communicator);
                let distribution = Distribution::square(Ranges::balanced(matrix.row_lengths(), world.ranks)?);
                let own = distribution.rows.of(communicator.rank());
                let matrix_options = MatrixOptions { route, ..MatrixOptions::default() };
                let mut part = part(communicator, &gpu, &matrix, &distribution, &matrix_options)?;
                let b = gpu.upload(b[own.start as usize..own.end as usize].to_vec())?;
                let mut x = gpu.zeros(b.len())?;
                let report = method.solve(&mut Solver::new(&gpu, &mut part).options(options), &b, &mut x)?;
                assert_eq!(report.outcome, Outcome::Converged, "{method:?}");
                check_report(&report, &options);
                Ok((report.iterations, gpu.download(&x)?))
            });
            let parts = parts.unwrap_or_else(|error| panic!("{method:?}, {}: {error}", world.name()));
            (parts[0].0, parts.into_iter().flat_map(|part| part.1).collect::<Vec<f64>>())
        };
        let ((iterations, x), again, by_host) = (of(route), of(route), of(Route::Host));
        assert!(iterations.abs_diff(alone) <= alone / 10 + 2, "{method:?}: {iterations} iterations, {alone} alone");
        assert!(relative_residual(&matrix, &x, &b) <= 2.0 * options.relative_tolerance, "{method:?}");
        assert!(bits(&x) == bits(&again.1) && bits(&x) == bits(&by_host.1), "{method:?}: other bits");
    }
    methods.len()
}

/// A rank's part of a matrix, and its vectors.
struct Work {
    gpu: Cuda,
    matrix: DistributedMatrix<f64, Cuda>,
    x: <CudaMemory as Memory>::Buffer<f64>,
    y: <CudaMemory as Memory>::Buffer<f64>,
}

impl Work {
    fn new(communicator: &Communicator, world: World, route: Route, matrix: &Csr<f64>) -> Result<Self, Error> {
        let gpu = world.of(communicator);
        let distribution = Distribution::square(Ranges::even(matrix.rows() as u64, world.ranks)?);
        let options = MatrixOptions { route, ..MatrixOptions::default() };
        let part = part(communicator, &gpu, matrix, &distribution, &options)?;
        let own = distribution.rows.of(communicator.rank());
        let length = (own.end - own.start) as usize;
        Ok(Self { matrix: part, x: gpu.upload(vec![1.0; length])?, y: gpu.zeros(length)?, gpu })
    }

    fn multiply(&mut self) -> Result<(), Error> {
        self.matrix.apply(1.0, &self.x, 0.0, &mut self.y)
    }
}

/// The last rank dies between two products, while the others wait for its elements. Returns the elapsed time.
fn check_death(world: World, route: Route) -> Duration {
    let matrix = generated("stencil:7:30");
    let begin = Instant::now();
    let error = on_ranks(world, |communicator| {
        let mut work = Work::new(communicator, world, route, &matrix)?;
        for product in 0..1000 {
            if product == 5 && communicator.rank() + 1 == world.ranks {
                panic!("planted");
            }
            work.multiply()?;
        }
        // Waits until the queued work ends.
        work.gpu.download(&work.y)?;
        communicator.barrier()
    });
    assert_eq!(error.unwrap_err().to_string(), format!("rank {}: panicked: planted", world.ranks - 1));
    let elapsed = begin.elapsed();
    assert!(elapsed < TIMEOUT, "only the watchdog noticed it");
    elapsed
}

/// The last rank is silent for longer than the timeout. Returns the elapsed time.
fn check_silence(world: World, route: Route) -> Duration {
    let timeout = Duration::from_secs(3);
    let matrix = generated("stencil:7:30");
    let begin = Instant::now();
    let error = threads::run_with(world.ranks, Options { timeout: Some(timeout) }, |communicator| {
        let mut work = Work::new(communicator, world, route, &matrix)?;
        work.multiply()?;
        work.gpu.synchronize()?;
        if communicator.rank() + 1 == world.ranks {
            std::thread::sleep(4 * timeout);
            return communicator.barrier();
        }
        work.multiply()?;
        work.gpu.download(&work.y)?;
        communicator.barrier()
    });
    let error = error.unwrap_err().to_string();
    let known = ["sent nothing for 3 s while rank ", "was not done within 3 s"];
    assert!(known.iter().any(|known| error.contains(known)), "{error}");
    begin.elapsed()
}

/// Prints when the steps of a product begin and end, once its kernels are compiled.
fn print_timelines(world: World, route: Route) {
    let matrix = generated("stencil:27:100");
    let timelines = on_ranks(world, |communicator| {
        let mut work = Work::new(communicator, world, route, &matrix)?;
        (0..10).try_for_each(|_| work.multiply())?;
        communicator.barrier()?;
        let Work { matrix, x, y, .. } = &mut work;
        matrix.apply_timed(1.0, x, 0.0, y)
    });
    for (rank, timeline) in timelines.unwrap_or_else(|error| panic!("{error}")).into_iter().enumerate() {
        let Timeline { pack, exchange, local, remote, add } = timeline;
        let remote = remote.expect("each part has a halo");
        // Event times are multiples of half a microsecond.
        let little = Duration::from_micros(2);
        assert!(pack.end <= exchange.begin + little && exchange.end <= remote.begin + little, "{timeline:?}");
        // The remote product runs beside the local one, or after it.
        let last = add.unwrap_or(remote);
        assert!(
            local.end <= last.begin + little && (add.is_none() || remote.end <= last.begin + little),
            "{timeline:?}"
        );
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let [pack, exchange, local, remote, last] = [pack, exchange, local, remote, last]
            .map(|span| format!("{:.1} to {:.1}", microseconds(span.begin), microseconds(span.end)));
        println!("  - rank {rank}, µs: pack {pack}, exchange {exchange}, local {local}, remote {remote}, last {last}");
    }
}
