//! Solvers over distributed operators: the same results as on one rank.

use std::ops::ControlFlow;
use std::time::Duration;

use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
use warp_spmv::solver::{
    BlockCg, Columnwise, Lobpcg, MethodName, Operator, Options, Outcome, Report, Solver, SpectralBounds, SpectrumEnd,
    power_iteration,
};
use warp_spmv::{Complex, Csr, Format, Plan, Scalar};
use warp_spmv_distributed::{Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Ranges, Rows};

use crate::shared::Numbers;
use crate::shared::solver::{
    Family, check_report, complex_convection, convection, hermitian, hermitian_indefinite, indefinite, laplacian,
    laplacian_spectrum, options, relative_residual,
};

/// A matrix, divided by its row lengths.
struct System<T: Scalar> {
    matrix: Csr<T>,
    ranges: Ranges,
}

impl<T: Scalar> System<T> {
    fn new(communicator: &Communicator, family: Family<T>, grid: &[usize]) -> Self {
        let matrix = family(grid);
        let ranges = Ranges::balanced(matrix.row_lengths(), communicator.ranks()).unwrap();
        Self { matrix, ranges }
    }

    fn own<E: Executor>(&self, communicator: &Communicator, executor: &E) -> Result<DistributedMatrix<T, E>, Error> {
        let rows = Rows::of(&self.matrix, self.ranges.of(communicator.rank()))?;
        let distribution = Distribution::square(self.ranges.clone());
        DistributedMatrix::new(communicator, executor, distribution, rows, &MatrixOptions::default())
    }

    fn part(&self, communicator: &Communicator, vector: &[T]) -> Vec<T> {
        let range = self.ranges.of(communicator.rank());
        vector[range.start as usize..range.end as usize].to_vec()
    }
}

/// Solves on all ranks, and returns the report with the whole x.
fn solve<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    system: &System<T>,
    (method, preconditioner): (MethodName, Option<PreconditionerName>),
    (options, b): (Options, &[T]),
) -> Result<(Report, Vec<T>), Error> {
    let mut operator = system.own(communicator, executor)?;
    let own = system.ranges.of(communicator.rank());
    let block = Rows::of(&system.matrix, own.clone())?.block(own)?;
    let mut preconditioner = match preconditioner {
        Some(name) => Some(Preconditioner::new(executor, &block, name)?),
        None => None,
    };
    let (b, mut x) = (executor.upload(system.part(communicator, b))?, executor.zeros(operator.rows())?);
    let mut solver = Solver::new(executor, &mut operator).options(options);
    if let Some(preconditioner) = &mut preconditioner {
        solver = solver.preconditioner(preconditioner);
    }
    let report = method.solve(&mut solver, &b, &mut x)?;
    Ok((report, communicator.all_gather(&executor.download(&x)?)?.concat()))
}

/// Solves on one rank.
fn alone<T: Scalar>(
    matrix: &Csr<T>,
    (method, preconditioner): (MethodName, Option<PreconditionerName>),
    (options, b): (Options, &[T]),
) -> Report {
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::CSR_SCALAR).unwrap();
    let mut preconditioner = preconditioner.map(|name| Preconditioner::new(&cpu, matrix, name).unwrap());
    let mut solver = Solver::new(&cpu, &mut plan).options(options);
    if let Some(preconditioner) = &mut preconditioner {
        solver = solver.preconditioner(preconditioner);
    }
    method.solve(&mut solver, &b.to_vec(), &mut vec![T::ZERO; b.len()]).unwrap()
}

/// Checks that all ranks together solve like a single one, with the same bits every time.
fn check<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    (family, grid): (Family<T>, &[usize]),
    what: (MethodName, Option<PreconditionerName>),
    as_alone: bool,
) -> Result<(), Error> {
    let system = System::new(communicator, family, grid);
    let b: Vec<T> = Numbers::new(5).vector(system.matrix.rows());
    let options = options::<T>();
    let place = format!("{what:?}, {grid:?}, {}, {} ranks", T::NAME, communicator.ranks());
    let (report, x) = solve(communicator, executor, &system, what, (options, &b))?;
    assert_eq!(report.outcome, Outcome::Converged, "{place}");
    check_report(&report, &options);
    let residual = relative_residual(&system.matrix, &x, &b);
    assert!(residual <= 2.0 * options.relative_tolerance, "{place}: {residual:e}");
    let (_, again) = solve(communicator, executor, &system, what, (options, &b))?;
    let bits = |x: &[T]| x.iter().flat_map(|x| x.parts()).map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(&x), bits(&again), "{place}");
    if as_alone {
        // Sums are rounded in another order.
        let expected = alone(&system.matrix, what, (options, &b)).iterations;
        let most = expected / 10 + 2;
        assert!(report.iterations.abs_diff(expected) <= most, "{place}: {} of {expected}", report.iterations);
    }
    Ok(())
}

/// Each method with a matrix of its kind.
fn check_methods<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    grids: &[&[usize]],
) -> Result<(), Error> {
    let complex = T::COMPLEX;
    for &grid in grids {
        for &method in MethodName::ALL {
            // The indefinite matrices lie between eigenvalues, of which there must be some.
            let small = grid.iter().product::<usize>() < 8;
            let family: Family<T> = match method {
                MethodName::Minres if complex && !small => hermitian_indefinite,
                MethodName::Minres if !small => indefinite,
                MethodName::Bicgstab | MethodName::Gmres if complex => complex_convection,
                MethodName::Bicgstab | MethodName::Gmres => convection,
                _ if complex => hermitian,
                _ => laplacian,
            };
            // The number of its iterations depends on rounding.
            let as_alone = method != MethodName::Bicgstab;
            check(communicator, executor, (family, grid), (method, None), as_alone)?;
        }
    }
    Ok(())
}

pub fn methods(communicator: &Communicator) -> Result<(), Error> {
    // With the smallest grid, some ranks have no rows.
    let grids: &[&[usize]] = &[&[5], &[12, 9]];
    check_methods::<f64, _>(communicator, &Cpu::new(), grids)?;
    check_methods::<f32, _>(communicator, &Cpu::new(), &[&[12, 9]])?;
    check_methods::<Complex<f64>, _>(communicator, &Cpu::new(), grids)
}

/// On GPUs, by the best available route.
#[cfg(feature = "cuda")]
pub fn on_gpus(communicator: &Communicator, gpu: &host::executor::Cuda) -> Result<(), Error> {
    check_methods::<f64, _>(communicator, gpu, &[&[5], &[12, 9]])?;
    check_methods::<Complex<f32>, _>(communicator, gpu, &[&[12, 9]])
}

pub fn on_emulator(communicator: &Communicator) -> Result<(), Error> {
    let executor = Emulated::new(communicator.rank() as u64);
    check(communicator, &executor, (laplacian::<f64>, &[6, 3]), (MethodName::Cg, None), true)?;
    check(communicator, &executor, (hermitian::<Complex<f32>>, &[7]), (MethodName::Gmres, None), true)
}

/// Preconditioners made from each rank's own block.
pub fn preconditioners(communicator: &Communicator) -> Result<(), Error> {
    let cpu = Cpu::new();
    for name in ["jacobi", "block-jacobi-4", "ilu0", "neumann-3"] {
        let name: PreconditionerName = name.parse()?;
        let jacobi = name == PreconditionerName::Jacobi;
        let family: Family<f64> = laplacian;
        check(communicator, &cpu, (family, &[12, 9]), (MethodName::Gmres, Some(name)), jacobi)?;
    }
    check(communicator, &cpu, (laplacian::<f64>, &[12, 9]), (MethodName::Cg, Some("ic0".parse()?)), false)
}

/// Conditions that may differ between ranks, the clock and a callback, end all in the same iteration.
pub fn limits(communicator: &Communicator) -> Result<(), Error> {
    let system = System::<f64>::new(communicator, laplacian, &[200]);
    let last = communicator.rank() + 1 == communicator.ranks();
    let cpu = Cpu::new();
    let b = vec![1.0; system.matrix.rows()];
    for (time_limit, expected) in [(None, Outcome::Stopped), (Some(Duration::ZERO), Outcome::TimeLimit)] {
        let mut operator = system.own(communicator, &cpu)?;
        // Only the last rank has a limit, or a callback that stops.
        let no_limit = Duration::from_secs(3600);
        let time_limit = time_limit.map(|limit| if last { limit } else { no_limit });
        let options = Options { relative_tolerance: 0.0, time_limit, check_interval: 4, ..Options::default() };
        let mut stop =
            |_: &_| if last && time_limit.is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let mut solver = Solver::new(&cpu, &mut operator).options(options).callback(&mut stop);
        let report =
            MethodName::Cg.solve(&mut solver, &system.part(communicator, &b), &mut system.part(communicator, &b))?;
        assert_eq!((report.outcome, report.iterations), (expected, 4));
    }
    Ok(())
}

pub fn eigenvalues(communicator: &Communicator) -> Result<(), Error> {
    let grid = &[8, 5];
    let system = System::<f64>::new(communicator, laplacian, grid);
    let spectrum = laplacian_spectrum(grid);
    let most = spectrum[spectrum.len() - 1];
    let cpu = Cpu::new();
    let mut operator = system.own(communicator, &cpu)?;
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6 * most, "{value}, {expected}");

    // From the same vector, for any division.
    let mut plan = Plan::with_format(&cpu, system.matrix.clone(), Format::CSR_SCALAR)?;
    let expected = SpectralBounds::estimate(&cpu, &mut plan, None, 10)?;
    let bounds = SpectralBounds::estimate(&cpu, &mut operator, None, 10)?;
    near(bounds.smallest, expected.smallest);
    near(bounds.largest, expected.largest);

    let options = Options { relative_tolerance: 1e-8, ..Options::default() };
    let mut x = vec![0.0; operator.rows()];
    let report = power_iteration(&cpu, &mut operator, &mut x, &options, None)?;
    assert_eq!(report.outcome, Outcome::Converged);
    near(report.eigenvalues[0], most);

    let mut block = Multicolumn::zeros(&cpu, operator.rows(), 3)?;
    let method = Lobpcg { end: SpectrumEnd::Smallest, options };
    let report = method.solve(&cpu, &mut operator, None, &mut block, None)?;
    assert_eq!(report.outcome, Outcome::Converged);
    report.eigenvalues.iter().zip(&spectrum).for_each(|(&value, &expected)| near(value, expected));
    Ok(())
}

/// Block conjugate gradients, whose columns are exchanged together.
pub fn several_right_hand_sides(communicator: &Communicator) -> Result<(), Error> {
    const COLUMNS: usize = 3;
    let system = System::<f64>::new(communicator, laplacian, &[12, 9]);
    let cpu = Cpu::new();
    let b: Vec<Vec<f64>> = (0..COLUMNS).map(|column| Numbers::new(column as u64).vector(108)).collect();
    let options = options::<f64>();
    let method = BlockCg { columns: COLUMNS as u32 };
    let whole = Csr::duplicate(&system.matrix, &cpu)?;
    let mut alone = Columnwise::new(Plan::with_format(&cpu, whole, Format::CSR_SCALAR)?, COLUMNS);
    let mut solver = Solver::new(&cpu, &mut alone).options(options);
    let expected = solver.solve(&method, &b.concat(), &mut vec![0.0; 108 * COLUMNS])?;

    let rows = Rows::of(&system.matrix, system.ranges.of(communicator.rank()))?;
    let distribution = Distribution::square(system.ranges.clone());
    let formats = MatrixOptions { local: Format::SELL_P, remote: Format::COO, ..MatrixOptions::default() };
    let operator = DistributedMatrix::new(communicator, &cpu, distribution, rows, &formats)?;
    let mut operator = Columnwise::new(operator, COLUMNS);
    let own_b: Vec<f64> = b.iter().flat_map(|b| system.part(communicator, b)).collect();
    let mut own_x = vec![0.0; own_b.len()];
    let report = Solver::new(&cpu, &mut operator).options(options).solve(&method, &own_b, &mut own_x)?;
    assert_eq!(report.outcome, Outcome::Converged);
    assert!(report.iterations.abs_diff(expected.iterations) <= 1, "{} of {}", report.iterations, expected.iterations);
    for (column, b) in b.iter().enumerate() {
        let length = own_x.len() / COLUMNS;
        let x = communicator.all_gather(&own_x[column * length..][..length])?.concat();
        assert!(relative_residual(&system.matrix, &x, b) < 3.0 * options.relative_tolerance, "{column}");
    }
    Ok(())
}
