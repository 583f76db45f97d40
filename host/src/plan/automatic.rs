//! Plans that choose their format, and try formats before they do.

use super::narrow::{narrowed, no_updates};
use super::update::Kept;
use super::{Plan, Vector};
use crate::error::Error;
use crate::executor::Executor;
use crate::format::narrow::Recipe;
use crate::format::{Csr, Format};
use crate::memory::{Memory, reserve};
use crate::parallel;
use crate::real::Scalar;
use crate::select::{
    Analysis, Choice, Measure, REPETITIONS, Selection, WARM_UPS, choose, decide, decide_in_memory, is_small,
};

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// [`automatic`](Self::automatic) for a matrix that is already in the executor's memory. The host usually receives the row
    /// offsets of a large matrix and samples of its other arrays. It receives all of a small matrix, of one whose transpose is
    /// to be stored, and of one for which a clustered format may pay within the planned multiplications.
    ///
    /// # Errors
    /// As for [`automatic`](Self::automatic), and when the matrix belongs to another executor.
    pub fn automatic_in_memory(executor: &E, matrix: Csr<T, E::Memory>, selection: &Selection) -> Result<Self, Error> {
        if selection.stores_transpose() {
            return Self::automatic_with_transpose(executor, matrix.to_host(executor)?, selection);
        }
        let (analysis, choice) = decide_in_memory(executor, &matrix, selection)?;
        Self::from_choice(executor, matrix, &analysis, choice, selection)
    }

    /// Chooses a format for `matrix` on the executor (see [`select`](crate::select)), moves the matrix there and converts it.
    /// [`explain`](Self::explain) gives the reasons. The choice takes about as long as two multiplications in CSR on the CPU,
    /// while the matrix is copied to a GPU. If formats are [measured](Selection::measure), their conversions and some
    /// multiplications in each follow, with the matrix in CSR, twice, and in two of them in memory at a time, and on a GPU
    /// twice as many bytes as its caches hold: the fastest so far is kept. Another format may be chosen the next time, whose
    /// sums are rounded differently; outcomes are kept in the [`store`](Selection::store), if there is one.
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
        let device = executor.device();
        if !device.has_kernels() || is_small(&matrix) {
            let (analysis, choice) = decide(&matrix, device, selection)?;
            return Self::from_choice(executor, matrix.upload(executor)?, &analysis, choice, selection);
        }
        // The copy takes longer than the analysis.
        let (decided, uploaded) =
            parallel::beside(|| decide(&matrix, device, selection), || matrix.upload_copy(executor));
        let (analysis, choice) = decided?;
        drop(matrix);
        Self::from_choice(executor, uploaded?, &analysis, choice, selection)
    }

    /// The part of [`automatic`](Self::automatic) after the matrix is in the executor's memory: tries formats, if that
    /// pays or is requested, and converts. `choice` is the result of [`choose`] or [`decide`] for the matrix's `analysis`,
    /// with the same executor and `selection`.
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
        // The fastest of those that are still stored.
        let mut fastest: Option<(f64, Self)> = None;
        let mut measured: Vec<(Format, Option<f64>)> = Vec::new();
        let mut arrays = None;
        let lead = choice.lead();
        while tells && let Some(format) = choice.next_trial(&measured, selection) {
            let measure = |arrays: &mut _, fastest: Option<&mut (f64, Self)>| {
                let recipe = choice.recipe_for(format, &recipe);
                let matrix = csr.duplicate(executor)?.convert(executor, format, selection.fill_limit)?;
                let mut plan = Self::from_converted(executor, narrowed(executor, matrix, format, recipe)?, format)?;
                Ok((measure(executor, &mut plan, arrays, fastest)?, plan))
            };
            let mut found = measure(&mut arrays, fastest.as_mut());
            if matches!(found, Err(Error::OutOfMemory { .. })) && fastest.take().is_some() {
                // There may be room without it.
                arrays = None;
                found = measure(&mut arrays, None);
            }
            let found = found.ok();
            if let Some((least, plan)) = &fastest
                && let Some((_, seconds)) = measured.iter_mut().find(|(other, _)| *other == plan.format())
            {
                *seconds = Some(*least);
            }
            reserve(&mut measured, 1)?;
            measured.push((format, found.as_ref().map(|&(seconds, _)| seconds)));
            if let Some((seconds, plan)) = found
                && fastest
                    .as_ref()
                    .is_none_or(|(least, other)| seconds * lead(format, true) < least * lead(other.format(), true))
            {
                fastest = Some((seconds, plan));
            }
        }
        drop(arrays);
        if !measured.is_empty() {
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

/// Timed multiplications after which a clearly slower format has lost.
const FEW_REPETITIONS: usize = 3;

/// Multiple of the fastest format's time from which another one is clearly slower.
const CLEARLY_SLOWER: f64 = 1.1;

/// Minimum number of bytes copied before each timed multiplication on a GPU. That takes longer than queueing the
/// multiplication, whose time is then its own: for small matrices, the wait for the host is about as long, and varies.
///
/// As many bytes as the caches hold are copied: predictions are for caches that hold nothing of the matrix, and times of the
/// formats that were tried are compared with predictions for the others.
const LEAST_COPIED_AHEAD: u64 = 1 << 23;

/// All bytes of the elements that a trial multiplies: not zeros, with which a GPU's arithmetic uses less power, and its clocks
/// rise. As an element of any type, they are a number below 1.
const BYTE: u8 = 0x3f;

/// The arrays of all trials.
struct Arrays<T: Scalar, E: Executor> {
    x: Vector<T, E>,
    y: Vector<T, E>,
    /// What is copied ahead, and where to; without it, times are less exact.
    ahead: Option<[<E::Memory as Memory>::Buffer<u8>; 2]>,
}

impl<T: Scalar, E: Executor> Arrays<T, E> {
    fn new(executor: &E, rows: usize, columns: usize) -> Result<Self, Error> {
        let (x, y) = (executor.filled(columns, BYTE)?, executor.zeros(rows)?);
        let device = executor.device();
        let queues = device.has_kernels() && executor.times_tell();
        let bytes = device.cache_bytes.unwrap_or(0).max(LEAST_COPIED_AHEAD) as usize;
        let copied = || executor.filled(bytes, BYTE).ok();
        let ahead = if queues { copied().zip(copied()).map(|(from, to)| [from, to]) } else { None };
        Ok(Self { x, y, ahead })
    }
}

/// Minimum time in seconds of a multiplication by a plan. On a CPU, the fastest format so far takes turns, which may lower its
/// time.
fn measure<T: Scalar, E: Executor>(
    executor: &E,
    plan: &mut Plan<T, E>,
    arrays: &mut Option<Arrays<T, E>>,
    mut fastest: Option<&mut (f64, Plan<T, E>)>,
) -> Result<f64, Error> {
    let Arrays { x, y, ahead } = match arrays {
        Some(arrays) => arrays,
        None => arrays.insert(Arrays::new(executor, plan.matrix().rows(), plan.matrix().columns())?),
    };
    let mut time = |plan: &mut Plan<T, E>| {
        if let Some([from, to]) = ahead {
            executor.copy(from, to)?;
        }
        Ok(executor.time(&mut || plan.apply(T::ONE, x, T::ZERO, y))?.as_secs_f64())
    };
    match fastest.as_deref_mut().filter(|_| !executor.device().has_kernels()) {
        Some((least, other)) => by_turns(least, |turn| time(if turn == Turn::Fastest { other } else { plan })),
        None => alone(fastest.map_or(f64::INFINITY, |&mut (least, _)| least), || time(plan)),
    }
}

/// Minimum of repeated times, of fewer if it is clearly more than `least`.
fn alone(least: f64, mut time: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let mut own = f64::INFINITY;
    for repetition in 0..WARM_UPS + REPETITIONS {
        let time = time()?;
        if repetition >= WARM_UPS {
            own = own.min(time);
        }
        if repetition + 1 == WARM_UPS + FEW_REPETITIONS && own > CLEARLY_SLOWER * least {
            break;
        }
    }
    Ok(own.max(f64::MIN_POSITIVE))
}

/// Whose turn it is to multiply.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// The fastest format so far.
    Fastest,
    /// The one that is tried.
    Tried,
}

/// [`alone`] for a CPU, whose speed may differ from what it was when `least` was measured: threads are on one core for
/// a while after a conversion, and other programs run. `least` is lowered if the fastest format is faster now; if it is slower,
/// the one that is tried is taken to be faster in proportion.
fn by_turns(least: &mut f64, mut time: impl FnMut(Turn) -> Result<f64, Error>) -> Result<f64, Error> {
    let (mut fastest, mut tried) = (f64::INFINITY, f64::INFINITY);
    for repetition in 0..WARM_UPS + REPETITIONS {
        let times = (time(Turn::Fastest)?, time(Turn::Tried)?);
        if repetition >= WARM_UPS {
            (fastest, tried) = (fastest.min(times.0), tried.min(times.1));
        }
        if repetition + 1 == WARM_UPS + FEW_REPETITIONS && tried > CLEARLY_SLOWER * fastest {
            break;
        }
    }
    let fastest = fastest.max(f64::MIN_POSITIVE);
    *least = least.min(fastest);
    Ok((tried * *least / fastest).max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_compared_with_the_fastest_as_fast_as_that_is_now() {
        // The seconds of the fastest and of the one that is tried, in each repetition; `least` before and after; the result.
        let cases = [
            ([3.0, 4.0], 3.0, 3.0, 4.0),
            // All is twice as slow as it was when the fastest was measured, or twice as fast.
            ([6.0, 8.0], 3.0, 3.0, 4.0),
            ([1.5, 2.0], 3.0, 1.5, 2.0),
            ([6.0, 5.0], 3.0, 3.0, 2.5),
        ];
        for ([fastest, tried], mut least, after, expected) in cases {
            let mut turns = Vec::new();
            let result = by_turns(&mut least, |turn| {
                turns.push(turn == Turn::Fastest);
                // The first ones do not count.
                let slow = if turns.len() <= 2 * WARM_UPS { 10.0 } else { 1.0 };
                Ok(slow * if turn == Turn::Fastest { fastest } else { tried })
            });
            assert_eq!((least, result.unwrap()), (after, expected));
            assert!(
                turns.iter().step_by(2).all(|&first| first) && turns.iter().skip(1).step_by(2).all(|&first| !first)
            );
            let few = tried > CLEARLY_SLOWER * fastest;
            assert_eq!(turns.len(), 2 * (WARM_UPS + if few { FEW_REPETITIONS } else { REPETITIONS }));
        }
        let mut times = [9.0, 9.0, 5.0, 6.0, 4.0, 7.0, 3.0, 8.0, 9.0].into_iter();
        assert_eq!(alone(2.9, || Ok(times.next().unwrap())).unwrap(), 4.0);
        assert_eq!(alone(f64::INFINITY, || Ok(0.0)).unwrap(), f64::MIN_POSITIVE);
    }
}
