//! Groups of matrices for tables of speed-ups, and the syntax of the lines that describe rows and columns.

use std::str::FromStr;

use crate::record::{Entry, Run, is_own_format};
use crate::report::import::base_name;

/// A row: matrices, and the runs whose times count.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Group {
    pub(super) label: String,
    conditions: Vec<Condition>,
    /// All our formats but the choice if none is named.
    formats: Names,
    peers: Names,
}

/// The names that match a pattern, or all if none is given, without those that match a pattern to leave out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Names {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Names {
    /// Reads `KEY=PATTERN,…` or `KEY!=PATTERN,…`; returns whether the word is one of these.
    pub(super) fn read(&mut self, key: &str, word: &str) -> bool {
        let Some(rest) = word.strip_prefix(key) else { return false };
        let (list, value) = match (rest.strip_prefix('='), rest.strip_prefix("!=")) {
            (Some(value), _) => (&mut self.wanted, value),
            (_, Some(value)) => (&mut self.unwanted, value),
            _ => return false,
        };
        *list = listed(value);
        true
    }

    pub(super) fn take(&self, name: &str) -> bool {
        (self.wanted.is_empty() || matches_any(&self.wanted, name)) && !matches_any(&self.unwanted, name)
    }
}

#[derive(Debug, PartialEq)]
enum Condition {
    Executor(String),
    Family(String),
    Name(Vec<String>),
    NotName(Vec<String>),
    AtLeast(u64),
    LessThan(u64),
}

impl Group {
    /// Whether the matrix of an entry is in the group.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        self.conditions.iter().all(|condition| condition.holds(entry))
    }

    /// Whether a run of ours counts.
    pub(super) fn takes(&self, name: &str, run: &Run) -> bool {
        let ours = if self.formats.wanted.is_empty() { is_own_format(name, run) } else { !run.is_peer() };
        ours && self.formats.take(name)
    }

    /// Whether a run of a peer counts.
    pub(super) fn takes_peer(&self, name: &str, run: &Run) -> bool {
        run.is_peer() && self.peers.take(name)
    }
}

impl Condition {
    fn holds(&self, entry: &Entry) -> bool {
        let any = |patterns: &[String]| matches_any(patterns, matrix(&entry.filename));
        match self {
            Self::Executor(name) => entry.env.executor == *name,
            Self::Family(name) => entry.family.as_ref() == Some(name),
            Self::Name(patterns) => any(patterns),
            Self::NotName(patterns) => !any(patterns),
            Self::AtLeast(nonzeros) => entry.nonzeros >= *nonzeros,
            Self::LessThan(nonzeros) => entry.nonzeros < *nonzeros,
        }
    }
}

impl FromStr for Group {
    type Err = String;

    /// Reads `LABEL: CONDITION CONDITION …`; values with spaces are in quotation marks.
    fn from_str(line: &str) -> Result<Self, String> {
        let (label, words) = labelled(line)?;
        let mut group = Self { label: label.into(), ..Self::default() };
        for word in words {
            let count = |value: &str| value.parse().map_err(|_| format!("'{value}' is not a number of nonzeros"));
            if group.formats.read("format", &word) || group.peers.read("peer", &word) {
                continue;
            }
            group.conditions.push(if let Some(value) = word.strip_prefix("executor=") {
                Condition::Executor(value.into())
            } else if let Some(value) = word.strip_prefix("family=") {
                Condition::Family(value.into())
            } else if let Some(value) = word.strip_prefix("name=") {
                Condition::Name(listed(value))
            } else if let Some(value) = word.strip_prefix("name!=") {
                Condition::NotName(listed(value))
            } else if let Some(value) = word.strip_prefix("nonzeros>=") {
                Condition::AtLeast(count(value)?)
            } else if let Some(value) = word.strip_prefix("nonzeros<") {
                Condition::LessThan(count(value)?)
            } else {
                let known =
                    "executor=, family=, format=, format!=, name=, name!=, nonzeros>=, nonzeros<, peer= or peer!=";
                return Err(format!("unknown condition '{word}', expected {known}"));
            });
        }
        Ok(group)
    }
}

/// The label of a line `LABEL: WORD WORD …`, and its words.
pub(super) fn labelled(line: &str) -> Result<(&str, Vec<String>), String> {
    let Some((label, rest)) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, ""))) else {
        return Err(format!("'{line}' has no colon, expected 'LABEL: CONDITION …', such as 'small: nonzeros<4000000'"));
    };
    Ok((label.trim(), words(rest)?))
}

/// The words of a line, without the quotation marks around values.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            character => word.push(character),
        }
    }
    if quoted {
        return Err(format!("a quotation mark is not closed in '{line}'"));
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// Whether a text matches a pattern in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| matches(rest, &text[at..]))
}

/// The patterns of a condition.
fn listed(value: &str) -> Vec<String> {
    value.split(',').map(str::to_owned).collect()
}

fn matches_any(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

/// The name of a matrix, without the folder and the extension of its file.
pub(super) fn matrix(filename: &str) -> &str {
    let name = base_name(filename);
    name.strip_suffix(".npz").or_else(|| name.strip_suffix(".mtx")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let fault = |line: &str| line.parse::<Group>().unwrap_err();
        assert_eq!(fault("all: size=3").split(',').next(), Some("unknown condition 'size=3'"));
        assert_eq!(fault("all: nonzeros<many"), "'many' is not a number of nonzeros");
        assert!(fault("all").starts_with("'all' has no colon"));
        assert_eq!(fault("a: family=\"b"), "a quotation mark is not closed in 'family=\"b'");
    }

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*-random", "points-random", true),
            ("*-random", "random", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "acb", false),
            ("*", "é", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
