//! The border between C and Rust: what crosses it is a status.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Failure, Status, keep};

/// Does the work of a call, and leaves the calling thread the CUDA context that it had. Nothing that the call has begun is
/// seen by others when it panics: handles are made at its end, and what it locks is marked as broken.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // Dropped last: to free what is on a GPU makes its context the current one.
    #[cfg(feature = "cuda")]
    let _kept = host::executor::KeptContext::new();
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        // Dropping it may panic again.
        std::mem::forget(panic);
        Err(Failure::new(Status::Internal, "a fault of warp-spmv: please report it"))
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
        // SAFETY: the library's text, which ends with a 0.
        let message = unsafe { std::ffi::CStr::from_ptr(crate::warp_spmv_last_message()) };
        assert_eq!(message.to_str(), Ok("a b c d é"));
        assert_eq!(guarded(|| Ok(())), Status::Ok);
    }
}
