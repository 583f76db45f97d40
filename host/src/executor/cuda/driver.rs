//! What the driver answers, as errors.

use cust::error::CudaError;
use cust::sys::CUresult;

use crate::error::Error;

/// What the driver answered to a call.
pub(super) fn driver(result: CUresult, what: &str) -> Result<(), Error> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(result, what)) }
}

/// An error of the driver, with what was asked of it.
pub(super) fn failed(result: CUresult, what: &str) -> Error {
    Error::Cuda { what: what.into(), reason: format!("{result:?}") }
}

/// An error of `cust`, with what was asked of it. The driver's own text is not asked for: that can fail.
pub(super) fn cuda(what: &str) -> impl Fn(CudaError) -> Error + use<> {
    let what = what.to_owned();
    move |error| Error::Cuda { what: what.clone(), reason: format!("{error:?}") }
}
