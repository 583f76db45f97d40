//! Documents whose tables are made from results.

use std::path::{Path, PathBuf};

use super::ceilings_table::ceilings;
use super::conversions::conversions;
use super::group::{Group, words};
use super::import::import;
use super::matrix_table::matrix_table;
use super::products::{products, products_by_matrix};
use super::read;
use super::speed_table::{Style, library_name, speed_up_table};
use super::table::{choices, families};
use super::vectors_table::{vectors, vectors_by_matrix};
use crate::calibrate::Sample;
use crate::error::{Error, Fault};
use crate::record::Entry;

/// How the comment before a table begins.
const BEGIN: &str = "<!-- report ";
/// The comment after a table.
const END: &str = "<!-- report end -->";

/// Regenerates the tables of a document in Markdown. Each stands between two comments, of which the first names the kind of
/// table, the files of results, by their paths from the document's folder, and the rows:
///
/// ```text
/// <!-- report speed-ups results/real.json.gz Ginkgo=results/ginkgo.json.gz
/// finite elements: family="finite elements" name!=*-random
/// all:
/// -->
/// (the table)
/// <!-- report end -->
/// ```
///
/// `NAME=FILE` puts another library's results beside ours. Kinds of tables:
/// - `speed-ups`, `speed-ups-with-names` and `speed-ups-with-copy`: groups of matrices against each library, the last also
///   against the speed of a copy, with a line for each row, a label and the conditions `executor=`, `family=`, `name=`,
///   `name!=`, `nonzeros>=`, `nonzeros<`, `format=`, `format!=`, `peer=` and `peer!=`;
/// - `matrices`: single matrices, with a line `matrices: NAME …` and a line for each column, a label, a quantity (`bytes`,
///   `conversion`, `fastest`, `nonzeros`, `speed-up` or `time`) and the conditions `library=`, `precision=`, `run=` and
///   `run!=`;
/// - `conversions`: the cost of conversions from CSR and back, in multiplications by the fastest CSR strategy, and their peak
///   memory over the bytes of the result, with a line `formats: NAME …`;
/// - `ceilings`: the limits of the device's speed, from the lowest to the highest measurement;
/// - `vectors` and `vectors-by-matrix`: speed-ups over the fastest peer with several vectors, by number of vectors;
/// - `rules`: how well the choice and the papers' rules choose, with a calibration that is fitted to the results, as in
///   [`Sample`];
/// - `families`, `choices`, `products` and `products-by-matrix`: those of [`Report::table`](super::Report::table).
///
/// In names `*` stands for any characters, and commas separate alternatives.
///
/// # Errors
/// With the document's line where a comment is wrong, and with the file where its results cannot be read.
pub fn document(path: &Path, text: &str) -> Result<String, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut made = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((place, line)) = lines.next() {
        made += line;
        let Some(first) = line.trim_end().strip_prefix(BEGIN).filter(|_| line.trim_end() != END) else { continue };
        let fault = |line: usize, reason: String| Fault { line: line + 1, column: 1, reason }.in_file(path);
        let mut rows = Vec::new();
        let head = match first.strip_suffix("-->") {
            Some(head) => head,
            None => loop {
                let Some((_, line)) = lines.next() else {
                    return Err(fault(place, "this comment is not closed".into()));
                };
                made += line;
                match line.trim() {
                    "-->" => break first,
                    row => rows.push(row.to_owned()),
                }
            },
        };
        made += &table(folder, head, &rows).map_err(|failure| match failure {
            Failure::Comment(reason) => fault(place, reason),
            Failure::Row(row, reason) => fault(place + 1 + row, reason),
            Failure::Results(error) => error,
        })?;
        loop {
            match lines.next() {
                Some((_, line)) if line.trim_end() == END => break made += line,
                Some((at, line)) if line.starts_with(BEGIN) => {
                    return Err(fault(at, format!("expected '{END}' before another table")));
                }
                Some(_) => {}
                None => return Err(fault(place, format!("no '{END}' follows"))),
            }
        }
    }
    Ok(made)
}

/// The first line, counted from 1, in which two texts differ.
pub fn first_difference(left: &str, right: &str) -> Option<usize> {
    if left == right {
        return None;
    }
    let same = left.split_inclusive('\n').zip(right.split_inclusive('\n')).take_while(|(left, right)| left == right);
    Some(same.count() + 1)
}

/// Why a table could not be made.
enum Failure {
    Comment(String),
    /// With the row's number in the comment.
    Row(usize, String),
    Results(Error),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Comment(reason)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Results(error)
    }
}

/// The table that a comment asks for.
fn table(folder: &Path, head: &str, rows: &[String]) -> Result<String, Failure> {
    let words = words(head)?;
    let Some((kind, files)) = words.split_first() else { return Err("the kind of table is missing".to_owned().into()) };
    let (imported, own): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.contains('='));
    if own.is_empty() {
        return Err("no file of results is named".to_owned().into());
    }
    let path = |file: &str| -> PathBuf { folder.join(file) };
    let mut entries = read(own.iter().map(|file| path(file)))?;
    let mut libraries = libraries(&entries);
    for (library, file) in imported.iter().filter_map(|word| word.split_once('=')) {
        import(&mut entries, library, read([path(file)])?)?;
        libraries.push(library.into());
    }
    let groups = |style| {
        let parsed =
            rows.iter().enumerate().map(|(row, text)| text.parse().map_err(|reason| Failure::Row(row, reason)));
        let groups: Vec<Group> = parsed.collect::<Result<_, _>>()?;
        Ok(speed_up_table(&entries, &libraries, &groups, style)?)
    };
    match &**kind {
        "speed-ups" => return groups(Style::Short),
        "speed-ups-with-names" => return groups(Style::WithNames),
        "speed-ups-with-copy" => return groups(Style::WithCopy),
        "conversions" => return Ok(conversions(&entries, rows)?),
        "matrices" => return matrix_table(&entries, rows).map_err(|(row, reason)| Failure::Row(row, reason)),
        _ if !rows.is_empty() => return Err(format!("a table of {kind} has rows of its own").into()),
        _ => {}
    }
    let text = match &**kind {
        "ceilings" => ceilings(&entries),
        "rules" => rules(&entries)?,
        "families" => families(&entries),
        "choices" => choices(&entries),
        "products" => products(&entries),
        "products-by-matrix" => products_by_matrix(&entries),
        "vectors" => vectors(&entries),
        "vectors-by-matrix" => vectors_by_matrix(&entries),
        _ => {
            let known = "speed-ups, speed-ups-with-names, speed-ups-with-copy, matrices, conversions, ceilings, \
                         vectors, vectors-by-matrix, rules, families, choices, products or products-by-matrix";
            return Err(format!("unknown kind of table '{kind}', expected {known}").into());
        }
    };
    Ok(text.trim_start().into())
}

/// The table of how well rules choose, without the losses that follow it.
fn rules(entries: &[Entry]) -> Result<String, Error> {
    let sample = Sample::new(entries)?;
    let text = sample.accuracy(&sample.calibration(false)).to_string();
    Ok(text.split_inclusive('\n').take_while(|line| line.starts_with('|')).collect())
}

/// The libraries beside ours, each once, in order.
fn libraries(entries: &[Entry]) -> Vec<String> {
    let runs = entries.iter().flat_map(|entry| entry.spmv.values()).filter(|run| run.is_peer());
    let mut names: Vec<_> =
        runs.filter_map(|run| run.library.as_deref()).map(|name| library_name(name).into()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with results of one matrix, and the message of an error in the document `d.md` there.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let results = r#"[{"filename": "a.mtx", "rows": 1, "cols": 1, "nonzeros": 1, "env": {"precision": "float64"}, "spmv": {
            "ell": {"completed": true, "time": 1.0, "library": "warp-spmv"}, "theirs": {"completed": true, "time": 2.0, "library": "other 1"}}}]"#;
        std::fs::write(folder.path().join("r.json"), results).unwrap();
        folder
    }

    #[test]
    fn only_what_is_between_the_comments_is_made() {
        let folder = folder();
        let path = folder.path().join("d.md");
        let before = "# Title\n\n<!-- report speed-ups r.json third=r.json\nall:\n-->\nold\n<!-- report end -->\nafter";
        let made = document(&path, before).unwrap();
        let table = "| matrices | number | other, float64 | third, float64 |\n|---|--:|--:|--:|\n| all | 1 | 2.00 (2.00) | 1.00 (1.00) |\n";
        assert_eq!(made, before.replace("old\n", table));
        assert_eq!(document(&path, &made).unwrap(), made);
        assert_eq!(first_difference(before, &made), Some(6));
        assert_eq!(first_difference(&made, &made), None);
        let families = document(&path, "<!-- report families r.json -->\n<!-- report end -->\n").unwrap();
        assert!(families.contains("\n|  | – | float64 | 1 | ell | 2.00 | 2.00, a.mtx |"), "{families}");
    }

    #[test]
    fn mistakes_have_a_line() {
        let folder = folder();
        let path = folder.path().join("d.md");
        for (text, reason) in [
            ("\n<!-- report speed-ups r.json\nall:\n", "d.md:2:1: this comment is not closed"),
            ("<!-- report speed-ups r.json\nall:\n-->\n", "d.md:1:1: no '<!-- report end -->' follows"),
            ("<!-- report speed-ups r.json\nall\n-->\n", "d.md:2:1: 'all' has no colon"),
            ("<!-- report matrices r.json\nmatrices: a\nµs: tim\n-->\n", "d.md:3:1: unknown quantity 'tim'"),
            ("<!-- report pies r.json -->\n", "d.md:1:1: unknown kind of table 'pies'"),
            ("<!-- report families -->\n", "d.md:1:1: no file of results is named"),
            ("<!-- report families r.json\nall:\n-->\n", "d.md:1:1: a table of families has rows of its own"),
            (
                "<!-- report families r.json -->\n<!-- report families r.json -->\n",
                "d.md:2:1: expected '<!-- report end -->'",
            ),
            ("<!-- report families none.json -->\n", "none.json: "),
        ] {
            let error = document(&path, text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}, expected {reason}");
        }
    }
}
