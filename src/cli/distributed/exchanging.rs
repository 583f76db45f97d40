//! The options that say how many GPUs there are ranks on, in which order rows are divided among ranks, and how elements go
//! from one to another.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warp_spmv::distributed::Route;
use warp_spmv::executor::ExecutorName;

use super::{Partition, World};
use crate::cli::error::Error;

// Which ranks there are, and how elements go from one to another. (Clap would take a comment for the documentation as help.)
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Ways {
    /// Divide the rows among this many GPUs of this machine, with a rank on each, which is a thread of this process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "ranks")]
    gpus: Option<u32>,
    /// By which way elements of x go from rank to rank
    #[arg(long, value_name = "WAY", default_value = Route::Auto.name(), value_parser = route_parser())]
    exchange: Route,
}

// The same, and in which order rows are divided among them.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Exchanging {
    #[command(flatten)]
    ways: Ways,
    /// In which order the rows are divided among ranks
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Partition::Rows)]
    partition: Partition,
}

fn route_parser() -> impl TypedValueParser<Value = Route> {
    let values = Route::ALL.map(|route| {
        PossibleValue::new(route.name()).help(match route {
            Route::Auto => "between GPUs if there is a way, otherwise through the host",
            Route::Host => "through the host's memory",
            Route::PeerCopies => "each GPU copies from the memory of others: for ranks that are threads",
            Route::Nccl => "by NVIDIA's library NCCL, where it is installed",
            Route::Mpi => "by MPI from GPU to GPU, where it says that it can: for ranks that are processes",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Route>())
}

impl Ways {
    /// The ranks that are asked for, and the executor of each; the number of ranks as well as that of GPUs is never given.
    ///
    /// # Errors
    /// When there are fewer GPUs, or options contradict each other.
    pub fn world(
        self,
        ranks: Option<u32>,
        executor: Option<ExecutorName>,
    ) -> Result<(Option<World>, Option<ExecutorName>), Error> {
        let Some(gpus) = self.gpus else {
            let world = World::new(ranks.map(|ranks| ranks as usize))?;
            if world.is_none() && self.exchange != Route::Auto {
                return Err(Error::Usage("--exchange goes with several ranks".into()));
            }
            return Ok((world, executor));
        };
        if let Some(other) = executor.filter(|&executor| executor != ExecutorName::Cuda) {
            return Err(Error::Usage(format!("--gpus does not go with --executor {other}")));
        }
        let world = World::new(Some(gpus as usize))?;
        if !matches!(world, Some(World::Threads(_))) {
            return Err(Error::Usage("--gpus is for threads, and mpirun has started processes".into()));
        }
        check_gpus(gpus)?;
        Ok((world, Some(ExecutorName::Cuda)))
    }

    /// By which way elements go.
    pub fn route(self) -> Route {
        self.exchange
    }
}

impl Exchanging {
    /// The ranks that are asked for, and the executor of each.
    ///
    /// # Errors
    /// As for [`Ways::world`].
    pub fn world(
        self,
        ranks: Option<u32>,
        executor: Option<ExecutorName>,
    ) -> Result<(Option<World>, Option<ExecutorName>), Error> {
        let (world, executor) = self.ways.world(ranks, executor)?;
        if world.is_none() && self.partition != Partition::Rows {
            return Err(Error::Usage("--partition goes with several ranks".into()));
        }
        Ok((world, executor))
    }

    /// By which way elements go.
    pub fn route(self) -> Route {
        self.ways.route()
    }

    /// In which order rows are divided.
    pub fn partition(self) -> Partition {
        self.partition
    }
}

#[cfg(feature = "cuda")]
fn check_gpus(asked: u32) -> Result<(), Error> {
    match warp_spmv::executor::Cuda::count()? {
        count if asked > count => Err(Error::Usage(format!("--gpus is {asked}, and there are {count}"))),
        _ => Ok(()),
    }
}

#[cfg(not(feature = "cuda"))]
fn check_gpus(_: u32) -> Result<(), Error> {
    let reason = "this program was built without the feature `cuda`".into();
    Err(warp_spmv::Error::Unavailable { executor: "cuda", reason }.into())
}
