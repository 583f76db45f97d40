//! Lengths of rows and derived sums for kernels: one pass over the row offsets.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::{Add, Range};

use serde::{Deserialize, Serialize};

use crate::device::WARP_LANES;
use crate::error::Error;
use crate::format::{LARGEST_NARROW, Offsets, RowLengths, Slicing, padded_strip_steps, slots_of};
use crate::parallel;

/// Lanes that may share a row.
pub(super) const LANES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Heights that strips of CMRS may have.
pub(crate) const HEIGHTS: [usize; 7] = [1, 2, 4, 6, 8, 12, 16];

/// Rows of a strip of padded CMRS.
const PADDED_HEIGHT: usize = gpu_kernels::cmrs::PADDED_HEIGHT as usize;

/// Rows that a thread processes at a time: whole windows of sorted SELL-P, slices, warps, and strips of every height.
const ROWS_AT_ONCE: usize = 3 * Slicing::SORTED.sigma as usize;

/// Minimum number of such chunks per thread, and the maximum number of parts to divide them into.
const CHUNKS_AT_ONCE: usize = 8;
const MOST_PARTS: usize = 1 << 8;

/// Rows whose sums are computed together: whole slices, warps, and strips of every height.
const GROUP_ROWS: usize = 192;

/// Lengths below this are counted in an array.
const SHORT: usize = 256;

/// Number of rows of each length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lengths {
    /// Each length that occurs, ascending, with its number of rows.
    counts: Vec<(usize, usize)>,
}

impl Lengths {
    /// Each length that occurs, ascending, with its number of rows.
    pub fn counts(&self) -> &[(usize, usize)] {
        &self.counts
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.counts.iter().map(|&(_, rows)| rows).sum()
    }

    /// Slots of all rows in COO-16.
    pub(crate) fn slots(&self) -> usize {
        self.counts.iter().map(|&(length, rows)| slots_of(length) * rows).sum()
    }

    /// Entries of the longest row; 0 if there is none.
    pub fn longest(&self) -> usize {
        self.counts.last().map_or(0, |&(length, _)| length)
    }

    /// Mean length; 0 without rows.
    pub fn mean(&self) -> f64 {
        self.over_rows(|length| length)
    }

    /// Standard deviation of the lengths; 0 without rows.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.over_rows(|length| (length - mean).powi(2)).sqrt()
    }

    fn over_rows(&self, of: impl Fn(f64) -> f64) -> f64 {
        let sum: f64 = self.counts.iter().map(|&(length, rows)| of(length as f64) * rows as f64).sum();
        sum / self.rows().max(1) as f64
    }

    /// The smallest length that this fraction of the rows does not exceed; 0 without rows.
    pub fn quantile(&self, part: f64) -> usize {
        let wanted = (self.rows() as f64 * part).ceil() as usize;
        self.at(wanted.saturating_sub(1))
    }

    /// Number of entries beyond the first `width` of their row.
    pub fn beyond(&self, width: usize) -> usize {
        self.counts.iter().map(|&(length, rows)| length.saturating_sub(width) * rows).sum()
    }

    /// The length of the row at index `place` if rows were sorted, or else of the longest.
    fn at(&self, place: usize) -> usize {
        let mut before = 0;
        let found = self.counts.iter().find(|&&(_, rows)| {
            before += rows;
            before > place
        });
        found.map_or(self.longest(), |&(length, _)| length)
    }
}

impl RowLengths for Lengths {
    type Error = Infallible;

    fn rows(&self) -> usize {
        Lengths::rows(self)
    }

    fn longest(&self) -> Result<usize, Infallible> {
        Ok(Lengths::longest(self))
    }

    fn in_order(&self, place: usize) -> Result<usize, Infallible> {
        Ok(self.at(place))
    }
}

/// Sums over rows for kernels that process neighbours together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowSums {
    /// Steps of all warps with 1, 2, 4, 8, 16 and 32 lanes per row, which wait for the longest row of a warp.
    pub lane_steps: [usize; LANES.len()],
    /// Sum of the widths of all slices of unsorted SELL-P.
    pub slice_widths: usize,
    /// Sum of the widths of all slices of sorted SELL-P.
    pub sorted_slice_widths: usize,
    /// Steps of all strips of CMRS, of 1, 2, 4, 6, 8, 12 and 16 rows.
    pub strip_steps: [usize; HEIGHTS.len()],
    /// Steps of the longest strip of CMRS, of the same heights; 0 in records of earlier versions.
    #[serde(default)]
    pub longest_strips: [usize; HEIGHTS.len()],
    /// Steps of all strips of padded CMRS.
    pub padded_steps: usize,
    /// Steps of the longest strip of padded CMRS; 0 in records of earlier versions.
    #[serde(default)]
    pub longest_padded_strip: usize,
}

impl RowSums {
    fn add(&mut self, other: &Self) {
        let add = |sums: &mut [usize], others: &[usize]| sums.iter_mut().zip(others).for_each(|(sum, it)| *sum += it);
        add(&mut self.lane_steps, &other.lane_steps);
        add(&mut self.strip_steps, &other.strip_steps);
        self.slice_widths += other.slice_widths;
        self.sorted_slice_widths += other.sorted_slice_widths;
        self.padded_steps += other.padded_steps;
        for (longest, other) in self.longest_strips.iter_mut().zip(other.longest_strips) {
            *longest = (*longest).max(other);
        }
        self.longest_padded_strip = self.longest_padded_strip.max(other.longest_padded_strip);
    }
}

/// Counts of a thread.
#[derive(Default)]
struct Tally {
    /// Rows of each length below [`SHORT`]; empty at first.
    short: Vec<usize>,
    long: BTreeMap<usize, usize>,
    sums: RowSums,
    scratch: Scratch,
}

/// Buffers that a thread reuses.
#[derive(Default)]
struct Scratch {
    narrow: Vec<u32>,
    wide: Vec<usize>,
    /// Lengths of a window that are not short.
    long: Vec<usize>,
}

/// Numbers of entries, as wide as the offsets: a register holds more of the narrow ones.
trait Entries: Copy + Ord + Add<Output = Self> + Default {
    fn count(self) -> usize;

    /// The steps that take 2 to the power of `shift` entries each.
    fn steps(self, shift: u32) -> usize;
}

impl Entries for u32 {
    fn count(self) -> usize {
        self as usize
    }

    /// No offset is so near to the largest number that the sum would be beyond it.
    fn steps(self, shift: u32) -> usize {
        const { assert!(LARGEST_NARROW <= u32::MAX - WARP_LANES as u32) };
        ((self + ((1 << shift) - 1)) >> shift) as usize
    }
}

impl Entries for usize {
    fn count(self) -> usize {
        self
    }

    fn steps(self, shift: u32) -> usize {
        (self + (1 << shift) - 1) >> shift
    }
}

/// Combines consecutive numbers in groups of equal size, so that `TO` results remain.
fn join<N: Entries, const FROM: usize, const TO: usize>(from: &[N; FROM], join: impl Fn(N, N) -> N) -> [N; TO] {
    std::array::from_fn(|place| {
        let together = &from[place * (FROM / TO)..][..FROM / TO];
        together[1..].iter().fold(together[0], |all, &it| join(all, it))
    })
}

fn longest<N: Entries>(entries: &[N]) -> N {
    entries.iter().fold(N::default(), |longest, &it| longest.max(it))
}

/// Total steps if each step takes 2 to the power of `shift` entries.
fn steps<N: Entries>(entries: &[N], shift: u32) -> usize {
    entries.iter().map(|entries| entries.steps(shift)).sum()
}

impl Tally {
    /// Adds rows that begin at a multiple of [`ROWS_AT_ONCE`].
    fn add(mut self, offsets: &Offsets, rows: Range<usize>) -> Self {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { narrow, wide, long } = &mut scratch;
        match offsets {
            Offsets::Narrow(offsets) => {
                narrow.clear();
                narrow.extend(offsets[rows.start..=rows.end].windows(2).map(|it| it[1] - it[0]));
                self.add_rows(narrow, long);
            }
            Offsets::Wide(offsets) => {
                wide.clear();
                wide.extend(offsets[rows.start..=rows.end].windows(2).map(|it| (it[1] - it[0]) as usize));
                self.add_rows(wide, long);
            }
        }
        self.scratch = scratch;
        self
    }

    fn add_rows<N: Entries>(&mut self, lengths: &[N], long: &mut Vec<usize>) {
        for rows in lengths.chunks(GROUP_ROWS) {
            // Missing rows count as empty.
            let mut group = [N::default(); GROUP_ROWS];
            group[..rows.len()].copy_from_slice(rows);
            self.add_group(&group);
        }
        for window in lengths.chunks(Slicing::SORTED.sigma as usize) {
            self.add_window(window, long);
        }
    }

    /// Adds sums over neighbours in their original order: those of each number of rows from half as many, or a third.
    fn add_group<N: Entries>(&mut self, rows: &[N; GROUP_ROWS]) {
        const { assert!(HEIGHTS.len() == 7 && PADDED_HEIGHT == 16 && Slicing::UNSORTED.slice_size == 64) };
        let add = |left, right| left + right;
        let sums_2: [_; GROUP_ROWS / 2] = join(rows, add);
        let sums_4: [_; GROUP_ROWS / 4] = join(&sums_2, add);
        let sums_6: [_; GROUP_ROWS / 6] = join(&sums_2, add);
        let sums_8: [_; GROUP_ROWS / 8] = join(&sums_4, add);
        let sums_12: [_; GROUP_ROWS / 12] = join(&sums_4, add);
        let sums_16: [_; GROUP_ROWS / 16] = join(&sums_8, add);
        let longest_2: [_; GROUP_ROWS / 2] = join(rows, N::max);
        let longest_4: [_; GROUP_ROWS / 4] = join(&longest_2, N::max);
        let longest_8: [_; GROUP_ROWS / 8] = join(&longest_4, N::max);
        let longest_16: [_; GROUP_ROWS / 16] = join(&longest_8, N::max);
        let longest_32: [_; GROUP_ROWS / 32] = join(&longest_16, N::max);
        let longest_64: [_; GROUP_ROWS / 64] = join(&longest_32, N::max);
        let of_warps: [&[N]; LANES.len()] = [&longest_32, &longest_16, &longest_8, &longest_4, &longest_2, rows];
        let of_strips: [&[N]; HEIGHTS.len()] = [rows, &sums_2, &sums_4, &sums_6, &sums_8, &sums_12, &sums_16];
        let padded =
            || sums_16.iter().zip(&longest_16).map(|(it, longest)| padded_strip_steps(it.count(), longest.count()));
        self.sums.add(&RowSums {
            lane_steps: std::array::from_fn(|place| steps(of_warps[place], LANES[place].ilog2())),
            strip_steps: of_strips.map(|strips| steps(strips, WARP_LANES.ilog2())),
            slice_widths: longest_64.iter().map(|longest| longest.count()).sum(),
            sorted_slice_widths: 0,
            longest_strips: of_strips.map(|strips| longest(strips).steps(WARP_LANES.ilog2())),
            padded_steps: padded().sum(),
            longest_padded_strip: padded().max().unwrap_or(0),
        });
    }

    /// Adds the rows of a window: the number of rows of each length, and the widths of its slices if it is sorted by
    /// length, where a slice is as wide as its first row.
    fn add_window<N: Entries>(&mut self, window: &[N], long: &mut Vec<usize>) {
        self.short.resize(SHORT, 0);
        let slice = Slicing::SORTED.slice_size as usize;
        let first = window.first().map_or(0, |first| first.count());
        if first < SHORT && window.iter().all(|length| length.count() == first) {
            self.short[first] += window.len();
            self.sums.sorted_slice_widths += window.len().div_ceil(slice) * first;
            return;
        }
        long.clear();
        let mut counts = [0usize; SHORT];
        let mut longest = 0;
        for length in window.iter().map(|length| length.count()) {
            match counts.get_mut(length) {
                Some(count) => {
                    *count += 1;
                    longest = longest.max(length);
                }
                None => long.push(length),
            }
        }
        long.sort_unstable_by(|left, right| right.cmp(left));
        long.iter().for_each(|&length| *self.long.entry(length).or_default() += 1);
        self.short.iter_mut().zip(counts).for_each(|(count, more)| *count += more);
        let (mut sum, mut before) = (long.iter().step_by(slice).sum::<usize>(), long.len());
        let mut next = before.next_multiple_of(slice);
        for length in (0..=longest).rev() {
            before += counts[length];
            while next < before {
                sum += length;
                next += slice;
            }
        }
        self.sums.sorted_slice_widths += sum;
    }

    fn merge(mut self, other: Self) -> Self {
        self.short.resize(SHORT, 0);
        self.short.iter_mut().zip(other.short).for_each(|(count, more)| *count += more);
        other.long.into_iter().for_each(|(length, rows)| *self.long.entry(length).or_default() += rows);
        self.sums.add(&other.sums);
        self
    }
}

/// Reads all row offsets once, in parallel.
///
/// # Errors
/// When memory runs out.
pub(crate) fn pass(offsets: &Offsets) -> Result<(Lengths, RowSums), Error> {
    let rows = offsets.len() - 1;
    let chunks = rows.div_ceil(ROWS_AT_ONCE);
    let parts = chunks.div_ceil(CHUNKS_AT_ONCE).min(MOST_PARTS);
    let tallies = parallel::map(parts, 1, &|part| {
        let own = chunks * part / parts..chunks * (part + 1) / parts;
        let add =
            |tally: Tally, chunk: usize| tally.add(offsets, chunk * ROWS_AT_ONCE..rows.min((chunk + 1) * ROWS_AT_ONCE));
        own.fold(Tally::default(), add)
    })?;
    let Tally { short, long, sums, .. } = tallies.into_iter().fold(Tally::default(), Tally::merge);
    let counts = short.into_iter().enumerate().filter(|&(_, rows)| rows > 0).chain(long).collect();
    Ok((Lengths { counts }, sums))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Csr;

    /// A matrix with rows of the given lengths, all entries in its only column.
    fn with_lengths(lengths: &[usize]) -> Csr<f32> {
        let offsets = Offsets::from_lengths(lengths.iter().copied()).unwrap();
        let stored = offsets.get(lengths.len());
        Csr::try_new(lengths.len(), 1, offsets, vec![0; stored], vec![1.0; stored]).unwrap()
    }

    /// Many rows of all kinds, more than a thread takes at a time.
    fn lengths() -> Vec<usize> {
        let rows = if cfg!(miri) { 3_201 } else { 7_001 };
        (0..rows).map(|row| if row % 997 == 5 { 300 + row } else { row * row % 13 }).collect()
    }

    #[test]
    fn statistics_are_those_of_the_sorted_lengths() {
        let mut all = lengths();
        let (lengths, _) = pass(with_lengths(&all).row_offsets()).unwrap();
        all.sort_unstable();
        let rows = all.len();
        assert_eq!((lengths.rows(), lengths.longest()), (rows, all[rows - 1]));
        assert_eq!(
            lengths.counts().iter().map(|(length, rows)| length * rows).sum::<usize>(),
            all.iter().sum::<usize>()
        );
        let mean = all.iter().sum::<usize>() as f64 / rows as f64;
        let variance = all.iter().map(|&length| (length as f64 - mean).powi(2)).sum::<f64>() / rows as f64;
        assert!((lengths.mean() - mean).abs() < 1e-9 && (lengths.deviation() - variance.sqrt()).abs() < 1e-9);
        for part in [0.0, 0.25, 0.5, 0.99, 1.0] {
            let place = ((rows as f64 * part).ceil() as usize).saturating_sub(1);
            assert_eq!(lengths.quantile(part), all[place], "{part}");
        }
        for width in [0, 1, 12, 500, 10_000] {
            assert_eq!(lengths.beyond(width), all.iter().map(|length| length.saturating_sub(width)).sum::<usize>());
            assert_eq!(lengths.in_order(width).unwrap(), all.in_order(width).unwrap());
        }
        let (none, sums) = pass(with_lengths(&[]).row_offsets()).unwrap();
        assert_eq!((none.rows(), none.longest(), none.mean(), none.quantile(0.5)), (0, 0, 0.0, 0));
        assert_eq!(sums, RowSums::default());
    }

    #[test]
    fn sums_are_those_of_each_warp_slice_and_strip() {
        let all = lengths();
        let (_, sums) = pass(with_lengths(&all).row_offsets()).unwrap();
        for (place, &lanes) in LANES.iter().enumerate() {
            let warps = all.chunks(32 / lanes);
            let steps: usize = warps.map(|rows| rows.iter().map(|length| length.div_ceil(lanes)).max().unwrap()).sum();
            assert_eq!(sums.lane_steps[place], steps, "{lanes} lanes");
        }
        for (place, &height) in HEIGHTS.iter().enumerate() {
            let steps: usize = all.chunks(height).map(|rows| rows.iter().sum::<usize>().div_ceil(32)).sum();
            let longest = all.chunks(height).map(|rows| rows.iter().sum::<usize>().div_ceil(32)).max().unwrap();
            assert_eq!((sums.strip_steps[place], sums.longest_strips[place]), (steps, longest), "{height} rows");
        }
        let mut sorted = all.clone();
        sorted.chunks_mut(1024).for_each(|window| window.sort_unstable_by(|left, right| right.cmp(left)));
        let widths = |lengths: &[usize]| lengths.chunks(64).map(|slice| slice.iter().max().unwrap()).sum::<usize>();
        assert_eq!((sums.slice_widths, sums.sorted_slice_widths), (widths(&all), widths(&sorted)));
        let strip = |rows: &[usize]| padded_strip_steps(rows.iter().sum(), rows.iter().copied().max().unwrap());
        let padded = || all.chunks(PADDED_HEIGHT).map(strip);
        assert_eq!((sums.padded_steps, sums.longest_padded_strip), (padded().sum(), padded().max().unwrap()));
    }
}
