//! What a report shows.

use super::series::{Series, series};
use crate::error::Error;
use crate::record::{Entry, RowLengths};

/// Results, ready to be shown.
#[derive(Clone, Debug)]
pub struct Report {
    pub(super) entries: Vec<Entry>,
    /// All formats and peers.
    pub(super) series: Vec<Series>,
    /// The name of the format that is compared with the peers beside the fastest one.
    pub(super) chosen_format: Option<String>,
    /// The place of the entry whose row lengths are drawn first.
    pub(super) chosen_entry: Option<usize>,
}

impl Report {
    /// A report on these entries. Unless chosen by name, the format is the one of ours nearest to the best on all
    /// matrices, and the matrix whose row lengths are drawn is the one whose rows differ most.
    ///
    /// # Errors
    /// When nothing has a chosen name.
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

    /// The entries that it is on.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All formats and peers that were measured, peers last, and those nearest to the best first.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// The matrix of an entry, cut to leave room, and what tells it from the others: about `letters` letters in all.
    pub(super) fn label(&self, place: usize, letters: usize) -> String {
        let qualifier = self.qualifier(place);
        let room = letters.saturating_sub(qualifier.chars().count());
        matrix_name(&self.entries[place], room) + &qualifier
    }

    /// Precision and executor of an entry, where not all have the same.
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

/// The matrix of an entry, cut to leave room; a generator without options without its colon.
pub(super) fn matrix_name(entry: &Entry, letters: usize) -> String {
    shortened(entry.filename.trim_end_matches(':'), letters)
}

/// The text, or as much of it as has room.
pub fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    let kept: String = text.chars().take(length.saturating_sub(1)).collect();
    kept + "…"
}

/// How uneven the rows are.
fn spread(lengths: &RowLengths) -> f64 {
    if lengths.mean > 0.0 { lengths.deviation / lengths.mean } else { 0.0 }
}

fn unknown<'a>(what: &'static str, name: &str, expected: impl Iterator<Item = &'a str>) -> Error {
    let mut expected: Vec<_> = expected.collect();
    expected.dedup();
    Error::Unknown { what, name: name.into(), expected: expected.join(", ") }
}
