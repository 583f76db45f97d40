//! A bar or spinner on the terminal for steps that take longer than a moment.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nothing is shown for shorter steps.
const DELAY: Duration = Duration::from_secs(1);

/// Rare enough not to disturb measurements.
const REDRAWS_A_SECOND: u8 = 4;

/// Progress of one step, shown on standard error from [`DELAY`] on until it is dropped. If standard error is not a
/// terminal, nothing is shown.
pub struct Progress {
    bar: ProgressBar,
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// A step of unknown length.
    pub fn spinner(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(what, "{spinner} {msg} {elapsed}")
    }

    /// A step that handles a number of bytes.
    pub fn bytes(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(what, "{msg} [{wide_bar}] {bytes} of {total_bytes}")
    }

    /// A step that repeats something a number of times.
    pub fn times(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(what, "{msg} [{wide_bar}] {pos} of {len}")
    }

    fn new(what: impl Into<Cow<'static, str>>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        let watch = io::stderr().is_terminal().then(|| show_later(bar.clone()));
        Self { bar, watch }
    }

    /// Sets the description of the current work.
    pub fn say(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// Sets the amount of work done. May be called by several threads.
    pub fn update(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

/// Shows the bar after [`DELAY`], unless the sender is dropped first.
fn show_later(bar: ProgressBar) -> (Sender<()>, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        if receiver.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS_A_SECOND));
            bar.enable_steady_tick(Duration::from_secs(1) / u32::from(REDRAWS_A_SECOND));
        }
    });
    (sender, thread)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.watch.take() {
            drop(sender);
            // It never panics in a way that matters here.
            let _ = thread.join();
            self.bar.finish_and_clear();
        }
    }
}
