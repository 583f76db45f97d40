//! The table for a README.

use std::collections::BTreeMap;

use host::Format;

use crate::calibrate::FEWEST_FORMATS;
use crate::cmrs_model::utilization;
use crate::record::{Entry, Run, is_own_format};
use crate::report::products::{products, products_by_matrix};
use crate::report::provenance::{devices, provenance};
use crate::statistics::{SpeedUps, geometric_mean, quartiles, speed_ups};

/// A placeholder for a missing number.
pub(super) const NONE: &str = "–";

/// Largest ratio of a time to that of the fastest format that counts as near.
const NEAR: f64 = 1.05;

/// Returns all tables in Markdown, after a line on their provenance.
pub fn table(entries: &[Entry]) -> String {
    let origin = [devices(entries), provenance(entries)].map(|words| cell(&words));
    let origin: Vec<_> = origin.into_iter().filter(|words| !words.is_empty()).collect();
    let origin = if origin.is_empty() { String::new() } else { format!("{}.\n\n", origin.join("; ")) };
    origin + &families(entries) + &choices(entries) + &products(entries) + &products_by_matrix(entries)
}

/// Returns a table with a line per executor, family and precision.
pub(super) fn families(entries: &[Entry]) -> String {
    let mut groups: BTreeMap<[&str; 3], Vec<Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.spmv.is_empty()) {
        let key = [&*entry.env.executor, entry.family.as_deref().unwrap_or(NONE), &*entry.env.precision];
        groups.entry(key).or_default().push(entry.clone());
    }
    let mut text = String::from(
        "| executor | family | precision | matrices | most often fastest of ours | against the fastest peer | worst \
         | of the copy's speed, η₊ | worst | with x not cached, η₋ |\n|---|---|---|--:|---|--:|---|--:|---|--:|\n",
    );
    for ([executor, family, precision], group) in &groups {
        let found = speed_ups(group, is_own_format, |_, run| run.is_peer());
        let utilizations = utilizations(group, is_own_format);
        let cached = || utilizations.iter().map(|&(place, (cached, _))| (place, cached));
        let least = cached().min_by(|(_, left), (_, right)| left.total_cmp(right));
        let cells = [
            cell(executor),
            cell(family),
            cell(precision),
            group.len().to_string(),
            favourite(group).map_or(NONE.into(), cell),
            mean_speed_up(&found),
            named(group, found.worst()),
            number(geometric_mean(cached().map(|(_, cached)| cached))),
            named(group, least),
            number(geometric_mean(utilizations.iter().map(|&(_, (_, uncached))| uncached))),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// Returns a table that rates the choices of [`Format::Auto`], with a line per executor and precision; empty if it was not
/// measured.
pub(super) fn choices(entries: &[Entry]) -> String {
    let auto = Format::Auto.name();
    let mut groups: BTreeMap<[&str; 2], Vec<Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.spmv.contains_key(auto)) {
        groups.entry([&*entry.env.executor, &*entry.env.precision]).or_default().push(entry.clone());
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n| executor | precision | matrices | auto against the fastest peer | worst | within 5 % of our fastest \
         | ready after CSR multiplications, median | most |\n|---|---|--:|--:|---|--:|--:|---|\n",
    );
    for ([executor, precision], group) in &groups {
        let found = speed_ups(group, |name, _| name == auto, |_, run| run.is_peer());
        let ready = group.iter().enumerate().filter_map(|(place, entry)| {
            let conversion = entry.spmv.get(auto)?.conversion.as_ref()?;
            Some((place, conversion.csr_calls?))
        });
        let ready: Vec<_> = ready.collect();
        let calls: Vec<_> = ready.iter().map(|&(_, calls)| calls).collect();
        let cells = [
            cell(executor),
            cell(precision),
            group.len().to_string(),
            mean_speed_up(&found),
            named(group, found.worst()),
            near_the_fastest(group),
            number(quartiles(&calls).map(|[_, median, _]| median)),
            named(group, ready.into_iter().max_by(|(_, left), (_, right)| left.total_cmp(right))),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// Returns the fraction of the entries on which the choice is about as fast as the fastest format that can be chosen. Only
/// entries with enough measured formats count.
fn near_the_fastest(entries: &[Entry]) -> String {
    let ratios = entries.iter().filter_map(|entry| {
        let timed = |(name, run): &(&String, &Run)| can_be_chosen(name, run) && run.seconds().is_some();
        let enough = entry.spmv.iter().filter(timed).count() >= FEWEST_FORMATS;
        let (_, fastest) = entry.fastest(can_be_chosen).filter(|_| enough)?;
        Some(entry.spmv.get(Format::Auto.name())?.seconds()? / fastest)
    });
    let ratios: Vec<_> = ratios.collect();
    let near = ratios.iter().filter(|&&ratio| ratio <= NEAR).count();
    match ratios.len() {
        0 => NONE.into(),
        all => format!("{:.0} % of {all}", 100.0 * near as f64 / all as f64),
    }
}

fn can_be_chosen(name: &str, run: &Run) -> bool {
    is_own_format(name, run) && run.reproducible == Some(true)
}

/// Returns our format that is fastest on most entries; of several, the first by name.
fn favourite(entries: &[Entry]) -> Option<&str> {
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in entries.iter().filter_map(|entry| entry.fastest(is_own_format)) {
        *wins.entry(name).or_default() += 1;
    }
    let most = wins.values().copied().max()?;
    wins.into_iter().find(|&(_, count)| count == most).map(|(name, _)| name)
}

/// Returns the indices of entries, with η₊ and η₋ of the fastest run accepted by `ours` there.
pub(super) fn utilizations(entries: &[Entry], ours: impl Fn(&str, &Run) -> bool) -> Vec<(usize, (f64, f64))> {
    let found = entries.iter().enumerate().filter_map(|(place, entry)| {
        let (name, _) = entry.fastest(&ours)?;
        Some((place, utilization(entry, &entry.spmv[name])?))
    });
    found.collect()
}

pub(super) fn number(number: Option<f64>) -> String {
    number.map_or(NONE.into(), |number| format!("{number:.2}"))
}

/// Returns the mean, and the number of matrices on which only a peer has a result.
pub(super) fn mean_speed_up(found: &SpeedUps) -> String {
    match found.unanswered {
        0 => number(found.mean()),
        unanswered => format!("{} (no result of ours on {unanswered})", number(found.mean())),
    }
}

/// Returns a number and its matrix.
pub(super) fn named(entries: &[Entry], found: Option<(usize, f64)>) -> String {
    found.map_or(NONE.into(), |(place, value)| format!("{value:.2}, {}", cell(&entries[place].filename)))
}

/// Returns the text escaped for a table of Markdown.
pub(super) fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => cell += "&lt;",
            '&' => cell += "&amp;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' => cell.extend(['\\', character]),
            character if character.is_control() => cell.extend(character.escape_default()),
            character => cell.push(character),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Ceilings, Conversion, Environment};

    fn entry(filename: &str, precision: &str, times: [Option<f64>; 3]) -> Entry {
        let run = |seconds: Option<f64>, library: &str| Run {
            completed: seconds.is_some(),
            time: seconds,
            library: Some(library.into()),
            bytes_needed: Some(500),
            ..Run::default()
        };
        let spmv = [
            ("csr-vector".to_owned(), run(times[0], "warp-spmv")),
            ("ell".to_owned(), run(times[1], "warp-spmv")),
            ("peer".to_owned(), run(times[2], "cuSPARSE 12")),
        ];
        Entry {
            filename: filename.into(),
            family: Some("sten|cil".into()),
            // Of 500 bytes 160 or 80 are x and y; without a cache 50 elements of x are read.
            rows: 10,
            cols: 10,
            nonzeros: 50,
            ceilings: Some(Ceilings { copy_gbps: 1e-6, ..Ceilings::default() }),
            spmv: spmv.into(),
            env: Environment { precision: precision.into(), executor: "cuda".into(), ..Environment::default() },
            ..Entry::default()
        }
    }

    #[test]
    fn a_line_for_each_family_and_precision() {
        let entries = [
            entry("a", "float64", [Some(1.0), Some(2.0), Some(4.0)]),
            entry("<b>_", "float64", [Some(1.0), None, Some(0.25)]),
            entry("c", "float32", [None, None, Some(1.0)]),
            entry("d", "float16", [None, Some(1.0), None]),
        ];
        let table = table(&entries);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                r"| cuda | sten\|cil | float16 | 1 | ell | – | – | – | – | – |",
                r"| cuda | sten\|cil | float32 | 1 | – | – (no result of ours on 1) | – | – | – | – |",
                r"| cuda | sten\|cil | float64 | 2 | csr-vector | 1.00 | 0.25, &lt;b>\_ | 0.50 | 0.50, a | 0.82 |",
            ]
        );
        // Every line has as many cells as the header.
        let bars = |line: &str| line.replace(r"\|", "").matches('|').count();
        assert!(table.lines().all(|line| bars(line) == 11), "{table}");
    }

    #[test]
    fn what_is_chosen_has_a_line_for_each_precision_and_is_none_of_our_formats() {
        let with_auto = |filename: &str, seconds: f64, csr_calls: f64| {
            let mut entry = entry(filename, "float64", [None, None, Some(2.0)]);
            let run = |seconds: f64, reproducible: bool| Run {
                completed: true,
                time: Some(seconds),
                reproducible: Some(reproducible),
                ..Run::default()
            };
            let formats = (0..FEWEST_FORMATS).map(|number| (format!("format-{number}"), run(1.0, true)));
            entry.spmv.extend(formats.chain([("atomic".to_owned(), run(0.5, false))]));
            let csr_calls = Some(csr_calls);
            let conversion = Some(Conversion { first: 1.0, warm: 1.0, back: None, peak_bytes: None, csr_calls });
            entry.spmv.insert("auto".to_owned(), Run { conversion, ..run(seconds, true) });
            entry
        };
        let mut few = with_auto("few", 0.25, 20.0);
        few.env.precision = "float32".to_owned();
        few.spmv.remove("format-0");
        let entries = [with_auto("a", 1.04, 10.0), with_auto("b", 2.0, 40.0), with_auto("c", 4.0, 15.0), few];
        let table = table(&entries);
        let lines: Vec<_> = table.lines().filter(|line| line.starts_with("| cuda")).collect();
        assert_eq!(
            lines,
            [
                r"| cuda | sten\|cil | float32 | 1 | atomic | 4.00 | 4.00, few | – | – | – |",
                r"| cuda | sten\|cil | float64 | 3 | atomic | 4.00 | 4.00, a | – | – | – |",
                "| cuda | float32 | 1 | 8.00 | 8.00, few | – | 20.00 | 20.00, few |",
                "| cuda | float64 | 3 | 0.99 | 0.50, c | 33 % of 3 | 15.00 | 40.00, b |",
            ]
        );
        assert!(table.lines().skip_while(|line| !line.is_empty()).skip(1).all(|line| line.matches('|').count() == 9));
    }
}
