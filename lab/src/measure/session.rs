//! The runs of one matrix: of each format, of the chosen one, and of each peer.

use std::time::Instant;

use host::executor::Executor;
use host::format::{FillLimit, Matrix};
use host::select::{Selection, decide};
use host::{Csr, Error, Format, Multivector, Plan, Scalar, ValueStorage, Vector};

use super::columns::{Columns, ONE};
use super::{Settings, UNIT};
use crate::ceilings::TIMES_CACHE;
use crate::peers::{BOUND, Peer, PeerError};
use crate::record::{Ceilings, Conversion, OWN, Product, Run, Times};
use crate::subject::{Chill, Subject};
use crate::timing::{self, Effort};

/// Preparations of a matrix for a peer that take at least this many seconds are not repeated.
const LONG: f64 = 1.0;

/// Overwrites y with A x.
type Multiply<'m, T, S> = dyn FnMut(&mut Vector<T, S>) -> Result<(), Error> + 'm;

/// A matrix in its format, and the cost of the conversion, if any.
type Converted<T, S> = (Matrix<T, <S as Executor>::Memory>, Option<Conversion>);

/// Shared by all formats of one matrix.
pub(super) struct Session<'a, 's, T: Scalar, S: Subject> {
    pub subject: &'s S,
    pub chill: Option<&'a mut Chill<'s>>,
    pub ceilings: Option<&'a Ceilings>,
    pub settings: &'a Settings,
    pub matrix: &'a Csr<T>,
    pub columns: &'a Columns<'a, T>,
    /// The vector of single products.
    pub x: &'a Vector<T, S>,
}

/// The results of a format: with one vector, and with several.
pub(super) struct Measured {
    pub run: Run,
    pub products: Vec<Product>,
}

impl From<Run> for Measured {
    fn from(run: Run) -> Self {
        Self { run, products: Vec::new() }
    }
}

impl<T: Scalar, S: Subject> Session<'_, '_, T, S> {
    /// Measures formats with the same storage.
    pub fn storage(&mut self, csr: &Csr<T, S::Memory>, formats: &[Format]) -> Vec<(Format, Measured)> {
        let prepared = match formats[0] {
            Format::Auto => self.choose(csr),
            format => self.convert(csr, format).and_then(|(matrix, conversion)| {
                let format = format.resolve(self.matrix);
                Ok((Plan::from_converted(self.subject, matrix, format)?, conversion))
            }),
        };
        let (mut plan, conversion) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                return formats.iter().map(|&format| (format, own_failure(&error).into())).collect();
            }
        };
        let mut all: Vec<_> = formats
            .iter()
            .map(|&format| {
                let measured = match self.format(&mut plan, format) {
                    Ok(run) => {
                        let products = self.products(&mut plan, &run);
                        Measured { run: Run { conversion: conversion.clone(), ..run }, products }
                    }
                    Err(error) => own_failure(&error).into(),
                };
                (format, measured)
            })
            .collect();
        let back = conversion.and_then(|_| self.back(plan.into_matrix()).ok());
        for conversion in all.iter_mut().filter_map(|(_, measured)| measured.run.conversion.as_mut()) {
            conversion.back = back;
        }
        all
    }

    /// Returns the matrix in another format, and the cost of the conversion; `None` if it stays in CSR.
    fn convert(&self, csr: &Csr<T, S::Memory>, format: Format) -> Result<Converted<T, S>, Error> {
        let subject = self.subject;
        let values = self.settings.values;
        if format.shares_arrays(UNIT) && values == ValueStorage::Full {
            return Ok((Matrix::Csr(csr.duplicate(subject)?), None));
        }
        let once = || self.timed(csr, |copy| copy.convert_with_values(subject, format, FillLimit::default(), values));
        let (matrix, first, _) = once()?;
        // So that the conversion back is warm when it is timed.
        drop(matrix.into_csr_on(subject)?);
        let (matrix, warm, peak_bytes) = once()?;
        Ok((matrix, Some(Conversion { first, warm, back: None, peak_bytes, csr_calls: None })))
    }

    /// Makes a plan in the chosen format, and returns it with the cost: analysis, choice, trials and conversion.
    fn choose(&self, csr: &Csr<T, S::Memory>) -> Result<(Plan<T, S>, Option<Conversion>), Error> {
        let subject = self.subject;
        // The user's store must not influence the choice.
        let multiplications = Some(self.settings.multiplications);
        let mut selection = Selection { multiplications, store: None, ..Selection::default() };
        if self.settings.values != ValueStorage::Full {
            selection.values = self.settings.values;
        }
        let once = || {
            self.timed(csr, |copy| {
                let (analysis, choice) = decide(self.matrix, subject.device(), &selection)?;
                Plan::from_choice(subject, copy, &analysis, choice, &selection)
            })
        };
        let (plan, first, _) = once()?;
        drop(plan.into_matrix().into_csr_on(subject)?);
        let (plan, warm, peak_bytes) = once()?;
        Ok((plan, Some(Conversion { first, warm, back: None, peak_bytes, csr_calls: None })))
    }

    /// Returns the result of `make` for a copy of the matrix, its duration in seconds, and its peak memory.
    fn timed<R>(
        &self,
        csr: &Csr<T, S::Memory>,
        make: impl FnOnce(Csr<T, S::Memory>) -> Result<R, Error>,
    ) -> Result<(R, f64, Option<u64>), Error> {
        let subject = self.subject;
        let copy = csr.duplicate(subject)?;
        subject.synchronize()?;
        subject.reset_peak();
        let before = subject.memory_use();
        let start = Instant::now();
        let made = make(copy)?;
        subject.synchronize()?;
        let time = start.elapsed().as_secs_f64();
        let peak_bytes = subject.memory_use().zip(before).map(|((_, peak), (before, _))| peak - before);
        Ok((made, time, peak_bytes))
    }

    /// Returns the seconds of the conversion back to CSR.
    fn back(&self, matrix: Matrix<T, S::Memory>) -> Result<f64, Error> {
        self.subject.synchronize()?;
        let start = Instant::now();
        let csr = matrix.into_csr_on(self.subject)?;
        self.subject.synchronize()?;
        let time = start.elapsed().as_secs_f64();
        drop(csr);
        Ok(time)
    }

    fn format(&mut self, plan: &mut Plan<T, S>, format: Format) -> Result<Run, Error> {
        if format != Format::Auto {
            plan.set_format(format.resolve(self.matrix))?;
        }
        let run = Run { reproducible: Some(format.reproducible()), ..self.described(plan, ONE) };
        let x = self.x;
        self.time_and_check(run, ONE, plan.format(), &mut |y| plan.apply(T::ONE, x, T::ZERO, y))
    }

    /// Describes a plan, before it multiplies vectors of this shape.
    pub(super) fn described(&self, plan: &Plan<T, S>, shape: Multivector) -> Run {
        let matrix = plan.matrix();
        let one = vector_bytes(self.matrix, ONE);
        let (needed, vectors) = (matrix.bytes_needed(), vector_bytes(self.matrix, shape));
        Run {
            library: Some(OWN.into()),
            strategy: Some(plan.format().to_string()),
            multiplications: plan.explain().and_then(|choice| choice.multiplications),
            storage: Some(saturate(matrix.bytes())),
            bytes_needed: Some(saturate(needed - one + vectors)),
            bytes_stored: Some(saturate(matrix.bytes() + vectors)),
            values: match matrix {
                Matrix::Narrow(narrow) => Some(narrow.narrow_type().name().into()),
                _ => None,
            },
            fill_ratio: Some(matrix.fill()).filter(|fill| fill.is_finite()),
            ..Run::default()
        }
    }

    /// Measures a peer with x, vectors of this shape; its preparation of the matrix counts as the conversion.
    pub fn peer(
        &mut self,
        peer: &dyn Peer<T, S>,
        csr: &Csr<T, S::Memory>,
        x: &Vector<T, S>,
        shape: Multivector,
    ) -> Run {
        let run = self.try_peer(peer, csr, x, shape).unwrap_or_else(|error| match error {
            PeerError::Unfit { .. } => Run { error: Some(error.to_string()), refused: true, ..Run::default() },
            PeerError::Failed(error) => Run::failed(&error),
        });
        Run { library: Some(peer.library()), ..run }
    }

    fn try_peer(
        &mut self,
        peer: &dyn Peer<T, S>,
        csr: &Csr<T, S::Memory>,
        x: &Vector<T, S>,
        shape: Multivector,
    ) -> Result<Run, PeerError> {
        let mut y = self.subject.zeros(shape.vectors.saturating_mul(self.matrix.rows()))?;
        let mut once = || {
            let start = Instant::now();
            let prepared = peer.prepare(csr, x, &mut y)?;
            self.subject.synchronize()?;
            Ok::<_, PeerError>((prepared, start.elapsed().as_secs_f64()))
        };
        let (mut prepared, first) = once()?;
        let mut warm = first;
        // Long preparations are no slower the first time.
        if first < LONG {
            drop(prepared);
            (prepared, warm) = once()?;
        }
        drop(y);
        let storage = prepared.storage();
        let bytes = storage + saturate(vector_bytes(self.matrix, shape));
        let run = Run {
            storage: Some(storage),
            strategy: Some(prepared.strategy()),
            reproducible: prepared.reproducible(),
            bytes_needed: Some(bytes),
            bytes_stored: Some(bytes),
            conversion: Some(Conversion { first, warm, back: None, peak_bytes: None, csr_calls: None }),
            ..Run::default()
        };
        Ok(self.time_and_check(run, shape, BOUND, &mut |y| prepared.multiply(T::ONE, x, T::ZERO, y))?)
    }

    /// Times a multiplication of vectors of this shape, warm and, if it matters, cold, and checks the resulting y.
    pub(super) fn time_and_check(
        &mut self,
        run: Run,
        shape: Multivector,
        bound: Format,
        multiply: &mut Multiply<'_, T, S>,
    ) -> Result<Run, Error> {
        let mut y = self.columns.poison(self.subject, shape)?;
        let effort = self.subject.effort(self.settings.effort);
        let warm = timing::measure(self.subject, effort, &mut || Ok(()), &mut || multiply(&mut y))?;
        let cacheable = self.subject.device().cache_bytes.map(|bytes| TIMES_CACHE * bytes);
        let fits = cacheable.zip(run.bytes_stored).is_some_and(|(cacheable, bytes)| bytes < cacheable);
        let cold = match &mut self.chill {
            Some(chill) if fits => {
                // Code is loaded and clocks are up; evicting takes most of the time.
                let effort = Effort { warm_ups: 0, ..effort };
                Some(timing::measure(self.subject, effort, *chill, &mut || multiply(&mut y))?)
            }
            _ => None,
        };
        let verification = self.columns.verify(shape, &self.subject.download(&y)?, bound)?;
        let wrong = (!verification.passed()).then(|| {
            let (wrong, elements) = (verification.wrong, shape.vectors * self.matrix.rows());
            format!("wrong answer: {wrong} of {elements} elements of y exceed the rounding error bound")
        });
        let shorten = |times: Times| Times { samples: Vec::new(), ..times };
        let [warm, cold] =
            [Some(warm), cold].map(|times| if self.settings.samples { times } else { times.map(shorten) });
        let Times { time, quartiles, repetitions, samples } = warm.expect("it was timed");
        let mut run = Run {
            completed: wrong.is_none(),
            error: wrong,
            max_relative_norm2: Some(verification.relative_error).filter(|error| error.is_finite()),
            error_of_bound: Some(verification.worst).filter(|worst| worst.is_finite()),
            time: Some(time),
            quartiles: Some(quartiles),
            repetitions: Some(repetitions),
            samples,
            cold,
            ..run
        };
        let per_second =
            |amount: f64, run: &Run| run.seconds().filter(|&time| time > 0.0).map(|time| amount / time / 1e9);
        run.gflops = per_second(2.0 * self.matrix.nnz() as f64 * shape.vectors as f64, &run);
        run.gbps = run.bytes_needed.and_then(|bytes| per_second(bytes as f64, &run));
        let of = |ceiling: fn(&Ceilings) -> f64| Some(run.gbps? / ceiling(self.ceilings?));
        (run.eta, run.eta_read) = (of(|ceilings| ceilings.copy_gbps), of(|ceilings| ceilings.read_gbps));
        Ok(run)
    }
}

/// Returns a run of one of our own formats without a result.
pub(super) fn own_failure(error: &Error) -> Run {
    Run { library: Some(OWN.into()), ..Run::failed(error) }
}

/// Returns the bytes of x and y of this shape.
fn vector_bytes<T: Scalar>(matrix: &Csr<T>, shape: Multivector) -> u128 {
    shape.vectors as u128 * (matrix.rows() + matrix.columns()) as u128 * size_of::<T>() as u128
}

fn saturate(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
