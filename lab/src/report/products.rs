//! The tables of products with several vectors.

use super::table::{NONE, cell, mean_speed_up, named, number};
use crate::contests::{Contest, Standing, contests, standings};
use crate::record::{Entry, layout_name};

/// Returns a table of all matrices together, with a line per executor, precision, layout and number of vectors; empty if no
/// product has several vectors.
pub(super) fn products(entries: &[Entry]) -> String {
    let standings = standings(entries);
    if standings.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n| executor | precision | layout | vectors | matrices | against the fastest peer | worst \
         | against as many single products | worst |\n|---|---|---|--:|--:|--:|---|--:|---|\n",
    );
    for standing in &standings {
        text += &line(&of_standing(entries, standing));
    }
    text
}

/// Returns a table with a line per matrix as well; empty if no product has several vectors.
pub(super) fn products_by_matrix(entries: &[Entry]) -> String {
    let mut lines = String::new();
    for entry in entries {
        contests(entry).for_each(|contest| lines += &line(&of_contest(entry, &contest)));
    }
    if lines.is_empty() {
        return lines;
    }
    String::from(
        "\n| executor | matrix | precision | layout | vectors | fastest of ours | µs | fastest peer | µs \
         | against the peer | against as many single products |\n|---|---|---|---|--:|---|--:|---|--:|--:|--:|\n",
    ) + &lines
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn of_standing(entries: &[Entry], standing: &Standing<'_>) -> [String; 9] {
    let Standing { executor, precision, shape, matrices, against_peers, against_singles } = standing;
    [
        cell(executor),
        cell(precision),
        layout_name(shape.layout).into(),
        shape.vectors.to_string(),
        matrices.to_string(),
        mean_speed_up(against_peers),
        named(entries, against_peers.worst()),
        number(against_singles.mean()),
        named(entries, against_singles.worst()),
    ]
}

fn of_contest(entry: &Entry, contest: &Contest<'_>) -> [String; 11] {
    let side = |side: Option<(&str, f64)>| match side {
        Some((name, seconds)) => [cell(name), format!("{:.2}", 1e6 * seconds)],
        None => [NONE.into(), NONE.into()],
    };
    let ([own, own_time], [peer, peer_time]) = (side(contest.own), side(contest.peer));
    [
        cell(&entry.env.executor),
        cell(&entry.filename),
        cell(&entry.env.precision),
        layout_name(contest.shape.layout).into(),
        contest.shape.vectors.to_string(),
        own,
        own_time,
        peer,
        peer_time,
        number(contest.speed_up()),
        number(contest.over_singles()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contests::tests::entry;

    #[test]
    fn a_line_for_each_shape_and_for_each_matrix() {
        let entries = [entry("a|", 1e-6, 4e-6), Entry::default(), entry("b", 2e-6, 2e-6)];
        let text = products(&entries) + &products_by_matrix(&entries);
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("| cuda")).collect();
        assert_eq!(
            lines,
            [
                r"| cuda | float64 | row-major | 4 | 2 | 2.00 | 1.00, b | 2828427.12 | 2000000.00, b |",
                r"| cuda | float64 | column-major | 4 | 2 | – | – | – | – |",
                r"| cuda | a\| | float64 | row-major | 4 | ell | 1.00 | peer-1 | 4.00 | 4.00 | 4000000.00 |",
                r"| cuda | a\| | float64 | column-major | 4 | – | – | – | – | – | – |",
                r"| cuda | b | float64 | row-major | 4 | ell | 2.00 | peer-1 | 2.00 | 1.00 | 2000000.00 |",
                r"| cuda | b | float64 | column-major | 4 | – | – | – | – | – | – |",
            ]
        );
        assert_eq!(products(&[Entry::default()]) + &products_by_matrix(&[Entry::default()]), "");
        // Every line has as many cells as the header of its table.
        let bars = |line: &str| line.replace(r"\|", "").matches('|').count();
        for (table, count) in text.trim_start().split("\n\n").zip([10, 12]) {
            assert!(table.lines().all(|line| bars(line) == count), "{table}");
        }
    }
}
