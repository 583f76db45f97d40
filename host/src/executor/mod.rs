//! Executors: where operations run. Each has a file of its own; operations are in [`operation`].

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod emulated;
mod host_executor;
mod host_memory;
mod name;
#[doc(hidden)]
pub mod operation;
mod reference;
pub(crate) mod transfer;

pub use cpu::Cpu;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use cuda::{Beside, Fetch, KeptContext, Mark, Packing, PeerArray, PeerMemory, Piece, SideStream, Staged};
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaBuffer, CudaMemory, DeviceCsr, DeviceIndices, MemoryUse};
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use cust;
pub use emulated::Emulated;
pub use host_executor::HostExecutor;
pub use name::{ExecutorName, ExecutorVisitor};
pub use operation::{Arithmetic, Executor, KernelExecutor, Operation};
pub use reference::Reference;
