//! The schema and its documentation.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::report::records::plausible;

const DOCUMENT: &str = include_str!("../../../../docs/results-schema.md");

/// The fields of a record without the keys of maps and arrays, such as "spmv.*.cold.time".
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = if ["spmv", "products"].contains(&path) { "*" } else { key };
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                found.insert(path.clone());
                // A run has the same fields everywhere.
                fields(value, if path == "products.*.run" { "spmv.*" } else { &path }, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, path, found)),
        _ => {}
    }
}

/// The fields in the first cells of the document's tables.
fn documented() -> BTreeSet<String> {
    let cells = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    cells.map(|(field, _)| field.to_owned()).collect()
}

#[test]
fn every_field_is_documented_and_no_other() {
    let mut found = BTreeSet::new();
    for entry in plausible() {
        fields(&serde_json::to_value(&entry).unwrap(), "", &mut found);
    }
    assert_eq!(found, documented());
}

#[test]
fn the_document_names_the_version() {
    assert!(DOCUMENT.contains(&format!("This is version {} of the schema.", lab::record::SCHEMA)));
}

/// The program reads the examples of the document.
#[test]
fn the_examples_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let examples: Vec<_> = DOCUMENT.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 2);
    let mut entries = examples.iter().enumerate().map(|(number, example)| {
        let path = folder.path().join(format!("{number}.json"));
        std::fs::write(&path, example).unwrap();
        lab::report::read([path]).unwrap()
    });
    let (mut ours, theirs) = (entries.next().unwrap(), entries.next().unwrap());
    assert_eq!(lab::report::import(&mut ours, "ginkgo", theirs).unwrap(), 0);
    assert_eq!(ours[0].spmv.keys().collect::<Vec<_>>(), ["ell", "ginkgo-csr", "ginkgo-ell"]);
}
