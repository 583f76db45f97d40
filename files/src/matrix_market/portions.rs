//! Texts shared by several readers, each of which reads some portions.

use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::coordinate::{Triplets, read_entries, read_entry, read_rows};
use super::cursor::{Cursor, Problem};
use super::document::{Document, line_ends};
use super::entries::{Contents as Entries, nth_entry, read_lines};
use super::header::{self, Layout};
use super::value::Value;
use crate::contents::Contents;
use crate::gzip;
use crate::header::Header;
use host::error::Error;
use host::memory::with_capacity;

/// Bytes read first for the header of a compressed text.
const HEAD: usize = 1 << 16;

/// A Matrix Market `coordinate` file that several readers share: it is divided into portions of about the same number of
/// bytes that end at line ends, and each reader takes some of them. Together they are all lines after the size line, and
/// each line is in exactly one.
///
/// If the file is mapped, a reader accesses only the beginning and the bytes of its portions. A compressed file is
/// decompressed by every reader, which keeps no more than one portion of it at a time.
pub struct CoordinatePortions {
    path: PathBuf,
    contents: Contents,
    header: Header,
    text: Extent,
    /// Bytes per portion, at least 1.
    portion: u64,
    /// Maximum number of bytes of memory for a decompressed text.
    limit: u64,
}

/// Properties of a whole text.
#[derive(Clone, Copy)]
struct Extent {
    compressed: bool,
    /// Start of the lines after the size line.
    begin: u64,
    end: u64,
    /// The one-based number of the last line.
    last_line: u64,
}

impl CoordinatePortions {
    /// The portions of a file, of about `portion` bytes each. Reads the header; a compressed file is decompressed completely
    /// to determine its length.
    pub(crate) fn new(contents: Contents, path: &Path, portion: usize, limit: u64) -> Result<Self, Error> {
        let (header, text) = match gzip::is_compressed(&contents) {
            true => head_of_compressed(&contents, path, limit)?,
            false => {
                let document = Document::new(&contents, path);
                let (header, begin) = header::read(&document, Layout::Coordinate)?;
                // Lines are counted only in case of an error.
                let text = Extent { compressed: false, begin: begin as u64, end: contents.len() as u64, last_line: 0 };
                (header, text)
            }
        };
        Ok(Self { path: path.into(), contents, header, text, portion: portion.max(1) as u64, limit })
    }

    /// The file's description of its matrix.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Checks that the values can be read as `V`.
    ///
    /// # Errors
    /// When the values are complex but those of `V` are not.
    pub fn check_values<V: Value>(&self) -> Result<(), Error> {
        header::check_values::<V>(&Document::new(&[], &self.path), &self.header)
    }

    /// Total number of bytes of the portions.
    pub fn bytes(&self) -> u64 {
        self.text.end - self.text.begin
    }

    /// Number of portions.
    pub fn portions(&self) -> u64 {
        self.bytes().div_ceil(self.portion)
    }

    /// A reader of portions, starting with the first.
    pub fn reader(&self) -> PortionReader<'_> {
        let stream = self.text.compressed.then(|| Stream {
            decoder: MultiGzDecoder::new(&*self.contents),
            window: Vec::new(),
            at: 0,
            lines_before: 0,
            limit: self.limit,
        });
        PortionReader { file: self, stream }
    }

    /// The error for a file with only `found` of the entries that it announces.
    pub fn missing(&self, found: u64) -> Error {
        let announced = self.header.entries;
        let reason = format!("the file ends after {found} of {announced} entries announced");
        match self.text.compressed {
            true => Error::Parse { path: self.path.clone(), line: self.text.last_line, reason },
            false => Document::new(&self.contents, &self.path).error_at_end(reason),
        }
    }

    /// The earliest start of a portion, whose first line is the first to begin there or later.
    fn earliest(&self, number: u64) -> u64 {
        self.text.begin.saturating_add(number.saturating_mul(self.portion)).min(self.text.end)
    }
}

/// Reads portions of a [`CoordinatePortions`]; those of a compressed file in ascending order.
pub struct PortionReader<'a> {
    file: &'a CoordinatePortions,
    stream: Option<Stream<'a>>,
}

/// The entries read from a portion.
pub struct Portion<C> {
    /// The parts, in order.
    pub parts: Vec<C>,
    /// Number of lines with an entry, up to the first invalid line.
    pub entries: u64,
    /// The error in that line.
    pub error: Option<Error>,
}

impl PortionReader<'_> {
    /// The rows of the entries of a portion, including those implied by the symmetry. Nothing else is read.
    ///
    /// # Errors
    /// When the text cannot be decompressed, or memory runs out. An invalid line is reported in the portion.
    pub fn rows(&mut self, number: u64) -> Result<Portion<Vec<u32>>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, rows: &mut Vec<u32>| read_rows(&header, cursor, rows))
    }

    /// The entries of a portion, including those implied by the symmetry.
    ///
    /// # Errors
    /// As for [`rows`](Self::rows).
    pub fn entries<V: Value>(&mut self, number: u64) -> Result<Portion<Triplets<V>>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, triplets: &mut Triplets<V>| read_entries(&header, cursor, triplets))
    }

    /// Checks the lines of a portion.
    ///
    /// # Errors
    /// As for [`rows`](Self::rows).
    pub fn check<V: Value>(&mut self, number: u64) -> Result<Portion<()>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, (): &mut ()| read_entry::<V>(&header, cursor).map(drop))
    }

    /// The error for the entry with the zero-based number `entry` in a portion that is one more than the file
    /// announces.
    ///
    /// # Errors
    /// As for [`rows`](Self::rows).
    pub fn surplus(&mut self, number: u64, entry: u64) -> Result<Error, Error> {
        let announced = self.file.header.entries;
        let (document, bytes) = self.document(number)?;
        let at = nth_entry(&document, &bytes, entry);
        Ok(document.error(at, format!("one entry more than the {announced} announced")))
    }

    fn read<C: Entries>(
        &mut self,
        number: u64,
        read: impl Fn(&mut Cursor<'_>, &mut C) -> Result<(), Problem> + Sync,
    ) -> Result<Portion<C>, Error> {
        let (document, bytes) = self.document(number)?;
        let mut portion = Portion { parts: Vec::new(), entries: 0, error: None };
        let chunks = read_lines(&document, bytes, read)?;
        portion.parts = with_capacity(chunks.len())?;
        for chunk in chunks {
            portion.entries += chunk.entries;
            portion.error = chunk.problem.map(|problem| document.problem(&problem));
            portion.parts.push(chunk.contents);
        }
        Ok(portion)
    }

    /// A text with the lines of a portion, and their range in it.
    fn document(&mut self, number: u64) -> Result<(Document<'_>, Range<usize>), Error> {
        let file = self.file;
        let [begin, end] = [number, number.saturating_add(1)].map(|number| file.earliest(number));
        match &mut self.stream {
            None => {
                let line = |earliest: u64| match earliest > file.text.begin {
                    true => after_line_end(&file.contents, earliest as usize - 1).unwrap_or(file.contents.len()),
                    false => earliest as usize,
                };
                Ok((Document::new(&file.contents, &file.path), line(begin)..line(end)))
            }
            Some(stream) => {
                let bytes = stream
                    .lines(file.text.begin, begin, end)
                    .map_err(|reason| Error::contents(&file.path, format!("gzip: {reason}")))?;
                let text = &stream.window[..bytes.end];
                Ok((Document::part(text, &file.path, stream.lines_before, file.text.end), bytes))
            }
        }
    }
}

/// The position after the first line end at or after `from`.
fn after_line_end(text: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', text.get(from..)?).map(|place| from + place + 1)
}

/// A window of a text that is being decompressed.
struct Stream<'a> {
    decoder: MultiGzDecoder<&'a [u8]>,
    window: Vec<u8>,
    /// The position of the window in the text.
    at: u64,
    /// Number of lines that end before the window.
    lines_before: u64,
    limit: u64,
}

impl Stream<'_> {
    /// Advances the window until it has the lines that begin at `earliest` or later but before `end`, and returns their
    /// range in it. The first line of the text begins at `first`.
    fn lines(&mut self, first: u64, earliest: u64, end: u64) -> Result<Range<usize>, String> {
        // A line begins after a line end.
        let from = |place: u64| if place > first { place - 1 } else { place };
        self.skip_to(from(earliest))?;
        let begin = if earliest > first { self.line_end(from(earliest))? } else { 0 };
        let end = if end > first { self.line_end(from(end))? } else { 0 };
        Ok(begin..end.max(begin))
    }

    /// Drops everything before a position of the text, where the window then begins.
    fn skip_to(&mut self, place: u64) -> Result<(), String> {
        while self.at < place {
            let known = usize::try_from(place - self.at).unwrap_or(usize::MAX).min(self.window.len());
            self.lines_before += line_ends(&self.window[..known]);
            self.window.drain(..known);
            self.at += known as u64;
            if self.window.is_empty() && !self.more()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The end, in the window, of the line that contains a position.
    fn line_end(&mut self, place: u64) -> Result<usize, String> {
        let mut from = (place - self.at) as usize;
        loop {
            if let Some(end) = after_line_end(&self.window, from) {
                return Ok(end);
            }
            from = from.max(self.window.len());
            if !self.more()? {
                return Ok(self.window.len());
            }
        }
    }

    fn more(&mut self) -> Result<bool, String> {
        gzip::append_step(&mut self.decoder, &mut self.window, self.limit)
    }
}

/// The header of a compressed text, and the properties of the whole text.
fn head_of_compressed(contents: &Contents, path: &Path, limit: u64) -> Result<(Header, Extent), Error> {
    let fail = |reason: String| Error::contents(path, format!("gzip: {reason}"));
    let (mut decoder, mut window) = (MultiGzDecoder::new(&**contents), Vec::new());
    let (mut end, mut lines, mut ends_line) = (0, 0, false);
    while gzip::append_step(&mut decoder, &mut window, limit.max(1)).map_err(fail)? {
        end += window.len() as u64;
        lines += line_ends(&window);
        ends_line = window.ends_with(b"\n");
        window.clear();
    }
    let last_line = if ends_line { lines } else { lines + 1 };
    let mut size = HEAD;
    loop {
        let mut decoder = MultiGzDecoder::new(&**contents);
        let mut head = Vec::new();
        while head.len() < size && gzip::append_step(&mut decoder, &mut head, limit).map_err(fail)? {}
        let whole = head.len() as u64 == end;
        if !whole {
            // A number may be cut in two.
            head.truncate(memchr::memrchr(b'\n', &head).map_or(0, |last| last + 1));
        }
        match header::read(&Document::part(&head, path, 0, end), Layout::Coordinate) {
            Ok((header, begin)) => {
                return Ok((header, Extent { compressed: true, begin: begin as u64, end, last_line }));
            }
            Err(error) if whole => return Err(error),
            // The error may be due to the end of this part.
            Err(_) => size = size.saturating_mul(8),
        }
    }
}
