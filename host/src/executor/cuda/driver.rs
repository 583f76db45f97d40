//! The driver's results, as errors.

use std::fmt::Debug;

use cust::error::CudaError;
use cust::sys::CUresult;

use crate::error::Error;

/// Turns the driver's result of a call into a [`Result`].
pub(super) fn driver(result: CUresult, what: &str) -> Result<(), Error> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(result, what)) }
}

/// An error of the driver, with the operation that failed.
pub(super) fn failed(result: CUresult, what: &str) -> Error {
    Error::Cuda { what: what.into(), reason: in_words(&result) }
}

/// An error of `cust`, with the operation that failed. The driver is not asked for its own text, since that can fail.
pub(super) fn cuda(what: &str) -> impl Fn(CudaError) -> Error + use<> {
    let what = what.to_owned();
    move |error| Error::Cuda { what: what.clone(), reason: in_words(&error) }
}

/// The name of an error in words: "out of memory" for `CUDA_ERROR_OUT_OF_MEMORY` and for `OutOfMemory`.
pub(super) fn in_words(error: &impl Debug) -> String {
    let name = format!("{error:?}");
    if let Some(name) = name.strip_prefix("CUDA_ERROR_") {
        return name.to_lowercase().replace('_', " ");
    }
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_words() {
        assert_eq!(in_words(&CUresult::CUDA_ERROR_OUT_OF_MEMORY), "out of memory");
        assert_eq!(in_words(&CudaError::OutOfMemory), "out of memory");
        assert_eq!(in_words(&CudaError::NoDevice), "no device");
    }
}
