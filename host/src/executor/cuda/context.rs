//! Contexts: a device's primary one, and those of the caller.

use cust::context::Context as PrimaryContext;
use cust::device::Device;
use cust::error::CudaResult;
use cust::sys::{CUcontext, CUresult, cuCtxGetCurrent, cuCtxGetDevice, cuCtxSetCurrent, cuDevicePrimaryCtxGetState};

use super::driver::{cuda, driver};
use crate::error::Error;

/// The context of an executor.
pub(super) enum Context {
    /// The device's primary context, which exists as long as anyone retains it.
    Primary(PrimaryContext),
    /// A context of the caller, which destroys it later than this.
    Caller(CUcontext),
}

// SAFETY: the driver accepts calls for a context from any thread.
unsafe impl Send for Context {}
// SAFETY: the driver accepts calls for a context from several threads at once.
unsafe impl Sync for Context {}

impl Context {
    /// A device's primary context, made current.
    pub fn primary(device: Device) -> CudaResult<Self> {
        PrimaryContext::new(device).map(Self::Primary)
    }

    /// A context of the caller, or the current one if `context` is NULL, and its device. Makes it current. A primary
    /// context is retained.
    ///
    /// # Safety
    /// `context` must be NULL or a context that has not been destroyed.
    pub unsafe fn of_caller(mut context: CUcontext) -> Result<(Self, Device), Error> {
        if context.is_null() {
            // SAFETY: `context` is valid for writes.
            driver(unsafe { cuCtxGetCurrent(&mut context) }, "asking for the current context")?;
        }
        if context.is_null() {
            let reason = "no context is current on this thread, and none was given".into();
            return Err(Error::Cuda { what: "taking a context".into(), reason });
        }
        let mut number = 0;
        // SAFETY: the context exists, and `number` is valid for writes.
        unsafe {
            driver(cuCtxSetCurrent(context), "setting the context")?;
            driver(cuCtxGetDevice(&mut number), "asking for the context's device")?;
        }
        let devices = Device::devices().map_err(cuda("looking for devices"))?;
        let device = devices.filter_map(Result::ok).find(|device| device.as_raw() == number);
        let device = device.ok_or_else(|| Error::Cuda {
            what: "taking a context".into(),
            reason: format!("its device, {number}, does not exist"),
        })?;
        if is_active(number) {
            let primary = PrimaryContext::new(device).map_err(cuda("making a context"))?;
            if primary.as_raw() == context {
                return Ok((Self::Primary(primary), device));
            }
        }
        let context = Self::Caller(context);
        context.enter()?;
        Ok((context, device))
    }

    pub fn handle(&self) -> CUcontext {
        match self {
            Self::Primary(context) => context.as_raw(),
            Self::Caller(context) => *context,
        }
    }

    /// Makes it current on the calling thread.
    pub fn enter(&self) -> Result<(), Error> {
        // SAFETY: the context exists.
        driver(unsafe { cuCtxSetCurrent(self.handle()) }, "setting the context")
    }
}

/// Whether a device's primary context exists. Retaining it would create it, which takes time and memory.
fn is_active(device: i32) -> bool {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: `device` is a device, and both flags are valid for writes.
    let result = unsafe { cuDevicePrimaryCtxGetState(device, &mut flags, &mut active) };
    result == CUresult::CUDA_SUCCESS && active != 0
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    #[test]
    fn where_there_is_no_context_that_is_an_error() {
        // SAFETY: NULL.
        assert!(unsafe { Context::of_caller(null_mut()) }.is_err());
    }
}
