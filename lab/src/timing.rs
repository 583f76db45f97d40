//! Timing.

use host::Error;
use host::executor::Executor;

use crate::record::Times;
use crate::statistics::quartiles;

/// Numbers of repetitions for timing.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions that are not timed: code is loaded, caches fill, clocks rise.
    pub warm_ups: usize,
    /// Timed repetitions.
    pub repetitions: usize,
    /// After this many seconds on the device, 5 repetitions suffice.
    pub seconds: f64,
}

/// The fewest repetitions of slow work, unless fewer are requested.
const FEWEST: usize = 5;

/// Times `work` on the executor, each time after `before`, which is not timed.
///
/// # Errors
/// When either fails.
pub fn measure<E: Executor>(
    executor: &E,
    effort: Effort,
    before: &mut dyn FnMut() -> Result<(), Error>,
    work: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Times, Error> {
    let (mut samples, mut spent, mut warmed_up) = (Vec::new(), 0.0, 0);
    while samples.len() < effort.repetitions.max(1) && (samples.len() < FEWEST || spent < effort.seconds) {
        before()?;
        let time = executor.time(work)?.as_secs_f64();
        spent += time;
        if warmed_up < effort.warm_ups && spent < effort.seconds {
            warmed_up += 1;
        } else {
            samples.push(time);
        }
    }
    Ok(Times::of(samples))
}

impl Times {
    /// Computes the median and the quartiles of some times.
    ///
    /// # Panics
    /// When there are no times.
    pub fn of(samples: Vec<f64>) -> Self {
        let [first, time, third] = quartiles(&samples).expect("there are some");
        Self { time, quartiles: [first, third], repetitions: samples.len() as u64, samples }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;
    use std::time::Duration;

    use host::executor::Cpu;

    use super::*;

    #[test]
    fn times_of_samples() {
        let times = Times::of(vec![4.0, 1.0, 8.0, 3.0]);
        assert_eq!((times.repetitions, times.quartiles, times.time), (4, [3.0, 4.0], 3.5));
        assert_eq!(times.samples, [4.0, 1.0, 8.0, 3.0]);
    }

    #[test]
    fn what_goes_before_is_done_and_not_counted() {
        let (before, work) = (Cell::new(0), Cell::new(0));
        let count = |cell: &Cell<i32>| cell.set(cell.get() + 1);
        let effort = Effort { warm_ups: 2, repetitions: 7, seconds: 60.0 };
        let times = measure(
            &Cpu::new(),
            effort,
            &mut || {
                sleep(Duration::from_millis(20));
                count(&before);
                Ok(())
            },
            &mut || {
                count(&work);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!((before.get(), work.get(), times.repetitions), (9, 9, 7));
        assert!(times.quartiles[0] < 0.02, "{times:?}");
    }

    #[test]
    fn what_is_slow_is_timed_less_often() {
        let effort = Effort { warm_ups: 5, repetitions: 50, seconds: 0.01 };
        let mut work = || {
            sleep(Duration::from_millis(11));
            Ok(())
        };
        assert_eq!(measure(&Cpu::new(), effort, &mut || Ok(()), &mut work).unwrap().repetitions, FEWEST as u64);
    }
}
