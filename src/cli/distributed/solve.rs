//! `warp-spmv solve` on several ranks.

use std::fmt::{self, Display};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lab::subject::{Subject, SubjectVisitor};
use lab::vectors::random_part;
use serde::Serialize;
use warp_spmv::ValueStorage;
use warp_spmv::distributed::{Communicator, DistributedMatrix, MatrixOptions, Route, own_block};
use warp_spmv::format::Format;
use warp_spmv::io::{Number, write_vector};
use warp_spmv::memory::{self, zeros};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
use warp_spmv::solver::{MethodName, Options, Outcome, Progress, Report, Solver};
use warp_spmv::verify::{ExactElement, Norm, Verification, exact, verify};

use super::loaded::{Loaded, fetched, matrix_options, vector_part, with_rows};
use super::partition::{Divided, Partition, Told};
use super::parts::{Part, Parts, verified};
use super::world::{Place, World};
use crate::cli::error::Error;
use crate::cli::input::Source;
use crate::cli::interrupt::Interrupt;
use crate::cli::looks::Looks;
use crate::cli::output::{self, printable};
use crate::cli::record::{Environment, Shape, path_if_any, seconds};
use crate::cli::solution::{Residual, Tolerance, norm, seconds_if_any};
use crate::cli::solve::{difference, draw};
use crate::cli::units::{self, duration};

/// The work of each rank.
pub struct Request<'a> {
    pub source: &'a Source,
    pub format: Format,
    pub place: Place,
    pub route: Route,
    pub partition: Partition,
    pub method: MethodName,
    pub preconditioner: Option<PreconditionerName>,
    pub options: Options,
    pub values: ValueStorage,
    pub seed: Option<u64>,
    pub rhs: Option<&'a PathBuf>,
    pub start: Option<&'a PathBuf>,
    pub out: Option<&'a PathBuf>,
    pub plot: Option<&'a PathBuf>,
    pub json: bool,
}

/// The JSON record of `solve --ranks N --json`. Norms are Euclidean, times are in seconds, the largest of all ranks.
#[derive(Debug, Serialize)]
struct Record {
    version: &'static str,
    matrix: Shape,
    ranks: usize,
    /// Whether ranks are processes of MPI.
    processes: bool,
    method: &'static str,
    /// Of each rank's rows and columns.
    preconditioner: Option<String>,
    executor: &'static str,
    /// The device of rank 0's executor.
    device: String,
    /// The way in which elements of x are exchanged between ranks.
    exchange: String,
    /// The order in which rows are divided among ranks.
    partition: Told,
    precision: &'static str,
    tolerance: Tolerance,
    outcome: String,
    converged: bool,
    iterations: usize,
    restarts: usize,
    residual: Residual,
    /// The norm of the error of x over that of x; null if b is from a file.
    error: Option<f64>,
    parts: Parts,
    times: Times,
    history: Vec<f64>,
    #[serde(serialize_with = "path_if_any")]
    out: Option<PathBuf>,
    #[serde(serialize_with = "path_if_any")]
    plot: Option<PathBuf>,
    environment: Environment,
}

#[derive(Debug, Serialize)]
struct Times {
    /// How the rows were obtained: "read" or "generate".
    source: &'static str,
    #[serde(serialize_with = "seconds")]
    load: Duration,
    /// From the rows of each rank to a matrix that can be multiplied.
    #[serde(serialize_with = "seconds")]
    prepare: Duration,
    #[serde(serialize_with = "seconds_if_any")]
    preconditioner: Option<Duration>,
    #[serde(serialize_with = "seconds")]
    solve: Duration,
    #[serde(serialize_with = "seconds_if_any")]
    iteration: Option<Duration>,
}

/// The result, and x on rank 0 if it is to be written.
struct Solved<T> {
    record: Record,
    outcome: Outcome,
    verification: Verification,
    x: Option<Vec<T>>,
}

/// Solves, and checks the residual against that of each rank's rows.
pub fn solve<T: Number>(world: World, request: &Request<'_>) -> Result<(), Error> {
    // Created when the first rank begins to solve. Whichever process receives Ctrl-C stops all.
    let interrupt = &OnceLock::new();
    let solved = with_rows(world, request.source, |communicator, loaded: Loaded<T>, load| {
        let Shape { ref name, rows, columns, .. } = loaded.shape;
        if rows != columns {
            return Err(Error::NotSquare { name: name.clone(), rows, columns });
        }
        let mut loaded = loaded;
        loaded.round_values(request.values)?;
        request.place.visit(communicator, Job { world, request, communicator, loaded, load, interrupt })?
    })?;
    let Some(Solved { mut record, outcome, verification, x }) = solved else { return Ok(()) };
    let wrong_answer = Error::of_verification(&verification, "the residual", record.matrix.rows);
    if let (Some(path), Some(x), None) = (request.out, x, &wrong_answer) {
        write_vector(path, &x)?;
        record.out = Some(path.clone());
    }
    if let Some(path) = request.plot {
        draw(path, &format!("{}, {}", record.matrix.name, record.method), &record.history, record.tolerance.norm)?;
        record.plot = Some(path.clone());
    }
    output::print(&if request.json { output::json(&record) } else { record.to_string() })?;
    wrong_answer.or(Error::of_outcome(outcome, record.iterations)).map_or(Ok(()), Err)
}

/// The work of one rank, once it has its rows.
struct Job<'a, T: Number> {
    world: World,
    request: &'a Request<'a>,
    communicator: &'a Communicator,
    loaded: Loaded<T>,
    load: Duration,
    interrupt: &'a OnceLock<Interrupt>,
}

/// The vectors of one rank.
struct Vectors<T> {
    b: Vec<T>,
    start: Vec<T>,
    /// The x from which b was computed.
    known: Option<Vec<T>>,
}

impl<T: Number> SubjectVisitor for Job<'_, T> {
    type Output = Result<Solved<T>, Error>;

    fn visit<S: Subject>(self, executor: &S) -> Self::Output {
        let Self { request, communicator, loaded, .. } = &self;
        let own_rows = loaded.distribution.rows.of(communicator.rank());
        let (compressed, needed) = loaded.compressed()?;
        let fetched = |own: &[T]| fetched(communicator, &loaded.distribution.columns, own, &needed);
        let Vectors { b, start, known } = self.vectors(&own_rows, |x| {
            let mut b = zeros::<T>(x.len())?;
            let product = exact(&compressed, T::ONE, &fetched(x)?, T::ZERO, &b)?;
            b.iter_mut().zip(&product).for_each(|(b, element)| *b = element.rounded());
            Ok(b)
        })?;
        let Options { relative_tolerance: relative, absolute_tolerance: absolute, .. } = request.options;
        let of_b = self.norm(b.iter().flat_map(|b| b.parts()))?;
        let tolerance = Tolerance { relative, absolute, norm: absolute.max(relative * of_b) };

        let mut divided = Divided::new(communicator, loaded, request.partition)?;
        let preparing = Instant::now();
        let rows = divided.take_rows(loaded);
        let block = match request.preconditioner {
            Some(_) => Some(own_block(&rows, divided.distribution.columns.of(communicator.rank()))?),
            None => None,
        };
        let matrix_options = MatrixOptions { route: request.route, ..matrix_options(request.format, request.values) };
        let mut matrix =
            DistributedMatrix::from_csr(communicator, executor, divided.distribution.clone(), &rows, &matrix_options)?;
        drop(rows);
        executor.synchronize()?;
        let (prepare, preconditioning) = (preparing.elapsed(), Instant::now());
        let mut preconditioner = match (request.preconditioner, block) {
            (Some(name), Some(block)) => Some(Preconditioner::new(executor, &block, name)?),
            _ => None,
        };
        executor.synchronize()?;
        let preparation = preconditioner.is_some().then(|| preconditioning.elapsed());

        let uploaded = |elements| Ok::<_, Error>(executor.upload(divided.renumbered(communicator, elements)?)?);
        let (on_device, mut x) = (uploaded(memory::copy(&b)?)?, uploaded(start)?);
        let (mut looks, interrupt) = (Looks::default(), self.interrupt.get_or_init(Interrupt::new));
        let mut callback = |progress: &Progress| {
            looks.hears_of(progress.iteration, progress.elapsed);
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solver = Solver::new(executor, &mut matrix).options(request.options).callback(&mut callback);
        let mut solver = match &mut preconditioner {
            Some(preconditioner) => solver.preconditioner(preconditioner),
            None => solver,
        };
        let report = request.method.solve(&mut solver, &on_device, &mut x)?;
        let downloaded = |vector| divided.restored(communicator, executor.download(vector)?);
        let computed = downloaded(&x)?;

        let mut residual = on_device;
        matrix.apply(-T::ONE, &x, T::ONE, &mut residual)?;
        let expected = exact(&compressed, -T::ONE, &fetched(&computed)?, T::ONE, &b)?;
        // Whatever the formats, no element has more sequential additions.
        let own = verify(&downloaded(&residual)?, &expected, Format::CSR_SCALAR)?;
        let (verification, exact_norm) = verified::<T>(communicator, own_rows.start, &own, &expected)?;
        let error = match known {
            Some(known) => {
                let pairs = computed.iter().zip(&known);
                let off = self.norm(pairs.flat_map(|(&computed, &known)| difference(computed, known)))?;
                Some(off / self.norm(known.iter().flat_map(|known| known.parts()))?)
            }
            None => None,
        };
        let x = match request.out {
            Some(_) => communicator.gather(0, &computed)?.map(|parts| parts.concat()),
            None => None,
        };
        let parts = Parts::gathered(communicator, &Part::new(&matrix))?;
        let partition = divided.told(communicator, loaded, &needed, parts.volume())?;
        let times = self.times([prepare, report.elapsed], preparation, &looks, &report)?;
        let residual = Residual {
            right_hand_side: report.right_hand_side_norm,
            norm: report.residual_norm,
            exact: exact_norm,
            verification: verification.clone().into(),
        };
        let record = Record {
            version: env!("CARGO_PKG_VERSION"),
            ranks: communicator.ranks(),
            processes: matches!(self.world, World::Processes(_)),
            method: request.method.name(),
            preconditioner: request.preconditioner.map(|name| name.to_string()),
            executor: executor.name().name(),
            device: executor.device().name.clone(),
            exchange: matrix.engine().to_string(),
            partition,
            precision: T::NAME,
            tolerance,
            outcome: report.outcome.to_string(),
            converged: report.outcome == Outcome::Converged,
            iterations: report.iterations,
            restarts: report.restarts,
            residual,
            error,
            parts,
            times,
            history: report.history,
            out: None,
            plot: None,
            environment: Environment::here(request.place.grids.asked()),
            matrix: self.loaded.shape,
        };
        Ok(Solved { record, outcome: report.outcome, verification, x })
    }
}

impl<T: Number> Job<'_, T> {
    /// This rank's parts of b and of the initial x; `product` returns A x.
    fn vectors(
        &self,
        own: &Range<u64>,
        product: impl FnOnce(&[T]) -> Result<Vec<T>, Error>,
    ) -> Result<Vectors<T>, Error> {
        let places = own.start as usize..own.end as usize;
        let read = |path: &PathBuf| vector_part(self.communicator, path, &self.loaded.distribution.columns);
        let (b, known) = match self.request.rhs {
            Some(path) => (read(path)?, None),
            None => {
                let x = match self.request.seed {
                    Some(seed) => random_part(places.clone(), seed)?,
                    None => memory::filled(places.len(), T::ONE)?,
                };
                (product(&x)?, Some(x))
            }
        };
        let start = match self.request.start {
            Some(path) => read(path)?,
            None => zeros(places.len())?,
        };
        Ok(Vectors { b, start, known })
    }

    /// The norm of a vector of which this rank has the numbers `own`.
    fn norm(&self, own: impl Iterator<Item = f64>) -> Result<f64, Error> {
        let norms = self.communicator.all_gather(&[norm(own)])?;
        Ok(norms.iter().flatten().copied().collect::<Norm>().value())
    }

    /// The largest times among all ranks.
    fn times(
        &self,
        [prepare, solve]: [Duration; 2],
        preconditioner: Option<Duration>,
        looks: &Looks,
        report: &Report,
    ) -> Result<Times, Error> {
        let iteration = looks.time_of_iteration(report.iterations, report.elapsed);
        let all = [Some(self.load), Some(prepare), Some(solve), preconditioner, iteration];
        let mut seconds = all.map(|time| time.unwrap_or_default().as_secs_f64());
        self.communicator.reduce(&mut seconds, f64::max)?;
        let [load, prepare, solve, of_preconditioner, of_iteration] = seconds.map(Duration::from_secs_f64);
        Ok(Times {
            source: self.request.source.verb(),
            load,
            prepare,
            preconditioner: preconditioner.map(|_| of_preconditioner),
            solve,
            iteration: iteration.map(|_| of_iteration),
        })
    }
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, method, executor, device, precision, residual, times, parts, .. } = self;
        writeln!(f, "matrix        {}", printable(&matrix.name))?;
        writeln!(f, "shape         {matrix}")?;
        let kind = if self.processes { "processes" } else { "threads" };
        let bytes = units::bytes(parts.bytes().into());
        writeln!(f, "ranks         {} {kind}, {bytes}", self.ranks)?;
        writeln!(f, "method        {method}, {precision}")?;
        if let Some(preconditioner) = &self.preconditioner {
            let time = times.preconditioner.map_or(String::new(), |time| format!(", made in {}", duration(time)));
            writeln!(f, "with          {preconditioner} of each rank's block{time}")?;
        }
        writeln!(f, "executor      {executor}, {device}")?;
        writeln!(f, "exchange      {}", self.exchange)?;
        write!(f, "{}", self.partition)?;
        writeln!(f, "{:13} {}", times.source, duration(times.load))?;
        writeln!(f, "prepare       {}", duration(times.prepare))?;
        write!(f, "solve         {}", duration(times.solve))?;
        match times.iteration {
            Some(iteration) => writeln!(f, ", {} per iteration", duration(iteration))?,
            None => writeln!(f)?,
        }
        writeln!(f, "outcome       {} after {} iterations", self.outcome, self.iterations)?;
        writeln!(f, "residual      {residual}")?;
        if let Some(error) = self.error {
            writeln!(f, "error of x    {error:.2e}")?;
        }
        for (what, path) in [("output", &self.out), ("plot", &self.plot)] {
            if let Some(path) = path {
                writeln!(f, "{what:13} {}", printable(&path.to_string_lossy()))?;
            }
        }
        write!(f, "\n{parts}")
    }
}
