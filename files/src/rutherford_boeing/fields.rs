//! Lines, and arrays of fields in fixed columns.

use super::format::FortranFormat;
use crate::options::ReadOptions;
use host::memory;

/// Lines between two progress reports.
const LINES_PER_REPORT: u64 = 1 << 14;

/// The lines of a text, with the number of lines read.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    length: usize,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, length: text.len(), number: 0 }
    }

    /// Bytes of the whole text.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The one-based number of the line read last.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.number += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Reads `count` fields, which begin on a new line. `parse` receives the zero-based number of each and its text without
/// surrounding blanks.
pub(super) fn read_array<E>(
    lines: &mut Lines<'_>,
    format: &FortranFormat,
    count: u64,
    what: &str,
    options: &ReadOptions<'_>,
    mut parse: impl FnMut(u64, &[u8]) -> Result<E, String>,
) -> Result<Vec<E>, String> {
    // Every field takes at least one byte: nothing is allocated on the header's word alone.
    if count > lines.rest.len() as u64 {
        return Err(format!("{count} {what} announced, more than the {} bytes left can hold", lines.rest.len()));
    }
    let mut array = memory::with_capacity(count as usize).map_err(|error| error.to_string())?;
    while (array.len() as u64) < count {
        let Some(line) = lines.next() else {
            return Err(format!("the file ends after {} of {count} {what}", array.len()));
        };
        let fields = (count - array.len() as u64).min(format.repeat as u64) as usize;
        for field in 0..fields {
            let begin = field * format.width;
            let text = line.get(begin..line.len().min(begin + format.width)).unwrap_or_default().trim_ascii();
            if text.is_empty() {
                return Err(format!(
                    "the line has {field} of {fields} {what}: columns {} to {} are blank",
                    begin + 1,
                    begin + format.width
                ));
            }
            array.push(parse(array.len() as u64, text)?);
        }
        if lines.number.is_multiple_of(LINES_PER_REPORT) {
            options.report((lines.length - lines.rest.len()) as u64, lines.length as u64);
        }
    }
    Ok(array)
}
