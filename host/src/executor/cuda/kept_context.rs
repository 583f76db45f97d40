//! The current context of a thread that belongs to the program.

use std::ptr::null_mut;

use cust::sys::{CUcontext, CUresult, cuCtxGetCurrent, cuCtxSetCurrent};

/// The calling thread's current context, restored when this is dropped: for calls from programs that use CUDA themselves.
#[doc(hidden)]
pub struct KeptContext(Option<CUcontext>);

impl KeptContext {
    /// Notes the current context, if any.
    #[allow(clippy::new_without_default, reason = "it is no value")]
    pub fn new() -> Self {
        let mut context: CUcontext = null_mut();
        // SAFETY: `context` is valid for writes.
        match unsafe { cuCtxGetCurrent(&mut context) } {
            CUresult::CUDA_SUCCESS => Self(Some(context)),
            // The driver has not been started yet, so there is no context.
            CUresult::CUDA_ERROR_NOT_INITIALIZED => Self(Some(null_mut())),
            // Without a driver, there is no context to keep.
            _ => Self(None),
        }
    }
}

impl Drop for KeptContext {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            // SAFETY: the context was current when this was made, or is NULL, which means none. Nobody may destroy a context
            // in use by a thread, and this thread's call lasts until now. If the driver was never started, this is an error
            // without effect.
            let _ = unsafe { cuCtxSetCurrent(context) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_nothing_happens() {
        for _ in 0..2 {
            drop(KeptContext::new());
        }
    }
}
