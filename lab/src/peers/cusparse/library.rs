//! The library itself: finding, loading, and setting its stream.

use std::rc::Rc;

use cudarc::cusparse::sys;
use host::Error;
use host::executor::{Cuda, CudaBuffer};
use host::memory::Element;

/// The functions required by every peer. cudarc panics when a function is missing, so all are looked up beforehand.
const NEEDED: &[&str] = &[
    "cusparseCreate",
    "cusparseDestroy",
    "cusparseGetVersion",
    "cusparseSetStream",
    "cusparseCreateConstCsr",
    "cusparseCreateConstCoo",
    "cusparseCreateConstSlicedEll",
    "cusparseCreateConstBsr",
    "cusparseDestroySpMat",
    "cusparseCreateDnVec",
    "cusparseDestroyDnVec",
    "cusparseDnVecSetValues",
    "cusparseSpMV_bufferSize",
    "cusparseSpMV_preprocess",
    "cusparseSpMV",
];

/// A handle of cuSPARSE, on the stream of an executor.
pub struct Library<'e> {
    handle: sys::cusparseHandle_t,
    cuda: &'e Cuda,
    version: i32,
}

impl<'e> Library<'e> {
    /// Loads the library and creates a handle.
    ///
    /// # Errors
    /// Why it cannot be used, on one line.
    pub fn new(cuda: &'e Cuda) -> Result<Rc<Self>, String> {
        load()?;
        let stream = cuda.enter_stream().map_err(|error| error.to_string())?;
        let mut library = Self { handle: std::ptr::null_mut(), cuda, version: 0 };
        // SAFETY: the functions exist, by `load`; the context is current; the pointers that are written to are valid; the
        // stream outlives the handle, because the executor is borrowed.
        let made = unsafe {
            check("cusparseCreate", sys::cusparseCreate(&mut library.handle))
                .and_then(|()| {
                    check("cusparseGetVersion", sys::cusparseGetVersion(library.handle, &mut library.version))
                })
                .and_then(|()| check("cusparseSetStream", sys::cusparseSetStream(library.handle, stream.cast())))
        };
        made.map_err(|error| error.to_string())?;
        Ok(Rc::new(library))
    }

    /// Checks that a matrix or the vectors belong to the executor, whose stream orders their use and their release.
    pub fn check_own<T: Element>(&self, arrays: &[&CudaBuffer<T>]) -> Result<(), Error> {
        arrays.iter().try_for_each(|array| self.cuda.check_own(array, "an array for cuSPARSE"))
    }

    /// Returns the executor, made current on the calling thread.
    pub fn enter(&self) -> Result<&'e Cuda, Error> {
        self.cuda.enter_stream()?;
        Ok(self.cuda)
    }

    /// Returns the handle.
    pub fn handle(&self) -> sys::cusparseHandle_t {
        self.handle
    }

    /// Returns 1000 times the major version, plus 100 times the minor one, plus the patch level.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Returns whether SpMV supports BSR: as of the version in CUDA 13.0.
    pub fn multiplies_blocks(&self) -> bool {
        self.version >= 12_600
    }

    /// Returns the name and version.
    pub fn name(&self) -> String {
        let (major, minor, patch) = (self.version / 1000, self.version / 100 % 10, self.version % 100);
        format!("cuSPARSE {major}.{minor}.{patch}")
    }
}

/// Returns the name and the version of the library, or the reason why it cannot be used, on one line.
///
/// # Errors
/// The reason.
pub fn cusparse_name(cuda: &Cuda) -> Result<String, String> {
    Ok(Library::new(cuda)?.name())
}

impl Drop for Library<'_> {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        // A failure here can neither be reported nor handled.
        let _ = self.enter();
        // SAFETY: the handle was made by the library and is not used any more.
        let _ = unsafe { sys::cusparseDestroy(self.handle) };
    }
}

/// Finds the library.
fn load() -> Result<(), String> {
    // SAFETY: loading runs the library's own initialization, which has no preconditions.
    if !unsafe { sys::is_culib_present() } {
        return Err("libcusparse.so.12 cannot be loaded; LD_LIBRARY_PATH must contain its folder, and that of the \
                    libnvJitLink.so that it needs"
            .into());
    }
    match NEEDED.iter().find(|function| !has(function)) {
        Some(function) => Err(format!("the libcusparse that is installed is too old: it has no {function}")),
        None => Ok(()),
    }
}

/// Returns whether the loaded library has a function.
pub fn has(function: &str) -> bool {
    // SAFETY: the library is loaded, and nothing is called: the type does not matter.
    unsafe { find::<unsafe extern "C" fn()>(function) }.is_ok()
}

/// Checks that the loaded library has all functions.
///
/// # Errors
/// The first missing one, on one line.
pub fn has_all(functions: &[&str]) -> Result<(), String> {
    match functions.iter().find(|function| !has(function)) {
        Some(function) => Err(format!("the libcusparse that is installed has no {function}")),
        None => Ok(()),
    }
}

/// Returns a function of the loaded library.
///
/// # Errors
/// That there is none of this name, on one line.
///
/// # Safety
/// `F` must be a pointer to a function with the signature of `function`.
pub unsafe fn find<F: Copy>(function: &str) -> Result<F, String> {
    // SAFETY: the library is loaded; the caller ensures the type.
    match unsafe { sys::culib().get::<F>(function.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(_) => Err(format!("the libcusparse that is installed has no {function}")),
    }
}

/// Turns a failed status into an error that names the call.
pub fn check(call: &str, status: sys::cusparseStatus_t) -> Result<(), Error> {
    match status {
        sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS => Ok(()),
        status => Err(Error::Cuda { what: call.into(), reason: format!("{status:?}") }),
    }
}

/// Returns whether an error means that the library does not support the operation at all.
pub fn is_unsupported(error: &Error) -> bool {
    is_of(error, sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED)
}

/// Returns whether an error means that the library lacks the memory or the range of numbers for this size.
pub fn is_out_of_memory(error: &Error) -> bool {
    use sys::cusparseStatus_t::{CUSPARSE_STATUS_ALLOC_FAILED, CUSPARSE_STATUS_INSUFFICIENT_RESOURCES};
    is_of(error, CUSPARSE_STATUS_ALLOC_FAILED) || is_of(error, CUSPARSE_STATUS_INSUFFICIENT_RESOURCES)
}

/// Returns whether an error is that of a status.
fn is_of(error: &Error, status: sys::cusparseStatus_t) -> bool {
    matches!(error, Error::Cuda { reason, .. } if *reason == format!("{status:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_said_in_one_line() {
        match load() {
            Ok(()) => assert!(NEEDED.iter().all(|function| has(function)) && !has("cusparseNoSuchFunction")),
            Err(reason) => assert!(reason.contains("libcusparse") && !reason.contains('\n'), "{reason}"),
        }
    }

    #[test]
    fn a_failure_names_the_call_and_the_status() {
        let error = check("cusparseSpMV", sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED).unwrap_err();
        assert_eq!(error.to_string(), "CUDA: cusparseSpMV: CUSPARSE_STATUS_NOT_SUPPORTED");
        assert!(is_unsupported(&error));
        assert!(check("cusparseSpMV", sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS).is_ok());
        let error = check("cusparseSpMV", sys::cusparseStatus_t::CUSPARSE_STATUS_INVALID_VALUE).unwrap_err();
        assert!(!is_unsupported(&error));
    }
}
