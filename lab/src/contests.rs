//! Products with several vectors: our own formats compared with the peers, and with single products.

use std::collections::BTreeMap;

use host::{Layout, Multivector};

use crate::record::{Entry, Run, is_own_format};
use crate::statistics::SpeedUps;

/// Our own formats compared with the peers and with single products, on one matrix with vectors of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contest<'e> {
    /// Number and layout of the vectors.
    pub shape: Multivector,
    /// Our fastest format, and its time.
    pub own: Option<(&'e str, f64)>,
    /// The fastest peer, and its time.
    pub peer: Option<(&'e str, f64)>,
    /// The time of the same number of single products in our fastest format for those.
    pub singles: Option<f64>,
}

impl Contest<'_> {
    /// Speed-up of our fastest format over the fastest peer.
    pub fn speed_up(&self) -> Option<f64> {
        Some(self.peer?.1 / self.own?.1)
    }

    /// Speed-up of our fastest format over single products.
    pub fn over_singles(&self) -> Option<f64> {
        Some(self.singles? / self.own?.1)
    }
}

/// The contests of an entry, one per shape.
pub fn contests(entry: &Entry) -> impl Iterator<Item = Contest<'_>> {
    entry.shapes().into_iter().map(|shape| {
        let own = fastest(entry, shape, is_own_format);
        let peer = fastest(entry, shape, |_, run| run.is_peer());
        let ours = entry.spmv.iter().filter(|(name, run)| is_own_format(name, run));
        let singles = ours.filter_map(|(_, run)| run.singles(shape.vectors)).min_by(f64::total_cmp);
        Contest { shape, own, peer, singles }
    })
}

fn fastest(entry: &Entry, shape: Multivector, chosen: impl Fn(&str, &Run) -> bool) -> Option<(&str, f64)> {
    let timed = entry.products.keys().filter_map(|name| {
        let run = &entry.product(name, shape)?.run;
        Some((name.as_str(), run.seconds().filter(|_| chosen(name, run))?))
    });
    timed.min_by(|(_, left), (_, right)| left.total_cmp(right))
}

/// The results of the contests of all matrices, on one executor in one precision with vectors of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'e> {
    /// The executor's name.
    pub executor: &'e str,
    /// The precision's name.
    pub precision: &'e str,
    /// Number and layout of the vectors.
    pub shape: Multivector,
    /// The number of matrices.
    pub matrices: usize,
    /// Against the fastest peers, by the entries' indices.
    pub against_peers: SpeedUps,
    /// Against the same number of single products, by the entries' indices.
    pub against_singles: SpeedUps,
}

/// The standings of all executors, precisions, layouts and numbers of vectors, in this order.
pub fn standings(entries: &[Entry]) -> Vec<Standing<'_>> {
    let none = || SpeedUps { ratios: Vec::new(), unanswered: 0 };
    let mut standings: BTreeMap<_, Standing<'_>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let (executor, precision) = (&*entry.env.executor, &*entry.env.precision);
        for contest in contests(entry) {
            let shape = contest.shape;
            let key = (executor, precision, shape.layout == Layout::ColumnMajor, shape.vectors);
            let standing = standings.entry(key).or_insert_with(|| Standing {
                executor,
                precision,
                shape,
                matrices: 0,
                against_peers: none(),
                against_singles: none(),
            });
            standing.matrices += 1;
            standing.against_peers.ratios.extend(contest.speed_up().map(|ratio| (place, ratio)));
            standing.against_peers.unanswered += usize::from(contest.own.is_none() && contest.peer.is_some());
            standing.against_singles.ratios.extend(contest.over_singles().map(|ratio| (place, ratio)));
        }
    }
    standings.into_values().collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{Environment, OWN, Product};

    const SHAPE: Multivector = Multivector { vectors: 4, layout: Layout::RowMajor };

    fn run(seconds: f64, library: &str) -> Run {
        Run { completed: true, time: Some(seconds), library: Some(library.into()), ..Run::default() }
    }

    /// An entry with products of four vectors: in row-major layout with these times of ELL and of a peer, in column-major
    /// layout without results.
    pub fn entry(filename: &str, own: f64, peer: f64) -> Entry {
        let single = run(2.0, OWN);
        let product = |seconds, library: &str| {
            let single = (library == OWN).then_some(&single);
            vec![
                Product::new(Multivector { layout: Layout::ColumnMajor, ..SHAPE }, single, Run::default()),
                Product::new(SHAPE, single, run(seconds, library)),
            ]
        };
        let products = [
            ("auto", product(own / 2.0, OWN)),
            ("csr-vector", product(own * 1.5, OWN)),
            ("ell", product(own, OWN)),
            ("peer-1", product(peer, "peer")),
            ("peer-2", product(2.0 * peer, "peer")),
        ];
        let products = products.map(|(name, products)| (name.to_owned(), products)).into();
        // Another format may be the fastest for one vector.
        let spmv = [("csr-vector", 2.0), ("coo", 1.0), ("auto", 0.5)];
        let spmv = spmv.map(|(name, seconds)| (name.to_owned(), run(seconds, OWN))).into();
        let env = Environment { executor: "cuda".into(), precision: "float64".into(), ..Environment::default() };
        Entry { filename: filename.into(), spmv, products, env, ..Entry::default() }
    }

    #[test]
    fn the_fastest_of_each_side_meet() {
        let entry = entry("a", 1.6, 4.0);
        let contests: Vec<_> = contests(&entry).collect();
        let [rows, columns] = &contests[..] else { panic!("{contests:?}") };
        assert_eq!((rows.own, rows.peer, rows.singles), (Some(("ell", 1.6)), Some(("peer-1", 4.0)), Some(4.0)));
        assert_eq!((rows.speed_up(), rows.over_singles()), (Some(2.5), Some(2.5)));
        assert_eq!((columns.own, columns.peer, columns.speed_up()), (None, None, None));
        assert_eq!(columns.shape.layout, Layout::ColumnMajor);
    }

    #[test]
    fn matrices_are_put_together_by_shape() {
        let entries = [entry("a", 1.0, 4.0), Entry::default(), entry("b", 2.0, 2.0)];
        let standings = standings(&entries);
        let [rows, columns] = &standings[..] else { panic!("{standings:?}") };
        assert_eq!((rows.executor, rows.precision, rows.shape, rows.matrices), ("cuda", "float64", SHAPE, 2));
        assert_eq!((rows.against_peers.mean(), rows.against_peers.worst()), (Some(2.0), Some((2, 1.0))));
        assert_eq!(rows.against_singles.ratios, [(0, 4.0), (2, 2.0)]);
        assert_eq!((columns.matrices, columns.against_peers.mean()), (2, None));
    }
}
