//! Executors: where matrices are stored and multiplied.

use std::ffi::{c_char, c_void};

#[cfg(feature = "cuda")]
use host::executor::Cuda;
use host::executor::{Cpu, Emulated, ExecutorName, HostExecutor, Reference};

use crate::guard::guarded;
use crate::pointers::{check, text};
use crate::registry::{self, Object};
use crate::status::{Failure, Status};

/// A handle of an executor: where matrices are stored and multiplied.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executor {
    /// 0 for none. Unique among all objects ever created.
    pub id: u64,
}

/// Executors, distinguished by the type that generic code needs.
#[derive(Clone)]
pub(crate) enum AnyExecutor {
    Host(HostExecutor),
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

fn create(name: &str, device: u32) -> Result<AnyExecutor, Failure> {
    let name: ExecutorName = name.parse()?;
    if name != ExecutorName::Cuda && device != 0 {
        let message = format!("device is {device}, expected 0 for executor {name}");
        return Err(Failure::new(Status::Argument, message));
    }
    Ok(match name {
        ExecutorName::Reference => AnyExecutor::Host(Reference::new().into()),
        ExecutorName::Cpu => AnyExecutor::Host(Cpu::new().into()),
        ExecutorName::Emulated => AnyExecutor::Host(Emulated::new(0).into()),
        #[cfg(feature = "cuda")]
        ExecutorName::Cuda => AnyExecutor::Cuda(Cuda::new(device)?),
        #[cfg(not(feature = "cuda"))]
        ExecutorName::Cuda => return Err(without_cuda()),
    })
}

/// An executor on a stream of the program.
///
/// # Safety
/// As for [`Cuda::on_stream`].
#[cfg(feature = "cuda")]
pub(crate) unsafe fn create_on_stream(context: *mut c_void, stream: *mut c_void) -> Result<AnyExecutor, Failure> {
    // SAFETY: the caller's promise.
    Ok(AnyExecutor::Cuda(unsafe { Cuda::on_stream(context, stream)? }))
}

/// The same without a GPU.
#[cfg(not(feature = "cuda"))]
pub(crate) unsafe fn create_on_stream(_: *mut c_void, _: *mut c_void) -> Result<AnyExecutor, Failure> {
    Err(without_cuda())
}

#[cfg(not(feature = "cuda"))]
fn without_cuda() -> Failure {
    let message = "executor cuda is not available: this library was built without the feature `cuda`";
    Failure::new(Status::Unavailable, message)
}

/// Creates an executor: "cpu" for all cores of the host, "cuda" for the NVIDIA GPU with number `device`, "emulated" for the
/// GPU's kernels on the host, for tests, and "reference" for sums in twice the precision on one core. `device` is 0 for all
/// but "cuda". Unless the status is OK, `executor` is not written.
///
/// # Safety
/// `name` must be NULL or a null-terminated string, and `executor` must be NULL or memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warp_spmv_executor_create(
    name: *const c_char,
    device: u32,
    executor: *mut Executor,
) -> Status {
    guarded(|| {
        check("executor", executor, 1)?;
        // SAFETY: the caller's promise.
        let made = create(unsafe { text("name", name)? }, device)?;
        // SAFETY: the caller's promise.
        unsafe { registry::give("executor", executor, Object::Executor(made), |id| Executor { id }) }
    })
}

/// Destroys an executor. Plans on it remain valid: they have handles of their own.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_executor_destroy(executor: Executor) -> Status {
    guarded(|| registry::remove("executor", executor.id, |object| matches!(object, Object::Executor(_))))
}

/// The executor of a handle.
pub(crate) fn executor_of(executor: Executor) -> Result<AnyExecutor, Failure> {
    registry::get("executor", executor.id, |object| match object {
        Object::Executor(executor) => Some(executor.clone()),
        Object::Plan(_) => None,
    })
}
