//! A table of the cost of conversions.

use std::collections::BTreeSet;

use super::group::{labelled, matches};
use super::table::{NONE, cell, number};
use crate::record::{Entry, Run, is_own_format};
use crate::statistics::geometric_mean;

/// The aim for a conversion, in multiplications.
const AIM: f64 = 20.0;

/// The costs of one format's conversions, one number per entry.
#[derive(Default)]
struct Costs {
    /// From CSR, warm, in multiplications by the fastest CSR strategy.
    from_csr: Vec<f64>,
    /// Back to CSR, in the same unit.
    back: Vec<f64>,
    /// Peak memory over the bytes of the result.
    peak: Vec<f64>,
}

impl Costs {
    fn new(entries: &[Entry], format: &str) -> Self {
        let mut costs = Self::default();
        for entry in entries {
            let Some(run) = entry.spmv.get(format) else { continue };
            let Some(conversion) = &run.conversion else { continue };
            if let Some((_, seconds)) = entry.fastest(is_csr) {
                costs.from_csr.push(conversion.warm / seconds);
                costs.back.extend(conversion.back.map(|back| back / seconds));
            }
            let peak = conversion.peak_bytes.zip(run.storage).filter(|&(peak, stored)| peak > 0 && stored > 0);
            costs.peak.extend(peak.map(|(peak, stored)| peak as f64 / stored as f64));
        }
        costs
    }

    fn cells(&self) -> [String; 7] {
        let mean = |numbers: &[f64]| geometric_mean(numbers.iter().copied());
        let most = |numbers: &[f64]| numbers.iter().copied().max_by(f64::total_cmp);
        let rounded = |number: Option<f64>, digits: usize| number.map_or(NONE.into(), |n| format!("{n:.digits$}"));
        let near = self.from_csr.iter().filter(|&&calls| calls <= AIM).count();
        [
            rounded(mean(&self.from_csr), 1),
            rounded(most(&self.from_csr), 0),
            format!("{near} of {}", self.from_csr.len()),
            rounded(mean(&self.back), 1),
            rounded(most(&self.back), 0),
            number(mean(&self.peak)),
            number(most(&self.peak)),
        ]
    }
}

fn is_csr(name: &str, run: &Run) -> bool {
    is_own_format(name, run) && name.starts_with("csr-")
}

/// A table in Markdown with a row per format. The only line is `formats:` with their names or patterns.
///
/// # Errors
/// When the line is missing or contains a mistake.
pub(super) fn conversions(entries: &[Entry], lines: &[String]) -> Result<String, String> {
    let expected = "a table of conversions has one line, 'formats: NAME …'";
    let [line] = lines else { return Err(expected.into()) };
    let ("formats", patterns) = labelled(line)? else { return Err(expected.into()) };
    let mut text = format!(
        "| format | from CSR | most | at most {AIM} | back | most | peak | most |\n|---|{}\n",
        "--:|".repeat(7)
    );
    for pattern in &patterns {
        let converted = |(name, run): &(&String, &Run)| run.conversion.is_some() && matches(pattern, name);
        let names: BTreeSet<_> =
            entries.iter().flat_map(|entry| entry.spmv.iter().filter(converted)).map(|(name, _)| name).collect();
        if names.is_empty() {
            return Err(format!("no conversion to '{pattern}' is in the results"));
        }
        for name in names {
            text += &format!("| {} | {} |\n", cell(name), Costs::new(entries, name).cells().join(" | "));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Conversion;

    fn entry(ell: f64) -> Entry {
        let run = |seconds: f64, conversion| Run {
            completed: true,
            time: Some(seconds),
            storage: Some(100),
            conversion,
            ..Run::default()
        };
        let conversion =
            Conversion { first: 9.0, warm: ell, back: Some(2.0), peak_bytes: Some(150), csr_calls: Some(7.0) };
        let bare = Conversion { back: None, peak_bytes: None, ..conversion.clone() };
        let spmv = [
            ("csr-scalar", run(2.0, None)),
            ("csr-vector", run(0.5, None)),
            ("ell", run(0.25, Some(conversion))),
            ("dia", run(0.25, Some(bare))),
        ];
        Entry { spmv: spmv.map(|(name, run)| (name.to_owned(), run)).into(), ..Entry::default() }
    }

    fn table(line: &str) -> Result<String, String> {
        conversions(&[entry(2.0), entry(12.5), Entry::default()], &[line.to_owned()])
    }

    #[test]
    fn a_row_for_each_format() {
        let expected = "\
| format | from CSR | most | at most 20 | back | most | peak | most |
|---|--:|--:|--:|--:|--:|--:|--:|
| ell | 10.0 | 25 | 1 of 2 | 4.0 | 4 | 1.50 | 1.50 |
| dia | 10.0 | 25 | 1 of 2 | – | – | – | – |
";
        assert_eq!(table("formats: ell d*").unwrap(), expected);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, reason) in [
            ("formats: csr-*", "no conversion to 'csr-*' is in the results"),
            ("all: ell", "a table of conversions has one line"),
            ("ell", "'ell' has no colon"),
        ] {
            let found = table(line).unwrap_err();
            assert!(found.starts_with(reason), "{line}: {found}");
        }
        assert!(conversions(&[], &[]).is_err());
    }
}
