//! How elements of x come from other ranks, and go to them.

mod by_host;
#[cfg(feature = "cuda")]
mod choice;
#[cfg(feature = "cuda")]
mod gpu_messages;
#[cfg(feature = "nccl")]
mod nccl;
#[cfg(feature = "cuda")]
mod peers;
#[cfg(feature = "cuda")]
mod signals;
#[cfg(feature = "cuda")]
mod staged;
#[cfg(feature = "cuda")]
pub(crate) mod sums;

use std::fmt::{self, Display};
use std::str::FromStr;

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::Executor;
use host::{Scalar, Vector};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::remote::Remote;
use crate::timeline::Watch;
#[cfg(feature = "cuda")]
use crate::timeline::as_cuda;
use by_host::ByHost;

/// By which way elements are to go from one rank's memory to another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// Between GPUs, if there is a way: by peer copies, by NCCL, or by MPI; otherwise through the host.
    #[default]
    Auto,
    /// Through the host's memory, by the messages of the communicator.
    Host,
    /// Each GPU copies from the memory of others: for ranks that are threads.
    PeerCopies,
    /// By NVIDIA's library NCCL, which is looked for when it is needed; no two ranks may share a GPU.
    Nccl,
    /// By an MPI that takes arrays of GPUs ("CUDA-aware"): for ranks that are processes.
    Mpi,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Host, Self::PeerCopies, Self::Nccl, Self::Mpi];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Host => "host",
            Self::PeerCopies => "peer-copies",
            Self::Nccl => "nccl",
            Self::Mpi => "mpi",
        }
    }
}

impl FromStr for Route {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let route = Self::ALL.into_iter().find(|route| route.name() == name);
        route.ok_or_else(|| Error::Setting {
            what: "the way of exchanges",
            value: format!("'{name}'"),
            expected: "auto, host, peer-copies, nccl or mpi",
        })
    }
}

/// By which way elements go; the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Through the host's memory.
    Host {
        /// Why by no other way.
        reason: String,
    },
    /// Each GPU copies from the memory of others.
    PeerCopies {
        /// Whether all reach the others' memory directly; otherwise the driver copies by way of the host.
        direct: bool,
    },
    /// By NCCL.
    Nccl {
        /// The library's version, such as 2.28.3.
        version: String,
    },
    /// By MPI, which takes them from the memory of a GPU.
    Mpi,
}

impl Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { reason } => write!(f, "through the host: {reason}"),
            Self::PeerCopies { direct: true } => f.write_str("peer copies"),
            Self::PeerCopies { direct: false } => f.write_str("peer copies, staged by the driver"),
            Self::Nccl { version } => write!(f, "nccl {version}"),
            Self::Mpi => f.write_str("mpi, between the memory of GPUs"),
        }
    }
}

/// The version of NCCL, such as 2.28.3, or why it cannot be used, in one line.
///
/// # Errors
/// The reason.
#[cfg(feature = "nccl")]
pub fn nccl_version() -> Result<String, String> {
    nccl::version()
}

/// A product that elements of x are exchanged for.
pub(crate) struct Product<'p, T: Scalar, E: Executor> {
    /// Number of vectors, one after the other in x.
    pub vectors: usize,
    /// The elements of x that this rank has.
    pub x: &'p Vector<T, E>,
    /// What a rank does with them while others are under way.
    pub local: &'p mut dyn FnMut(&mut Watch<'_, E>) -> Result<(), Error>,
    /// What may be multiplied with the others as soon as they have come; none if it is not.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "GPUs do that"))]
    pub remote: Option<&'p mut Remote<T, E>>,
}

/// The exchange of a product: all ranks do theirs in the same order, with as many vectors.
pub(crate) trait HaloExchange<T: Scalar, E: Executor>: Send {
    /// Sends the elements of vectors that others need, does the local product, and receives: what is queued on the executor
    /// from then on comes after the elements of other ranks. It receives them even if the product fails, for others wait for
    /// this rank.
    fn exchange(&mut self, product: Product<'_, T, E>, watch: Watch<'_, E>) -> Result<(), Error>;

    /// The elements of other ranks, one vector after the other, once as many were exchanged.
    fn received(&self, vectors: usize) -> Option<&Vector<T, E>>;
}

/// An exchange, and by which way it goes.
pub(crate) type Chosen<T, E> = (Box<dyn HaloExchange<T, E>>, Engine);

/// The exchange of a halo, by the way that is asked for or by the best that there is, of vectors of `length` elements. All
/// ranks call it.
pub(crate) fn exchange_of<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    route: Route,
    halo: Halo,
    length: usize,
) -> Result<Chosen<T, E>, Error> {
    communicator.agree("the way of exchanges", route.name())?;
    let reason = match (route, communicator.ranks()) {
        (Route::Host, _) => "it was asked for".to_owned(),
        (_, 1) => "there is one rank".to_owned(),
        #[cfg(feature = "cuda")]
        _ => match choice::on_device(communicator, executor, route, &halo, length)? {
            choice::OnDevice::Possible(chosen) => return Ok(chosen),
            choice::OnDevice::Impossible(reason) => reason,
        },
        #[cfg(not(feature = "cuda"))]
        _ => "this program was built without the feature `cuda`".to_owned(),
    };
    if !matches!(route, Route::Auto | Route::Host) && communicator.ranks() > 1 {
        return Err(Error::Exchange { way: route.name(), reason });
    }
    let engine = Engine::Host { reason };
    if communicator.ranks() == 1 {
        return Ok((Box::new(NoExchange), engine));
    }
    #[cfg(feature = "cuda")]
    if let Some(cuda) = as_cuda(executor) {
        let exchange: Box<dyn HaloExchange<T, Cuda>> = Box::new(staged::Staged::new(communicator, cuda, halo, length)?);
        return Ok((choice::for_executor(exchange)?, engine));
    }
    Ok((Box::new(ByHost::new(communicator, executor, halo, length)?), engine))
}

/// The only rank has all elements.
struct NoExchange;

impl<T: Scalar, E: Executor> HaloExchange<T, E> for NoExchange {
    fn exchange(&mut self, product: Product<'_, T, E>, mut watch: Watch<'_, E>) -> Result<(), Error> {
        (product.local)(&mut watch)
    }

    fn received(&self, _vectors: usize) -> Option<&Vector<T, E>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;

    use super::*;
    use crate::threads;

    #[test]
    fn ways_have_names() {
        for route in Route::ALL {
            assert_eq!(route.name().parse::<Route>().unwrap(), route);
        }
        let error = "fast".parse::<Route>().unwrap_err().to_string();
        assert_eq!(error, "the way of exchanges is 'fast', expected auto, host, peer-copies, nccl or mpi");
    }

    fn engine(communicator: &Communicator, route: Route) -> Result<String, Error> {
        let halo = Halo { to: vec![], elements: vec![], from: vec![] };
        Ok(exchange_of::<f64, _>(communicator, &Cpu::new(), route, halo, 0)?.1.to_string())
    }

    #[test]
    fn without_gpus_elements_go_through_the_host_and_it_says_why() {
        let expected = if cfg!(feature = "cuda") { "rank 0 is not on a GPU" } else { "without the feature `cuda`" };
        for (ranks, route, reason) in [
            (1, Route::Auto, "there is one rank"),
            (1, Route::Nccl, "there is one rank"),
            (3, Route::Host, "it was asked for"),
            (3, Route::Auto, expected),
        ] {
            for engine in threads::run(ranks, |communicator| engine(communicator, route)).unwrap() {
                assert!(engine.starts_with("through the host: ") && engine.ends_with(reason), "{engine}");
            }
        }
        for route in [Route::PeerCopies, Route::Nccl, Route::Mpi] {
            let error = threads::run(2, |communicator| engine(communicator, route)).unwrap_err().to_string();
            assert!(
                error.contains(&format!(": exchange by {}: ", route.name())) && error.ends_with(expected),
                "{error}"
            );
        }
        let differing = |communicator: &Communicator| engine(communicator, Route::ALL[communicator.rank()]);
        let error = threads::run(2, differing).unwrap_err().to_string();
        assert_eq!(error, "rank 1: disagrees with rank 0 about the way of exchanges: host, not auto");
    }
}
