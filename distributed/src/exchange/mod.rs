//! Exchange of elements of x between ranks.

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

/// The route of elements from one rank's memory to another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// Between GPUs if possible, by peer copies, NCCL or MPI; otherwise through the host.
    #[default]
    Auto,
    /// Through the host's memory, by the communicator's messages.
    Host,
    /// Each GPU copies from the memory of the others: for ranks that are threads.
    PeerCopies,
    /// By NVIDIA's library NCCL, which is loaded on demand; no two ranks may share a GPU.
    Nccl,
    /// By an MPI that accepts arrays of GPUs ("CUDA-aware"): for ranks that are processes.
    Mpi,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Host, Self::PeerCopies, Self::Nccl, Self::Mpi];

    /// Returns the name in options.
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
            what: "the exchange route",
            value: format!("'{name}'"),
            expected: "auto, host, peer-copies, nccl or mpi",
        })
    }
}

/// The route in use, the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Through the host's memory.
    Host {
        /// The reason for not using another route.
        reason: String,
    },
    /// Each GPU copies from the memory of the others.
    PeerCopies {
        /// Whether all GPUs access the others' memory directly; otherwise the driver copies through the host.
        direct: bool,
    },
    /// By NCCL.
    Nccl {
        /// The library's version, such as 2.28.3.
        version: String,
    },
    /// By MPI, directly from the memory of a GPU.
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

/// Returns the version of NCCL, such as 2.28.3, or the reason why it cannot be used, on one line.
///
/// # Errors
/// The reason.
#[cfg(feature = "nccl")]
pub fn nccl_version() -> Result<String, String> {
    nccl::version()
}

/// A product that needs an exchange of elements of x.
pub(crate) struct Product<'p, T: Scalar, E: Executor> {
    /// Number of vectors, stored consecutively in x.
    pub vectors: usize,
    /// This rank's elements of x.
    pub x: &'p Vector<T, E>,
    /// The local work while elements are in transit.
    pub local: &'p mut dyn FnMut(&mut Watch<'_, E>) -> Result<(), Error>,
    /// Product with the received elements, started as soon as they have arrived; `None` if it is done separately.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "GPUs do that"))]
    pub remote: Option<&'p mut Remote<T, E>>,
}

/// The exchange of a product: all ranks perform theirs in the same order, with the same number of vectors.
pub(crate) trait HaloExchange<T: Scalar, E: Executor>: Send {
    /// Sends the elements of vectors that others need, does the local product, and receives: work queued on the executor
    /// afterwards runs after the elements of other ranks have arrived. Receives them even if the product fails, because
    /// others wait for this rank.
    fn exchange(&mut self, product: Product<'_, T, E>, watch: Watch<'_, E>) -> Result<(), Error>;

    /// Returns the elements of other ranks, vector by vector, once an exchange of `vectors` vectors was done.
    fn received(&self, vectors: usize) -> Option<&Vector<T, E>>;
}

/// An exchange and its route.
pub(crate) type Chosen<T, E> = (Box<dyn HaloExchange<T, E>>, Engine);

/// Creates the exchange of a halo, by the requested route or the best available, for vectors of `length` elements. All
/// ranks must call it.
pub(crate) fn exchange_of<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    route: Route,
    halo: Halo,
    length: usize,
) -> Result<Chosen<T, E>, Error> {
    communicator.agree("the exchange route", route.name())?;
    let reason = match (route, communicator.ranks()) {
        (Route::Host, _) => "it was requested".to_owned(),
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

/// A single rank has all elements.
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
        assert_eq!(error, "the exchange route is 'fast', expected auto, host, peer-copies, nccl or mpi");
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
            (3, Route::Host, "it was requested"),
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
        assert_eq!(error, "rank 1: disagrees with rank 0 about the exchange route: host, not auto");
    }
}
