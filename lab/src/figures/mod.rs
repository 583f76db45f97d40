//! The papers' experiments by the names of their figures: their matrices, formats and plots.
//!
//! An experiment is drawn from any entries of its matrices, so measurements for one experiment serve the others.
//! `docs/figures.md` states for each what the paper found and how to run it here.

mod axes;
mod list;
mod matrices;

pub use axes::{Quantity, X};
pub use list::FIGURES;

use std::str::FromStr;

use host::Format;

use crate::error::Error;
use crate::record::{Entry, Run};
use crate::report::{self, Figure};

/// An experiment of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The paper and the number of the figure, as passed to `bench --figure`.
    pub name: &'static str,
    /// The figure, as cited.
    pub source: &'static str,
    /// The subject of the measurement.
    pub title: &'static str,
    /// The generators' texts of the matrices.
    pub matrices: fn() -> Vec<String>,
    /// The types of the values, by name.
    pub precisions: &'static [&'static str],
    /// The sides of the comparison.
    pub series: &'static [Series],
    /// The plot.
    pub plot: Plot,
}

/// One side of a comparison: the best of one or several formats and peers.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// The label in the legend.
    pub label: &'static str,
    /// The formats.
    pub formats: &'static [Format],
    /// The peers; they are drawn if they were measured.
    pub peers: &'static [&'static str],
    /// The choice among them.
    pub choice: Choice,
}

/// The format that represents a [`Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest.
    Fastest,
    /// The one that stores the matrix in the fewest bytes.
    Smallest,
}

/// The plot of an experiment.
#[derive(Clone, Copy, Debug)]
pub enum Plot {
    /// A line per matrix, with a mark per series.
    ByMatrix(Quantity, Scale),
    /// A mark per matrix and series.
    Against {
        /// The quantity on the horizontal axis.
        x: X,
        /// The scale of the horizontal axis.
        x_scale: Scale,
        /// The quantity on the vertical axis.
        y: Quantity,
        /// The scale of the vertical axis.
        y_scale: Scale,
        /// Whether the marks of a series are joined by a line.
        joined: bool,
        /// Lines predicted by a model.
        curves: &'static [Curve],
    },
    /// A line per series, with the arithmetic means of some quantities over the matrices.
    Means {
        /// The label of the horizontal axis.
        axis: &'static str,
        /// The quantities, each with its label in the legend.
        marks: &'static [(&'static str, Quantity)],
    },
    /// The fraction of the matrices on which each series is within a factor of the best.
    Profile {
        /// Matrices with fewer nonzeros are excluded.
        least_nonzeros: u64,
    },
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, starting at 0.
    Linear,
    /// Logarithmic.
    Logarithmic,
}

/// A line predicted by a model.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// The label in the legend.
    pub label: &'static str,
    /// Its height at a position on the horizontal axis.
    pub at: fn(f64) -> f64,
}

/// The measurements of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The generator's text.
    pub text: String,
    /// The formats per precision.
    pub formats: Vec<(&'static str, Vec<Format>)>,
    /// The names of the peers, for all precisions.
    pub peers: Vec<&'static str>,
}

impl Experiment {
    /// Returns all formats that a series or the quantity needs.
    pub fn formats(&self) -> Vec<Format> {
        let mut formats: Vec<_> = self.series.iter().flat_map(|series| series.formats).copied().collect();
        if let Some(Quantity::SpeedUpOf(format) | Quantity::SpeedUpOver(format)) = self.quantity() {
            formats.push(format);
        }
        formats
    }

    /// Returns the quantity drawn; `None` for a profile, and for means, which have several.
    pub fn quantity(&self) -> Option<Quantity> {
        match self.plot {
            Plot::ByMatrix(quantity, _) | Plot::Against { y: quantity, .. } => Some(quantity),
            Plot::Means { .. } | Plot::Profile { .. } => None,
        }
    }

    /// Draws it from the entries of its matrices, with a panel per device and precision.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn draw(&self, entries: &[Entry]) -> Result<Figure, Error> {
        report::draw(self, entries)
    }
}

impl FromStr for Experiment {
    type Err = host::Error;

    fn from_str(name: &str) -> Result<Self, host::Error> {
        FIGURES.iter().copied().find(|experiment| experiment.name == name).ok_or_else(|| host::Error::Name {
            what: "figure",
            name: name.into(),
            expected: FIGURES.iter().map(|experiment| experiment.name).collect::<Vec<_>>().join(", "),
        })
    }
}

impl Series {
    const fn of(label: &'static str, formats: &'static [Format]) -> Self {
        Self { label, formats, peers: &[], choice: Choice::Fastest }
    }

    const fn with_peers(label: &'static str, formats: &'static [Format], peers: &'static [&'static str]) -> Self {
        Self { label, formats, peers, choice: Choice::Fastest }
    }

    /// Returns the run that represents the series in an entry; `None` without a result.
    pub fn run<'e>(&self, entry: &'e Entry) -> Option<&'e Run> {
        let names = self.formats.iter().map(|format| format.name()).chain(self.peers.iter().copied());
        let runs = names.filter_map(|name| Some((entry.spmv.get(name)?, entry.spmv.get(name)?.seconds()?)));
        let chosen = match self.choice {
            Choice::Fastest => runs.min_by(|(_, left), (_, right)| left.total_cmp(right)),
            Choice::Smallest => runs.min_by_key(|(run, _)| run.storage.unwrap_or(u64::MAX)),
        };
        chosen.map(|(run, _)| run)
    }
}

/// Returns the measurements needed for some experiments: each matrix once, with all formats that any of them needs, in the
/// experiments' precisions unless `precisions` names others.
pub fn tasks(experiments: &[Experiment], precisions: &[&'static str]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for experiment in experiments {
        let precisions = if precisions.is_empty() { experiment.precisions } else { precisions };
        for text in (experiment.matrices)() {
            let place = tasks.iter().position(|task| task.text == text).unwrap_or_else(|| {
                tasks.push(Task { text, formats: Vec::new(), peers: Vec::new() });
                tasks.len() - 1
            });
            let task = &mut tasks[place];
            for &peer in experiment.series.iter().flat_map(|series| series.peers) {
                if !task.peers.contains(&peer) {
                    task.peers.push(peer);
                }
            }
            for &precision in precisions {
                let place = task.formats.iter().position(|&(known, _)| known == precision).unwrap_or_else(|| {
                    task.formats.push((precision, Vec::new()));
                    task.formats.len() - 1
                });
                let (_, formats) = &mut task.formats[place];
                for format in experiment.formats() {
                    if !formats.contains(&format) {
                        formats.push(format);
                    }
                }
            }
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use synthetic::Generator;

    use super::axes::tests::entry;
    use super::*;

    /// Largest work of a run of all figures, in nonzeros, counted once per format and precision.
    const MOST_WORK: u128 = 11_000_000_000;

    #[test]
    fn every_experiment_can_be_run() {
        let names: HashSet<_> = FIGURES.iter().map(|experiment| experiment.name).collect();
        assert_eq!(names.len(), FIGURES.len());
        for experiment in FIGURES {
            let name = experiment.name;
            assert_eq!(name.parse::<Experiment>().unwrap().name, name);
            let texts = (experiment.matrices)();
            assert_eq!(texts.iter().collect::<HashSet<_>>().len(), texts.len(), "{name}: a matrix is there twice");
            for text in &texts {
                let generator: Generator = text.parse().unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
                let nonzeros = generator.expected_nnz();
                assert!((1_000..=33_000_000).contains(&nonzeros), "{name}: {text} has {nonzeros} nonzeros");
            }
            let labels: HashSet<_> = experiment.series.iter().map(|series| series.label).collect();
            assert_eq!(labels.len(), experiment.series.len(), "{name}: a label is there twice");
            assert!(labels.iter().all(|label| label.len() <= 24), "{name}: a label has no room in the legend");
            assert!(experiment.series.iter().all(|series| !series.formats.is_empty() || !series.peers.is_empty()));
            assert!(experiment.precisions.iter().all(|name| ["float32", "float64"].contains(name)), "{name}");
        }
        let error = "bg-99".parse::<Experiment>().unwrap_err().to_string();
        assert!(error.starts_with("unknown figure 'bg-99': expected bg-8, "), "{error}");
    }

    #[test]
    fn a_matrix_is_measured_once_for_all_experiments() {
        let tasks = tasks(FIGURES, &[]);
        let texts: HashSet<_> = tasks.iter().map(|task| &task.text).collect();
        assert_eq!(texts.len(), tasks.len());
        let work = tasks.iter().map(|task| {
            let formats: usize = task.formats.iter().map(|(_, formats)| formats.len()).sum();
            formats as u128 * task.text.parse::<Generator>().unwrap().expected_nnz()
        });
        let work: u128 = work.sum();
        assert!(work <= MOST_WORK, "{work}");
        for experiment in FIGURES {
            for text in (experiment.matrices)() {
                let task = tasks.iter().find(|task| task.text == text).unwrap();
                for precision in experiment.precisions {
                    let (_, formats) = task.formats.iter().find(|(known, _)| known == precision).unwrap();
                    assert_eq!(formats.iter().collect::<HashSet<_>>().len(), formats.len());
                    assert!(experiment.formats().iter().all(|format| formats.contains(format)), "{}", experiment.name);
                }
            }
        }
    }

    #[test]
    fn other_precisions_take_the_place_of_the_experiments() {
        let experiment: Experiment = "bg-12".parse().unwrap();
        let precisions = |tasks: Vec<Task>| -> HashSet<&str> {
            tasks.iter().flat_map(|task| task.formats.iter().map(|&(precision, _)| precision)).collect()
        };
        assert_eq!(precisions(tasks(&[experiment], &[])), ["float32"].into());
        assert_eq!(precisions(tasks(&[experiment], &["float64"])), ["float64"].into());
    }

    #[test]
    fn a_series_is_the_best_of_its_formats() {
        let entry = entry("float64", &[("coo", 2e-6, 100), ("ell", 1e-6, 300), ("dia", 4e-6, 50)]);
        let formats = &[Format::COO, Format::ELL, Format::COO_ATOMIC];
        let fastest = Series::of("fastest", formats);
        let smallest = Series { choice: Choice::Smallest, ..fastest };
        assert_eq!(fastest.run(&entry).unwrap().time, Some(1e-6));
        assert_eq!(smallest.run(&entry).unwrap().time, Some(2e-6));
        assert_eq!(Series::of("none", &[Format::COO_ATOMIC]).run(&entry), None);
        assert_eq!(Series::with_peers("peer", &[], &["dia"]).run(&entry).unwrap().time, Some(4e-6));
    }
}
