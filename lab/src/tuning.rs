//! Requested grid sizes.

use std::fmt;
use std::num::NonZeroU32;

use host::Error;
use host::device::Tuning;
use serde::{Deserialize, Serialize};

/// Requested grid sizes; the rest is the executor's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Threads per block.
    pub threads_per_block: Option<u32>,
    /// Largest number of threads of a grid, as a multiple of those resident on the device.
    pub waves: Option<u32>,
    /// Whether all kernels have the same grid; see [`Tuning::persistent`].
    pub persistent: bool,
    /// See [`Tuning::oversubscribed`].
    pub oversubscription: Option<NonZeroU32>,
}

impl Asked {
    /// Returns itself if anything is requested.
    pub fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// Returns the sizes for an executor with `usual` ones, replaced by the requested ones.
    ///
    /// # Errors
    /// When a size is invalid; see [`Tuning::new`].
    pub fn of(self, usual: Tuning) -> Result<Tuning, Error> {
        let Some(Self { threads_per_block, waves, persistent, oversubscription }) = self.if_any() else {
            return Ok(usual);
        };
        let threads_per_block = threads_per_block.unwrap_or(usual.threads_per_block());
        let mut tuning = Tuning::new(threads_per_block, waves.unwrap_or(usual.waves()))?;
        if persistent {
            tuning = tuning.persistent();
        }
        Ok(oversubscription.or(usual.oversubscription()).map_or(tuning, |warps| tuning.oversubscribed(warps)))
    }
}

/// As options of the command.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { threads_per_block, waves, persistent, oversubscription } = self;
        let number = |name: &str, number: Option<u32>| Some(format!("--{name} {}", number?));
        let told = [
            number("threads-per-block", threads_per_block),
            number("waves", waves),
            persistent.then(|| "--persistent".to_owned()),
            number("oversubscription", oversubscription.map(NonZeroU32::get)),
        ];
        let told: Vec<_> = told.into_iter().flatten().collect();
        f.write_str(&if told.is_empty() { "the default grids".to_owned() } else { told.join(" ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_as_usual() {
        let usual = Tuning::new(64, 3).unwrap();
        assert_eq!(Asked::default().of(usual).unwrap(), usual);
        let waves = Asked { waves: Some(5), ..Asked::default() };
        assert_eq!(waves.of(usual).unwrap(), Tuning::new(64, 5).unwrap());
        let others = Asked { threads_per_block: Some(128), persistent: true, ..Asked::default() };
        assert_eq!(others.of(usual).unwrap(), Tuning::new(128, 3).unwrap().persistent());
        let warps = Asked { oversubscription: NonZeroU32::new(7), ..Asked::default() };
        assert_eq!(warps.of(usual).unwrap().oversubscription(), NonZeroU32::new(7));
        let error = Asked { threads_per_block: Some(33), ..others }.of(usual).unwrap_err().to_string();
        assert_eq!(error, "the number of threads per block is 33, expected a multiple of 32 from 32 to 1024");
        let all = Asked { waves: Some(2), oversubscription: NonZeroU32::new(9), ..others };
        assert_eq!(all.to_string(), "--threads-per-block 128 --waves 2 --persistent --oversubscription 9");
        assert_eq!(Asked::default().to_string(), "the default grids");
    }
}
