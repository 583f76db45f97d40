//! Listeners to a solver's progress: the user's function, and Ctrl-C.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use solvers::Progress;

use crate::failure::Failure;

/// Time between two checks for Ctrl-C: waiting for the interpreter's lock in each of many short iterations would slow them
/// down.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Is notified of each iteration.
pub struct Listener {
    callback: Option<Py<PyAny>>,
    next_look: Instant,
    error: Option<PyErr>,
    interrupted: bool,
}

impl Listener {
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, next_look: Instant::now() + BETWEEN_LOOKS, error: None, interrupted: false }
    }

    /// The solver's callback.
    pub fn hear(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.callback.is_none() && Instant::now() < self.next_look {
            return ControlFlow::Continue(());
        }
        let asked = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            let Some(callback) = &self.callback else { return Ok(false) };
            let Progress { iteration, residual_norm, elapsed } = *progress;
            callback.bind(py).call1((iteration, residual_norm, elapsed.as_secs_f64()))?.is_truthy()
        });
        self.next_look = Instant::now() + BETWEEN_LOOKS;
        match asked {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(error) => {
                self.interrupted = Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py));
                if !self.interrupted {
                    self.error = Some(error);
                }
                ControlFlow::Break(())
            }
        }
    }

    /// Whether Ctrl-C stopped the solver; an error if the user's function raised one.
    pub fn finish(&mut self) -> Result<bool, Failure> {
        match self.error.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.interrupted),
        }
    }
}
