//! The options for the number of GPUs with ranks, the order in which rows are divided among ranks, and the way in which
//! elements are exchanged.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warp_spmv::distributed::Route;
use warp_spmv::executor::ExecutorName;

use super::{Partition, World};
use crate::cli::error::Error;

// The number of GPUs with ranks, and the exchange of elements. (A plain comment, because clap would show a doc comment
// as help.)
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Ways {
    /// Divide the rows among this many GPUs of this machine, with a rank on each, which is a thread of this process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "ranks")]
    gpus: Option<u32>,
    /// The way in which elements of x are exchanged between ranks
    #[arg(long, value_name = "WAY", default_value = Route::Auto.name(), value_parser = route_parser())]
    exchange: Route,
}

// The same, with the order in which rows are divided among ranks.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Exchanging {
    #[command(flatten)]
    ways: Ways,
    /// The order in which the rows are divided among ranks
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Partition::Rows)]
    partition: Partition,
}

fn route_parser() -> impl TypedValueParser<Value = Route> {
    let values = Route::ALL.map(|route| {
        PossibleValue::new(route.name()).help(match route {
            Route::Auto => "between GPUs if possible, otherwise through the host",
            Route::Host => "through the host's memory",
            Route::PeerCopies => "each GPU copies from the memory of others: for ranks that are threads",
            Route::Nccl => "by NVIDIA's library NCCL, if it is installed",
            Route::Mpi => "by MPI from GPU to GPU, if it reports support: for ranks that are processes",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Route>())
}

impl Ways {
    /// The requested ranks, and the executor of each; at most one of the numbers of ranks and of GPUs is given.
    ///
    /// # Errors
    /// Returns an error if there are fewer GPUs, or if options contradict each other.
    pub fn world(
        self,
        ranks: Option<u32>,
        executor: Option<ExecutorName>,
    ) -> Result<(Option<World>, Option<ExecutorName>), Error> {
        let Some(gpus) = self.gpus else {
            let world = World::new(ranks.map(|ranks| ranks as usize))?;
            if world.is_none() && self.exchange != Route::Auto {
                return Err(Error::Usage("--exchange requires several ranks".into()));
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

    /// The way in which elements are exchanged.
    pub fn route(self) -> Route {
        self.exchange
    }
}

impl Exchanging {
    /// The requested ranks, and the executor of each.
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
            return Err(Error::Usage("--partition requires several ranks".into()));
        }
        Ok((world, executor))
    }

    /// The way in which elements are exchanged.
    pub fn route(self) -> Route {
        self.ways.route()
    }

    /// The order in which rows are divided.
    pub fn partition(self) -> Partition {
        self.partition
    }
}

#[cfg(feature = "cuda")]
fn check_gpus(asked: u32) -> Result<(), Error> {
    match warp_spmv::executor::Cuda::count()? {
        count if asked > count => Err(Error::Usage(format!("--gpus is {asked}, but there are only {count}"))),
        _ => Ok(()),
    }
}

#[cfg(not(feature = "cuda"))]
fn check_gpus(_: u32) -> Result<(), Error> {
    let reason = "this program was built without the feature `cuda`".into();
    Err(warp_spmv::Error::Unavailable { executor: "cuda", reason }.into())
}
