//! Texts of which several readers read some portions each.

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

/// Bytes that are looked at first for the header of a compressed text.
const HEAD: usize = 1 << 16;

/// A Matrix Market `coordinate` file that several readers go through together: it is divided into portions of about the same
/// number of bytes that end where lines do, and each reader takes some of them. Together these are all lines behind the size
/// line, and each line is in one of them.
///
/// Where the file is mapped, a reader looks at the bytes of its portions and at the beginning only. One that is compressed
/// is decompressed by every reader, who keeps no more than a portion of it at a time.
pub struct CoordinatePortions {
    path: PathBuf,
    contents: Contents,
    header: Header,
    text: Extent,
    /// Bytes of a portion, at least 1.
    portion: u64,
    /// Bytes that a compressed text may take in memory.
    limit: u64,
}

/// What is known of a whole text.
#[derive(Clone, Copy)]
struct Extent {
    compressed: bool,
    /// Where the lines behind the size line begin.
    begin: u64,
    end: u64,
    /// The number of the last line, from 1.
    last_line: u64,
}

impl CoordinatePortions {
    /// The portions of a file, of about `portion` bytes each. Reads the header; a compressed file is decompressed as a whole
    /// for its length.
    pub(crate) fn new(contents: Contents, path: &Path, portion: usize, limit: u64) -> Result<Self, Error> {
        let (header, text) = match gzip::is_compressed(&contents) {
            true => head_of_compressed(&contents, path, limit)?,
            false => {
                let document = Document::new(&contents, path);
                let (header, begin) = header::read(&document, Layout::Coordinate)?;
                // Lines are counted only when one is wrong.
                let text = Extent { compressed: false, begin: begin as u64, end: contents.len() as u64, last_line: 0 };
                (header, text)
            }
        };
        Ok(Self { path: path.into(), contents, header, text, portion: portion.max(1) as u64, limit })
    }

    /// What the file says of its matrix.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Makes sure that `V` can be the type of the values.
    ///
    /// # Errors
    /// When the values are complex and those of `V` are not.
    pub fn check_values<V: Value>(&self) -> Result<(), Error> {
        header::check_values::<V>(&Document::new(&[], &self.path), &self.header)
    }

    /// Bytes of all portions.
    pub fn bytes(&self) -> u64 {
        self.text.end - self.text.begin
    }

    /// Number of portions.
    pub fn portions(&self) -> u64 {
        self.bytes().div_ceil(self.portion)
    }

    /// One that goes through portions, from the first on.
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

    /// The error that the file has only `found` of the entries that it announces.
    pub fn missing(&self, found: u64) -> Error {
        let announced = self.header.entries;
        let reason = format!("the file ends after {found} of {announced} entries announced");
        match self.text.compressed {
            true => Error::Parse { path: self.path.clone(), line: self.text.last_line, reason },
            false => Document::new(&self.contents, &self.path).error_at_end(reason),
        }
    }

    /// Where a portion begins at the earliest: with the first line that begins there or later.
    fn earliest(&self, number: u64) -> u64 {
        self.text.begin.saturating_add(number.saturating_mul(self.portion)).min(self.text.end)
    }
}

/// Goes through portions of a [`CoordinatePortions`]; those of a compressed one in ascending order.
pub struct PortionReader<'a> {
    file: &'a CoordinatePortions,
    stream: Option<Stream<'a>>,
}

/// What was read of a portion.
pub struct Portion<C> {
    /// One part after the other.
    pub parts: Vec<C>,
    /// Lines with an entry, up to the first that is wrong.
    pub entries: u64,
    /// What is wrong with that line.
    pub error: Option<Error>,
}

impl PortionReader<'_> {
    /// The rows of the entries of a portion, with those that the symmetry implies. Nothing else is looked at.
    ///
    /// # Errors
    /// When the text cannot be decompressed, or memory runs out. A line that is wrong is the portion's.
    pub fn rows(&mut self, number: u64) -> Result<Portion<Vec<u32>>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, rows: &mut Vec<u32>| read_rows(&header, cursor, rows))
    }

    /// The entries of a portion, with those that the symmetry implies.
    ///
    /// # Errors
    /// As of [`rows`](Self::rows).
    pub fn entries<V: Value>(&mut self, number: u64) -> Result<Portion<Triplets<V>>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, triplets: &mut Triplets<V>| read_entries(&header, cursor, triplets))
    }

    /// Checks the lines of a portion.
    ///
    /// # Errors
    /// As of [`rows`](Self::rows).
    pub fn check<V: Value>(&mut self, number: u64) -> Result<Portion<()>, Error> {
        let header = self.file.header;
        self.read(number, move |cursor, (): &mut ()| read_entry::<V>(&header, cursor).map(drop))
    }

    /// The error that the entry of a portion with this number, from 0, is one more than the file announces.
    ///
    /// # Errors
    /// As of [`rows`](Self::rows).
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

    /// A text with the lines of a portion, and where they are in it.
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

/// The place behind the first line end from a place on.
fn after_line_end(text: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', text.get(from..)?).map(|place| from + place + 1)
}

/// A window of a text that is being decompressed.
struct Stream<'a> {
    decoder: MultiGzDecoder<&'a [u8]>,
    window: Vec<u8>,
    /// Where the window begins in the text.
    at: u64,
    /// Lines that end before the window.
    lines_before: u64,
    limit: u64,
}

impl Stream<'_> {
    /// Goes on until the window has the lines that begin at `earliest` or later, but before `end`: where they are in it.
    /// The first line of all begins at `first`.
    fn lines(&mut self, first: u64, earliest: u64, end: u64) -> Result<Range<usize>, String> {
        // A line begins behind a line end.
        let from = |place: u64| if place > first { place - 1 } else { place };
        self.skip_to(from(earliest))?;
        let begin = if earliest > first { self.line_end(from(earliest))? } else { 0 };
        let end = if end > first { self.line_end(from(end))? } else { 0 };
        Ok(begin..end.max(begin))
    }

    /// Forgets what is before a place of the text; the window begins there.
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

    /// Where the line that a place is in ends, in the window.
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

/// The header of a compressed text, and what there is to know of the whole.
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
            // What is wrong may be that it ends here.
            Err(_) => size = size.saturating_mul(8),
        }
    }
}
