//! The constants of a machine.

use std::io::Write;
use std::path::Path;

use host::replace::replace_file;
use host::small_file::read_text;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fault};

/// The version of the files; it increases when a number changes its meaning.
const SCHEMA: u32 = 1;

/// The machine shipped with the program.
const H200: &str = include_str!("h200.json");

/// Largest size of a file in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// Hosts with GPUs, and their interconnects. Times are in seconds, sizes in bytes, speeds in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub(super) schema: u32,
    /// The name.
    pub name: String,
    /// Ranks per host, one per GPU: ranks 0 to n − 1 are on the first host, and so on.
    pub gpus_per_host: usize,
    /// Memory per GPU.
    pub memory: f64,
    /// Speed of a GPU's copy, counting bytes read and bytes written together.
    pub copy: f64,
    /// Fixed time of a pass over memory.
    pub launch: f64,
    /// Between two GPUs of a host.
    pub link: Channel,
    /// Between two hosts, per GPU.
    pub network: Channel,
    /// A sum of a few numbers over all ranks.
    pub all_reduce: AllReduce,
}

/// A connection between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Fixed time of a message.
    pub latency: f64,
    /// Speed of the bytes of all messages of a rank, which are received and sent at the same time.
    pub bandwidth: f64,
}

/// Times of a sum over all ranks: a start, and a step per doubling of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllReduce {
    /// Fixed time for any number of ranks above one.
    pub start: f64,
    /// Per doubling of the ranks of a host.
    pub step_in_host: f64,
    /// Per doubling of the hosts.
    pub step_between_hosts: f64,
}

/// Number of constants that a time is composed of.
pub(super) const TERMS: usize = 9;

/// Multiplicity of each constant in a time, in the order of [`Machine::rates`].
pub(super) type Terms = [f64; TERMS];

/// Indices of the constants.
pub(super) mod term {
    pub const LAUNCH: usize = 0;
    pub const BYTES: usize = 1;
    pub const LINK_MESSAGES: usize = 2;
    pub const LINK_BYTES: usize = 3;
    pub const NETWORK_MESSAGES: usize = 4;
    pub const NETWORK_BYTES: usize = 5;
    pub const SUMS: usize = 6;
    pub const STEPS_IN_HOST: usize = 7;
    pub const STEPS_BETWEEN_HOSTS: usize = 8;
}

impl Machine {
    /// Hosts with eight H200, as far as known, and an assumed network.
    pub fn h200() -> Self {
        Self::parse(H200).unwrap_or_else(|fault| unreachable!("{}", fault.reason))
    }

    /// Reads the machine from a file.
    ///
    /// # Errors
    /// When the file cannot be read or, with the line and column, does not describe a machine.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path, LARGEST_FILE).map_err(|source| Error::File { path: path.into(), source })?;
        Self::parse(&text).map_err(|fault| fault.in_file(path))
    }

    /// Writes the file, completely or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Ok(replace_file(path, |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })?)
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let machine: Self = serde_json::from_str(text)?;
        machine.check()?;
        Ok(machine)
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("a machine of version {}, expected {SCHEMA}", self.schema));
        }
        if self.gpus_per_host == 0 {
            return Err("gpus_per_host is 0, expected at least 1".into());
        }
        let Self { memory, copy, launch, link, network, all_reduce, .. } = self;
        let speeds = [
            ("memory", *memory),
            ("copy", *copy),
            ("link.bandwidth", link.bandwidth),
            ("network.bandwidth", network.bandwidth),
        ];
        if let Some((name, value)) = speeds.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return Err(format!("{name} is {value}, expected a number above 0"));
        }
        let times = [
            ("launch", *launch),
            ("link.latency", link.latency),
            ("network.latency", network.latency),
            ("all_reduce.start", all_reduce.start),
            ("all_reduce.step_in_host", all_reduce.step_in_host),
            ("all_reduce.step_between_hosts", all_reduce.step_between_hosts),
        ];
        match times.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
            Some((name, value)) => Err(format!("{name} is {value}, expected a time in seconds")),
            None => Ok(()),
        }
    }

    /// Returns the seconds of a sum over `ranks` ranks.
    pub fn sum(&self, ranks: usize) -> f64 {
        let rates = self.rates();
        self.sum_terms(ranks).iter().zip(rates).map(|(count, rate)| count * rate).sum()
    }

    /// Returns the multiplicities of the constants in such a sum.
    pub(super) fn sum_terms(&self, ranks: usize) -> Terms {
        let mut terms = [0.0; TERMS];
        if ranks > 1 {
            let doublings = |count: usize| (count as f64).log2().ceil();
            terms[term::SUMS] = 1.0;
            terms[term::STEPS_IN_HOST] = doublings(ranks.min(self.gpus_per_host));
            terms[term::STEPS_BETWEEN_HOSTS] = doublings(ranks.div_ceil(self.gpus_per_host));
        }
        terms
    }

    /// Returns the constants in seconds: a time is the sum of their multiples.
    pub(super) fn rates(&self) -> Terms {
        let Self { copy, launch, link, network, all_reduce, .. } = self;
        [
            *launch,
            1.0 / copy,
            link.latency,
            1.0 / link.bandwidth,
            network.latency,
            1.0 / network.bandwidth,
            all_reduce.start,
            all_reduce.step_in_host,
            all_reduce.step_between_hosts,
        ]
    }

    /// Returns the same machine with other constants; a speed that would be infinite is unchanged.
    pub(super) fn with_rates(&self, rates: &Terms) -> Self {
        let speed = |rate: f64, before: f64| if rate > 0.0 { 1.0 / rate } else { before };
        let [launch, copy, link_latency, link, network_latency, network, start, step_in_host, step_between_hosts] =
            *rates;
        Self {
            launch,
            copy: speed(copy, self.copy),
            link: Channel { latency: link_latency, bandwidth: speed(link, self.link.bandwidth) },
            network: Channel { latency: network_latency, bandwidth: speed(network, self.network.bandwidth) },
            all_reduce: AllReduce { start, step_in_host, step_between_hosts },
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_written_and_read() {
        let folder = std::env::temp_dir().join(format!("warp-spmv-machine-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("machine.json");
        let machine = Machine::h200();
        machine.write(&path).unwrap();
        assert_eq!(Machine::read(&path).unwrap(), machine);
        assert_eq!(machine.with_rates(&machine.rates()).sum(64), machine.sum(64));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_describes_no_machine_is_refused() {
        for (from, to, expected) in [
            ("\"schema\": 1", "\"schema\": 2", "a machine of version 2, expected 1"),
            ("\"gpus_per_host\": 8", "\"gpus_per_host\": 0", "gpus_per_host is 0, expected at least 1"),
            ("\"copy\": 4.3e12", "\"copy\": 0", "copy is 0, expected a number above 0"),
            ("396.7e9", "-1", "link.bandwidth is -1, expected a number above 0"),
            ("\"start\": 28e-6", "\"start\": -1", "all_reduce.start is -1, expected a time in seconds"),
            ("\"launch\"", "\"lunch\"", "unknown field `lunch`"),
            ("\"memory\": 140e9,", "", "missing field `memory`"),
        ] {
            assert!(H200.contains(from), "{from}");
            let fault = Machine::parse(&H200.replace(from, to)).unwrap_err();
            assert!(fault.reason.starts_with(expected), "{}", fault.reason);
        }
    }

    /// One measurement with two ranks: the others add steps.
    #[test]
    fn sums_take_a_start_and_a_step_for_each_doubling() {
        let all_reduce = AllReduce { start: 100.0, step_in_host: 10.0, step_between_hosts: 1.0 };
        let machine = Machine { all_reduce, ..Machine::h200() };
        for (ranks, seconds) in [(1, 0.0), (2, 110.0), (3, 120.0), (8, 130.0), (9, 131.0), (16, 131.0), (1024, 137.0)] {
            assert_eq!(machine.sum(ranks), seconds, "{ranks}");
        }
    }
}
