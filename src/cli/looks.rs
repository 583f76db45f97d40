//! Times at which the host observes an iteration.

use std::time::Duration;

/// The host's observations, with the number of iterations at each: iterations between two observations share one time.
#[derive(Debug, Default)]
pub struct Looks {
    first: Option<(usize, Duration)>,
    last_but_one: Option<(usize, Duration)>,
    last: Option<(usize, Duration)>,
}

impl Looks {
    /// Records the next iteration; returns whether it begins another observation.
    pub fn hears_of(&mut self, iteration: usize, elapsed: Duration) -> bool {
        let another = self.last.is_none_or(|(_, before)| before != elapsed);
        if another && let Some(last) = self.last {
            self.first.get_or_insert(last);
            self.last_but_one = Some(last);
        }
        self.last = Some((iteration, elapsed));
        another
    }

    /// Time per iteration, excluding the beginning, in which work is recorded, and the end, where iterations without
    /// work were queued; the overall mean if nothing lies between.
    pub fn time_of_iteration(&self, iterations: usize, elapsed: Duration) -> Option<Duration> {
        let (iterations, time) = match (self.first, self.last_but_one) {
            (Some((first, begin)), Some((last, end))) if last > first => (last - first, end.saturating_sub(begin)),
            _ => (iterations, elapsed),
        };
        (iterations > 0).then(|| time.div_f64(iterations as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_is_timed_between_the_first_look_and_the_last_but_one() {
        let time = |looks: &[(usize, u64)]| {
            let mut heard = Looks::default();
            let (mut begun, mut last) = (vec![], 0);
            for &(end, milliseconds) in looks {
                for iteration in last + 1..=end {
                    if heard.hears_of(iteration, Duration::from_millis(milliseconds)) {
                        begun.push(iteration);
                    }
                }
                last = end;
            }
            assert_eq!(begun.len(), looks.len());
            heard.time_of_iteration(last, Duration::from_millis(900)).map(|time| time.as_micros())
        };
        assert_eq!(time(&[]), None);
        assert_eq!(time(&[(9, 500)]), Some(100_000));
        assert_eq!(time(&[(10, 500), (18, 600)]), Some(50_000));
        assert_eq!(time(&[(10, 500), (20, 600), (23, 900)]), Some(10_000));
        assert_eq!(time(&[(10, 500), (20, 600), (30, 660), (31, 900)]), Some(8_000));
    }
}
