//! Progress of a long job, and its remaining time.

use std::time::Instant;

/// Estimates the remaining time from the pace so far.
pub struct Pace {
    start: Instant,
    total: f64,
    done: f64,
}

impl Pace {
    pub fn new(total: f64) -> Self {
        Self { start: Instant::now(), total, done: 0.0 }
    }

    pub fn done(&mut self, weight: f64) {
        self.done += weight;
    }

    /// The completed part, and the remaining time.
    pub fn left(&self) -> String {
        let part = if self.total > 0.0 { (self.done / self.total).min(1.0) } else { 1.0 };
        let seconds = self.start.elapsed().as_secs_f64() * (1.0 - part) / part.max(1e-9);
        let left = match seconds {
            ..90.0 => format!("{seconds:.0} s"),
            ..5400.0 => format!("{:.0} min", seconds / 60.0),
            _ => format!("{:.1} h", seconds / 3600.0),
        };
        format!("[{:.0} %, {left} left]", 100.0 * part)
    }
}
