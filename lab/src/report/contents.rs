//! The contents of a report.

use super::series::{Series, series};
use crate::error::Error;
use crate::record::{Entry, RowLengths};

/// Results, ready for display.
#[derive(Clone, Debug)]
pub struct Report {
    pub(super) entries: Vec<Entry>,
    /// All formats and peers.
    pub(super) series: Vec<Series>,
    /// The name of the format that is compared with the peers in addition to the fastest one.
    pub(super) chosen_format: Option<String>,
    /// The index of the entry whose row lengths are drawn first.
    pub(super) chosen_entry: Option<usize>,
}

impl Report {
    /// Creates a report on these entries. Unless chosen by name, the format is our format closest to the best on all
    /// matrices, and the matrix whose row lengths are drawn is the one with the most uneven rows.
    ///
    /// # Errors
    /// When a chosen name does not exist.
    pub fn new(entries: Vec<Entry>, format: Option<&str>, matrix: Option<&str>) -> Result<Self, Error> {
        let series = series(&entries);
        let own = || series.iter().filter(|series| !series.peer).map(|series| series.name.as_str());
        let chosen_format = match format {
            None => own().next(),
            Some(name) => Some(own().find(|&own| own == name).ok_or_else(|| unknown("format", name, own()))?),
        };
        let chosen_entry = match matrix {
            None => {
                let spread = |place: &usize| entries[*place].row_lengths.as_ref().map(spread);
                let places = (0..entries.len()).filter(|place| spread(place).is_some());
                places
                    .max_by(|left, right| spread(left).partial_cmp(&spread(right)).unwrap_or(std::cmp::Ordering::Equal))
            }
            Some(name) => {
                let drawable = || entries.iter().enumerate().filter(|(_, entry)| entry.row_lengths.is_some());
                let found = drawable().find(|(_, entry)| entry.filename == name);
                let names = drawable().map(|(_, entry)| entry.filename.as_str());
                Some(found.ok_or_else(|| unknown("matrix with row lengths", name, names))?.0)
            }
        };
        let chosen_format = chosen_format.map(str::to_owned);
        Ok(Self { entries, series, chosen_format, chosen_entry })
    }

    /// Returns the entries of the report.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns all measured formats and peers, peers last, and those closest to the best first.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Returns the matrix of an entry, shortened, and a qualifier if needed: about `letters` letters in total.
    pub(super) fn label(&self, place: usize, letters: usize) -> String {
        let qualifier = self.qualifier(place);
        let room = letters.saturating_sub(qualifier.chars().count());
        matrix_name(&self.entries[place], room) + &qualifier
    }

    /// Returns the precision and executor of an entry, unless all have the same.
    pub(super) fn qualifier(&self, place: usize) -> String {
        let entry = &self.entries[place];
        let differs = |property: fn(&Entry) -> &str| {
            let differs = self.entries.iter().any(|other| property(other) != property(entry));
            (differs && !property(entry).is_empty()).then(|| format!(", {}", property(entry)))
        };
        let parts = [differs(|entry| &entry.env.precision), differs(|entry| &entry.env.executor)];
        parts.into_iter().flatten().collect()
    }
}

/// Returns the matrix of an entry, shortened; a generator without options loses its colon.
pub(super) fn matrix_name(entry: &Entry, letters: usize) -> String {
    shortened(entry.filename.trim_end_matches(':'), letters)
}

/// Returns the text, shortened to `length` characters.
pub fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    let kept: String = text.chars().take(length.saturating_sub(1)).collect();
    kept + "…"
}

/// Returns the unevenness of the rows.
fn spread(lengths: &RowLengths) -> f64 {
    if lengths.mean > 0.0 { lengths.deviation / lengths.mean } else { 0.0 }
}

fn unknown<'a>(what: &'static str, name: &str, expected: impl Iterator<Item = &'a str>) -> Error {
    let mut expected: Vec<_> = expected.collect();
    expected.dedup();
    Error::Unknown { what, name: name.into(), expected: expected.join(", ") }
}
