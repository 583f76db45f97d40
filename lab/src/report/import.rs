//! Import of another library's results.

use crate::error::Error;
use crate::record::{Entry, OWN};
use crate::results::OTHER_PREFIX;

/// The precision and the executor of another program, if its file does not tell and the matrix was measured with several.
/// Ginkgo's benchmarks compute in float64 by default, and are run here for their GPU kernels.
const ASSUMED_PRECISION: &str = "float64";
const ASSUMED_EXECUTOR: &str = "cuda";

/// Inserts the runs of `theirs` into the entries of the same matrix, as runs of `library`. A matrix is the same if its file
/// name, rows, columns and nonzeros are. Returns the number of entries of `theirs` that were left out, because no entry has
/// their matrix, precision and executor.
///
/// # Errors
/// When the library's name is empty or this project's.
pub fn import(entries: &mut [Entry], library: &str, theirs: Vec<Entry>) -> Result<usize, Error> {
    if library.trim().is_empty() || library == OWN {
        return Err(Error::LibraryName(library.into()));
    }
    let mut left_out = 0;
    for other in theirs {
        // Matrices made of what is installed on a machine have one name and many shapes.
        let same =
            |entry: &Entry| base_name(&entry.filename) == base_name(&other.filename) && shape(entry) == shape(&other);
        let mut places = places(entries, same);
        narrow(&mut places, entries, &other.env.precision, ASSUMED_PRECISION, |entry| &entry.env.precision);
        narrow(&mut places, entries, &other.env.executor, ASSUMED_EXECUTOR, |entry| &entry.env.executor);
        left_out += usize::from(places.is_empty());
        for place in places {
            for (name, run) in &other.spmv {
                let mut run = run.clone();
                run.library = Some(library.into());
                let name = name.strip_prefix(OTHER_PREFIX).unwrap_or(name);
                entries[place].spmv.insert(format!("{library}-{name}"), run);
            }
        }
    }
    Ok(left_out)
}

fn places(entries: &[Entry], chosen: impl Fn(&Entry) -> bool) -> Vec<usize> {
    (0..entries.len()).filter(|&place| chosen(&entries[place])).collect()
}

/// Keeps the places whose property is `wanted`; if that is empty and there are several, those with the `assumed` one.
fn narrow(
    places: &mut Vec<usize>,
    entries: &[Entry],
    wanted: &str,
    assumed: &str,
    property: impl Fn(&Entry) -> &String,
) {
    let several = places.windows(2).any(|pair| property(&entries[pair[0]]) != property(&entries[pair[1]]));
    let wanted = if wanted.is_empty() && several { assumed } else { wanted };
    places.retain(|&place| wanted.is_empty() || property(&entries[place]) == wanted);
}

/// Returns a file's name without its folders, which differ between machines.
pub(super) fn base_name(filename: &str) -> &str {
    filename.rsplit(['/', '\\']).next().unwrap_or(filename)
}

/// Returns rows, columns and stored entries.
fn shape(entry: &Entry) -> [u64; 3] {
    [entry.rows, entry.cols, entry.nonzeros]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Environment, Run};

    fn entry(filename: &str, precision: &str, executor: &str) -> Entry {
        let env = Environment { precision: precision.into(), executor: executor.into(), ..Environment::default() };
        let runs = [("csr".to_owned(), Run { completed: true, time: Some(1.0), ..Run::default() })];
        Entry { filename: filename.into(), env, spmv: runs.into(), ..Entry::default() }
    }

    /// The places that received the other's run, and the number of unmatched entries.
    fn imported(entries: &[Entry], other: Entry) -> (Vec<usize>, usize) {
        let mut entries = entries.to_vec();
        let left_out = import(&mut entries, "ginkgo", vec![other]).unwrap();
        let run = |entry: &Entry| entry.spmv.get("ginkgo-csr").map(|run| run.library.clone());
        (places(&entries, |entry| run(entry) == Some(Some("ginkgo".into()))), left_out)
    }

    #[test]
    fn runs_go_where_matrix_precision_and_executor_are_the_same() {
        let entries =
            [entry("a.mtx", "float32", "cuda"), entry("a.mtx", "float64", "cuda"), entry("a.mtx", "float64", "cpu")];
        for (precision, executor, expected) in [
            ("float32", "cuda", vec![0]),
            ("float64", "cpu", vec![2]),
            // Missing properties are assumed if they matter, and ignored otherwise.
            ("", "", vec![1]),
            ("float32", "", vec![0]),
            ("", "cpu", vec![2]),
            ("float32", "cpu", vec![]),
        ] {
            let left_out = usize::from(expected.is_empty());
            let other = entry("/data/sets/a.mtx", precision, executor);
            assert_eq!(imported(&entries, other), (expected, left_out), "{precision} {executor}");
        }
        assert_eq!(imported(&entries[..1], entry("a.mtx", "", "")), (vec![0], 0));
        assert_eq!(imported(&entries, entry("b.mtx", "", "")), (vec![], 1));
    }

    #[test]
    fn another_matrix_of_the_same_name_is_left_out() {
        let mut other = entry("a.mtx", "float64", "cuda");
        other.nonzeros = 5;
        assert_eq!(imported(&[entry("a.mtx", "float64", "cuda")], other), (vec![], 1));
    }

    #[test]
    fn a_library_needs_a_name_of_its_own() {
        for name in ["", " ", OWN] {
            assert!(matches!(import(&mut [], name, Vec::new()), Err(Error::LibraryName(_))), "{name}");
        }
    }
}
