//! Limit on padding.

use crate::error::Error;

/// Limit on how much a conversion may enlarge a matrix before it is refused.
#[derive(Clone, Copy, Debug)]
pub struct FillLimit {
    /// Largest size of the new arrays, as a multiple of the size in CSR. Up to 1 MiB is always allowed.
    pub times_csr: f64,
}

/// Bytes that any conversion may take: the padding of a small matrix does no harm.
const ALWAYS_ALLOWED: u128 = 1 << 20;

impl Default for FillLimit {
    fn default() -> Self {
        Self { times_csr: 10.0 }
    }
}

impl FillLimit {
    /// Returns whether a matrix of `csr` bytes in CSR may take `predicted` bytes in another format.
    pub fn allows(self, predicted: u128, csr: u128) -> bool {
        predicted <= self.bytes(csr)
    }

    fn bytes(self, csr: u128) -> u128 {
        ((csr as f64 * self.times_csr) as u128).max(ALWAYS_ALLOWED)
    }

    pub(crate) fn check(self, format: &'static str, predicted: u128, csr: u128) -> Result<(), Error> {
        if self.allows(predicted, csr) {
            return Ok(());
        }
        Err(Error::Fill { format, predicted, limit: self.bytes(csr), times: predicted as f64 / csr as f64 })
    }
}
