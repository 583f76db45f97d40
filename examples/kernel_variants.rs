//! Times variants of the kernels side by side on a GPU, and checks each:
//! `kernel_variants [--matrix MATRIX]... [--format FORMAT]... [--peer PEER]... [VARIANT]...`.
//! A variant is a name and a file of PTX with the library's entry points, optionally with the size of blocks and of
//! grids: `NAME=FILE.ptx`, `NAME=built-in,threads=128,waves=4`. scripts/kernel-variants.sh makes PTX from patches.
//!
//! The variants take turns within one process, each with its own arrays, so that clocks and other load are the same for
//! all. Matrices that the caches could hold are multiplied with cold caches. A variant that omits a stage, to measure
//! its cost, is timed all the same and reported as wrong.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;
use lab::ceilings::TIMES_CACHE;
use lab::peers::{BOUND, Prepared, WithPeers};
use lab::record::Times;
use lab::subject::Subject;
use lab::vectors::random_vector;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cuda, Executor};
use warp_spmv::io::{Number, ReadOptions};
use warp_spmv::synthetic::{self, Generator};
use warp_spmv::verify::{Exact, exact, verify};
use warp_spmv::{Csr, Error, Format, Plan, Real, ValueStorage, Vector};

#[derive(Parser)]
struct Arguments {
    /// A generator, or a file that has a folder in its name; may be given several times.
    #[arg(long, required = true)]
    matrix: Vec<Source>,
    /// A format; may be given several times.
    #[arg(long, required = true)]
    format: Vec<Format>,
    /// A peer such as cusparse-csr-1; may be given several times.
    #[arg(long)]
    peer: Vec<String>,
    /// Rounds in which each is timed once.
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// The variants that are compared with the first. The kernels of the library are `built-in`.
    #[arg(default_value = "built-in")]
    variants: Vec<Variant>,
}

/// The source of a matrix.
#[derive(Clone)]
enum Source {
    Generated(Generator),
    Stored(PathBuf),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self::Stored(text.into()));
        }
        text.parse().map(Self::Generated).map_err(|error: synthetic::Error| error.to_string())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(generator) => generator.fmt(f),
            Self::Stored(path) => path.display().fmt(f),
        }
    }
}

impl Source {
    fn matrix<T: Real + Number>(&self) -> Result<Csr<T>, Box<dyn std::error::Error>> {
        match self {
            Self::Generated(generator) => Ok(generator.generate()?),
            Self::Stored(path) => Ok(warp_spmv::io::read(path, &ReadOptions::default())?.matrix),
        }
    }
}

/// Kernels and their launch configuration.
#[derive(Clone)]
struct Variant {
    name: String,
    /// PTX, if not the library's.
    file: Option<String>,
    tuning: Tuning,
}

const BUILT_IN: &str = "built-in";

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('=').unwrap_or((text, text));
        let mut parts = rest.split(',');
        let file = parts.next().filter(|&file| file != BUILT_IN).map(str::to_owned);
        let (mut threads_per_block, mut waves) = (Tuning::default().threads_per_block(), Tuning::default().waves());
        for part in parts {
            let number = |text: &str| text.parse().map_err(|error| format!("{part}: {error}"));
            match part.split_once('=') {
                Some(("threads", threads)) => threads_per_block = number(threads)?,
                Some(("waves", given)) => waves = number(given)?,
                _ => return Err(format!("{part}: threads=N or waves=N is expected")),
            }
        }
        let tuning = Tuning::new(threads_per_block, waves).map_err(|error| error.to_string())?;
        Ok(Self { name: name.into(), file, tuning })
    }
}

impl Variant {
    fn executor(&self) -> Result<Cuda, Box<dyn std::error::Error>> {
        let executor = Cuda::new(0)?.with_tuning(self.tuning);
        let Some(file) = &self.file else { return Ok(executor) };
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        // SAFETY: the user vouches for a file given on the command line.
        Ok(unsafe { executor.with_ptx(text) })
    }
}

/// Something that overwrites y with A x.
enum Contender<'a, T: Real> {
    Own(Box<Plan<T, Cuda>>),
    Peer(Box<dyn Prepared<T, Cuda> + 'a>),
}

impl<T: Real> Contender<'_, T> {
    fn multiply(&mut self, x: &Vector<T, Cuda>, y: &mut Vector<T, Cuda>) -> Result<(), Error> {
        match self {
            Self::Own(plan) => plan.apply(T::ONE, x, T::ZERO, y),
            Self::Peer(peer) => peer.multiply(T::ONE, x, T::ZERO, y),
        }
    }
}

/// One contender with its vectors and its measurements so far.
struct Candidate<'a, T: Real> {
    name: String,
    executor: &'a Cuda,
    contender: Contender<'a, T>,
    bound: Format,
    x: Vector<T, Cuda>,
    y: Vector<T, Cuda>,
    times: Vec<f64>,
}

impl<'a, T: Real> Candidate<'a, T> {
    fn new(
        name: String,
        executor: &'a Cuda,
        contender: Contender<'a, T>,
        bound: Format,
        x: &[T],
        rows: usize,
    ) -> Result<Self, Error> {
        let x = executor.upload(x.to_vec())?;
        // NaN cannot be a result, so an element that is not written is detected.
        let y = executor.upload(vec![T::from_f64(f64::NAN); rows])?;
        Ok(Self { name, executor, contender, bound, x, y, times: Vec::new() })
    }

    fn time(&mut self) -> Result<f64, Error> {
        let (contender, x, y) = (&mut self.contender, &self.x, &mut self.y);
        Ok(self.executor.time(&mut || contender.multiply(x, y))?.as_secs_f64())
    }
}

/// Rounds that are not measured.
const WARM_UPS: usize = 3;

/// Times all variants and peers on one matrix in one precision.
fn compare<T: Real + Number>(
    arguments: &Arguments,
    source: &Source,
    executors: &[(String, Cuda)],
) -> Result<(), Box<dyn std::error::Error>> {
    let matrix: Csr<T> = source.matrix()?;
    let x: Vec<T> = random_vector(matrix.columns(), 1)?;
    let exact = exact(&matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()])?;
    let (_, first) = &executors[0];
    // Each executor has a stream, in which its products follow the kernel that clears the caches at once.
    let mut chills = Vec::new();
    for (_, executor) in executors {
        chills.push(executor.chill()?.ok_or("the GPU has no way to clear its caches")?);
    }
    let csr = matrix.clone().upload(first)?;
    let peers = first.peers::<T>(ValueStorage::Full).present;
    for &format in &arguments.format {
        println!("{source} {} {}", T::NAME, format.name());
        let mut candidates = Vec::new();
        for (name, executor) in executors {
            let plan = Plan::with_format(executor, matrix.clone(), format)?;
            let bound = plan.format();
            candidates.push(Candidate::new(
                name.clone(),
                executor,
                Contender::Own(Box::new(plan)),
                bound,
                &x,
                matrix.rows(),
            )?);
        }
        for peer in peers.iter().filter(|peer| arguments.peer.iter().any(|name| name == peer.name())) {
            let shown = first.upload(x.clone())?;
            let prepared = peer.prepare(&csr, &shown, &mut first.zeros(matrix.rows())?)?;
            candidates.push(Candidate::new(
                peer.name().into(),
                first,
                Contender::Peer(prepared),
                BOUND,
                &x,
                matrix.rows(),
            )?);
        }
        let bytes = u64::try_from(matrix.bytes())?;
        let cold = first.device().cache_bytes.is_some_and(|cache| bytes < TIMES_CACHE * cache);
        for round in 0..WARM_UPS + arguments.rounds {
            for candidate in &mut candidates {
                if cold {
                    let is_its = |(_, executor): &(String, Cuda)| std::ptr::eq(executor, candidate.executor);
                    let place = executors.iter().position(is_its).expect("candidates run on these executors");
                    chills[place]()?;
                }
                let time = candidate.time()?;
                if round >= WARM_UPS {
                    candidate.times.push(time);
                }
            }
        }
        print(&candidates, &exact)?;
    }
    Ok(())
}

/// Prints all times and their ratios to the first.
fn print<T: Real>(candidates: &[Candidate<'_, T>], exact: &[Exact]) -> Result<(), Error> {
    let mut unit = None;
    for candidate in candidates {
        let Times { time, quartiles, .. } = Times::of(candidate.times.clone());
        let unit = *unit.get_or_insert(time);
        let passed = verify(&candidate.executor.download(&candidate.y)?, exact, candidate.bound)?.passed();
        let [low, high] = quartiles.map(|time| 1e6 * time);
        let verdict = if passed { "right" } else { "WRONG" };
        println!(
            "  {:24} {:9.1} us ({low:.1} to {high:.1})  {:5.3}  {verdict}",
            candidate.name,
            1e6 * time,
            time / unit
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let mut executors = Vec::new();
    for variant in &arguments.variants {
        executors.push((variant.name.clone(), variant.executor()?));
    }
    for source in &arguments.matrix {
        compare::<f64>(&arguments, source, &executors)?;
        compare::<f32>(&arguments, source, &executors)?;
    }
    Ok(())
}
