//! Fit of a machine's constants to measurements.

use super::machine::{Machine, TERMS, Terms};
use super::model::{Job, Load, slowest};
use crate::calibrate::least_squares::fit_to;

/// Weight of the known constants: one that deviates by its own size costs as much as a time that deviates by this fraction.
const STRENGTH: f64 = 0.03;

/// Scale of the deviation of a constant of 0.
const STEP: f64 = 1e-5;

/// Largest number of rounds, between which the hidden phases may change.
const ROUNDS: usize = 100;

/// A job with a known time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The timed job.
    pub job: Job,
    /// The work of each rank.
    pub loads: Vec<Load>,
    /// The time, more than 0.
    pub seconds: f64,
}

/// Returns the machine with the non-negative constants that minimize the squared relative errors. Constants on which no
/// sample depends are unchanged, and those that the samples barely determine change little.
pub fn fit(machine: &Machine, samples: &[Sample]) -> Machine {
    let known = machine.rates();
    let mut fitted = machine.clone();
    for _ in 0..ROUNDS {
        let mut rows: Vec<(Terms, f64)> = Vec::with_capacity(samples.len() + TERMS);
        for Sample { job, loads, seconds } in samples {
            let (_, terms, _) = slowest(*job, loads, &fitted);
            rows.push((terms.map(|term| term / seconds), 1.0));
        }
        for (place, &known) in known.iter().enumerate() {
            let scale = if known > 0.0 { known } else { STEP };
            let mut row = [0.0; TERMS];
            row[place] = STRENGTH / scale;
            rows.push((row, STRENGTH * known / scale));
        }
        let next = machine.with_rates(&fit_to(rows.iter().map(|(row, target)| (row, *target))));
        if next == fitted {
            break;
        }
        fitted = next;
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::super::machine::{AllReduce, Channel};
    use super::super::model::predict;
    use super::*;

    /// Jobs of many sizes on 1 to 16 ranks, timed on a machine.
    fn samples(machine: &Machine) -> Vec<Sample> {
        let mut samples = Vec::new();
        for ranks in [1_usize, 2, 4, 8, 16] {
            for size in [1e5, 1e7, 1e9] {
                for halo in [1e4, 1e6, 1e8] {
                    let neighbours = (ranks - 1).min(2) as f64;
                    let (link, network) = if ranks > 8 { (0.0, neighbours) } else { (neighbours, 0.0) };
                    let exchanged = if ranks > 1 { halo } else { 0.0 };
                    let load = Load {
                        pack: 2.5 * exchanged,
                        local: size,
                        remote: exchanged,
                        add: 0.5 * exchanged,
                        link_messages: link,
                        link_bytes: if link > 0.0 { halo } else { 0.0 },
                        network_messages: network,
                        network_bytes: if network > 0.0 { halo } else { 0.0 },
                        vector: size / 30.0,
                    };
                    let loads = vec![load; ranks];
                    samples.extend(Job::ALL.map(|job| {
                        let seconds = predict(job, &loads, machine).seconds;
                        Sample { job, loads: loads.clone(), seconds }
                    }));
                }
            }
        }
        samples
    }

    #[test]
    fn the_constants_that_made_the_times_are_found() {
        let known = Machine::h200();
        let truth = Machine {
            copy: 3.5e12,
            launch: 4e-6,
            link: Channel { latency: 2e-5, bandwidth: 2.5e11 },
            network: Channel { latency: 9e-6, bandwidth: 2e10 },
            all_reduce: AllReduce { start: 1.5e-5, step_in_host: 3e-6, step_between_hosts: 2e-5 },
            ..known.clone()
        };
        let samples = samples(&truth);
        let fitted = fit(&known, &samples);
        for ((found, truth), before) in fitted.rates().iter().zip(truth.rates()).zip(known.rates()) {
            assert!((found - truth).abs() <= 0.1 * truth, "{found}, not {truth}; {before} before");
        }
        let worst = |machine: &Machine| {
            let off =
                |sample: &Sample| (predict(sample.job, &sample.loads, machine).seconds / sample.seconds - 1.0).abs();
            samples.iter().map(off).fold(0.0, f64::max)
        };
        assert!(worst(&known) > 0.3 && worst(&fitted) < 0.03, "{}, {}", worst(&known), worst(&fitted));
    }

    #[test]
    fn what_no_sample_tells_stays() {
        let known = Machine::h200();
        let near = |found: &Machine| {
            found.rates().iter().zip(known.rates()).all(|(found, known)| (found - known).abs() <= 1e-9 * known)
        };
        assert!(near(&fit(&known, &[])));
        // A single rank, and only bytes: only the copy changes.
        let load = Load { local: 1e10, ..Load::default() };
        let sample = Sample { job: Job::Product, loads: vec![load], seconds: 1e10 / 2e12 };
        let fitted = fit(&known, &[sample]);
        assert!((fitted.copy / 2e12 - 1.0).abs() < 0.01, "{}", fitted.copy);
        let untouched = Machine { copy: known.copy, launch: known.launch, ..fitted.clone() };
        assert!(near(&untouched), "{fitted:?}");
    }
}
