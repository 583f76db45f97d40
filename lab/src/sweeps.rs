//! Searches of a format's parameters, as in the papers, and their results.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use host::Format;
use host::format::{
    BellpackStrategy, BlockSize, CooStrategy, Fraction, HybSplit, HybStrategy, PartitionRows, Slicing, StripHeight,
    StripRows,
};

use crate::record::Entry;

/// A search of a format's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Strips of CMRS of 1 to 16 rows (Koza et al. 2014, §6.3), and strips of automatic height.
    CmrsHeights,
    /// The block sizes and partitions of BELLPACK, 44 combinations (Choi, Singh & Vuduc 2010, §6.6).
    Bellpack,
    /// Slices of SELL-P of about a warp's size, with widths for several threads per row (Anzt et al. 2020, §3.5), and
    /// sorted ones.
    SellP,
    /// The quantiles at which HYB cuts the rows (Anzt et al. 2020, §4), including Ginkgo's: with the COO part added
    /// atomically, as there, and in a fixed order.
    HybQuantiles,
}

/// Sizes and stride factors of slices: the paper's 64 rows, and the smaller ones that it discusses.
const SLICES: [u32; 5] = [8, 16, 32, 64, 128];
const STRIDES: [u32; 3] = [1, 2, 4];

/// Q of these fractions: no padding, the smallest arrays for 64-bit and for 32-bit values, the median, Bell & Garland's,
/// and Ginkgo's.
const QUANTILES: [(u32, u32); 6] = [(0, 1), (1, 4), (1, 3), (1, 2), (2, 3), (4, 5)];

/// Smallest speed-up that counts as a gain (Koza et al. 2014, §6.8).
const GAIN: f64 = 1.1;

impl Sweep {
    /// Every search.
    pub const ALL: &[Self] = &[Self::CmrsHeights, Self::Bellpack, Self::SellP, Self::HybQuantiles];

    /// Returns the name that [`FromStr`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::CmrsHeights => "cmrs-heights",
            Self::Bellpack => "bellpack",
            Self::SellP => "sell-p",
            Self::HybQuantiles => "hyb-quantiles",
        }
    }

    /// Returns the formats, starting with the one that the others are compared with.
    pub fn formats(self) -> Vec<Format> {
        match self {
            Self::CmrsHeights => {
                let heights = (1..=16).filter_map(StripRows::new).map(StripHeight::Rows);
                [StripHeight::ByTraffic].into_iter().chain(heights).map(Format::Cmrs).collect()
            }
            Self::Bellpack => {
                let with = |size| {
                    let with = move |&partition_rows: &_| Format::Bellpack(BellpackStrategy { size, partition_rows });
                    PartitionRows::ALL.iter().map(with)
                };
                BlockSize::ALL.iter().copied().flat_map(with).collect()
            }
            Self::SellP => {
                let unsorted = SLICES
                    .into_iter()
                    .flat_map(|slice_size| STRIDES.map(|stride_factor| Slicing { slice_size, stride_factor, sigma: 1 }))
                    .filter(|&slicing| slicing != Slicing::UNSORTED);
                let usual = [Slicing::UNSORTED, Slicing::SORTED];
                usual.into_iter().chain(unsorted).map(Format::SellP).collect()
            }
            Self::HybQuantiles => {
                let quantile =
                    |(part, whole)| Some(HybSplit::ImbalanceLimit(Fraction::new(part, NonZeroU32::new(whole)?)));
                let splits = QUANTILES.into_iter().filter_map(quantile);
                let splits = [HybSplit::SmallestStorage].into_iter().chain(splits);
                let strategies = splits.flat_map(|split| {
                    [CooStrategy::Atomic, CooStrategy::Segmented].map(|coo| HybStrategy { split, coo })
                });
                strategies.map(Format::Hyb).collect()
            }
        }
    }

    /// Returns the result for a matrix: the fastest format, and its speed-up over the one without a search. `None` if
    /// either has no time, and for BELLPACK, which always needs a search.
    pub fn found(self, entry: &Entry) -> Option<(String, f64)> {
        let formats = self.formats();
        let usual = formats.first().filter(|_| self != Self::Bellpack)?;
        let usual = entry.spmv.get(&usual.to_string())?.seconds()?;
        let names: Vec<_> = formats.iter().map(Format::to_string).collect();
        let (name, seconds) = entry.fastest(|name, _| names.iter().any(|known| known == name))?;
        (seconds > 0.0).then(|| (name.to_owned(), usual / seconds))
    }

    /// Returns the results for many matrices, in a sentence; `None` if there are none.
    pub fn potential<'e>(self, entries: impl IntoIterator<Item = &'e Entry>) -> Option<String> {
        let gains: Vec<_> = entries.into_iter().filter_map(|entry| Some(self.found(entry)?.1)).collect();
        let most = gains.iter().copied().max_by(f64::total_cmp)?;
        let (usual, count) = (self.formats().first()?.to_string(), gains.len());
        let gained = gains.iter().filter(|&&gain| gain >= GAIN).count();
        Some(format!(
            "{self}: the best is at least {GAIN} times as fast as {usual} on {gained} of {count} matrices, and {most:.2} times \
             at most"
        ))
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Sweep {
    type Err = host::Error;

    fn from_str(name: &str) -> Result<Self, host::Error> {
        Self::ALL.iter().copied().find(|sweep| sweep.name() == name).ok_or_else(|| host::Error::Name {
            what: "sweep",
            name: name.into(),
            expected: Self::ALL.iter().map(|sweep| sweep.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::record::Run;

    #[test]
    fn every_format_of_a_sweep_is_another_and_has_a_text() {
        for (&sweep, expected) in Sweep::ALL.iter().zip([17, 44, 16, 14]) {
            assert_eq!(sweep.name().parse::<Sweep>().unwrap(), sweep);
            let formats = sweep.formats();
            let different: HashSet<_> = formats.iter().collect();
            assert_eq!((formats.len(), different.len()), (expected, expected), "{sweep}");
            for format in formats {
                assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            }
        }
    }

    #[test]
    fn a_search_finds_the_fastest_of_its_formats() {
        let entry = |times: &[(&str, f64)]| {
            let run = |&seconds| Run { completed: true, time: Some(seconds), ..Run::default() };
            let spmv = times.iter().map(|(name, seconds)| ((*name).to_owned(), run(seconds))).collect();
            Entry { spmv, ..Entry::default() }
        };
        let entries = [
            entry(&[("cmrs", 3.0), ("cmrs:height=5", 2.0), ("cmrs-8", 2.5), ("coo", 1.0)]),
            entry(&[("cmrs", 3.0), ("cmrs-4", 2.9)]),
            entry(&[("cmrs", 3.0), ("cmrs-4", 3.1)]),
            entry(&[("cmrs-4", 3.1)]),
        ];
        let found: Vec<_> = entries.iter().map(|entry| Sweep::CmrsHeights.found(entry)).collect();
        assert_eq!(found[0], Some(("cmrs:height=5".into(), 1.5)));
        assert_eq!(found[1].as_ref().unwrap().0, "cmrs-4");
        assert_eq!(found[2..], [Some(("cmrs".into(), 1.0)), None]);
        let expected =
            "cmrs-heights: the best is at least 1.1 times as fast as cmrs on 1 of 3 matrices, and 1.50 times at most";
        assert_eq!(Sweep::CmrsHeights.potential(&entries).unwrap(), expected);
        assert_eq!(Sweep::SellP.potential(&entries), None);
        assert_eq!(Sweep::Bellpack.found(&entry(&[("bellpack-1x2", 1.0)])), None);
    }
}
