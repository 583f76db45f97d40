//! A bar or spinner on the terminal for what takes longer than a moment.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nothing is shown for what is done sooner.
const DELAY: Duration = Duration::from_secs(1);

/// Seldom enough not to disturb what is being timed.
const REDRAWS_A_SECOND: u8 = 4;

/// Progress of one step, shown on standard error from [`DELAY`] on until it is dropped. Where standard error is no
/// terminal, nothing is ever shown.
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

    /// A step that does something a number of times.
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

    /// Says what is being done now.
    pub fn say(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// Says how much is done. May be called by several threads.
    pub fn update(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

/// Shows the bar after [`DELAY`], unless the sender is dropped before.
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
            // It panics in no case that matters here.
            let _ = thread.join();
            self.bar.finish_and_clear();
        }
    }
}
