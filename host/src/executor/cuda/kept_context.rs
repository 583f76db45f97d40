//! The current context of a thread that is not ours.

use std::ptr::null_mut;

use cust::sys::{CUcontext, CUresult, cuCtxGetCurrent, cuCtxSetCurrent};

/// The calling thread's current context, which is the current one again when this is dropped: for calls of programs that
/// use CUDA themselves.
#[doc(hidden)]
pub struct KeptContext(Option<CUcontext>);

impl KeptContext {
    /// Notes which context is current; that may be none.
    #[allow(clippy::new_without_default, reason = "it is no value")]
    pub fn new() -> Self {
        let mut context: CUcontext = null_mut();
        // SAFETY: a place for a context.
        match unsafe { cuCtxGetCurrent(&mut context) } {
            CUresult::CUDA_SUCCESS => Self(Some(context)),
            // Nobody has started the driver yet, so there is no context.
            CUresult::CUDA_ERROR_NOT_INITIALIZED => Self(Some(null_mut())),
            // Without a driver there is nothing to keep.
            _ => Self(None),
        }
    }
}

impl Drop for KeptContext {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            // SAFETY: the context was current when this was made, or is NULL, which means none. Nobody may destroy a context
            // that a thread is using, and this thread's call lasts until now. Where the driver was never started, this is
            // an error that changes nothing.
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
