//! A table of speed-ups over other libraries, by groups of matrices.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::record::{Entry, Run, is_own_format};
use crate::report::import::base_name;
use crate::report::table::{NONE, cell, utilizations};
use crate::statistics::{SpeedUps, speed_ups};

/// What a table states besides the means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
    /// The worst speed-up, in parentheses after the mean.
    Short,
    /// The worst speed-up and its matrix, in a column of their own.
    WithNames,
    /// The worst in parentheses, and in further columns the same of the fraction of a copy's speed, η₊.
    WithCopy,
}

/// A row: matrices, and the format whose times count.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    label: String,
    conditions: Vec<Condition>,
    /// The fastest of our formats if `None`.
    format: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Condition {
    Executor(String),
    Family(String),
    Name(Vec<String>),
    NotName(Vec<String>),
    AtLeast(u64),
    LessThan(u64),
}

impl Group {
    fn has(&self, entry: &Entry) -> bool {
        self.conditions.iter().all(|condition| condition.holds(entry))
    }

    fn takes(&self, name: &str, run: &Run) -> bool {
        match &self.format {
            Some(format) => name == format && !run.is_peer(),
            None => is_own_format(name, run),
        }
    }
}

impl Condition {
    fn holds(&self, entry: &Entry) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, matrix(&entry.filename)));
        match self {
            Self::Executor(name) => entry.env.executor == *name,
            Self::Family(name) => entry.family.as_ref() == Some(name),
            Self::Name(patterns) => any(patterns),
            Self::NotName(patterns) => !any(patterns),
            Self::AtLeast(nonzeros) => entry.nonzeros >= *nonzeros,
            Self::LessThan(nonzeros) => entry.nonzeros < *nonzeros,
        }
    }
}

impl FromStr for Group {
    type Err = String;

    /// Reads `LABEL: CONDITION CONDITION …`; values with spaces are in quotation marks.
    fn from_str(line: &str) -> Result<Self, String> {
        let (label, words) = labelled(line)?;
        let mut group = Self { label: label.into(), conditions: Vec::new(), format: None };
        for word in words {
            let listed = |value: &str| value.split(',').map(str::to_owned).collect();
            let count = |value: &str| value.parse().map_err(|_| format!("'{value}' is not a number of nonzeros"));
            if let Some(value) = word.strip_prefix("format=") {
                group.format = Some(value.into());
                continue;
            }
            group.conditions.push(if let Some(value) = word.strip_prefix("executor=") {
                Condition::Executor(value.into())
            } else if let Some(value) = word.strip_prefix("family=") {
                Condition::Family(value.into())
            } else if let Some(value) = word.strip_prefix("name=") {
                Condition::Name(listed(value))
            } else if let Some(value) = word.strip_prefix("name!=") {
                Condition::NotName(listed(value))
            } else if let Some(value) = word.strip_prefix("nonzeros>=") {
                Condition::AtLeast(count(value)?)
            } else if let Some(value) = word.strip_prefix("nonzeros<") {
                Condition::LessThan(count(value)?)
            } else {
                let known = "executor=, family=, format=, name=, name!=, nonzeros>= or nonzeros<";
                return Err(format!("unknown condition '{word}', expected {known}"));
            });
        }
        Ok(group)
    }
}

/// The label of a line `LABEL: WORD WORD …`, and its words.
pub(super) fn labelled(line: &str) -> Result<(&str, Vec<String>), String> {
    let Some((label, rest)) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, ""))) else {
        return Err(format!("'{line}' has no colon, expected 'LABEL: CONDITION …', such as 'small: nonzeros<4000000'"));
    };
    Ok((label.trim(), words(rest)?))
}

/// The words of a line, without the quotation marks around values.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            character => word.push(character),
        }
    }
    if quoted {
        return Err(format!("a quotation mark is not closed in '{line}'"));
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// Whether a text matches a pattern in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| matches(rest, &text[at..]))
}

/// The name of a matrix, without the folder and the extension of its file.
pub(super) fn matrix(filename: &str) -> &str {
    let name = base_name(filename);
    name.strip_suffix(".npz").or_else(|| name.strip_suffix(".mtx")).unwrap_or(name)
}

/// The name of a library without its version.
pub(super) fn library_name(library: &str) -> &str {
    library.split(' ').next().unwrap_or(library)
}

/// The precisions of some entries, those with more bits first.
pub(super) fn precisions(entries: &[Entry]) -> Vec<&str> {
    let precisions: BTreeSet<_> = entries.iter().map(|entry| &*entry.env.precision).collect();
    precisions.into_iter().rev().collect()
}

/// A table in Markdown with a row for each group, and columns for each library and precision.
///
/// # Errors
/// When a group has no matrix, since its conditions then contain a mistake.
pub(super) fn speed_up_table(
    entries: &[Entry],
    libraries: &[String],
    groups: &[Group],
    style: Style,
) -> Result<String, String> {
    let precisions = precisions(entries);
    let columns = libraries.iter().flat_map(|library| precisions.iter().map(move |&name| (library.as_str(), name)));
    let columns: Vec<_> = columns.collect();
    let mut head = String::from("| matrices | number |");
    let mut rule = String::from("|---|--:|");
    for (library, precision) in &columns {
        head += &format!(" {}, {} |", cell(library), cell(precision));
        rule += "--:|";
        if style == Style::WithNames {
            head += " worst |";
            rule += "---|";
        }
    }
    let with_copy: &[&str] = if style == Style::WithCopy { &precisions[..] } else { &[] };
    for precision in with_copy {
        head += &format!(" of a copy, {} |", cell(precision));
        rule += "--:|";
    }
    let mut text = format!("{head}\n{rule}\n");
    for group in groups {
        let of_group: Vec<_> = entries.iter().filter(|entry| group.has(entry)).collect();
        let matrices = of_group.iter().map(|entry| &entry.filename).collect::<BTreeSet<_>>().len();
        if matrices == 0 {
            return Err(format!("no matrix is in the group '{}'", group.label));
        }
        text += &format!("| {} | {matrices} |", group.label);
        let of_precision = |precision: &str| -> Vec<Entry> {
            of_group.iter().filter(|entry| entry.env.precision == precision).map(|&entry| entry.clone()).collect()
        };
        let ours = |name: &str, run: &Run| group.takes(name, run);
        for (library, precision) in &columns {
            let chosen = of_precision(precision);
            let theirs =
                |_: &str, run: &Run| run.is_peer() && run.library.as_deref().map(library_name) == Some(library);
            text += &cells(&chosen, &speed_ups(&chosen, ours, theirs), style);
        }
        for precision in with_copy {
            text += &fractions_of_copy(&of_precision(precision), ours);
        }
        text.push('\n');
    }
    Ok(text)
}

/// The cells of a group in the columns of a library and a precision.
pub(super) fn cells(entries: &[Entry], found: &SpeedUps, style: Style) -> String {
    let (Some(mean), Some((place, least))) = (found.mean(), found.worst()) else {
        return if style == Style::WithNames { format!(" {NONE} | {NONE} |") } else { format!(" {NONE} |") };
    };
    let (mean, least) = (emphasized(mean), emphasized(least));
    match style {
        Style::WithNames => format!(" {mean} | {least}, {} |", cell(matrix(&entries[place].filename))),
        Style::Short | Style::WithCopy => format!(" {mean} ({least}) |"),
    }
}

/// The cell with the fractions of a copy's speed, geometric mean and worst.
fn fractions_of_copy(entries: &[Entry], ours: impl Fn(&str, &Run) -> bool) -> String {
    let fractions = utilizations(entries, ours).into_iter().map(|(place, (cached, _))| (place, cached));
    let found = SpeedUps { ratios: fractions.collect(), unanswered: 0 };
    match (found.mean(), found.worst()) {
        (Some(mean), Some((_, least))) => format!(" {mean:.2} ({least:.2}) |"),
        _ => format!(" {NONE} |"),
    }
}

/// A speed-up, in bold where the other library is faster.
pub(super) fn emphasized(speed_up: f64) -> String {
    let text = format!("{speed_up:.2}");
    if text.starts_with("0.") { format!("**{text}**") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Ceilings, Environment};

    fn entry(filename: &str, precision: &str, nonzeros: u64, times: &[(&str, &str, f64)]) -> Entry {
        let run = |&(name, library, seconds): &(&str, &str, f64)| {
            let library = Some(library.into());
            (name.to_owned(), Run { completed: true, time: Some(seconds), library, ..Run::default() })
        };
        Entry {
            filename: filename.into(),
            family: Some("finite elements".into()),
            nonzeros,
            spmv: times.iter().map(run).collect(),
            env: Environment { precision: precision.into(), ..Environment::default() },
            ..Entry::default()
        }
    }

    fn entries() -> [Entry; 3] {
        let ours = |seconds| ("ell", "warp-spmv", seconds);
        let auto = ("auto", "warp-spmv", 4.0);
        [
            entry("real/a.npz", "float64", 10, &[ours(1.0), auto, ("peer", "cuSPARSE 12", 2.0)]),
            entry("real/a-random.npz", "float64", 20, &[ours(2.0), auto, ("peer", "cuSPARSE 12", 1.0)]),
            entry("real/a.npz", "float32", 10, &[ours(1.0), ("ginkgo-csr", "Ginkgo", 3.0)]),
        ]
    }

    #[test]
    fn a_row_for_each_group() {
        let groups: Vec<Group> = [
            "in order: family=\"finite elements\" name!=*-random",
            "all:",
            "large, auto: nonzeros>=20 format=auto",
            "small: nonzeros<20",
        ]
        .iter()
        .map(|line| line.parse().unwrap())
        .collect();
        let libraries = ["cuSPARSE".to_owned(), "Ginkgo".to_owned()];
        let table = speed_up_table(&entries(), &libraries, &groups, Style::Short).unwrap();
        let expected = "\
| matrices | number | cuSPARSE, float64 | cuSPARSE, float32 | Ginkgo, float64 | Ginkgo, float32 |
|---|--:|--:|--:|--:|--:|
| in order | 1 | 2.00 (2.00) | – | – | 3.00 (3.00) |
| all | 2 | 1.00 (**0.50**) | – | – | 3.00 (3.00) |
| large, auto | 1 | **0.25** (**0.25**) | – | – | – |
| small | 1 | 2.00 (2.00) | – | – | 3.00 (3.00) |
";
        assert_eq!(table, expected);
        let named = speed_up_table(&entries(), &libraries[..1], &groups[1..2], Style::WithNames).unwrap();
        assert_eq!(named.lines().last(), Some("| all | 2 | 1.00 | **0.50**, a-random | – | – |"));
    }

    #[test]
    fn fractions_of_a_copy_are_of_the_fastest_format() {
        let mut entries = entries();
        for entry in &mut entries {
            // Without rows and columns, all bytes are those of the matrix.
            entry.ceilings = Some(Ceilings { copy_gbps: 1e-9, ..Ceilings::default() });
            entry.spmv.get_mut("ell").unwrap().bytes_needed = Some(1);
        }
        let groups = ["all:".parse().unwrap(), "auto: format=auto".parse().unwrap()];
        let table = speed_up_table(&entries, &["cuSPARSE".to_owned()], &groups, Style::WithCopy).unwrap();
        let expected = "\
| matrices | number | cuSPARSE, float64 | cuSPARSE, float32 | of a copy, float64 | of a copy, float32 |
|---|--:|--:|--:|--:|--:|
| all | 2 | 1.00 (**0.50**) | – | 0.71 (0.50) | 1.00 (1.00) |
| auto | 2 | **0.35** (**0.25**) | – | – | – |
";
        assert_eq!(table, expected);
    }

    #[test]
    fn mistakes_are_named() {
        let fault = |line: &str| line.parse::<Group>().unwrap_err();
        assert_eq!(fault("all: size=3").split(',').next(), Some("unknown condition 'size=3'"));
        assert_eq!(fault("all: nonzeros<many"), "'many' is not a number of nonzeros");
        assert!(fault("all").starts_with("'all' has no colon"));
        assert_eq!(fault("a: family=\"b"), "a quotation mark is not closed in 'family=\"b'");
        let empty = ["none: family=other".parse().unwrap()];
        let error = speed_up_table(&entries(), &[], &empty, Style::Short).unwrap_err();
        assert_eq!(error, "no matrix is in the group 'none'");
    }

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*-random", "points-random", true),
            ("*-random", "random", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "acb", false),
            ("*", "é", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
