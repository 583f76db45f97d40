//! Tables of speed-ups over the fastest peer with several vectors.

use std::collections::BTreeSet;

use host::{Layout, Multivector};

use super::group::matrix;
use super::speed_table::{Style, cells, emphasized, precisions};
use super::table::{NONE, cell};
use crate::contests::{Contest, Standing, contests, standings};
use crate::record::{Entry, layout_name};
use crate::statistics::SpeedUps;

/// Returns a table of all matrices together, with a row per number of vectors and a column per layout and precision; empty
/// if no product has several vectors.
pub(super) fn vectors(entries: &[Entry]) -> String {
    let precisions = precisions(entries);
    let columns = layouts(entries).into_iter().flat_map(|layout| precisions.iter().map(move |&name| (layout, name)));
    let columns: Vec<_> = columns.collect();
    let labels = columns.iter().map(|(layout, precision)| format!("{}, {}", layout_name(*layout), cell(precision)));
    let standings = standings(entries);
    let mut lines = String::new();
    for vectors in numbers(entries) {
        lines += &format!("| {vectors} |");
        for &(layout, precision) in &columns {
            let shape = Multivector { vectors, layout };
            let of_shape = |standing: &&Standing<'_>| standing.precision == precision && standing.shape == shape;
            let ratios = standings.iter().filter(of_shape).flat_map(|standing| standing.against_peers.ratios.clone());
            let found = SpeedUps { ratios: ratios.collect(), unanswered: 0 };
            lines += &cells(entries, &found, Style::Short);
        }
        lines.push('\n');
    }
    with_head("| vectors |", "|--:|", labels, lines)
}

/// Returns a table with a row per matrix, precision and layout, and a column per number of vectors; empty if no product has
/// several vectors.
pub(super) fn vectors_by_matrix(entries: &[Entry]) -> String {
    let numbers = numbers(entries);
    let mut lines = String::new();
    for entry in entries {
        let (matrix, precision) = (cell(matrix(&entry.filename)), cell(&entry.env.precision));
        let contests: Vec<_> = contests(entry).collect();
        for layout in layouts(std::slice::from_ref(entry)) {
            lines += &format!("| {matrix} | {precision} | {} |", layout_name(layout));
            for &vectors in &numbers {
                let contest = contests.iter().find(|contest| contest.shape == Multivector { vectors, layout });
                let speed_up = contest.and_then(Contest::speed_up);
                lines += &format!(" {} |", speed_up.map_or(NONE.into(), emphasized));
            }
            lines.push('\n');
        }
    }
    let labels = numbers.iter().map(|vectors| vectors.to_string());
    with_head("| matrix | precision | layout |", "|---|---|---|", labels, lines)
}

fn with_head(first: &str, rule: &str, labels: impl Iterator<Item = String>, lines: String) -> String {
    if lines.is_empty() {
        return lines;
    }
    let labels: Vec<_> = labels.collect();
    format!("{first} {} |\n{rule}{}\n{lines}", labels.join(" | "), "--:|".repeat(labels.len()))
}

/// The numbers of vectors, ascending.
fn numbers(entries: &[Entry]) -> BTreeSet<usize> {
    entries.iter().flat_map(Entry::shapes).map(|shape| shape.vectors).collect()
}

/// The layouts of the vectors, row-major first.
fn layouts(entries: &[Entry]) -> Vec<Layout> {
    let measured = |layout: Layout| entries.iter().flat_map(Entry::shapes).any(|shape| shape.layout == layout);
    [Layout::RowMajor, Layout::ColumnMajor].into_iter().filter(|&layout| measured(layout)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contests::tests::entry;

    #[test]
    fn a_row_for_each_number_of_vectors() {
        let mut single = entry("c", 1.0, 3.0);
        single.env.precision = "float32".into();
        let table = vectors(&[entry("a", 1.0, 4.0), entry("b", 2.0, 1.0), single]);
        let expected = "\
| vectors | row-major, float64 | row-major, float32 | column-major, float64 | column-major, float32 |
|--:|--:|--:|--:|--:|
| 4 | 1.41 (**0.50**) | 3.00 (3.00) | – | – |
";
        assert_eq!(table, expected);
        assert_eq!(vectors(&[Entry::default()]), "");
    }

    #[test]
    fn a_row_for_each_matrix_and_layout() {
        let table = vectors_by_matrix(&[entry("real/a.npz", 1.0, 4.0), Entry::default(), entry("b", 2.0, 1.0)]);
        let expected = "\
| matrix | precision | layout | 4 |
|---|---|---|--:|
| a | float64 | row-major | 4.00 |
| a | float64 | column-major | – |
| b | float64 | row-major | **0.50** |
| b | float64 | column-major | – |
";
        assert_eq!(table, expected);
        assert_eq!(vectors_by_matrix(&[Entry::default()]), "");
    }
}
