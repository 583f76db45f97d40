//! Ctrl-C handling for work that can stop early and keep the current iterate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// The exit code that shells use for termination by this signal: 128 plus its number.
pub const EXIT_CODE: u8 = 128 + SIGINT as u8;

/// Catches Ctrl-C from its creation until it is dropped. The first one is a request to stop; the second one ends the
/// process at once, as any does afterwards.
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn new() -> Self {
        let interrupt = Self { asked: Arc::default(), at_once: Arc::default() };
        let [asked, first, at_once] = [&interrupt.asked, &interrupt.at_once, &interrupt.at_once].map(Arc::clone);
        // Actions run in the order of registration.
        let listening = flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), at_once)
            .and_then(|_| flag::register(SIGINT, first))
            .and_then(|_| flag::register(SIGINT, asked));
        if listening.is_err() {
            interrupt.at_once.store(true, Ordering::Relaxed);
        }
        interrupt
    }

    /// Whether Ctrl-C was pressed.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.at_once.store(true, Ordering::Relaxed);
    }
}
