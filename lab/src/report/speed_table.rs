//! A table of speed-ups over other libraries, by groups of matrices.

use std::collections::BTreeSet;

use crate::record::{Entry, Run};
use crate::report::group::{Group, matrix};
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
            let theirs = |name: &str, run: &Run| {
                group.takes_peer(name, run) && run.library.as_deref().map(library_name) == Some(library)
            };
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
            "without ELL: format!=ell,dia",
            "without peer: peer!=p*",
            "patterns: format=e*,auto peer=peer,ginkgo-*",
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
| without ELL | 2 | – | – | – | – |
| without peer | 2 | – | – | – | 3.00 (3.00) |
| patterns | 2 | 1.00 (**0.50**) | – | – | 3.00 (3.00) |
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
    fn a_group_without_matrices_is_a_mistake() {
        let empty = ["none: family=other".parse().unwrap()];
        let error = speed_up_table(&entries(), &[], &empty, Style::Short).unwrap_err();
        assert_eq!(error, "no matrix is in the group 'none'");
    }
}
