//! A named text, and errors that refer to its lines.

use std::path::Path;

use super::cursor::{Kind, Problem, token_at};
use crate::header::Symmetry;
use crate::quote::quote;
use host::error::Error;

/// A text, or some lines of one, and its name in errors.
pub(super) struct Document<'a> {
    pub(super) text: &'a [u8],
    name: &'a Path,
    /// Number of lines before these.
    lines_before: u64,
    /// Bytes of all lines.
    pub(super) bytes: u64,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a [u8], name: &'a Path) -> Self {
        Self { text, name, lines_before: 0, bytes: text.len() as u64 }
    }

    /// Some lines of a text of `bytes` bytes, preceded by `lines_before` others.
    pub(super) fn part(text: &'a [u8], name: &'a Path, lines_before: u64, bytes: u64) -> Self {
        Self { text, name, lines_before, bytes }
    }

    /// An error in the line of a position. O(position): lines are counted only in case of an error.
    pub(super) fn error(&self, at: usize, reason: impl Into<String>) -> Error {
        let line = self.lines_before + 1 + line_ends(&self.text[..at]);
        Error::Parse { path: self.name.into(), line, reason: reason.into() }
    }

    /// An error in the last line.
    pub(super) fn error_at_end(&self, reason: impl Into<String>) -> Error {
        let end = self.text.len() - usize::from(self.text.ends_with(b"\n"));
        self.error(end, reason)
    }

    /// The error for a problem.
    pub(super) fn problem(&self, problem: &Problem) -> Error {
        let found = self.quote(problem.at);
        let reason = match problem.kind {
            Kind::Expected(what) => format!("expected {what}, found {found}"),
            Kind::Beyond { axis, limit } => format!("{axis} index {found} is beyond the {limit} {axis}s of the matrix"),
            Kind::Range(of) => format!("{found} is beyond the range of {of}"),
            Kind::Surplus => format!("expected the end of the line, found {found}"),
            Kind::Half(Symmetry::SkewSymmetric) => {
                "entry on or above the diagonal: a skew-symmetric file holds only those below it".into()
            }
            Kind::Half(symmetry) => {
                format!("entry above the diagonal: a {} file holds only those on and below it", symmetry.name())
            }
            Kind::Diagonal => "complex value on the diagonal of a hermitian matrix, expected a real one".into(),
            Kind::Memory { bytes } => return Error::OutOfMemory { what: "entries of a text", bytes: bytes as u128 },
        };
        self.error(problem.at, reason)
    }

    /// The token at a position as shown in an error.
    pub(super) fn quote(&self, at: usize) -> String {
        match token_at(self.text, at) {
            [] => "the end of the line".into(),
            token => quote(token),
        }
    }
}

/// Number of line ends in a text.
pub(super) fn line_ends(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
