//! How ranks wait for each other.

use std::time::Duration;

/// How ranks wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a rank waits for a message until it takes the sender for dead and everything ends; `None` waits for ever.
    /// A rank may be late because it reads or computes more than others.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Some(Duration::from_secs(300)) }
    }
}
