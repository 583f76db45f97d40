//! Taking a text apart. Nothing here allocates, but for a number with a Fortran exponent.

use crate::header::Symmetry;
use crate::text::Text;
use host::memory::collect;

/// Integers up to here are exact in every `f64`.
const LARGEST_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// What is wrong, and where in the text.
pub struct Problem {
    /// Position of the token that is wrong.
    pub(super) at: usize,
    /// What is wrong with it.
    pub(super) kind: Kind,
}

/// What is wrong with a token.
pub enum Kind {
    /// It is something else.
    Expected(&'static str),
    /// It is an index of an axis ("row") beyond the number of these.
    Beyond { axis: &'static str, limit: usize },
    /// It is a number too large for a type.
    Range(&'static str),
    /// It stands where the line should end.
    Surplus,
    /// It begins an entry of the half that a file of this symmetry leaves out.
    Half(Symmetry),
    /// It begins an entry on the diagonal of a hermitian matrix that is not real.
    Diagonal,
    /// It is right, but there is no memory for so many bytes.
    Memory { bytes: usize },
}

/// Why digits are not a number.
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
    // Most bytes are greater, and are through after one comparison.
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

    /// Skips blank lines and comments; whether a line with something else follows, at whose first token the
    /// cursor is then.
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

    /// The next token of the line, empty at its end.
    pub(super) fn token(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let token = token_at(self.text, self.at);
        self.at += token.len();
        token
    }

    /// Reads the index of a row, counted from 1 in the text and from 0 in the answer.
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

    /// Reads a count: digits and nothing else.
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

    /// [`digits`](Self::digits), of any number and at the end of the text too.
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
            // Not from `magnitude` for its own sake: -0 is 0 for an integer.
            Ok(magnitude) if magnitude <= LARGEST_EXACT => {
                let integer = if negative { -(magnitude as i64) } else { magnitude as i64 };
                Ok(T::from_f64(integer as f64))
            }
            Ok(magnitude) if !negative || magnitude <= i64::MIN.unsigned_abs() => {
                // Straight from the text, so that it is rounded once.
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

    /// Makes sure that the line ends here, and goes to the next.
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

/// A token of 1 to 7 digits that 8 bytes begin with, as a number, and its length.
#[inline]
fn short_number(bytes: [u8; 8]) -> Option<(u64, usize)> {
    // One byte of the word is one of the text, the first one lowest. Digits become 0 to 9, all else more.
    let word = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // The highest bit of each byte that is more than 9.
    let others = (((word & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let length = others.trailing_zeros() / 8;
    if !(1..8).contains(&length) {
        return None;
    }
    let end = bytes[length as usize];
    if !is_blank(end) && end != b'\n' {
        return None;
    }
    // With zeros before them they are 8 digits; then pairs of digits, of pairs, and of fours are put together.
    let digits = word << (64 - 8 * length);
    let pairs = (digits.wrapping_mul((10 << 8) + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul((100 << 16) + 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul((10_000 << 32) + 1) >> 32, length as usize))
}

/// Puts a digit behind a number.
fn add_digit(number: u64, digit: &u8) -> Result<u64, Unreadable> {
    number.checked_mul(10).and_then(|tens| tens.checked_add((digit - b'0').into())).ok_or(Unreadable::TooLarge)
}

/// Real numbers that are infinite or have Fortran's exponents, and what is no number.
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
