//! The choice of a format for a matrix, with no more analysis than it takes.

use std::marker::PhantomData;

use super::analysis::{Analysis, narrowest};
use super::choice::{Choice, Known, Measure, Selection, choose};
use super::exclusion::Exclusion;
use super::sample::{Sampling, places};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::{Clusters, Csr, NarrowType, ValueStorage, narrow};
use crate::memory::{Buffer, Memory, filled};
use crate::parallel;
use crate::real::Scalar;

/// Runs of values that are copied from a device to look for few different ones, and their length.
const RUNS: usize = 8;
const VALUES_OF_RUN: usize = 512;

/// Number of entries up to which a matrix is analysed as a whole: that takes less time than to choose twice.
const FEW: usize = 1 << 18;

/// Analyses a matrix and chooses a format. As [`Analysis::new`] and [`choose`], but the [clusters](Analysis::clusters) stay
/// unknown if they do not matter in a large matrix.
///
/// # Errors
/// As for [`choose`], and when memory runs out.
pub fn decide<T: Scalar>(matrix: &Csr<T>, device: &Device, selection: &Selection) -> Result<(Analysis, Choice), Error> {
    if is_small(matrix) || takes_clusters(selection) {
        let analysis = Analysis::new(matrix)?;
        let choice = choose(&analysis, device, selection)?;
        return Ok((analysis, choice));
    }
    let (of_pattern, narrow) =
        parallel::join(|| Analysis::of_pattern(matrix, Sampling::Part), || narrowest(matrix.values(), Sampling::Part));
    let analysis = Analysis { narrow: narrow?, ..of_pattern? };
    with_clusters(analysis, device, selection, || Clusters::new(matrix, Sampling::Part))
}

/// Whether a matrix has so few entries that all of it is analysed.
pub(crate) fn is_small<T: Scalar, M: Memory>(matrix: &Csr<T, M>) -> bool {
    matrix.nnz() <= FEW
}

/// Whether clusters matter for this selection whatever the matrix.
fn takes_clusters(selection: &Selection) -> bool {
    selection.multiplications.is_none() || matches!(selection.measure, Measure::Best(_))
}

/// [`decide`] for a matrix in an executor's memory. Of a large one on a GPU, the host receives the row offsets and samples,
/// unless clusters matter.
///
/// # Errors
/// As for [`decide`], and when the matrix belongs to another executor or the device fails.
pub(crate) fn decide_in_memory<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T, E::Memory>,
    selection: &Selection,
) -> Result<(Analysis, Choice), Error> {
    executor.run::<Decide<T>>((matrix, executor.device(), selection))
}

struct Decide<T>(PhantomData<T>);

impl<T: Scalar> Operation for Decide<T> {
    type Operands<'a, M: Memory> = (&'a Csr<T, M>, &'a Device, &'a Selection);
    type Output<M: Memory> = (Analysis, Choice);

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, device, selection): (&Csr<T, K::Memory>, &Device, &Selection),
    ) -> Result<(Analysis, Choice), Error> {
        if is_small(matrix) || takes_clusters(selection) {
            return decide(&matrix.to_host(executor)?, device, selection);
        }
        let narrow = match selection.values {
            ValueStorage::Full | ValueStorage::Rounded(_) => None,
            ValueStorage::Automatic | ValueStorage::Lossless => narrowest_in_memory(executor, matrix)?,
        };
        let analysis = Analysis { narrow, ..Analysis::in_memory(executor, matrix)? };
        with_clusters(analysis, device, selection, || Clusters::new(&matrix.to_host(executor)?, Sampling::Part))
    }

    fn on_host(
        _: Arithmetic,
        (matrix, device, selection): (&Csr<T>, &Device, &Selection),
    ) -> Result<(Analysis, Choice), Error> {
        decide(matrix, device, selection)
    }
}

/// The narrowest type that preserves the bits of some of the values.
fn narrowest_in_memory<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T, E::Memory>,
) -> Result<Option<NarrowType>, Error> {
    let values = matrix.values();
    let length = VALUES_OF_RUN.min(values.len());
    let mut looked_at = filled(RUNS * length, T::ZERO)?;
    if length > 0 {
        let begins = places(values.len() - length + 1, RUNS);
        for (begin, run) in begins.zip(looked_at.chunks_exact_mut(length)) {
            executor.read(values, begin, run)?;
        }
        // There may be fewer places than runs.
        looked_at.truncate(RUNS.min(values.len() - length + 1) * length);
    }
    narrow::narrowest(&looked_at)
}

/// Chooses without clusters, and again with those that `clusters` finds, if they matter.
fn with_clusters(
    analysis: Analysis,
    device: &Device,
    selection: &Selection,
    clusters: impl FnOnce() -> Result<Option<Clusters>, Error>,
) -> Result<(Analysis, Choice), Error> {
    let known = Known::new(device, selection);
    let choice = known.choose(&analysis, selection);
    if !matter(&analysis, &choice, &known, selection)? {
        return Ok((analysis, choice?));
    }
    let analysis = Analysis { clusters: clusters()?, ..analysis };
    let choice = known.choose(&analysis, selection)?;
    Ok((analysis, choice))
}

/// Whether a format that needs clusters would be chosen or tried if the clusters were as good as they can be. `choice` is
/// the one without clusters.
fn matter(
    analysis: &Analysis,
    choice: &Result<Choice, Error>,
    known: &Known<'_>,
    selection: &Selection,
) -> Result<bool, Error> {
    // Samples of other matrices have no clusters.
    if analysis.rows != analysis.columns {
        return Ok(false);
    }
    let choice = match choice {
        Ok(choice) => choice,
        Err(error) => return Ok(matches!(error, Error::NoFormat { .. })),
    };
    let unknown = || choice.candidates.iter().filter(|candidate| candidate.excluded == Some(Exclusion::NotClustered));
    if unknown().any(|candidate| candidate.measured.is_some()) {
        return Ok(true);
    }
    let among: Vec<_> = unknown().map(|candidate| candidate.format).collect();
    if among.is_empty() {
        return Ok(false);
    }
    let at_best = Analysis { clusters: Some(Clusters::at_best(analysis)), ..analysis.clone() };
    match known.choose(&at_best, &Selection { among, ..selection.clone() }) {
        Ok(at_best) => Ok(choice.may_prefer(&at_best)),
        Err(Error::NoFormat { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;
    use crate::format::Format;

    /// A band of 5 around the diagonal, or rows that share columns with rows far away.
    fn matrix(rows: usize, hidden: bool) -> Csr<f64> {
        let place = |row: usize| if hidden { row * 389 % rows } else { row };
        let mut entries: Vec<(u32, u32)> = (0..rows)
            .flat_map(|row| {
                (row.saturating_sub(2)..(row + 3).min(rows))
                    .map(move |column| (place(row) as u32, place(column) as u32))
            })
            .collect();
        entries.sort_unstable();
        let (rows_of, columns): (Vec<u32>, Vec<u32>) = entries.into_iter().unzip();
        let values: Vec<f64> = (0..columns.len()).map(|entry| (entry % 1009) as f64 + 0.1).collect();
        Csr::try_from_triplets(rows, rows, &rows_of, &columns, &values).unwrap()
    }

    fn selection(multiplications: Option<u64>) -> Selection {
        Selection { multiplications, store: None, ..Selection::default() }
    }

    #[test]
    #[cfg_attr(miri, ignore = "samples of large matrices")]
    fn clusters_are_looked_at_only_if_they_matter() {
        let gpu = Emulated::new(1);
        for (hidden, multiplications, looked_at) in
            [(false, Some(10), false), (true, Some(10), false), (true, Some(1_000_000), true), (true, None, true)]
        {
            let (matrix, selection) = (matrix(60_000, hidden), selection(multiplications));
            assert!(matrix.nnz() > FEW);
            for (analysis, choice) in [
                decide(&matrix, gpu.device(), &selection).unwrap(),
                decide_in_memory(&gpu, &matrix, &selection).unwrap(),
            ] {
                assert_eq!(analysis.clusters.is_some(), looked_at, "{hidden} {multiplications:?}");
                let with_all = Analysis { narrow: analysis.narrow, ..Analysis::new(&matrix).unwrap() };
                let without = Analysis { clusters: None, ..with_all.clone() };
                assert_eq!(Analysis { clusters: None, ..analysis }, without);
                // The same format as if they had been looked at.
                let expected = choose(&with_all, gpu.device(), &selection).unwrap();
                assert_eq!(choice.format, expected.format, "{hidden} {multiplications:?}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "samples of large matrices")]
    fn clusters_are_looked_at_if_nothing_else_is_allowed_or_all_is_measured() {
        let (gpu, matrix) = (Emulated::new(1), matrix(60_000, false));
        let clustered: Format = "clustered".parse().unwrap();
        let only = Selection { among: vec![clustered], ..selection(Some(1)) };
        let (analysis, choice) = decide(&matrix, gpu.device(), &only).unwrap();
        assert!(analysis.clusters.is_some() && choice.format == clustered);
        let best = Selection { measure: Measure::Best(2), ..selection(Some(1)) };
        assert!(decide(&matrix, gpu.device(), &best).unwrap().0.clusters.is_some());
        let not = Selection { among: vec![Format::CSR_VECTOR], ..selection(Some(u64::MAX)) };
        assert!(decide(&matrix, gpu.device(), &not).unwrap().0.clusters.is_none());
    }

    #[test]
    fn few_different_values_are_found_in_memory() {
        let gpu = Emulated::new(1);
        let with = |values: Vec<f64>| {
            let columns = (0..values.len() as u32).collect();
            Csr::try_new(1, values.len(), vec![0u32, values.len() as u32], columns, values).unwrap()
        };
        for length in [0, 1, 3, 511, 512, 513, 5000] {
            let same = with(vec![0.1; length]);
            let different = with((0..length).map(|place| 1.0 / (place + 3) as f64).collect());
            for matrix in [same, different] {
                let expected = match length <= RUNS * VALUES_OF_RUN {
                    true => narrow::narrowest(matrix.values()).unwrap(),
                    false => narrowest(matrix.values(), Sampling::Part).unwrap(),
                };
                assert_eq!(narrowest_in_memory(&gpu, &matrix).unwrap(), expected, "{length}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "samples of large matrices")]
    fn no_clusters_surpass_the_best_ones() {
        // Most of its rows and columns are empty.
        let nearly_empty = Csr::try_from_triplets(9000, 9000, &[3, 8000], &[8000, 3], &[1.0, 1.0]).unwrap();
        for matrix in [matrix(3000, false), matrix(3000, true), matrix(1, false), nearly_empty] {
            for sampling in [Sampling::Part, Sampling::Everything] {
                let analysis = Analysis::with_sampling(&matrix, sampling).unwrap();
                let (best, real) = (Clusters::at_best(&analysis), analysis.clusters.unwrap());
                assert!(best.bytes <= real.bytes && best.sectors <= real.sectors && best.width <= real.width);
                assert!(best.columns <= real.columns && best.pairs >= real.pairs, "{best:?} {real:?}");
            }
        }
    }
}
