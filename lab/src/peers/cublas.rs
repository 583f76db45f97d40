//! cuBLAS, on the same arrays and the same stream.

use std::ptr::{from_ref, null_mut};

use cudarc::cublas::sys;
use host::executor::{Cuda, CudaBuffer};
use host::memory::{Buffer, ElementType};
use host::{Error, Real};

use super::peer::Blas;

/// The required functions. cudarc panics when a function is missing, so all are looked up beforehand.
const NEEDED: &[&str] = &[
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasGetVersion_v2",
    "cublasSetStream_v2",
    "cublasSdot_v2",
    "cublasDdot_v2",
    "cublasSaxpy_v2",
    "cublasDaxpy_v2",
    "cublasSscal_v2",
    "cublasDscal_v2",
];

/// A handle of cuBLAS, on the stream of an executor.
pub struct CuBlas<'e> {
    handle: sys::cublasHandle_t,
    cuda: &'e Cuda,
    /// 10,000 times the major version, plus 100 times the minor one, plus the patch level.
    version: i32,
}

impl<'e> CuBlas<'e> {
    /// Loads the library and creates a handle.
    ///
    /// # Errors
    /// Why it cannot be used, on one line.
    pub fn new(cuda: &'e Cuda) -> Result<Self, String> {
        load()?;
        let stream = cuda.enter_stream().map_err(|error| error.to_string())?;
        let mut library = Self { handle: null_mut(), cuda, version: 0 };
        // SAFETY: the functions exist, by `load`; the context is current; the pointers that are written to are valid; the
        // stream outlives the handle, because the executor is borrowed.
        let made = unsafe {
            check("cublasCreate", sys::cublasCreate_v2(&mut library.handle))
                .and_then(|()| {
                    check("cublasGetVersion", sys::cublasGetVersion_v2(library.handle, &mut library.version))
                })
                .and_then(|()| check("cublasSetStream", sys::cublasSetStream_v2(library.handle, stream.cast())))
        };
        made.map_err(|error| error.to_string())?;
        Ok(library)
    }
}

/// Calls the function for float32 or the one for float64, with `$Number` as the type.
macro_rules! call {
    ($T:ty, $single:ident, $double:ident, |$function:ident, $Number:ident| $status:expr) => {
        match <$T>::TYPE {
            ElementType::Float32 => {
                use sys::$single as $function;
                type $Number = f32;
                check(stringify!($single), $status)
            }
            _ => {
                use sys::$double as $function;
                type $Number = f64;
                check(stringify!($double), $status)
            }
        }
    };
}

impl CuBlas<'_> {
    /// Returns the length of two vectors, which the functions accept with 31 bits.
    fn common_length<T: Real>(&self, x: &CudaBuffer<T>, y: &CudaBuffer<T>) -> Result<i32, Error> {
        self.cuda.check_own(x, "a vector for cuBLAS")?;
        self.cuda.check_own(y, "a vector for cuBLAS")?;
        if x.len() != y.len() {
            return Err(Error::Length { what: "y", found: y.len(), expected: x.len() });
        }
        i32::try_from(x.len()).map_err(|_| Error::Cuda {
            what: "cuBLAS".into(),
            reason: format!("a vector of {} elements, expected fewer than 2^31", x.len()),
        })
    }
}

impl<T: Real> Blas<T, Cuda> for CuBlas<'_> {
    fn library(&self) -> String {
        let (major, minor, patch) = (self.version / 10_000, self.version / 100 % 100, self.version % 100);
        format!("cuBLAS {major}.{minor}.{patch}")
    }

    fn dot(&self, x: &CudaBuffer<T>, y: &CudaBuffer<T>) -> Result<T, Error> {
        let length = self.common_length(x, y)?;
        self.cuda.enter_stream()?;
        let mut product = T::ZERO;
        let place = std::ptr::from_mut(&mut product);
        // SAFETY: both vectors have this length and type; the product is on the host, as the handle expects, has this type,
        // too, and is written before the function returns.
        call!(T, cublasSdot_v2, cublasDdot_v2, |dot, Number| unsafe {
            dot(self.handle, length, address::<_, Number>(x), 1, address::<_, Number>(y), 1, place.cast::<Number>())
        })?;
        Ok(product)
    }

    fn axpy(&self, alpha: T, x: &CudaBuffer<T>, y: &mut CudaBuffer<T>) -> Result<(), Error> {
        let length = self.common_length(x, y)?;
        self.cuda.enter_stream()?;
        // SAFETY: both vectors have this length and type; the factor is on the host and is read before the function
        // returns. Both vectors are this executor's, so freeing one follows on the same stream.
        call!(T, cublasSaxpy_v2, cublasDaxpy_v2, |axpy, Number| unsafe {
            let (x, y) = (address::<_, Number>(x), address::<_, Number>(y).cast_mut());
            axpy(self.handle, length, from_ref(&alpha).cast::<Number>(), x, 1, y, 1)
        })
    }

    fn scale(&self, alpha: T, x: &mut CudaBuffer<T>) -> Result<(), Error> {
        let length = self.common_length(x, x)?;
        self.cuda.enter_stream()?;
        // SAFETY: the vector has this length and type, the factor is read before the function returns, and freeing the
        // vector follows on the same stream.
        call!(T, cublasSscal_v2, cublasDscal_v2, |scale, Number| unsafe {
            scale(self.handle, length, from_ref(&alpha).cast::<Number>(), address::<_, Number>(x).cast_mut(), 1)
        })
    }
}

impl Drop for CuBlas<'_> {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        // A failure here can neither be reported nor handled.
        let _ = self.cuda.enter_stream();
        // SAFETY: the handle was made by the library and is not used any more.
        let _ = unsafe { sys::cublasDestroy_v2(self.handle) };
    }
}

/// Returns the address of a vector on the GPU; `Number` is its type in cuBLAS.
fn address<T: Real, Number>(vector: &CudaBuffer<T>) -> *const Number {
    vector.address() as *const Number
}

/// Finds the library.
fn load() -> Result<(), String> {
    // SAFETY: loading runs the library's own initialization, which has no preconditions.
    if !unsafe { sys::is_culib_present() } {
        return Err("libcublas.so cannot be loaded; LD_LIBRARY_PATH must contain its folder".into());
    }
    let has = |function: &&&str| {
        // SAFETY: the library is loaded, and nothing is called: the type does not matter.
        unsafe { sys::culib().get::<unsafe extern "C" fn()>(function.as_bytes()) }.is_ok()
    };
    match NEEDED.iter().find(|function| !has(function)) {
        Some(function) => Err(format!("the libcublas that is installed has no {function}")),
        None => Ok(()),
    }
}

/// Turns a failed status into an error that names the call.
fn check(call: &str, status: sys::cublasStatus_t) -> Result<(), Error> {
    match status {
        sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        status => Err(Error::Cuda { what: call.into(), reason: format!("{status:?}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_said_in_one_line() {
        if let Err(reason) = load() {
            assert!(reason.contains("libcublas") && !reason.contains('\n'), "{reason}");
        }
    }

    #[test]
    fn a_failure_names_the_call_and_the_status() {
        let error = check("cublasDdot", sys::cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED).unwrap_err();
        assert_eq!(error.to_string(), "CUDA: cublasDdot: CUBLAS_STATUS_NOT_INITIALIZED");
        assert!(check("cublasDdot", sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS).is_ok());
    }
}
