//! Plans that choose their format, and try formats before they do.

use super::Plan;
use super::narrow::{narrowed, no_updates};
use super::update::Kept;
use crate::error::Error;
use crate::executor::Executor;
use crate::format::narrow::Recipe;
use crate::format::{Csr, Format, ValueStorage};
use crate::memory::{filled, with_capacity};
use crate::real::Scalar;
use crate::select::{Analysis, Choice, Measure, REPETITIONS, Selection, WARM_UPS, choose};

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// [`automatic`](Self::automatic) for a matrix that is already in the executor's memory. The parts that are analysed are
    /// copied to the host: the pattern and, if they may be stored in fewer bytes, the values. If the transpose is to be
    /// stored, the plan is made from that copy.
    ///
    /// # Errors
    /// As for [`automatic`](Self::automatic), and when the matrix belongs to another executor.
    pub fn automatic_in_memory(executor: &E, matrix: Csr<T, E::Memory>, selection: &Selection) -> Result<Self, Error> {
        if selection.stores_transpose() {
            return Self::automatic_with_transpose(executor, matrix.to_host(executor)?, selection);
        }
        let analysis = match selection.values {
            ValueStorage::Full => Analysis { narrow: None, ..Analysis::new(&matrix.pattern_to_host(executor)?)? },
            _ => Analysis::new(&matrix.to_host(executor)?)?,
        };
        let choice = choose(&analysis, executor.device(), selection)?;
        Self::from_choice(executor, matrix, &analysis, choice, selection)
    }

    /// Chooses a format for `matrix` on the executor (see [`select`](crate::select)), moves the matrix there and converts
    /// it. [`explain`](Self::explain) gives the reasons. This takes about as long as two multiplications in CSR on the CPU,
    /// plus the conversion; if formats are [measured](Selection::measure), also their conversions and some multiplications
    /// in each, with the matrix in CSR, twice, and in two of them in memory at a time: the fastest so far is kept. Another
    /// format may be chosen the next time, whose sums are rounded differently; outcomes are kept in the
    /// [`store`](Selection::store), if there is one.
    ///
    /// If [transposed products](Selection::transposed) must be reproducible, the transpose is stored in addition to the
    /// matrix, in a format chosen for it:
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::select::Selection;
    /// use host::{Csr, Plan};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
    /// let selection = Selection { transposed: true, memory_budget: Some(1 << 20), store: None, ..Selection::default() };
    /// let plan = Plan::automatic(&Cpu::new(), matrix, &selection)?;
    /// assert!(plan.matrix().bytes() + plan.transpose_bytes() <= 1 << 20);
    /// let mut y = vec![0.0; 3];
    /// plan.apply_transposed(1.0, &vec![1.0, 10.0], 0.0, &mut y)?;
    /// assert_eq!(y, [1.0, 20.0, 30.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When no format can be chosen, the matrix and its transpose take more than the budget, memory runs out, or the device
    /// fails.
    pub fn automatic(executor: &E, matrix: Csr<T>, selection: &Selection) -> Result<Self, Error> {
        if selection.stores_transpose() {
            return Self::automatic_with_transpose(executor, matrix, selection);
        }
        let analysis = Analysis::new(&matrix)?;
        let choice = choose(&analysis, executor.device(), selection)?;
        Self::from_choice(executor, matrix.upload(executor)?, &analysis, choice, selection)
    }

    /// The part of [`automatic`](Self::automatic) after the matrix is in the executor's memory: tries formats, if that
    /// pays or is requested, and converts. `choice` is the result of [`choose`] for the matrix's `analysis`, with the
    /// same executor and `selection`.
    ///
    /// # Errors
    /// As for [`automatic`](Self::automatic).
    #[doc(hidden)]
    pub fn from_choice(
        executor: &E,
        mut csr: Csr<T, E::Memory>,
        analysis: &Analysis,
        mut choice: Choice,
        selection: &Selection,
    ) -> Result<Self, Error> {
        let recipe = match choice.narrow_type() {
            None => None,
            Some(_) if selection.updates => return Err(no_updates(choice.format)),
            Some(_) => Recipe::new(executor, &csr, selection.values)?,
        };
        let narrow_type = recipe.as_ref().map(|recipe| recipe.narrow_type);
        if narrow_type != choice.narrow_type() {
            // Some values are unlike those sampled.
            let analysis = Analysis { narrow: narrow_type, ..analysis.clone() };
            choice = choose(&analysis, executor.device(), selection)?;
        }
        let tells = executor.times_tell() || selection.measure != Measure::WhereUnsure;
        let candidates = if tells { choice.to_measure(selection) } else { Vec::new() };
        // The fastest of those that are still stored.
        let mut fastest: Option<(f64, Self)> = None;
        if !candidates.is_empty() {
            let mut measured = with_capacity(candidates.len())?;
            for format in candidates {
                let measure = || measure(executor, &csr, format, selection, choice.recipe_for(format, &recipe));
                let mut found = measure();
                if matches!(found, Err(Error::OutOfMemory { .. })) && fastest.take().is_some() {
                    // There may be room without it.
                    found = measure();
                }
                let found = found.ok();
                measured.push((format, found.as_ref().map(|&(seconds, _)| seconds)));
                let least = fastest.as_ref().map_or(f64::INFINITY, |&(least, _)| least);
                fastest = found.filter(|&(seconds, _)| seconds < least).or(fastest);
            }
            if selection.measure == Measure::WhereUnsure {
                // There may be no room for a copy: a measurement that was not requested must not exclude a format, and
                // without a time of the first format those of its rivals are meaningless.
                match measured.first() {
                    Some((_, Some(_))) => measured.retain(|(_, seconds)| seconds.is_some()),
                    _ => {
                        measured.clear();
                        fastest = None;
                    }
                }
            }
            let converted = fastest.as_ref().map(|(_, plan)| plan.format());
            choice.take(&measured, converted, selection)?;
            let timed: Vec<_> = measured.iter().filter_map(|&(format, seconds)| Some((format, seconds?))).collect();
            if let Some(store) = &selection.store
                && let Err(error) = store.keep_outcomes(analysis, executor.device(), choice.narrow_type(), &timed)
            {
                choice.note = Some(error.to_string());
            }
        }
        let Selection { fill_limit, keep_places, .. } = *selection;
        let kept_for = |csr: &Csr<T, E::Memory>, format: Format| match selection.updates {
            true => Kept::for_updates(executor, csr, format, fill_limit, keep_places),
            false => Ok(None),
        };
        loop {
            // If that fails, there may be room without the matrix of the trial.
            if let Some((_, plan)) = fastest.take().filter(|(_, plan)| plan.format() == choice.format)
                && let Ok(kept) = kept_for(&csr, choice.format)
            {
                return Ok(Self { reproducible: selection.reproducible, choice: Some(choice), kept, ..plan });
            }
            // Only an estimate of the bytes can be wrong.
            let copy = match choice.is_exact() {
                true => None,
                false => Some(csr.duplicate(executor)?),
            };
            let kept = kept_for(&csr, choice.format);
            let converted = kept.and_then(|kept| Ok((csr.convert(executor, choice.format, fill_limit)?, kept)));
            match (converted, copy) {
                (Err(Error::Fill { .. } | Error::TooLarge { .. }), Some(copy)) => {
                    choice.take(&[(choice.format, None)], None, selection)?;
                    csr = copy;
                }
                (converted, _) => {
                    let (matrix, kept) = converted?;
                    let recipe = choice.recipe_for(choice.format, &recipe);
                    let matrix = narrowed(executor, matrix, choice.format, recipe)?;
                    let plan = Self::from_converted(executor, matrix, choice.format)?;
                    return Ok(Self { reproducible: selection.reproducible, choice: Some(choice), kept, ..plan });
                }
            }
        }
    }
}

/// Minimum time in seconds of a multiplication in `format`, and the plan that multiplied.
fn measure<T: Scalar, E: Executor>(
    executor: &E,
    csr: &Csr<T, E::Memory>,
    format: Format,
    selection: &Selection,
    recipe: Option<&Recipe<T>>,
) -> Result<(f64, Plan<T, E>), Error> {
    let matrix = csr.duplicate(executor)?.convert(executor, format, selection.fill_limit)?;
    let matrix = narrowed(executor, matrix, format, recipe)?;
    // With zeros, a GPU's arithmetic uses less power, and its clocks rise.
    let x = executor.upload(filled(matrix.columns(), T::ONE)?)?;
    let mut y = executor.zeros(matrix.rows())?;
    let mut plan = Plan::from_converted(executor, matrix, format)?;
    let mut least = f64::INFINITY;
    for repetition in 0..WARM_UPS + REPETITIONS {
        let time = executor.time(&mut || plan.apply(T::ONE, &x, T::ZERO, &mut y))?;
        if repetition >= WARM_UPS {
            least = least.min(time.as_secs_f64());
        }
    }
    Ok((least.max(f64::MIN_POSITIVE), plan))
}
