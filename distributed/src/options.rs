//! Options of waiting for other ranks.

use std::time::Duration;

/// Options of waiting for other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a rank waits for a message before it considers the sender dead and all ranks end; `None` waits forever. A
    /// rank may be late because it reads or computes more than others.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Some(Duration::from_secs(300)) }
    }
}
