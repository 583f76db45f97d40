//! Results from files: this program's, and Ginkgo's.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, Fault};
use crate::record::{Entry, Run, SCHEMA};

/// Largest size in bytes of a compressed file's text.
const LARGEST_TEXT: u64 = 1 << 30;

/// [`Run::library`] for files of other programs, which do not name one, and the prefix of their formats' names.
const OTHER: &str = "another program";
pub const OTHER_PREFIX: &str = "other-";

/// The text of a file, and its path.
struct Source<'a> {
    path: &'a Path,
    text: String,
}

/// Returns the entries of a file, checked. It may be compressed with gzip.
///
/// # Errors
/// With the file, and for its contents with the line and column, when it cannot be read, is not JSON or not an array of
/// entries, or was written by a newer version.
pub fn read(path: &Path) -> Result<Vec<Entry>, Error> {
    let text = text(path).map_err(|source| Error::File { path: path.into(), source })?;
    let source = Source { path, text };
    let elements: Vec<&RawValue> =
        serde_json::from_str(&source.text).map_err(|error| Fault::from(error).in_file(path))?;
    let entries = elements.iter().enumerate();
    entries.map(|(place, element)| entry(element).map_err(|fault| source.at(element, place, fault))).collect()
}

/// Returns the text of a file, which may be compressed with gzip.
fn text(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut left = MultiGzDecoder::new(&*bytes).take(LARGEST_TEXT);
        left.read_to_string(&mut text)?;
        if left.limit() == 0 {
            return Err(io::Error::other(format!("decompressed, it is larger than {LARGEST_TEXT} bytes")));
        }
    } else {
        (&*bytes).read_to_string(&mut text)?;
    }
    Ok(text)
}

impl Source<'_> {
    /// Returns the error for an element of the array, whose text is part of the file's.
    fn at(&self, element: &RawValue, place: usize, Fault { line, column, reason }: Fault) -> Error {
        let offset = element.get().as_ptr().addr() - self.text.as_ptr().addr();
        let before = &self.text.as_bytes()[..offset];
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        let columns = before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let column = if line == 1 { columns + column } else { column };
        Fault { line: lines + line, column, reason: format!("entry {}: {reason}", place + 1) }.in_file(self.path)
    }
}

/// Returns an entry, or the reason why there is none.
fn entry(element: &RawValue) -> Result<Entry, Fault> {
    let mut value: Value = serde_json::from_str(element.get())?;
    if let Some(fields) = value.as_object_mut() {
        if let Some(schema) = fields.get("schema").and_then(Value::as_u64).filter(|&schema| schema > SCHEMA.into()) {
            return Err(format!("schema {schema} is of a newer version; this one reads up to schema {SCHEMA}").into());
        }
        complete(fields);
    }
    let mut entry: Entry = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        if path == "." { error.inner().to_string() } else { format!("{path}: {}", error.inner()) }
    })?;
    for (name, run) in &entry.spmv {
        check(run).map_err(|reason| format!("spmv.{name}: {reason}"))?;
    }
    for (name, product) in entry.products.iter().flat_map(|(name, all)| all.iter().map(move |product| (name, product)))
    {
        check(&product.run).map_err(|reason| format!("products.{name}: {reason}"))?;
    }
    if entry.schema == 0 {
        disown(&mut entry);
    }
    Ok(entry)
}

/// Marks runs without a library as another program's.
fn disown(entry: &mut Entry) {
    let runs = std::mem::take(&mut entry.spmv).into_iter().map(|(name, run)| match run.library {
        Some(_) => (name, run),
        None => (format!("{OTHER_PREFIX}{name}"), Run { library: Some(OTHER.into()), ..run }),
    });
    entry.spmv = runs.collect();
    if let Some(optimal) = &mut entry.optimal
        && !entry.spmv.contains_key(&optimal.spmv)
    {
        optimal.spmv.insert_str(0, OTHER_PREFIX);
    }
}

/// Moves the fields that other programs write elsewhere to their place in [`Entry`], and adds missing ones.
fn complete(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(problem)) = fields.remove("problem") {
        for (name, value) in problem {
            if ["filename", "rows", "cols", "nonzeros"].contains(&&*name) {
                fields.entry(name).or_insert(value);
            }
        }
    }
    for name in ["executor", "precision"] {
        if let (Some(value), Value::Object(env)) =
            (fields.remove(name), fields.entry("env").or_insert_with(|| Value::Object(Map::new())))
        {
            env.entry(name).or_insert(value);
        }
    }
    // Without a completed run, there is no fastest one.
    if fields.get("optimal").is_some_and(|optimal| !optimal["spmv"].is_string()) {
        fields.remove("optimal");
    }
    if let Some(Value::Object(runs)) = fields.get_mut("spmv") {
        for run in runs.values_mut().filter_map(Value::as_object_mut) {
            let timed = run.get("time").is_some_and(Value::is_number);
            run.entry("completed").or_insert(timed.into());
        }
    }
}

/// Rejects impossible times.
fn check(run: &Run) -> Result<(), String> {
    match run.seconds() {
        Some(seconds) if !(seconds > 0.0 && seconds.is_finite()) => {
            Err(format!("the time is {seconds}, expected a positive number of seconds"))
        }
        _ => Ok(()),
    }
}
