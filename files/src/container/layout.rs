//! The header and the table of sections, as bytes. `docs/container.md` describes the same in words.

use super::sections::Section;
use super::summary::Summary;
use crate::binary::{Array, ElementType};
use crate::limits::check_dimension;
use crate::quote::quote;
use host::error::Error;
use host::parallel;

/// The first bytes of every container. The first byte is not text, and the last two change if a file is transferred as
/// text.
const MAGIC: &[u8] = b"\x89WSPMV\r\n";

/// The version written, and the latest one that can be read.
const VERSION: u32 = 1;

/// Bytes of the header, excluding the table.
const HEADER: usize = 128;

/// Bytes per entry of the table.
const ENTRY: usize = 64;

/// The position of the checksum of header and table: the last bytes of the header.
const CHECKSUM_AT: usize = HEADER - 4;

/// More sections than any format has.
const MOST_SECTIONS: usize = 64;

/// Every section begins at a multiple of this number.
const ALIGNMENT: usize = 64;

/// Maximum number of bytes of names: of a format, and of a section.
const FORMAT_NAME: usize = 16;
const SECTION_NAME: usize = 24;

/// All element types, in the order of their codes.
const TYPES: [ElementType; 12] = [
    ElementType::Uint8,
    ElementType::Uint16,
    ElementType::Uint32,
    ElementType::Uint64,
    ElementType::Int8,
    ElementType::Int16,
    ElementType::Int32,
    ElementType::Int64,
    ElementType::Float32,
    ElementType::Float64,
    ElementType::Complex64,
    ElementType::Complex128,
];

/// Bytes per chunk for parallel checksums.
const CHECKSUM_CHUNK: usize = 1 << 20;

/// Header and table.
pub(super) struct Layout {
    format: [u8; FORMAT_NAME],
    pub(super) summary: Summary,
    length: u64,
    entries: Vec<Entry>,
}

/// A section without its elements.
pub(super) struct Outline<'a> {
    pub name: &'a str,
    pub element: ElementType,
    pub elements: u64,
    pub checksum: u32,
}

/// An entry of the table.
struct Entry {
    name: [u8; SECTION_NAME],
    element: ElementType,
    checksum: u32,
    elements: u64,
    begin: u64,
}

/// Whether bytes begin like a container.
pub(crate) fn is_container(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The zeros that pad a position to the next multiple of [`ALIGNMENT`].
pub(super) fn padding(at: usize) -> Vec<u8> {
    vec![0; at.next_multiple_of(ALIGNMENT) - at]
}

/// CRC-32 of bytes, in parallel.
pub(super) fn checksum(bytes: &[u8]) -> Result<u32, Error> {
    let of_chunk = |chunk: usize| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[chunk * CHECKSUM_CHUNK..bytes.len().min((chunk + 1) * CHECKSUM_CHUNK)]);
        hasher
    };
    let parts = parallel::map(bytes.len().div_ceil(CHECKSUM_CHUNK), 1, &of_chunk)?;
    let mut whole = crc32fast::Hasher::new();
    parts.iter().for_each(|part| whole.combine(part));
    Ok(whole.finalize())
}

/// CRC-32 of the header up to its checksum, and of the table.
fn head_checksum(head: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..CHECKSUM_AT]);
    hasher.update(&head[HEADER..]);
    hasher.finalize()
}

/// A name padded with zeros. No name of ours is longer.
fn padded<const N: usize>(name: &str) -> [u8; N] {
    let mut padded = [0; N];
    padded.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    padded
}

/// A name without padding.
fn trimmed(name: &[u8]) -> &str {
    let end = name.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    // `parse` accepts only ASCII.
    str::from_utf8(&name[..end]).unwrap_or_default()
}

/// The code of a type in a file: its one-based index in [`TYPES`].
fn code(element: ElementType) -> u8 {
    TYPES.iter().zip(1..).find_map(|(&known, code)| (known == element).then_some(code)).unwrap_or_default()
}

/// The type with a code in a file.
fn element_type(code: u8) -> Result<ElementType, String> {
    let place = usize::from(code).checked_sub(1);
    place.and_then(|place| TYPES.get(place)).copied().ok_or_else(|| format!("unknown element type {code}"))
}

/// Takes fields from the front of a head.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next bytes. `parse` has checked that there are enough.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (taken, rest) = self.0.split_at(N);
        bytes.copy_from_slice(taken);
        self.0 = rest;
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn name<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let name = self.take();
        let zeros = name.iter().skip_while(|byte| byte.is_ascii_graphic());
        if name[0] != 0 && zeros.clone().all(|&byte| byte == 0) {
            Ok(name)
        } else {
            Err(format!("{} is not a name", quote(&name)))
        }
    }

    fn zeros<const N: usize>(&mut self) -> Result<(), String> {
        if self.take() == [0; N] { Ok(()) } else { Err("a reserved byte of the header is not 0".into()) }
    }
}

impl Layout {
    /// The layout of a file with these sections in order. O(bytes) for the checksums.
    pub(super) fn new(format: &str, summary: &Summary, sections: &[Section<'_>]) -> Result<Self, Error> {
        let mut outlines = Vec::with_capacity(sections.len());
        for Section { name, element, bytes } in sections {
            let elements = (bytes.len() / element.width()) as u64;
            outlines.push(Outline { name, element: *element, elements, checksum: checksum(bytes)? });
        }
        Ok(Self::of_outlines(format, summary, &outlines))
    }

    /// The layout of a file with the sections of these outlines.
    pub(super) fn of_outlines(format: &str, summary: &Summary, sections: &[Outline<'_>]) -> Self {
        let mut at = (HEADER + ENTRY * sections.len()) as u64;
        let mut entries = Vec::with_capacity(sections.len());
        for &Outline { name, element, elements, checksum } in sections {
            let begin = at.next_multiple_of(ALIGNMENT as u64);
            at = begin + elements * element.width() as u64;
            entries.push(Entry { name: padded(name), element, checksum, elements, begin });
        }
        Self { format: padded(format), summary: *summary, length: at, entries }
    }

    /// Header and table as bytes of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Summary { rows, columns, stored, values, offset_width } = self.summary;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.entries.len() as u32).to_le_bytes());
        bytes.extend(self.format);
        for number in [rows as u64, columns as u64, stored as u64, self.length] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([code(values), offset_width as u8]);
        bytes.resize(HEADER, 0);
        for entry in &self.entries {
            bytes.extend(entry.name);
            bytes.extend(u32::from(code(entry.element)).to_le_bytes());
            bytes.extend(entry.checksum.to_le_bytes());
            bytes.extend(entry.elements.to_le_bytes());
            bytes.extend(entry.begin.to_le_bytes());
            bytes.extend([0; 16]);
        }
        let checksum = head_checksum(&bytes);
        bytes[CHECKSUM_AT..HEADER].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads header and table, and checks the positions of the sections in the file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let found = bytes.len();
        let truncated = |expected| format!("the file is truncated: {found} bytes of {expected}");
        if !is_container(bytes) {
            let begin = &bytes[..MAGIC.len().min(found)];
            return Err(format!("not a warp-spmv container: begins with {}", quote(begin)));
        }
        let mut fields = Fields(bytes.get(MAGIC.len()..HEADER).ok_or_else(|| truncated(format!("at least {HEADER}")))?);
        let version = fields.u32();
        if version > VERSION {
            return Err(format!("a container of version {version}, but this program supports up to {VERSION}"));
        }
        let sections = fields.u32() as usize;
        if sections > MOST_SECTIONS {
            return Err(format!("the file is altered: {sections} sections, expected at most {MOST_SECTIONS}"));
        }
        let head_length = HEADER + sections * ENTRY;
        let head = bytes.get(..head_length).ok_or_else(|| truncated(format!("at least {head_length}")))?;
        if head_checksum(head).to_le_bytes() != head[CHECKSUM_AT..HEADER] {
            return Err("the file is altered: the header does not match its checksum".into());
        }
        if version == 0 {
            return Err("a container of version 0, which does not exist".into());
        }
        let format = fields.name()?;
        let (rows, columns, stored, length) = (fields.u64(), fields.u64(), fields.u64(), fields.u64());
        let [values, offset_width] = fields.take();
        fields.zeros::<58>()?;
        // A row takes memory wherever the matrix goes from here, a column in the x that it is multiplied with, and not every
        // format has arrays this long.
        check_dimension("rows", rows, found)?;
        check_dimension("columns", columns, found)?;
        if (found as u64) < length {
            return Err(truncated(length.to_string()));
        }
        if found as u64 > length {
            return Err(format!("the file is altered: {found} bytes, more than the {length} of the container"));
        }
        let mut fields = Fields(&head[HEADER..]);
        let mut end = head_length;
        let mut entries = Vec::with_capacity(sections);
        for _ in 0..sections {
            let name = fields.name()?;
            let element = u8::try_from(fields.u32()).map_or(Err("unknown element type".into()), element_type)?;
            let (checksum, elements, begin) = (fields.u32(), fields.u64(), fields.u64());
            fields.zeros::<16>()?;
            let expected = end.next_multiple_of(ALIGNMENT);
            // There are only zeros between sections, so that no byte of the file can be altered unnoticed.
            if begin != expected as u64 {
                return Err(format!("section '{}' begins at byte {begin}, expected {expected}", trimmed(&name)));
            }
            let section_end = elements.checked_mul(element.width() as u64).and_then(|bytes| bytes.checked_add(begin));
            let Some(section_end) = section_end.filter(|&section_end| section_end <= length) else {
                return Err(format!("section '{}' ends beyond the end of the file", trimmed(&name)));
            };
            if bytes[end..expected].iter().any(|&byte| byte != 0) {
                return Err(format!("the file is altered: a byte before section '{}' is not 0", trimmed(&name)));
            }
            end = section_end as usize;
            entries.push(Entry { name, element, checksum, elements, begin });
        }
        if end as u64 != length {
            return Err(format!("the sections end at byte {end} of {length}"));
        }
        let summary = Summary {
            rows: rows as usize,
            columns: columns as usize,
            stored: usize::try_from(stored).map_err(|_| format!("{stored} entries are too many"))?,
            values: element_type(values)?,
            offset_width: offset_width.into(),
        };
        Ok(Self { format, summary, length, entries })
    }

    /// The name of the format.
    pub(super) fn format(&self) -> &str {
        trimmed(&self.format)
    }

    /// The arrays of a file with this layout, after checking their checksums.
    pub(super) fn arrays<'a>(&'a self, bytes: &'a [u8]) -> Result<Vec<Array<'a>>, String> {
        let arrays = self.unchecked_arrays(bytes);
        for (number, array) in arrays.iter().enumerate() {
            self.check_sum(number, checksum(array.bytes).map_err(|error| error.to_string())?)?;
        }
        Ok(arrays)
    }

    /// The arrays of a file with this layout, without reading them.
    pub(super) fn unchecked_arrays<'a>(&'a self, bytes: &'a [u8]) -> Vec<Array<'a>> {
        let array = |entry: &'a Entry| {
            let begin = entry.begin as usize;
            let bytes = &bytes[begin..begin + entry.elements as usize * entry.element.width()];
            Array { name: trimmed(&entry.name), element: entry.element, big_endian: false, bytes, first: 0 }
        };
        self.entries.iter().map(array).collect()
    }

    /// Compares the computed checksum of a section's array with the stored one.
    pub(super) fn check_sum(&self, section: usize, found: u32) -> Result<(), String> {
        let Entry { name, checksum, .. } = &self.entries[section];
        match found == *checksum {
            true => Ok(()),
            false => Err(format!("the file is altered: section '{}' does not match its checksum", trimmed(name))),
        }
    }

    /// The section with a name.
    pub(super) fn section(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| trimmed(&entry.name) == name)
    }

    /// Size of the file in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The position of a section in the file.
    pub(super) fn begin(&self, section: usize) -> u64 {
        self.entries[section].begin
    }
}
