//! The boundary between C and Rust, which only a status crosses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Failure, Status, keep};

/// Does the work of a call, and restores the calling thread's CUDA context. If it panics, others see nothing of what the
/// call has begun: handles are created at its end, and whatever it locks is marked as broken.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // Dropped last, since freeing GPU memory makes its context current.
    #[cfg(feature = "cuda")]
    let _kept = host::executor::KeptContext::new();
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        // Dropping it may panic again.
        std::mem::forget(panic);
        Err(Failure::new(Status::Internal, "a bug in warp-spmv: please report it"))
    });
    match result {
        Ok(()) => Status::Ok,
        Err(Failure { status, message }) => {
            keep(message);
            status
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guarded(|| panic!("for a test")), Status::Internal);
        assert_eq!(guarded(|| Err(Failure::new(Status::Matrix, "a\0b\nc\u{9b}d é"))), Status::Matrix);
        // SAFETY: the library's null-terminated string.
        let message = unsafe { std::ffi::CStr::from_ptr(crate::warp_spmv_last_message()) };
        assert_eq!(message.to_str(), Ok("a b c d é"));
        assert_eq!(guarded(|| Ok(())), Status::Ok);
    }
}
