//! The subcommands on several ranks: threads of this process, or the processes started by `mpirun`.

#[cfg(feature = "metis")]
mod by_metis;
mod convert;
mod exchanging;
mod loaded;
mod pagerank;
mod partition;
mod parts;
mod run;
mod solve;
mod timeline;
mod world;

pub use convert::{Request as ConvertRequest, convert};
pub use exchanging::{Exchanging, Ways};
pub use pagerank::{Request as PagerankRequest, pagerank};
pub use partition::Partition;
pub use run::{Request as RunRequest, measured, run};
pub use solve::{Request as SolveRequest, solve};
pub use world::{Place, World, is_silent, processes_here};

use super::error::Error;

/// Refuses options that require a single rank: reports the first that is given.
pub fn check_options(options: &[(&str, bool)]) -> Result<(), Error> {
    match options.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Error::Usage(format!("{name} does not go with several ranks"))),
        None => Ok(()),
    }
}
