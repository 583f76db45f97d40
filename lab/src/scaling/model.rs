//! From the parts of ranks to times.

use std::fmt::{self, Display};

use distributed::Statistics;
use serde::Serialize;

use super::machine::{Machine, TERMS, Terms, term};

/// Storage of a matrix and vectors, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Storage {
    /// Bytes per entry: its value, and its column if that is stored.
    pub entry: f64,
    /// Additional bytes per row.
    pub row: f64,
    /// Bytes per element of a vector.
    pub value: f64,
}

impl Storage {
    /// Returns the storage of CSR, with values of `value` bytes.
    pub fn csr(value: usize) -> Self {
        Self { entry: value as f64 + 4.0, row: 4.0, value: value as f64 }
    }

    /// Returns the bytes of some rows with their entries.
    pub fn bytes(&self, rows: u64, nnz: u64) -> f64 {
        self.entry * nnz as f64 + self.row * rows as f64
    }
}

/// Bytes of the index of a sent element, and of the number of a row with remote entries.
const INDEX: f64 = 4.0;

/// A repeated job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// A product y ← A x.
    Product,
    /// An iteration of conjugate gradients.
    Cg,
    /// An iteration of pipelined conjugate gradients.
    PipelinedCg,
}

impl Job {
    /// All jobs.
    pub const ALL: [Self; 3] = [Self::Product, Self::Cg, Self::PipelinedCg];

    /// Returns the number of vectors read and written besides the product, as in this library's methods without dot
    /// products in the product.
    fn vectors(self) -> f64 {
        match self {
            Self::Product => 0.0,
            Self::Cg => 11.0,
            Self::PipelinedCg => 13.0,
        }
    }

    /// Passes and sums besides the product, each of them a launch.
    fn launches(self) -> f64 {
        match self {
            Self::Product => 0.0,
            Self::Cg => 5.0,
            Self::PipelinedCg => 2.0,
        }
    }
}

/// The work of a rank for a product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Bytes moved to pack sent elements; 0 if none are sent.
    pub pack: f64,
    /// Bytes moved for the entries in this rank's columns.
    pub local: f64,
    /// Bytes moved for the other entries beside those; 0 if there are none, or many rows have such entries.
    pub remote: f64,
    /// Bytes moved after both to add up the results, or for the product with other entries that did not run beside; 0 if
    /// there are no other entries.
    pub add: f64,
    /// Messages within the host: received or sent ones, whichever are more.
    pub link_messages: f64,
    /// Bytes of these messages, received or sent.
    pub link_bytes: f64,
    /// The same between hosts.
    pub network_messages: f64,
    /// Their bytes.
    pub network_bytes: f64,
    /// Bytes per vector.
    pub vector: f64,
}

/// Returns the work of each rank: the parts of a partition, on a machine with `gpus_per_host` ranks per host.
pub fn loads(statistics: &Statistics, storage: &Storage, gpus_per_host: usize) -> Vec<Load> {
    /// Messages and elements, received and sent, within the host and between hosts.
    #[derive(Clone, Copy, Default)]
    struct Traffic([[[u64; 2]; 2]; 2]);

    let mut traffic = vec![Traffic::default(); statistics.parts.len()];
    for message in &statistics.messages {
        let [from, to] = [message.from, message.to].map(|rank| rank as usize);
        let between = usize::from(from / gpus_per_host != to / gpus_per_host);
        for (rank, direction) in [(to, 0), (from, 1)] {
            let [messages, elements] = &mut traffic[rank].0[between][direction];
            *messages += 1;
            *elements += message.elements;
        }
    }
    let load = |(part, Traffic(traffic)): (&distributed::Part, Traffic)| {
        let [link, network] = traffic.map(|[come, leave]| [come[0].max(leave[0]), come[1].max(leave[1])]);
        let [vector, sent, halo] = [part.rows, part.sent, part.halo].map(|elements| elements as f64 * storage.value);
        let bytes = |elements: u64| elements as f64 * storage.value;
        let rows = part.remote_rows as f64;
        // Entries, and received elements once.
        let multiplied = storage.entry * part.remote_nnz as f64 + halo;
        // y is read and written in rows with such entries, which are given by their numbers.
        let in_place = rows * (INDEX + 2.0 * storage.value);
        let (remote, add) = match part.multiplies_beside() {
            // An offset and a sum per row.
            true if rows > 0.0 => (multiplied + rows * (INDEX + storage.value), in_place + rows * storage.value),
            _ => (0.0, multiplied + in_place),
        };
        Load {
            // Read and written, plus the indices of the elements.
            pack: 2.0 * sent + INDEX * part.sent as f64,
            // x and y once each.
            local: storage.bytes(part.rows, part.nnz - part.remote_nnz) + 2.0 * vector,
            remote,
            add,
            link_messages: link[0] as f64,
            link_bytes: bytes(link[1]),
            network_messages: network[0] as f64,
            network_bytes: bytes(network[1]),
            vector,
        }
    };
    statistics.parts.iter().zip(traffic).map(load).collect()
}

/// The largest contribution to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Moving bytes in the GPU's memory.
    Memory,
    /// Launches.
    Launches,
    /// Messages within the host, regardless of length.
    LinkLatency,
    /// Bytes of messages within the host.
    LinkBandwidth,
    /// Messages between hosts, regardless of length.
    NetworkLatency,
    /// Bytes of messages between hosts.
    NetworkBandwidth,
    /// Sums over all ranks.
    AllReduce,
}

impl Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Memory => "memory",
            Self::Launches => "launches",
            Self::LinkLatency => "link latency",
            Self::LinkBandwidth => "link bandwidth",
            Self::NetworkLatency => "network latency",
            Self::NetworkBandwidth => "network bandwidth",
            Self::AllReduce => "all-reduce",
        })
    }
}

/// The seconds of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Packing sent elements.
    pub pack: f64,
    /// The entries in this rank's columns, while elements are in transit.
    pub local: f64,
    /// Elements in transit.
    pub exchange: f64,
    /// The other entries, after that and beside the local ones.
    pub remote: f64,
    /// Adding their products.
    pub add: f64,
    /// Other passes over vectors.
    pub vectors: f64,
    /// Consecutive sums over all ranks.
    pub sums: f64,
}

impl Load {
    /// Returns the multiplicities of the constants in each phase.
    fn phases(&self, job: Job, machine: &Machine, ranks: usize) -> [(Phase, Terms); 7] {
        let mut phases = Phase::ALL.map(|phase| (phase, [0.0; TERMS]));
        let [pack, local, exchange, remote, add, vectors, sums] = &mut phases;
        let pass = |terms: &mut Terms, bytes: f64, launches: f64| {
            terms[term::BYTES] = bytes;
            terms[term::LAUNCH] = launches;
        };
        let launches = |bytes: f64| if bytes > 0.0 { 1.0 } else { 0.0 };
        pass(&mut pack.1, self.pack, launches(self.pack));
        pass(&mut local.1, self.local, 1.0);
        pass(&mut remote.1, self.remote, launches(self.remote));
        pass(&mut add.1, self.add, launches(self.add));
        pass(&mut vectors.1, job.vectors() * self.vector, job.launches());
        let exchange = &mut exchange.1;
        exchange[term::LINK_MESSAGES] = self.link_messages;
        exchange[term::NETWORK_MESSAGES] = self.network_messages;
        // Both at the same time.
        match self.link_bytes / machine.link.bandwidth >= self.network_bytes / machine.network.bandwidth {
            true => exchange[term::LINK_BYTES] = self.link_bytes,
            false => exchange[term::NETWORK_BYTES] = self.network_bytes,
        }
        let count = match job {
            Job::Product => 0.0,
            Job::Cg => 2.0,
            Job::PipelinedCg => 1.0,
        };
        sums.1 = machine.sum_terms(ranks).map(|term| count * term);
        phases
    }

    /// Returns the multiplicity of each of the machine's constants in the time, over the phases that are not hidden behind
    /// another one, and the times of all phases.
    pub(super) fn terms(&self, job: Job, machine: &Machine, ranks: usize) -> (Terms, Phases) {
        let rates = machine.rates();
        let phases = self.phases(job, machine, ranks);
        let [pack, local, exchange, remote, add, vectors, sums] = phases.map(|(_, terms)| dot(&terms, &rates));
        let beside = pack + exchange + remote;
        let product = local.max(beside) + add;
        // Of two concurrent phases, the shorter one is hidden. In the pipelined method, sums are concurrent with the
        // product.
        let pipelined = job == Job::PipelinedCg;
        let is_hidden = |phase: Phase| match phase {
            Phase::Pack | Phase::Exchange | Phase::Remote => local >= beside || pipelined && product < sums,
            Phase::Local => local < beside || pipelined && product < sums,
            Phase::Add => pipelined && product < sums,
            Phase::Vectors => false,
            Phase::Sums => pipelined && product >= sums,
        };
        let mut all = [0.0; TERMS];
        for (_, terms) in phases.into_iter().filter(|&(phase, _)| !is_hidden(phase)) {
            all.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        (all, Phases { pack, local, exchange, remote, add, vectors, sums })
    }
}

#[derive(Clone, Copy)]
enum Phase {
    Pack,
    Local,
    Exchange,
    Remote,
    Add,
    Vectors,
    Sums,
}

impl Phase {
    const ALL: [Self; 7] =
        [Self::Pack, Self::Local, Self::Exchange, Self::Remote, Self::Add, Self::Vectors, Self::Sums];
}

pub(super) fn dot(terms: &Terms, rates: &Terms) -> f64 {
    terms.iter().zip(rates).map(|(term, rate)| term * rate).sum()
}

/// The time of a job on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The time.
    pub seconds: f64,
    /// The largest contribution on the slowest rank.
    pub bound: Bound,
    /// The slowest rank.
    pub rank: usize,
    /// The times of its phases, including hidden ones.
    pub phases: Phases,
}

/// Predicts the time of a job on ranks with this work: that of the slowest rank.
///
/// # Panics
/// When there is no rank.
pub fn predict(job: Job, loads: &[Load], machine: &Machine) -> Prediction {
    let (rank, terms, phases) = slowest(job, loads, machine);
    let rates = machine.rates();
    let taken = |places: &[usize]| places.iter().map(|&place| terms[place] * rates[place]).sum::<f64>();
    let bounds = [
        (Bound::Memory, taken(&[term::BYTES])),
        (Bound::Launches, taken(&[term::LAUNCH])),
        (Bound::LinkLatency, taken(&[term::LINK_MESSAGES])),
        (Bound::LinkBandwidth, taken(&[term::LINK_BYTES])),
        (Bound::NetworkLatency, taken(&[term::NETWORK_MESSAGES])),
        (Bound::NetworkBandwidth, taken(&[term::NETWORK_BYTES])),
        (Bound::AllReduce, taken(&[term::SUMS, term::STEPS_IN_HOST, term::STEPS_BETWEEN_HOSTS])),
    ];
    // Of equal ones, the first.
    let (bound, _) = bounds.into_iter().rev().max_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or(bounds[0]);
    Prediction { seconds: dot(&terms, &rates), bound, rank, phases }
}

/// Returns the slowest rank, and the composition of its time.
pub(super) fn slowest(job: Job, loads: &[Load], machine: &Machine) -> (usize, Terms, Phases) {
    let rates = machine.rates();
    let all = loads.iter().enumerate().map(|(rank, load)| {
        let (terms, phases) = load.terms(job, machine, loads.len());
        (rank, terms, phases)
    });
    let seconds = |(_, terms, _): &(usize, Terms, Phases)| dot(terms, &rates);
    all.max_by(|left, right| seconds(left).total_cmp(&seconds(right))).expect("there is a rank")
}

#[cfg(test)]
mod tests {
    use distributed::{Distribution, Ranges, RowSource};

    use super::super::machine::{AllReduce, Channel};
    use super::*;

    /// With round numbers: a byte of memory takes 1 s, one of a link 10 s, one of the network 100 s.
    fn machine() -> Machine {
        Machine {
            gpus_per_host: 2,
            copy: 1.0,
            launch: 0.0,
            link: Channel { latency: 0.0, bandwidth: 0.1 },
            network: Channel { latency: 0.0, bandwidth: 0.01 },
            all_reduce: AllReduce { start: 0.0, step_in_host: 0.0, step_between_hosts: 0.0 },
            ..Machine::h200()
        }
    }

    /// The tridiagonal matrix.
    fn line(rows: u32, ranks: usize) -> Statistics {
        let near = |row: u32| row.saturating_sub(1)..=(row + 1).min(rows - 1);
        let (at, columns): (Vec<_>, Vec<_>) =
            (0..rows).flat_map(|row| near(row).map(move |column| (row, column))).unzip();
        let matrix =
            host::Csr::try_from_triplets(rows as usize, rows as usize, &at, &columns, &vec![1.0; at.len()]).unwrap();
        let source: &dyn RowSource = &matrix;
        let distribution = Distribution::square(Ranges::even(source.rows(), ranks).unwrap());
        Statistics::of_rows(source, &[distribution]).unwrap().remove(0)
    }

    fn product(statistics: &Statistics, machine: &Machine) -> Prediction {
        predict(Job::Product, &loads(statistics, &Storage::csr(8), machine.gpus_per_host), machine)
    }

    #[test]
    fn a_rank_alone_moves_its_bytes() {
        let (statistics, mut machine) = (line(100, 1), machine());
        let bytes = 298.0 * 12.0 + 100.0 * (4.0 + 16.0);
        let alone = product(&statistics, &machine);
        assert_eq!((alone.seconds, alone.bound, alone.phases.exchange), (bytes, Bound::Memory, 0.0));
        // A single rank needs no sums.
        machine.all_reduce.start = 1e9;
        let loads = loads(&statistics, &Storage::csr(8), 2);
        assert_eq!(predict(Job::Cg, &loads, &machine).seconds, bytes + 11.0 * 800.0);
        assert_eq!(predict(Job::PipelinedCg, &loads, &machine).seconds, bytes + 13.0 * 800.0);
        machine.launch = 1e7;
        let alone = product(&statistics, &machine);
        assert_eq!((alone.seconds, alone.bound), (1e7 + bytes, Bound::Launches));
        assert_eq!(predict(Job::Cg, &loads, &machine).seconds, 6e7 + bytes + 11.0 * 800.0);
    }

    #[test]
    fn without_a_halo_ranks_share_the_work() {
        // Only the diagonal.
        let rows: Vec<u32> = (0..64).collect();
        let matrix = host::Csr::try_from_triplets(64, 64, &rows, &rows, &[1.0; 64]).unwrap();
        let seconds = [1, 4].map(|ranks| {
            let distribution = Distribution::square(Ranges::even(64, ranks).unwrap());
            product(&Statistics::new(&matrix, &distribution).unwrap(), &machine()).seconds
        });
        assert_eq!(seconds[0], 4.0 * seconds[1]);
    }

    /// Ranks 1 and 2 of four have a neighbour on their host and one on the other host.
    #[test]
    fn what_is_slowest_bounds() {
        let statistics = line(8, 4);
        let of = |change: &dyn Fn(&mut Machine)| {
            let mut machine = machine();
            change(&mut machine);
            let Prediction { seconds, bound, rank, phases } = product(&statistics, &machine);
            let beside = phases.pack + phases.exchange + phases.remote;
            let expected = phases.local.max(beside) + phases.add;
            assert!((seconds - expected).abs() <= 1e-12 * expected, "{seconds}, {expected}");
            (bound, rank, phases)
        };
        // 8 bytes each way; 2 elements sent; 4 local entries and 2 remote ones, in both rows.
        let expected = Phases { pack: 40.0, local: 88.0, exchange: 800.0, add: 80.0, ..Phases::default() };
        assert_eq!(of(&|_| ()), (Bound::NetworkBandwidth, 2, expected));
        let (bound, _, phases) = of(&|machine| machine.network.bandwidth = 1.0);
        assert_eq!((bound, phases.exchange), (Bound::Memory, 80.0));
        let (bound, _, phases) = of(&|machine| {
            machine.network.bandwidth = 1.0;
            machine.link.bandwidth = 0.01;
        });
        assert_eq!((bound, phases.exchange), (Bound::LinkBandwidth, 800.0));
        let (bound, _, phases) = of(&|machine| machine.network.latency = 1e4);
        assert_eq!((bound, phases.exchange), (Bound::NetworkLatency, 10_800.0));
        let (bound, _, phases) = of(&|machine| machine.link.latency = 1e4);
        assert_eq!((bound, phases.exchange), (Bound::LinkLatency, 10_800.0));
        // All on one host.
        let (bound, _, phases) = of(&|machine| machine.gpus_per_host = 4);
        assert_eq!((bound, phases.exchange), (Bound::LinkBandwidth, 160.0));
    }

    #[test]
    fn few_rows_of_others_are_multiplied_beside_the_local_ones() {
        // Of the 8 rows of an inner rank, 2 have an entry of a neighbour: 2 entries, elements, offsets and sums.
        let Prediction { phases, seconds, rank, .. } = product(&line(32, 4), &machine());
        assert_eq!((rank, phases.remote, phases.add), (2, 2.0 * (12.0 + 8.0 + 12.0), 2.0 * (20.0 + 8.0)));
        assert_eq!((phases.pack, phases.exchange), (40.0, 800.0));
        assert_eq!(seconds, 40.0 + 800.0 + 64.0 + 56.0);
        let mut fast = machine();
        (fast.link.bandwidth, fast.network.bandwidth) = (1.0, 1.0);
        let Prediction { phases, seconds, .. } = product(&line(32, 4), &fast);
        assert!(phases.local > phases.pack + phases.exchange + phases.remote);
        assert_eq!(seconds, phases.local + phases.add);
    }

    #[test]
    fn pipelined_sums_are_hidden_behind_the_product() {
        let statistics = line(8, 4);
        let loads = loads(&statistics, &Storage::csr(8), 2);
        let with = |start: f64, job: Job| {
            let machine = Machine { all_reduce: AllReduce { start, ..machine().all_reduce }, ..machine() };
            predict(job, &loads, &machine)
        };
        let [cg, pipelined] = [Job::Cg, Job::PipelinedCg].map(|job| with(0.0, job).seconds);
        assert_eq!(pipelined - cg, 2.0 * 16.0);
        assert_eq!(with(100.0, Job::Cg).seconds, cg + 200.0);
        assert_eq!(with(100.0, Job::PipelinedCg).seconds, pipelined);
        let long = with(1e6, Job::PipelinedCg);
        assert_eq!((long.seconds, long.bound), (1e6 + 13.0 * 16.0, Bound::AllReduce));
    }
}
