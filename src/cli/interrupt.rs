//! Ctrl-C while something can end early and still say what it had come to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// What shells call the end by this signal: 128 and its number.
pub const EXIT_CODE: u8 = 128 + SIGINT as u8;

/// Hears of Ctrl-C from when it is made until it is dropped. The first one is a wish, and the second one ends the process
/// at once, as any does afterwards.
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn new() -> Self {
        let interrupt = Self { asked: Arc::default(), at_once: Arc::default() };
        let [asked, first, at_once] = [&interrupt.asked, &interrupt.at_once, &interrupt.at_once].map(Arc::clone);
        // What is registered first is done first.
        let listening = flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), at_once)
            .and_then(|_| flag::register(SIGINT, first))
            .and_then(|_| flag::register(SIGINT, asked));
        if listening.is_err() {
            interrupt.at_once.store(true, Ordering::Relaxed);
        }
        interrupt
    }

    /// Whether there was a Ctrl-C.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.at_once.store(true, Ordering::Relaxed);
    }
}
