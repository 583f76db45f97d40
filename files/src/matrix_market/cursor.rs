//! Parsing of text. Nothing here allocates, except for a number with a Fortran exponent.

use crate::header::Symmetry;
use crate::text::Text;
use host::memory::collect;

/// All integers up to this one are exact in `f64`.
const LARGEST_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// An error, and its position in the text.
pub struct Problem {
    /// Position of the invalid token.
    pub(super) at: usize,
    /// The kind of error.
    pub(super) kind: Kind,
}

/// Kinds of errors in tokens.
pub enum Kind {
    /// Something else was expected.
    Expected(&'static str),
    /// An index of an axis ("row") exceeds its limit.
    Beyond { axis: &'static str, limit: usize },
    /// A number is too large for a type.
    Range(&'static str),
    /// The line should end here.
    Surplus,
    /// An entry begins in the half that a file of this symmetry leaves out.
    Half(Symmetry),
    /// An entry begins on the diagonal of a hermitian matrix, but is not real.
    Diagonal,
    /// The token is valid, but allocating this many bytes failed.
    Memory { bytes: usize },
}

/// Why digits are not a valid number.
enum Unreadable {
    NoNumber,
    TooLarge,
}

/// A position in a text.
#[derive(Clone)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// Whether a byte separates tokens of a line.
#[inline]
fn is_blank(byte: u8) -> bool {
    // Most bytes are greater, and take only one comparison.
    byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\r')
}

/// The token that begins at a position: the bytes up to the next blank or line end.
pub(super) fn token_at(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..];
    let length = rest.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(rest.len());
    &rest[..length]
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Whether a token ends here.
    #[inline]
    fn token_ended(&self) -> bool {
        self.peek().is_none_or(|byte| is_blank(byte) || byte == b'\n')
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Skips the rest of the line.
    #[inline]
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// Skips blank lines and comments. Returns whether another line follows; the cursor is then at its first token.
    #[inline]
    pub(super) fn skip_to_content(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return false,
                Some(b'\n') => self.at += 1,
                Some(b'%') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// The next token of the line; empty at its end.
    pub(super) fn token(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let token = token_at(self.text, self.at);
        self.at += token.len();
        token
    }

    /// Reads the index of a row: one-based in the text, zero-based in the result.
    #[inline]
    pub(super) fn row(&mut self, rows: usize) -> Result<u32, Problem> {
        self.index("row", "a row index from 1 on", rows)
    }

    /// Reads the index of a column.
    #[inline]
    pub(super) fn column(&mut self, columns: usize) -> Result<u32, Problem> {
        self.index("column", "a column index from 1 on", columns)
    }

    #[inline]
    fn index(&mut self, axis: &'static str, expected: &'static str, limit: usize) -> Result<u32, Problem> {
        self.skip_blanks();
        let at = self.at;
        match self.digits() {
            Err(Unreadable::NoNumber) | Ok(0) => Err(Problem { at, kind: Kind::Expected(expected) }),
            Ok(index) if index <= limit as u64 => Ok((index - 1) as u32),
            Ok(_) | Err(Unreadable::TooLarge) => Err(Problem { at, kind: Kind::Beyond { axis, limit } }),
        }
    }

    /// Reads a count, which consists of digits only.
    pub(super) fn count(&mut self, expected: &'static str) -> Result<u64, Problem> {
        self.skip_blanks();
        let at = self.at;
        self.digits().map_err(|unreadable| Problem {
            at,
            kind: match unreadable {
                Unreadable::NoNumber => Kind::Expected(expected),
                Unreadable::TooLarge => Kind::Range("64-bit integers"),
            },
        })
    }

    /// Reads a token of digits.
    #[inline]
    fn digits(&mut self) -> Result<u64, Unreadable> {
        if let Some(next) = self.text.get(self.at..).and_then(<[u8]>::first_chunk)
            && let Some((number, length)) = short_number(*next)
        {
            self.at += length;
            return Ok(number);
        }
        self.any_digits()
    }

    /// [`digits`](Self::digits), of any length and also at the end of the text.
    #[cold]
    fn any_digits(&mut self) -> Result<u64, Unreadable> {
        let begin = self.at;
        let mut number = 0u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            number = number.wrapping_mul(10).wrapping_add(digit.into());
            self.at += 1;
        }
        if self.at == begin || !self.token_ended() {
            return Err(Unreadable::NoNumber);
        }
        // 19 digits cannot overflow.
        if self.at - begin > 19 { self.text[begin..self.at].iter().try_fold(0, add_digit) } else { Ok(number) }
    }

    /// Reads an integer that fits 64 bits, with or without a sign, as the nearest `T`.
    pub(super) fn integer<T: Text>(&mut self) -> Result<T, Problem> {
        self.skip_blanks();
        let at = self.at;
        let negative = self.peek() == Some(b'-');
        if negative || self.peek() == Some(b'+') {
            self.at += 1;
        }
        match self.digits() {
            // Not the float's own sign: -0 is 0 for an integer.
            Ok(magnitude) if magnitude <= LARGEST_EXACT => {
                let integer = if negative { -(magnitude as i64) } else { magnitude as i64 };
                Ok(T::from_f64(integer as f64))
            }
            Ok(magnitude) if !negative || magnitude <= i64::MIN.unsigned_abs() => {
                // Directly from the text, so that it is rounded once.
                self.at = at;
                self.real()
            }
            Err(Unreadable::NoNumber) => Err(Problem { at, kind: Kind::Expected("an integer") }),
            Ok(_) | Err(Unreadable::TooLarge) => Err(Problem { at, kind: Kind::Range("64-bit integers") }),
        }
    }

    /// Reads a real number.
    #[inline]
    pub(super) fn real<T: Text>(&mut self) -> Result<T, Problem> {
        self.skip_blanks();
        let at = self.at;
        if let Some((value, length)) = T::parse_prefix(&self.text[at..])
            && !value.to_f64().is_infinite()
        {
            self.at += length;
            if self.token_ended() {
                return Ok(value);
            }
            self.at = at;
        }
        let token = self.token();
        unusual_real(token).map_err(|kind| Problem { at, kind })
    }

    /// Checks that the line ends here, and moves to the next.
    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), Problem> {
        self.skip_blanks();
        match self.peek() {
            None => Ok(()),
            Some(b'\n') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Problem { at: self.at, kind: Kind::Surplus }),
        }
    }
}

/// A token of 1 to 7 digits at the beginning of 8 bytes, as a number with its length.
#[inline]
fn short_number(bytes: [u8; 8]) -> Option<(u64, usize)> {
    // Each byte of the word is one of the text, the first one lowest. Digits become 0 to 9, other bytes more.
    let word = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // The highest bit of each byte that is greater than 9.
    let others = (((word & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let length = others.trailing_zeros() / 8;
    if !(1..8).contains(&length) {
        return None;
    }
    let end = bytes[length as usize];
    if !is_blank(end) && end != b'\n' {
        return None;
    }
    // Padded with leading zeros to 8 digits; then digits, pairs, and groups of four are combined.
    let digits = word << (64 - 8 * length);
    let pairs = (digits.wrapping_mul((10 << 8) + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul((100 << 16) + 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul((10_000 << 32) + 1) >> 32, length as usize))
}

/// Appends a digit to a number.
fn add_digit(number: u64, digit: &u8) -> Result<u64, Unreadable> {
    number.checked_mul(10).and_then(|tens| tens.checked_add((digit - b'0').into())).ok_or(Unreadable::TooLarge)
}

/// Parses real numbers that are infinite or have Fortran exponents; rejects all else.
#[cold]
fn unusual_real<T: Text>(token: &[u8]) -> Result<T, Kind> {
    let with_e = token.iter().map(|&byte| if matches!(byte, b'd' | b'D') { b'e' } else { byte });
    let with_e = collect(with_e).map_err(|_| Kind::Memory { bytes: token.len() })?;
    match T::parse_prefix(&with_e) {
        Some((value, length)) if length == token.len() => {
            let infinity_by_name = !token.iter().any(u8::is_ascii_digit);
            if value.to_f64().is_infinite() && !infinity_by_name { Err(Kind::Range(T::NAME)) } else { Ok(value) }
        }
        _ => Err(Kind::Expected("a real number")),
    }
}
