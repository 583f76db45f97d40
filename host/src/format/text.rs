//! Text of a format: a name, then a colon and the parameters that the name does not imply.

use super::strategy::Strategy;

/// A parameter that the text of a format can set: `name=value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// Meaning.
    pub about: &'static str,
    /// Description of the valid values.
    pub expected: &'static str,
}

/// A parameter of a strategy.
pub(crate) struct Key<S> {
    /// Description for users.
    pub parameter: Parameter,
    /// Returns the value, if the strategy has one.
    pub get: fn(S) -> Option<String>,
    /// Returns the strategy with another value, or `None` if the value is invalid.
    pub set: fn(S, &str) -> Option<S>,
}

/// Parses a number from `least` to `most`.
pub(super) fn number(text: &str, least: u32, most: u32) -> Option<u32> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

/// Returns the parameters of a strategy that its name does not imply, as [`with`] takes them; empty if there are none.
pub(super) fn parameters<S: Strategy>(strategy: S) -> String {
    let Some(named) = S::ALL.iter().copied().find(|named| named.name() == strategy.name()) else {
        return String::new();
    };
    let differs = |key: &&Key<S>| (key.get)(strategy) != (key.get)(named);
    let told = named.keys().iter().filter(differs);
    let told = told.filter_map(|key| Some(format!("{}={}", key.parameter.name, (key.get)(strategy)?)));
    told.collect::<Vec<_>>().join(",")
}

/// Returns a named strategy with other parameters.
///
/// # Errors
/// Returns what is wrong with the text.
pub(super) fn with<S: Strategy>(named: S, text: &str) -> Result<S, String> {
    let keys = named.keys();
    if keys.is_empty() {
        return Err(format!("{} has no parameters", named.name()));
    }
    let names = || keys.iter().map(|key| key.parameter.name).collect::<Vec<_>>().join(", ");
    let mut strategy = named;
    let mut given: Vec<&str> = Vec::new();
    for parameter in text.split(',') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let Some(key) = keys.iter().find(|key| key.parameter.name == name) else {
            return Err(format!("unknown parameter '{name}', expected {}", names()));
        };
        let Parameter { name, expected, .. } = key.parameter;
        if given.contains(&name) {
            return Err(format!("{name} is given twice, expected once"));
        }
        given.push(name);
        if value.is_empty() {
            return Err(format!("{name} has no value, expected {expected}"));
        }
        strategy = (key.set)(strategy, value).ok_or_else(|| format!("{name} is {value}, expected {expected}"))?;
    }
    strategy.contradiction().map_or(Ok(strategy), Err)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::num::NonZeroU32;

    use crate::format::{
        BellpackStrategy, BlockSize, CooStrategy, Format, Fraction, HybSplit, HybStrategy, PartitionRows, Slicing,
        StripHeight, StripRows,
    };

    /// Formats with all kinds of parameters.
    fn formats() -> Vec<Format> {
        let mut formats = Format::ALL.to_vec();
        formats.push(Format::Auto);
        let fractions = [(0, 1), (1, 7), (2, 6), (4, 5), (1, 1), (3, 2), (u32::MAX, u32::MAX - 1)];
        let fractions = fractions.map(|(part, whole)| Fraction::new(part, NonZeroU32::new(whole).unwrap()));
        let mut splits = vec![HybSplit::SmallestStorage, HybSplit::BellGarland, HybSplit::GinkgoAutomatic];
        splits.extend([0, 16, 17, u32::MAX].map(HybSplit::ColumnLimit));
        splits.extend(fractions.map(HybSplit::ImbalanceLimit));
        for quantile in fractions {
            splits.extend(fractions.map(|part_of_rows| HybSplit::ImbalanceBounded { quantile, part_of_rows }));
        }
        for coo in [CooStrategy::Segmented, CooStrategy::Atomic, CooStrategy::Match] {
            formats.extend(splits.iter().map(|&split| Format::Hyb(HybStrategy { split, coo })));
        }
        for (slice_size, stride_factor, times) in
            [(64, 1, 16), (1, 1, 1), (32, 4, 32), (3, 7, 5), (u32::MAX, u32::MAX, 1), (64, 2, 16)]
        {
            let sigmas = [1, times * slice_size];
            formats.extend(sigmas.map(|sigma| Format::SellP(Slicing { slice_size, stride_factor, sigma })));
        }
        formats.extend((1..=16).map(|rows| Format::Cmrs(StripHeight::Rows(StripRows::new(rows).unwrap()))));
        for &size in BlockSize::ALL {
            let with = |&partition_rows: &_| Format::Bellpack(BellpackStrategy { size, partition_rows });
            formats.extend(PartitionRows::ALL.iter().map(with));
        }
        formats
    }

    #[test]
    fn what_is_shown_is_read_back_and_no_two_formats_are_shown_alike() {
        let formats = formats();
        for &format in &formats {
            let text = format.to_string();
            assert_eq!(text.parse::<Format>().unwrap(), format, "{text}");
            let is_named = Format::ALL.contains(&format) || format == Format::Auto;
            assert_eq!(text == format.name(), is_named, "{text}");
        }
        let different: HashSet<_> = formats.iter().collect();
        let texts: HashSet<_> = different.iter().map(|format| format.to_string()).collect();
        assert_eq!(texts.len(), different.len());
    }

    #[test]
    fn parameters_that_make_a_named_format_are_not_shown() {
        for (text, shown) in [
            ("hyb:quantile=1/3", "hyb-q1-3"),
            ("hyb:quantile=0", "hyb-q0"),
            ("hyb:quantile=8/10", "hyb-imbalance-limit"),
            ("hyb:quantile=2/3", "hyb:quantile=2/3"),
            ("hyb-atomic:quantile=2/6", "hyb-atomic:quantile=1/3"),
            ("hyb:coo=coo-atomic", "hyb-atomic"),
            ("hyb-atomic:coo=coo", "hyb"),
            ("hyb:coo=coo-atomic,quantile=1/4", "hyb-atomic:quantile=1/4"),
            ("hyb:coo=coo-match", "hyb:coo=coo-match"),
            ("hyb-automatic:coo=coo-atomic", "hyb-automatic:coo=coo-atomic"),
            ("hyb-column-limit:columns=16", "hyb-column-limit"),
            ("hyb-imbalance-bounded:rows=1/1000", "hyb-imbalance-bounded:rows=1/1000"),
            ("sell-p:sigma=1024", "sell-p-sorted"),
            ("sell-p-sorted:sigma=1", "sell-p"),
            ("sell-p-sorted:slice=32", "sell-p:slice=32,sigma=1024"),
            ("sell-p:sigma=1024,stride=4,slice=32", "sell-p:slice=32,stride=4,sigma=1024"),
            ("cmrs:height=8", "cmrs-8"),
            ("cmrs:height=5", "cmrs:height=5"),
            ("bellpack-3x3:rows=32", "bellpack-3x3"),
            ("bellpack-3x3:rows=256", "bellpack-3x3:rows=256"),
        ] {
            assert_eq!(text.parse::<Format>().unwrap().to_string(), shown);
        }
        assert_eq!(format!("{:16}|", "cmrs:height=5".parse::<Format>().unwrap()), "cmrs:height=5   |");
    }

    #[test]
    fn parameters_that_mean_nothing_are_refused() {
        for (text, reason) in [
            ("sell-p:slice=0", "slice is 0, expected a number from 1 to 4294967295"),
            ("sell-p:slice=4294967296", "slice is 4294967296, expected a number from 1 to 4294967295"),
            ("sell-p:slice=32,slice=64", "slice is given twice, expected once"),
            ("sell-p:slice", "slice has no value, expected a number from 1 to 4294967295"),
            ("sell-p:stride=", "stride has no value, expected a number from 1 to 4294967295"),
            ("sell-p:height=3", "unknown parameter 'height', expected slice, stride, sigma"),
            ("sell-p:", "unknown parameter '', expected slice, stride, sigma"),
            ("sell-p:slice=32,", "unknown parameter '', expected slice, stride, sigma"),
            ("sell-p:slice=48,sigma=64", "sigma is 64, neither 1 nor a multiple of 48 rows"),
            ("cmrs:height=17", "height is 17, expected a number from 1 to 16"),
            ("cmrs:height=-1", "height is -1, expected a number from 1 to 16"),
            ("cmrs-4:height=5", "cmrs-4 has no parameters"),
            ("hyb:quantile=1/0", "quantile is 1/0, expected a fraction such as 1/3"),
            ("hyb:coo=dia", "coo is dia, expected the name of a coordinate format such as coo-atomic"),
            ("hyb-q0:quantile=1/2", "unknown parameter 'quantile', expected coo"),
            ("bellpack-3x3:rows=48", "rows is 48, expected 32, 64, 128 or 256"),
            ("csr-vector:lanes=3", "csr-vector has no parameters"),
            ("auto:rows=3", "auto has no parameters"),
        ] {
            let error = text.parse::<Format>().unwrap_err().to_string();
            assert_eq!(error, format!("format \"{text}\": {reason}"));
        }
        assert!(":".parse::<Format>().unwrap_err().to_string().starts_with("unknown format '': expected csr-"));
    }
}
