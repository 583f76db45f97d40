//! The table for a README.

use std::collections::BTreeMap;

use crate::cmrs_model::utilization;
use crate::record::{Entry, Run};
use crate::report::provenance::{devices, provenance};
use crate::statistics::{SpeedUps, geometric_mean, speed_ups};

/// What is put in a place without a number.
const NONE: &str = "–";

/// A table in Markdown with a line for each executor, family and precision, after a line that says what it is of.
pub fn table(entries: &[Entry]) -> String {
    let mut groups: BTreeMap<[&str; 3], Vec<Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.spmv.is_empty()) {
        let key = [&*entry.env.executor, entry.family.as_deref().unwrap_or(NONE), &*entry.env.precision];
        groups.entry(key).or_default().push(entry.clone());
    }
    let origin = [devices(entries), provenance(entries)].map(|words| cell(&words));
    let origin: Vec<_> = origin.into_iter().filter(|words| !words.is_empty()).collect();
    let mut text = if origin.is_empty() { String::new() } else { format!("{}.\n\n", origin.join("; ")) };
    text += "| executor | family | precision | matrices | most often fastest of ours | against the fastest peer | worst \
         | of the copy's speed, η₊ | worst | with x not cached, η₋ |\n|---|---|---|--:|---|--:|---|--:|---|--:|\n";
    for ([executor, family, precision], group) in &groups {
        let found = speed_ups(group, own, |_, run| run.is_peer());
        let utilizations = utilizations(group);
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

fn own(_: &str, run: &Run) -> bool {
    !run.is_peer()
}

/// The format of ours that is fastest on most entries; of several, the first by name.
fn favourite(entries: &[Entry]) -> Option<&str> {
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in entries.iter().filter_map(|entry| entry.fastest(own)) {
        *wins.entry(name).or_default() += 1;
    }
    let most = wins.values().copied().max()?;
    wins.into_iter().find(|&(_, count)| count == most).map(|(name, _)| name)
}

/// Places of entries, and η₊ and η₋ of our fastest format there.
fn utilizations(entries: &[Entry]) -> Vec<(usize, (f64, f64))> {
    let found = entries.iter().enumerate().filter_map(|(place, entry)| {
        let (name, _) = entry.fastest(own)?;
        Some((place, utilization(entry, &entry.spmv[name])?))
    });
    found.collect()
}

fn number(number: Option<f64>) -> String {
    number.map_or(NONE.into(), |number| format!("{number:.2}"))
}

/// The mean, and on how many matrices only a peer has a result.
fn mean_speed_up(found: &SpeedUps) -> String {
    match found.unanswered {
        0 => number(found.mean()),
        unanswered => format!("{} (none of ours on {unanswered})", number(found.mean())),
    }
}

/// A number and the matrix it is of.
fn named(entries: &[Entry], found: Option<(usize, f64)>) -> String {
    found.map_or(NONE.into(), |(place, value)| format!("{value:.2}, {}", cell(&entries[place].filename)))
}

/// Text that is nothing but text in a table of Markdown.
fn cell(text: &str) -> String {
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
    use crate::record::{Ceilings, Environment};

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
                r"| cuda | sten\|cil | float32 | 1 | – | – (none of ours on 1) | – | – | – | – |",
                r"| cuda | sten\|cil | float64 | 2 | csr-vector | 1.00 | 0.25, &lt;b>\_ | 0.50 | 0.50, a | 0.82 |",
            ]
        );
        // Every line has as many cells as the head.
        let bars = |line: &str| line.replace(r"\|", "").matches('|').count();
        assert!(table.lines().all(|line| bars(line) == 11), "{table}");
    }
}
