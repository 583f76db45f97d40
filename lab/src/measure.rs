//! One matrix in every format on one executor: converted, multiplied, timed and checked.

mod columns;
mod products;
mod session;

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use host::select::{Analysis, Machine};
use host::{Csr, Error, Format, Multivector, Scalar, ValueStorage};

use columns::{Columns, ONE, SEED};
use session::Session;

use crate::ceilings;
use crate::record::{AnalysisTime, Ceilings, Entry, Environment, Optimal, Run, SCHEMA, is_own_format};
use crate::row_lengths::RowLengths;
use crate::subject::{Chill, Subject};
use crate::timing::Effort;
use crate::tuning::Asked;

/// The format that others are compared with, which is always measured.
pub const UNIT: Format = Format::CSR_VECTOR;

/// Returns the formats measured by default: [`UNIT`], and the others of [`Format::STANDARD`].
pub fn standard() -> Vec<Format> {
    let others = Format::STANDARD.iter().copied().filter(|&format| format != UNIT);
    [UNIT].into_iter().chain(others).collect()
}

/// The measurements of a matrix.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The formats; [`UNIT`] is measured in any case. [`Format::Auto`] is the library's choice.
    pub formats: Vec<Format>,
    /// Number of multiplications for which [`Format::Auto`] chooses.
    pub multiplications: u64,
    /// Numbers and layouts of vectors multiplied at once, besides one: each in every format and by every peer that supports
    /// them.
    pub shapes: Vec<Multivector>,
    /// Storage of the values.
    pub values: ValueStorage,
    /// The peers.
    pub peers: Chosen,
    /// How often each is timed, and for how long.
    pub effort: Effort,
    /// Whether the record keeps every single time.
    pub samples: bool,
}

/// Some of the peers, or all.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// All available peers.
    All,
    /// Those with these names, or of the libraries with these names.
    Named(Vec<String>),
}

impl Chosen {
    /// Returns whether the peer `name` is chosen.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|chosen| {
                name.strip_prefix(chosen.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            }),
        }
    }
}

/// A matrix with its name and family.
pub struct Case<'a, T: Scalar> {
    /// The file's name or the generator's text, as given.
    pub name: &'a str,
    /// The family of the matrix.
    pub family: Option<&'a str>,
    /// The matrix.
    pub matrix: &'a Csr<T>,
}

/// Returns the environment of a measurement, with the current clocks.
pub fn environment<S: Subject>(subject: &S) -> Environment {
    let device = subject.device();
    Environment {
        executor: subject.name().name().into(),
        device: device.name.clone(),
        driver: subject.driver(),
        clocks: subject.clocks(),
        cache_bytes: device.cache_bytes,
        resident_threads: Some(Machine::from(device).resident_threads),
        threads: rayon::current_num_threads(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("LAB_COMMIT").map(Into::into),
        index_width: u32::BITS,
        seed: SEED,
        timer: S::TIMER.into(),
        command: std::env::args().collect(),
        ..Environment::default()
    }
}

/// An executor with the state for measuring on it.
pub struct Bench<'s, S: Subject> {
    subject: &'s S,
    ceilings: Option<Ceilings>,
    chill: Option<Chill<'s>>,
    environment: Environment,
}

impl<'s, S: Subject> Bench<'s, S> {
    /// Measures the ceilings.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn new(subject: &'s S) -> Result<Self, Error> {
        let ceilings = ceilings::of(subject)?;
        // The ceilings have just been measured, so the clocks are those under load.
        let environment = environment(subject);
        Ok(Self { subject, ceilings, chill: subject.chill()?, environment })
    }

    /// Records the requested grid sizes of the executor in the results.
    #[must_use]
    pub fn tuned(mut self, asked: Asked) -> Self {
        self.environment.tuning = asked.if_any();
        self
    }

    /// Returns the entry of a matrix that is not available.
    pub fn missing<T: Scalar>(&self, name: &str, family: Option<&str>, error: String) -> Entry {
        let env = self.environment_now::<T>();
        let family = family.map(Into::into);
        Entry { schema: SCHEMA, filename: name.into(), family, error: Some(error), env, ..Entry::default() }
    }

    fn environment_now<T: Scalar>(&self) -> Environment {
        let unix_time = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
        Environment { precision: T::NAME.into(), unix_time, ..self.environment.clone() }
    }

    /// Measures a matrix. The error of a format is recorded in its run; `report` receives each run with one vector when the
    /// format is finished.
    ///
    /// # Errors
    /// When memory for the vectors or the matrix itself runs out.
    pub fn measure<T: Scalar>(
        &mut self,
        case: &Case<'_, T>,
        settings: &Settings,
        report: &mut dyn FnMut(&str, &Run),
    ) -> Result<Entry, Error> {
        let Case { name, family, matrix } = *case;
        let start = Instant::now();
        let analysis = Analysis::new(matrix)?;
        let analysis_seconds = start.elapsed().as_secs_f64();
        let columns = Columns::new(matrix, &settings.shapes)?;
        let x = columns.x(self.subject, ONE)?;
        let csr = matrix.try_clone()?.upload(self.subject)?;
        let mut session = Session {
            subject: self.subject,
            chill: self.chill.as_mut(),
            ceilings: self.ceilings.as_ref(),
            settings,
            matrix,
            columns: &columns,
            x: &x,
        };
        let (mut runs, mut products) = (BTreeMap::new(), BTreeMap::new());
        let mut unit = None;
        for formats in groups(&settings.formats) {
            for (format, measured) in session.storage(&csr, &formats) {
                if format == UNIT {
                    unit = measured.run.seconds();
                }
                report(&format.to_string(), &measured.run);
                runs.insert(format.to_string(), measured.run);
                if !measured.products.is_empty() {
                    products.insert(format.to_string(), measured.products);
                }
            }
        }
        let peers = self.subject.peers::<T>(settings.values).present;
        for peer in peers.iter().filter(|peer| settings.peers.has(peer.name())) {
            let run = session.peer(peer.as_ref(), &csr, &x, ONE);
            report(peer.name(), &run);
            runs.insert(peer.name().to_owned(), run);
        }
        products.append(&mut session.products_of_peers(&csr));
        for run in runs.values_mut() {
            compare_with_unit(run, unit);
        }
        let mut entry = Entry {
            schema: SCHEMA,
            filename: name.into(),
            family: family.map(Into::into),
            rows: matrix.rows() as u64,
            cols: matrix.columns() as u64,
            nonzeros: matrix.nnz() as u64,
            row_lengths: Some((&RowLengths::new(matrix.row_lengths())).into()),
            analysis: Some(analysis),
            analysis_time: Some(AnalysisTime {
                seconds: analysis_seconds,
                csr_calls: unit.filter(|&unit| unit > 0.0).map(|unit| analysis_seconds / unit),
            }),
            error: None,
            spmv: runs,
            products,
            optimal: None,
            ceilings: self.ceilings.clone(),
            env: self.environment_now::<T>(),
        };
        entry.optimal = entry.fastest(is_own_format).map(|(name, _)| Optimal { spmv: name.into() });
        Ok(entry)
    }
}

/// Returns the formats grouped by their arrays, those sharing [`UNIT`]'s first.
fn groups(formats: &[Format]) -> Vec<Vec<Format>> {
    let mut groups = vec![vec![UNIT]];
    for &format in formats {
        match groups.iter_mut().find(|group| group[0].shares_arrays(format)) {
            Some(group) if group.contains(&format) => {}
            Some(group) => group.push(format),
            None => groups.push(vec![format]),
        }
    }
    groups
}

/// Records the cost of a conversion in multiplications with [`UNIT`], and when it pays off.
fn compare_with_unit(run: &mut Run, unit: Option<f64>) {
    let (Some(unit), Some(seconds), Some(conversion)) = (unit, run.seconds(), &mut run.conversion) else { return };
    conversion.csr_calls = (unit > 0.0).then(|| conversion.warm / unit);
    run.break_even = (seconds < unit).then(|| conversion.warm / (unit - seconds));
}

#[cfg(test)]
mod tests {
    use host::executor::{Cpu, Emulated, HostExecutor};
    use host::{Complex, Layout};
    use synthetic::Generator;

    use super::*;
    use crate::record::Conversion;

    const EFFORT: Effort = Effort { warm_ups: 1, repetitions: 3, seconds: 10.0 };

    fn entry<S: Subject>(subject: &S, text: &str, formats: &[Format], samples: bool) -> Entry {
        entry_with(subject, text, formats, samples, &[])
    }

    fn entry_with<S: Subject>(
        subject: &S,
        text: &str,
        formats: &[Format],
        samples: bool,
        shapes: &[Multivector],
    ) -> Entry {
        let matrix = text.parse::<Generator>().unwrap().generate::<f64>().unwrap();
        let (formats, peers) = (formats.to_vec(), Chosen::All);
        let (values, shapes) = (ValueStorage::Full, shapes.to_vec());
        let settings = Settings { formats, multiplications: 100, shapes, values, peers, effort: EFFORT, samples };
        let case = Case { name: text, family: Some("family"), matrix: &matrix };
        let mut seen = Vec::new();
        let mut bench = Bench::new(subject).unwrap();
        let entry = bench.measure(&case, &settings, &mut |name, _| seen.push(name.to_owned())).unwrap();
        seen.sort();
        assert_eq!(seen, entry.spmv.keys().cloned().collect::<Vec<_>>());
        entry
    }

    #[test]
    fn every_format_on_the_cpu() {
        let entry = entry(&HostExecutor::from(Cpu::new()), "stencil:5:30", Format::ALL, true);
        assert_eq!((entry.rows, entry.cols, entry.nonzeros), (900, 900, 4380));
        let (own, peers): (Vec<_>, Vec<_>) = entry.spmv.iter().partition(|(_, run)| !run.is_peer());
        assert_eq!((own.len(), peers.is_empty()), (Format::ALL.len(), !cfg!(feature = "peers")));
        for (name, run) in own.iter().copied().chain(peers) {
            assert!(run.completed && run.error.is_none(), "{name}: {run:?}");
            assert_eq!((run.repetitions, run.samples.len()), (Some(3), 3));
            assert!(run.error_of_bound.unwrap() <= 1.0 && run.max_relative_norm2.unwrap() < 1e-14, "{name}");
            let of_csr = name.starts_with("csr-");
            assert_eq!(run.conversion.is_none(), of_csr, "{name}");
            // Two entries can be duplicates.
            let least = if *name == "clustered-symmetric" { 0.5 } else { 1.0 };
            assert!(run.is_peer() || run.fill_ratio.unwrap() >= least, "{name}");
            assert_eq!(run.bytes_stored.unwrap(), run.storage.unwrap() + 8 * (entry.rows + entry.cols), "{name}");
            let gflops = 2.0 * entry.nonzeros as f64 / run.seconds().unwrap() / 1e9;
            assert!((run.gflops.unwrap() / gflops - 1.0).abs() < 1e-12, "{name}");
        }
        let fastest = &entry.spmv[&entry.optimal.as_ref().unwrap().spmv];
        assert!(own.iter().all(|(_, run)| run.seconds() >= fastest.seconds()));
        assert!(entry.ceilings.is_some() && entry.env.precision == "float64" && entry.env.executor == "cpu");
    }

    #[test]
    fn complex_values_with_one_vector_and_with_several() {
        let matrix = "helmholtz:grid=9x8x7".parse::<Generator>().unwrap();
        let matrix: Csr<Complex<f32>> = matrix.generate().unwrap();
        let shapes = vec![Multivector { vectors: 3, layout: Layout::RowMajor }];
        let formats = vec![Format::Dia, Format::SELL_P, Format::COO];
        let (values, peers) = (ValueStorage::Full, Chosen::All);
        let settings =
            Settings { formats, multiplications: 100, shapes, values, peers, effort: EFFORT, samples: false };
        let case = Case { name: "helmholtz", family: None, matrix: &matrix };
        for executor in [HostExecutor::from(Cpu::new()), Emulated::new(0).into()] {
            let mut bench = Bench::new(&executor).unwrap();
            let entry = bench.measure(&case, &settings, &mut |_, _| ()).unwrap();
            assert_eq!(entry.env.precision, "complex64");
            // sprs and faer are asked for real numbers only.
            assert_eq!(entry.spmv.keys().collect::<Vec<_>>(), ["coo", "csr-vector", "dia", "sell-p"]);
            let products = entry.products.values().flatten().map(|product| &product.run);
            for run in entry.spmv.values().chain(products) {
                assert!(run.completed && run.error_of_bound.unwrap() <= 1.0, "{run:?}");
            }
            let values = 8 * entry.nonzeros;
            let csr = &entry.spmv["csr-vector"];
            assert_eq!(csr.storage.unwrap(), values + 4 * entry.nonzeros + 4 * (entry.rows + 1));
            assert_eq!(csr.bytes_stored.unwrap(), csr.storage.unwrap() + 8 * (entry.rows + entry.cols));
        }
    }

    #[test]
    fn a_format_that_does_not_fit_is_recorded_and_the_others_go_on() {
        let formats = [Format::Dia, Format::COO, Format::CSR_AUTOMATIC];
        let entry = entry(&HostExecutor::from(Emulated::new(0)), "uniform:rows=300,per-row=5", &formats, false);
        let dia = &entry.spmv["dia"];
        assert!(!dia.completed && dia.error.as_ref().unwrap().contains("DIA would take"), "{dia:?}");
        assert_eq!(dia.seconds(), None);
        for name in ["coo", "csr-vector", "csr-automatic"] {
            let run = &entry.spmv[name];
            assert!(run.completed && run.samples.is_empty() && run.repetitions == Some(1), "{name}: {run:?}");
        }
        assert_eq!(entry.ceilings, None);
    }

    #[test]
    fn several_vectors_in_every_format_that_multiplies_them() {
        let shapes = [(3, Layout::RowMajor), (3, Layout::ColumnMajor), (33, Layout::RowMajor)];
        let shapes = shapes.map(|(vectors, layout)| Multivector { vectors, layout });
        let formats = [Format::COO, Format::SELL_P, Format::Coo16, Format::Dia];
        for executor in [HostExecutor::from(Cpu::new()), Emulated::new(0).into()] {
            let entry = entry_with(&executor, "uniform:rows=300,per-row=5", &formats, false, &shapes);
            // DIA rejects the matrix, and COO-16 has no such kernel.
            assert_eq!(entry.products.keys().collect::<Vec<_>>(), ["coo", "csr-vector", "sell-p"]);
            assert_eq!(entry.shapes(), [shapes[0], shapes[2], shapes[1]]);
            for (name, product) in entry.products.iter().flat_map(|(name, all)| all.iter().map(move |one| (name, one)))
            {
                let (run, single, vectors) = (&product.run, &entry.spmv[name], product.vectors);
                assert!(run.completed && !run.is_peer() && run.error_of_bound.unwrap() <= 1.0, "{name}: {run:?}");
                assert_eq!(product.singles, single.singles(vectors as usize), "{name}");
                assert_eq!(run.storage, single.storage, "{name}");
                let more = 8 * (vectors - 1) * (entry.rows + entry.cols);
                assert_eq!(run.bytes_needed.unwrap(), single.bytes_needed.unwrap() + more, "{name}");
                assert_eq!(run.bytes_stored.unwrap(), single.bytes_stored.unwrap() + more, "{name}");
                let gflops = 2.0 * (vectors * entry.nonzeros) as f64 / run.seconds().unwrap() / 1e9;
                assert!((run.gflops.unwrap() / gflops - 1.0).abs() < 1e-12, "{name}");
            }
        }
    }

    #[test]
    fn a_conversion_is_repaid_when_its_gains_add_up() {
        let of = |seconds: f64| {
            let conversion = Conversion { first: 9.0, warm: 6.0, back: None, peak_bytes: None, csr_calls: None };
            let run = Run { completed: true, time: Some(seconds), conversion: Some(conversion), ..Run::default() };
            let mut run = run;
            compare_with_unit(&mut run, Some(3.0));
            (run.conversion.unwrap().csr_calls, run.break_even)
        };
        assert_eq!(of(1.0), (Some(2.0), Some(3.0)));
        assert_eq!(of(3.0), (Some(2.0), None));
        assert_eq!(of(4.0), (Some(2.0), None));
    }
}
