//! NumPy arrays as files (NumPy Enhancement Proposal 1), of version 1, 2 and 3.

use crate::binary::{Array, ElementType};
use crate::quote::quote;

/// Whether these are the bytes of a zip archive, which may be empty.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// The data begins at a multiple of this number.
const ALIGNMENT: usize = 64;

/// Maximum number of axes of a NumPy array.
const MOST_AXES: usize = 64;

/// Maximum number of characters read from a text: more than any format's name has, and no more than an error should
/// show.
const MOST_CHARACTERS: usize = 40;

/// The kind of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers.
    Number(ElementType),
    /// Text of this many bytes.
    Bytes(usize),
    /// Text of this many characters of 4 bytes each.
    Characters(usize),
}

/// An array with its shape.
#[derive(Debug)]
pub(super) struct Npy<'a> {
    kind: Kind,
    big_endian: bool,
    fortran_order: bool,
    /// Elements along each axis.
    pub(super) shape: Vec<u64>,
    data: &'a [u8],
}

impl<'a> Npy<'a> {
    /// Parses the bytes of a file.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a NumPy array")?;
        const SHORT: &str = "its header is truncated";
        let (version, rest) = rest.split_at_checked(2).ok_or(SHORT)?;
        let (length, rest) = match version[0] {
            1 => rest.split_first_chunk().map(|(length, rest)| (u16::from_le_bytes(*length).into(), rest)),
            2 | 3 => rest.split_first_chunk().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)),
            other => return Err(format!("it is of version {other}, expected 1 to 3")),
        }
        .ok_or(SHORT)?;
        let (header, data) = rest.split_at_checked(length).ok_or(SHORT)?;
        let mut npy = Literal(header).dictionary().ok_or_else(|| format!("its header is {}", quote(header)))??;
        let width = match npy.kind {
            Kind::Number(element) => element.width(),
            Kind::Bytes(width) => width,
            Kind::Characters(width) => width.saturating_mul(4),
        };
        let elements = npy.shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length));
        let expected = elements.and_then(|elements| elements.checked_mul(width as u64));
        if expected != Some(data.len() as u64) {
            return Err(format!(
                "its shape {:?} of elements of {width} bytes does not fit its {} bytes",
                npy.shape,
                data.len()
            ));
        }
        npy.data = data;
        Ok(npy)
    }

    /// The elements, which must be numbers along one axis; `name` is the name of the array.
    pub(super) fn array<'b>(&'b self, name: &'b str) -> Result<Array<'b>, String> {
        match (self.kind, &*self.shape) {
            (Kind::Number(element), [_]) => {
                Ok(Array { name, element, big_endian: self.big_endian, bytes: self.data, first: 0 })
            }
            (Kind::Number(_), shape) => Err(format!("'{name}' has {} axes, expected 1", shape.len())),
            _ => Err(format!("'{name}' is text, expected numbers")),
        }
    }

    /// The two rows of an array with two axes.
    pub(super) fn two_rows<'b>(&'b self, name: &'b str) -> Result<[Array<'b>; 2], String> {
        match (self.kind, &*self.shape) {
            (Kind::Number(element), &[2, _]) if !self.fortran_order => {
                let (first, second) = self.data.split_at(self.data.len() / 2);
                Ok([first, second].map(|bytes| Array { name, element, big_endian: self.big_endian, bytes, first: 0 }))
            }
            _ => Err(format!("'{name}' has the shape {:?}, expected 2 rows of numbers", self.shape)),
        }
    }

    /// The text, if the array is a single one, up to a maximum length.
    pub(super) fn text(&self) -> Option<String> {
        let (width, place) = match self.kind {
            Kind::Bytes(_) => (1, 0),
            Kind::Characters(_) => (4, if self.big_endian { 3 } else { 0 }),
            Kind::Number(_) => return None,
        };
        if !self.shape.is_empty() {
            return None;
        }
        let characters = self.data.chunks_exact(width).map(|character| character[place]);
        Some(characters.take_while(|&byte| byte != 0).take(MOST_CHARACTERS).map(char::from).collect())
    }
}

/// The remaining text of the Python literal in a header.
struct Literal<'a>(&'a [u8]);

impl<'a> Literal<'a> {
    /// Takes a byte, preceded by any blanks, if it is this one.
    fn eat(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.trim_ascii_start().strip_prefix(&[byte])?;
        Some(())
    }

    /// Takes bytes as long as they belong.
    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let text = self.0.trim_ascii_start();
        let end = text.iter().position(|&byte| !belongs(byte)).unwrap_or(text.len());
        let (taken, rest) = text.split_at(end);
        self.0 = rest;
        taken
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = if self.eat(b'\'').is_some() { b'\'' } else { self.eat(b'"').map(|()| b'"')? };
        let text = self.0;
        let end = text.iter().position(|&byte| byte == quote)?;
        self.0 = &text[end + 1..];
        Some(&text[..end])
    }

    fn shape(&mut self) -> Option<Vec<u64>> {
        let mut shape = Vec::new();
        self.eat(b'(')?;
        while self.eat(b')').is_none() {
            let digits = self.take_while(|byte| byte.is_ascii_digit());
            if shape.len() == MOST_AXES {
                return None;
            }
            shape.push(str::from_utf8(digits).ok()?.parse().ok()?);
            // Python 2 marked long integers.
            let _ = self.eat(b'L');
            if self.eat(b',').is_none() {
                self.eat(b')')?;
                break;
            }
        }
        Some(shape)
    }

    /// The array that a header describes, without its data; `None` if the header is not such a dictionary.
    fn dictionary(mut self) -> Option<Result<Npy<'a>, String>> {
        let (mut kind, mut fortran_order, mut shape) = (None, None, None);
        self.eat(b'{')?;
        while self.eat(b'}').is_none() {
            let key = self.string()?;
            self.eat(b':')?;
            match key {
                b"descr" => {
                    // A list denotes a structure.
                    kind = Some(self.string().map_or(Err("a structure".into()), element_kind));
                    if let Some(Err(found)) = kind {
                        return Some(Err(format!("its type is {found}, expected numbers or text")));
                    }
                }
                b"fortran_order" => fortran_order = Some(self.take_while(|byte| byte.is_ascii_alphabetic()) == b"True"),
                b"shape" => shape = Some(self.shape()?),
                _ => return None,
            }
            let _ = self.eat(b',');
        }
        let (kind, big_endian) = kind?.ok()?;
        Some(Ok(Npy { kind, big_endian, fortran_order: fortran_order?, shape: shape?, data: &[] }))
    }
}

/// The kind of elements for a type string such as `<f8`, and whether they are in big-endian order.
fn element_kind(text: &[u8]) -> Result<(Kind, bool), String> {
    let unknown = || quote(text);
    let [order, letter, digits @ ..] = text else { return Err(unknown()) };
    let big_endian = match order {
        b'<' | b'|' => false,
        b'>' => true,
        _ => return Err(unknown()),
    };
    let size: usize = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or_else(unknown)?;
    let kind = match (letter, size) {
        (b'i', 1) => Kind::Number(ElementType::Int8),
        (b'i', 2) => Kind::Number(ElementType::Int16),
        (b'i', 4) => Kind::Number(ElementType::Int32),
        (b'i', 8) => Kind::Number(ElementType::Int64),
        (b'u' | b'b', 1) => Kind::Number(ElementType::Uint8),
        (b'u', 2) => Kind::Number(ElementType::Uint16),
        (b'u', 4) => Kind::Number(ElementType::Uint32),
        (b'u', 8) => Kind::Number(ElementType::Uint64),
        (b'f', 4) => Kind::Number(ElementType::Float32),
        (b'f', 8) => Kind::Number(ElementType::Float64),
        (b'c', 8) => Kind::Number(ElementType::Complex64),
        (b'c', 16) => Kind::Number(ElementType::Complex128),
        (b'S', width) => Kind::Bytes(width),
        (b'U', width) => Kind::Characters(width),
        _ => return Err(unknown()),
    };
    Ok((kind, big_endian))
}

/// The header of an array with a type string and a shape in Python's notation, `(3,)`.
pub(super) fn header(descr: &str, shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let fixed = MAGIC.len() + 2 + 2;
    // One for the line end.
    let length = (fixed + text.len() + 1).next_multiple_of(ALIGNMENT) - fixed;
    text.push_str(&" ".repeat(length - text.len() - 1));
    text.push('\n');
    [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn headers_are_read_as_they_are_written() {
        let bytes = [header("<f4", "(2,)"), vec![0; 8]].concat();
        assert_eq!((bytes.len() - 8) % ALIGNMENT, 0);
        let npy = Npy::parse(&bytes).unwrap();
        assert_eq!((npy.kind, npy.big_endian, &*npy.shape), (Kind::Number(ElementType::Float32), false, &[2][..]));
    }

    #[test]
    fn what_other_writers_put_there() {
        for header in [
            "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }",
            "{\"shape\":(3L,),\"fortran_order\":False,\"descr\":\">i2\"}\n",
            "  { 'fortran_order' :False , 'shape': ( 3 , ), 'descr': '>i2' }",
        ] {
            let bytes = with_header(header, &[0, 1, 0, 2, 1, 0]);
            let npy = Npy::parse(&bytes).unwrap();
            assert_eq!(npy.array("x").unwrap().values::<f32>().unwrap(), [1.0, 2.0, 256.0], "{header}");
        }
    }

    #[test]
    fn as_many_axes_as_numpy_has() {
        let parse = |axes: usize| {
            let shape = "0,".repeat(axes);
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape})}}");
            Npy::parse(&with_header(&header, &[])).map(|npy| npy.shape.len())
        };
        assert_eq!(parse(MOST_AXES), Ok(MOST_AXES));
        assert!(parse(MOST_AXES + 1).unwrap_err().contains("its header is"));
    }

    #[test]
    fn headers_that_are_wrong() {
        for (header, says) in [
            ("", "its header is ''"),
            ("{'descr': '<f8', 'shape': (0,)}", "its header is"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), 'x': 1}", "its header is"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (,)}", "its header is"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (0", "its header is"),
            ("{'descr': '<f8", "its type is a structure"),
            ("{'descr': '<c32', 'fortran_order': False, 'shape': (0,)}", "its type is '<c32'"),
            ("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,)}", "its type is a structure"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "does not fit its 0 bytes"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "does not fit"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551616,)}", "its header is"),
        ] {
            let message = Npy::parse(&with_header(header, &[])).unwrap_err();
            assert!(message.contains(says), "{header}: {message}");
        }
        let whole = with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]);
        assert!((0..whole.len()).all(|length| Npy::parse(&whole[..length]).is_err()));
    }
}
