//! Locality of the elements of x that a kernel reads at once and shortly after.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::lengths::LANES;
use super::pattern::Pattern;
use super::sample::{Sampling, sample, scramble};
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::memory::{collect, zeros};
use crate::parallel;
use crate::real::Scalar;

/// The smallest unit that a GPU reads, in bytes.
pub const SECTOR_BYTES: usize = 32;

/// Maximum number of entries sampled per row; whole steps of warps.
const LONGEST: usize = 256;

/// Number of runs of entries in which the reuse of x is measured.
const RUNS: usize = 4;

/// Maximum number of entries in all runs together.
const MOST_RUN_ENTRIES: usize = 1 << 21;

/// Minimum number of entries of a run, if available.
const LEAST_RUN_ENTRIES: usize = 1 << 13;

/// Locality of the columns of neighbouring entries. Sectors are 32 bytes of x.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Locality {
    /// Sectors per entry read at once by warps with 1, 2, 4, 8, 16 and 32 lanes per row.
    pub lane_sectors: [f64; LANES.len()],
    /// The same if a warp reads 32 consecutive entries, of one row or several.
    pub flat_sectors: f64,
    /// Distinct sectors among this many consecutive entries, for increasing numbers of entries.
    pub reuse: Vec<(usize, f64)>,
    /// The largest row - column seen.
    pub below: usize,
    /// The largest column - row seen.
    pub above: usize,
}

/// Counts of a thread.
#[derive(Clone, Default)]
struct Counts {
    lane_sectors: [usize; LANES.len()],
    entries: usize,
    flat_sectors: usize,
    flat_entries: usize,
    below: usize,
    above: usize,
}

impl Counts {
    fn merge(mut self, other: Self) -> Self {
        self.lane_sectors.iter_mut().zip(other.lane_sectors).for_each(|(sum, it)| *sum += it);
        self.entries += other.entries;
        self.flat_sectors += other.flat_sectors;
        self.flat_entries += other.flat_entries;
        self.below = self.below.max(other.below);
        self.above = self.above.max(other.above);
        self
    }
}

impl Locality {
    /// Samples some of the warps of 32 rows, and some runs of entries.
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn new<T: Scalar>(matrix: &impl Pattern, sampling: Sampling) -> Result<Self, Error> {
        let warps = collect(warps_looked_at(matrix, sampling))?;
        let of_warp = |number: usize| counts::<T>(matrix, warps[number] * WARP_LANES, sampling);
        let counts = parallel::map(warps.len(), 8, &of_warp)?.into_iter().fold(Counts::default(), Counts::merge);
        let per_entry = |sectors: usize, entries: usize| sectors as f64 / entries.max(1) as f64;
        Ok(Self {
            lane_sectors: counts.lane_sectors.map(|sectors| per_entry(sectors, counts.entries)),
            flat_sectors: per_entry(counts.flat_sectors, counts.flat_entries),
            reuse: reuse::<T>(matrix, sampling)?,
            below: counts.below,
            above: counts.above,
        })
    }

    /// Sectors of x that come from memory, with a cache of `cached` sectors and `sectors` sectors in x: for `nnz`
    /// entries, at the rate at which new sectors appear among as many entries as fill the cache.
    pub fn far_sectors(&self, nnz: usize, sectors: f64, cached: f64) -> f64 {
        let Some(&(last, seen)) = self.reuse.last() else { return 0.0 };
        let before = self.reuse.len().checked_sub(2).map(|place| self.reuse[place]);
        let growth = match before {
            Some((entries, fewer)) if fewer > 0.0 => (seen / fewer).ln() / (last as f64 / entries as f64).ln(),
            _ => 1.0,
        };
        let growth = growth.clamp(0.05, 1.0);
        let once = (seen * (nnz as f64 / last as f64).powf(growth)).min(sectors);
        if once <= cached {
            return once;
        }
        // The number of entries whose sectors fill the cache.
        let reach = self
            .reuse
            .iter()
            .find(|&&(_, seen)| seen >= cached)
            .map_or_else(|| last as f64 * (cached / seen).powf(1.0 / growth), |&(entries, _)| entries as f64);
        let rate = (growth * cached / reach).min(1.0);
        (rate * nnz as f64).max(once)
    }
}

/// Elements per sector.
fn elements<T>() -> u32 {
    (SECTOR_BYTES / size_of::<T>()) as u32
}

/// Counts the (at most) 32 rows from `first` on. In a sample, a part of long rows stands for all of them.
fn counts<T: Scalar>(matrix: &impl Pattern, first: usize, sampling: Sampling) -> Counts {
    let rows = first..matrix.rows().min(first + WARP_LANES);
    let entries = matrix.row_offsets().get(rows.start)..matrix.row_offsets().get(rows.end);
    let mut counts = Counts { entries: entries.len(), ..Counts::default() };
    for row in rows.clone() {
        for &column in matrix.columns_of_row(row) {
            counts.below = counts.below.max(row.saturating_sub(column as usize));
            counts.above = counts.above.max((column as usize).saturating_sub(row));
        }
    }
    let longest = |rows: Range<usize>| rows.map(|row| matrix.range(row).len()).max().unwrap_or(0);
    let parts = match sampling {
        Sampling::Everything => 1,
        Sampling::Part => (longest(rows.clone()) / LONGEST).max(1),
    };
    let (begin, most) = match parts {
        1 => (0, usize::MAX),
        _ => ((scramble(first as u64) % parts as u64) as usize * LONGEST, LONGEST),
    };
    let part = |row: usize| {
        let row = matrix.columns_of_row(row);
        let row = &row[begin.min(row.len())..];
        &row[..most.min(row.len())]
    };
    let looked_at: usize = rows.clone().map(|row| part(row).len()).sum();
    let mut sectors = Vec::with_capacity(WARP_LANES);
    for (lanes, count) in LANES.iter().zip(&mut counts.lane_sectors) {
        for group in (rows.start..rows.end).step_by(WARP_LANES / lanes) {
            let group = group..rows.end.min(group + WARP_LANES / lanes);
            for step in (0..longest(group.clone()).min(most)).step_by(*lanes) {
                sectors.clear();
                for row in group.clone().map(part) {
                    let step = step.min(row.len())..row.len().min(step + lanes);
                    sectors.extend(row[step].iter().map(|column| column / elements::<T>()));
                }
                *count += distinct(&mut sectors);
            }
        }
        *count = *count * entries.len() / looked_at.max(1);
    }
    // Only complete steps: where the last one ends depends on the sample.
    let steps = entries.len() / WARP_LANES;
    let steps = match parts {
        1 => 0..steps,
        _ => steps / parts * (begin / LONGEST)..steps / parts * (begin / LONGEST + 1),
    };
    counts.flat_entries = steps.len() * WARP_LANES;
    let flat = entries.start + steps.start * WARP_LANES..entries.start + steps.end * WARP_LANES;
    for step in matrix.columns_of(flat).chunks(WARP_LANES) {
        sectors.clear();
        sectors.extend(step.iter().map(|column| column / elements::<T>()));
        counts.flat_sectors += distinct(&mut sectors);
    }
    counts
}

fn distinct(numbers: &mut [u32]) -> usize {
    if !numbers.is_sorted() {
        numbers.sort_unstable();
    }
    numbers.chunk_by(|left, right| left == right).count()
}

/// The warps of 32 rows that are sampled.
pub(super) fn warps_looked_at<P: Pattern>(
    matrix: &P,
    sampling: Sampling,
) -> impl ExactSizeIterator<Item = usize> + use<P> {
    sample(matrix.rows().div_ceil(WARP_LANES), matrix.nnz(), sampling)
}

/// The runs of entries in which the reuse of x is measured, all of the same length.
pub(super) fn runs_looked_at(nnz: usize, sampling: Sampling) -> Vec<Range<usize>> {
    let length = match sampling {
        Sampling::Everything => nnz,
        Sampling::Part => (nnz / 100).min(MOST_RUN_ENTRIES) / RUNS,
    };
    let length = length.max(LEAST_RUN_ENTRIES).min(nnz);
    let runs = if length == nnz { 1 } else { RUNS };
    let begin = |number: usize| (nnz - length) / runs * number + (nnz - length) / runs / 2;
    (0..runs).map(|number| begin(number)..begin(number) + length).collect()
}

/// [`Locality::reuse`], the mean of some runs of equal length.
fn reuse<T: Scalar>(matrix: &impl Pattern, sampling: Sampling) -> Result<Vec<(usize, f64)>, Error> {
    let runs = runs_looked_at(matrix.nnz(), sampling);
    let run = |number: usize| new_sectors(matrix.columns_of(runs[number].clone()), matrix.columns(), elements::<T>());
    let curves = parallel::map(runs.len(), 1, &run)?.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let sizes = curves.first().map_or(0, Vec::len);
    let mean = |size: usize| curves.iter().map(|curve| curve[size].1).sum::<usize>() as f64 / runs.len() as f64;
    collect((0..sizes).map(|size| (curves[0][size].0, mean(size))))
}

/// Distinct sectors among the first 2^k entries, for each k, and among all.
fn new_sectors(columns: &[u32], width: usize, elements: u32) -> Result<Vec<(usize, usize)>, Error> {
    let mut known = zeros::<u64>(width.div_ceil(elements as usize).div_ceil(64))?;
    let mut seen = 0;
    let mut curve = Vec::new();
    for (number, column) in (1..).zip(columns) {
        let sector = (column / elements) as usize;
        let word = &mut known[sector / 64];
        let bit = 1 << (sector % 64);
        seen += usize::from(*word & bit == 0);
        *word |= bit;
        if usize::is_power_of_two(number) || number == columns.len() {
            curve.push((number, seen));
        }
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::format::Csr;

    const ROWS: usize = if cfg!(miri) { 35 } else { 70 };

    /// Rows of different lengths with erratic columns.
    fn matrix() -> Csr<f64> {
        let mut rows = Vec::new();
        let mut columns = Vec::new();
        for row in 0..ROWS as u32 {
            for entry in 0..row * 7 % 45 {
                rows.push(row);
                columns.push((row * 31 + entry * entry) % 1000);
            }
        }
        let values = vec![1.0; rows.len()];
        Csr::try_from_triplets(ROWS, 1000, &rows, &columns, &values).unwrap()
    }

    fn sectors<'a>(columns: impl IntoIterator<Item = &'a u32>) -> usize {
        columns.into_iter().map(|column| column / 4).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn sectors_are_those_that_each_warp_touches() {
        let matrix = matrix();
        let (columns, nnz) = (matrix.column_indices(), matrix.nnz() as f64);
        let locality = Locality::new::<f64>(&matrix, Sampling::Everything).unwrap();
        for (place, lanes) in LANES.into_iter().enumerate() {
            let mut touched = 0;
            for group in (0..ROWS).collect::<Vec<_>>().chunks(32).flat_map(|warp| warp.chunks(32 / lanes)) {
                for step in 0..45 {
                    let of_row = |&row: &usize| columns[matrix.range(row)].chunks(lanes).nth(step).unwrap_or_default();
                    touched += sectors(group.iter().flat_map(of_row));
                }
            }
            assert_eq!(locality.lane_sectors[place], touched as f64 / nnz, "{lanes} lanes");
        }
        assert_eq!(locality.reuse.last().unwrap(), &(matrix.nnz(), sectors(columns) as f64));
        let distance = |row: usize, column: u32| row as i64 - i64::from(column);
        let all = (0..ROWS).flat_map(|row| columns[matrix.range(row)].iter().map(move |&column| distance(row, column)));
        assert_eq!(locality.below as i64, all.clone().max().unwrap().max(0));
        assert_eq!(locality.above as i64, -all.min().unwrap());
    }

    #[test]
    fn what_a_cache_holds_is_read_once() {
        let locality = Locality::new::<f64>(&matrix(), Sampling::Everything).unwrap();
        let (nnz, all) = (matrix().nnz(), locality.reuse.last().unwrap().1);
        assert_eq!(locality.far_sectors(nnz, 250.0, 1000.0), all);
        // A hundred times as many entries of the same kind have no more sectors than x.
        assert_eq!(locality.far_sectors(100 * nnz, 250.0, 1000.0), 250.0);
        // Sectors that no cache holds are read repeatedly, but not more often than requested.
        let again = locality.far_sectors(100 * nnz, 250.0, 2.0);
        assert!(again > 250.0 && again <= 100.0 * nnz as f64, "{again}");
        assert_eq!(Locality::default().far_sectors(0, 0.0, 1.0), 0.0);
    }
}
