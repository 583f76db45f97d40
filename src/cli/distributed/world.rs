//! The ranks that share the work, and their executors.

use std::thread;
use std::time::Duration;

use lab::subject::{self, SubjectVisitor};
use warp_spmv::distributed::{self, Communicator, threads};
use warp_spmv::executor::ExecutorName;

use crate::cli::error::Error;
use crate::cli::grids::Grids;
use crate::cli::output;

/// The ranks that share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// This many threads of this process.
    Threads(usize),
    /// The processes started by `mpirun`, including this one.
    Processes(usize),
}

/// The number of processes started by `mpirun`, and the number of this one: for Open MPI and for MPICH's launcher.
fn of_launcher() -> Option<[usize; 2]> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let named = |[size, rank]: [&str; 2]| Some([number(size)?, number(rank)?]);
    [["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"], ["PMI_SIZE", "PMI_RANK"]].into_iter().find_map(named)
}

/// The number of processes that share this machine, as far as Open MPI reports it.
pub fn processes_here() -> usize {
    let number = std::env::var("OMPI_COMM_WORLD_LOCAL_SIZE").ok().and_then(|number| number.parse().ok());
    number.unwrap_or(1).max(1)
}

/// The GPU that a rank of its machine takes: ranks take one each in turn, starting again from the first.
fn turn(rank: usize) -> usize {
    let here = std::env::var("OMPI_COMM_WORLD_LOCAL_RANK").ok().and_then(|number| number.parse().ok());
    here.unwrap_or(rank)
}

/// Whether another process reports the same error: an error from before the ranks exist concerns all of them, and the
/// first reports it.
pub fn is_silent(error: &Error) -> bool {
    match error {
        Error::Rank { heard, .. } => *heard,
        _ if of_launcher().is_some_and(|[_, rank]| rank > 0) => {
            // `mpirun` ends all others as soon as one process ends like this.
            thread::sleep(Duration::from_secs(1));
            true
        }
        _ => false,
    }
}

impl World {
    /// The requested or existing ranks; none for a single process.
    pub fn new(asked: Option<usize>) -> Result<Option<Self>, Error> {
        let processes = of_launcher().map_or(1, |[processes, _]| processes);
        match asked {
            _ if processes > 1 && !cfg!(feature = "mpi") => {
                let what = "one of several processes, and this program was built without the feature `mpi`";
                Err(Error::Usage(format!("started by mpirun as {what}")))
            }
            Some(asked) if processes > 1 && asked != processes => {
                Err(Error::Usage(format!("--ranks is {asked}, but mpirun has started {processes} processes")))
            }
            _ if processes > 1 => Ok(Some(Self::Processes(processes))),
            asked => Ok(asked.map(Self::Threads)),
        }
    }

    /// Refuses to be one of several processes, for a command that all of them would run.
    pub fn refuse() -> Result<(), Error> {
        match of_launcher() {
            Some([processes, _]) if processes > 1 => {
                let message =
                    format!("mpirun has started {processes} processes, but this subcommand does not support several");
                Err(Error::Usage(message))
            }
            _ => Ok(()),
        }
    }

    /// Calls `work` on each rank. Returns its result on rank 0; nothing in another process.
    pub fn run<R: Send>(self, work: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Result<Option<R>, Error> {
        // The first rank to fail tells all others why.
        let work = |communicator: &Communicator| work(communicator).map_err(into_reason);
        match self {
            Self::Threads(ranks) => match threads::run(ranks, work) {
                Ok(results) => Ok(results.into_iter().next()),
                Err(error) => Err(of_rank(error)),
            },
            #[cfg(feature = "mpi")]
            Self::Processes(_) => {
                let with_rank = |communicator: &Communicator| Ok((communicator.rank(), work(communicator)?));
                match distributed::mpi::run(with_rank) {
                    Ok((rank, result)) => Ok((rank == 0).then_some(result)),
                    Err(error) => Err(of_rank(error)),
                }
            }
            #[cfg(not(feature = "mpi"))]
            Self::Processes(_) => Err(Error::Usage("this program was built without the feature `mpi`".into())),
        }
    }
}

/// The executor of each rank.
pub struct Place {
    pub executor: ExecutorName,
    pub grids: Grids,
    /// A message for standard error once the input has proved valid.
    pub note: Option<String>,
}

impl Place {
    /// Does the work of one rank.
    pub fn visit<V: SubjectVisitor>(&self, communicator: &Communicator, work: V) -> Result<V::Output, Error> {
        if let (Some(note), 0) = (&self.note, communicator.rank()) {
            output::say(note);
        }
        Ok(subject::in_turn(self.executor, self.grids.asked(), turn(communicator.rank()), work)?)
    }
}

/// Converts an error of the command for its way through the library, which does not know such errors.
fn into_reason(error: Error) -> distributed::Error {
    match error {
        Error::Distributed(error) => error,
        Error::Library(error) => error.into(),
        other => warp_spmv::Error::Operation(Box::new(other)).into(),
    }
}

fn of_rank(error: distributed::Error) -> Error {
    match error {
        distributed::Error::Rank { rank, reason, heard } => Error::Rank { rank, reason, heard },
        other => other.into(),
    }
}
