//! Choice of the route between GPUs.

use std::any::Any;

use host::Scalar;
use host::executor::Executor;

use super::{Chosen, Route, gpu_messages, peers};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::halo::Halo;
use crate::timeline::as_cuda;

/// The result of looking for a route between GPUs, the same on all ranks.
pub(super) enum OnDevice<T: Scalar, E: Executor> {
    Possible(Chosen<T, E>),
    /// The reason for the lack of a route.
    Impossible(String),
}

const NO_GPU: u8 = 0;
const OTHER_CONTEXT: u8 = 1;
const READY: u8 = 2;

/// Returns the exchange between GPUs, if there is a route. All ranks must call it.
pub(super) fn on_device<T: Scalar, E: Executor>(
    communicator: &Communicator,
    executor: &E,
    route: Route,
    halo: &Halo,
    length: usize,
) -> Result<OnDevice<T, E>, Error> {
    let cuda = as_cuda(executor);
    // A rank has no GPU, one in a context unknown to libraries built on CUDA's runtime, or a usable one.
    let own = cuda.map_or(NO_GPU, |cuda| if cuda.is_in_primary_context() { READY } else { OTHER_CONTEXT });
    let all = communicator.all_gather(&[own])?;
    let not_ready = all.iter().position(|rank| rank[..] != [READY]);
    let cuda = match (cuda, not_ready) {
        (Some(cuda), None) => cuda,
        (_, rank) => {
            let rank = rank.unwrap_or(communicator.rank());
            return Ok(OnDevice::Impossible(match all[rank][..] == [OTHER_CONTEXT] {
                true => format!("rank {rank} is not in the primary context of its GPU"),
                false => format!("rank {rank} is not on a GPU"),
            }));
        }
    };
    let mut reason = "ranks are processes, which cannot access each other's memory".to_owned();
    if matches!(route, Route::Auto | Route::PeerCopies) && communicator.shares_memory() {
        let (exchange, engine) = peers::exchange::<T>(communicator, cuda, halo, length)?;
        return Ok(OnDevice::Possible((for_executor(exchange)?, engine)));
    }
    if matches!(route, Route::Auto | Route::Nccl) {
        #[cfg(feature = "nccl")]
        match super::nccl::exchange::<T>(communicator, cuda, halo, length)? {
            Ok((exchange, engine)) => return Ok(OnDevice::Possible((for_executor(exchange)?, engine))),
            Err(why) => reason = why,
        }
        #[cfg(not(feature = "nccl"))]
        {
            reason = "this program was built without the feature `nccl`".into();
        }
    }
    if matches!(route, Route::Auto | Route::Mpi) {
        match gpu_messages::exchange::<T>(communicator, cuda, halo, length)? {
            Ok((exchange, engine)) => return Ok(OnDevice::Possible((for_executor(exchange)?, engine))),
            Err(why) if route == Route::Mpi => reason = why,
            Err(why) => reason = format!("{reason}; {why}"),
        }
    }
    Ok(OnDevice::Impossible(reason))
}

/// Returns the reason of the first rank that cannot use a route, if any: the same on all ranks, which must call it
/// together.
pub(super) fn first_reason(communicator: &Communicator, own: &str) -> Result<Option<String>, Error> {
    let all = communicator.all_gather(own.as_bytes())?;
    let given = all.iter().enumerate().find(|(_, reason)| !reason.is_empty());
    Ok(given.map(|(rank, reason)| format!("rank {rank}: {}", String::from_utf8_lossy(reason))))
}

/// Converts an object for GPUs, such as a `Box<dyn HaloExchange<T, Cuda>>`, to the same for an executor that must be a GPU.
pub(super) fn for_executor<G: Any, E: Any>(of_gpu: G) -> Result<E, Error> {
    let any: Box<dyn Any> = Box::new(of_gpu);
    // The types are the same, because the executor is a GPU.
    any.downcast()
        .map(|of_executor| *of_executor)
        .map_err(|_| Error::Exchange { way: "auto", reason: "the executor is not a GPU".into() })
}
