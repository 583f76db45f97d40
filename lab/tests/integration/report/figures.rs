//! The figures as SVG.

use std::process::Command;

use lab::Error;
use lab::record::Entry;
use lab::report::Report;

use crate::report::records::plausible;

const NAMES: [&str; 6] = ["gflops", "profile", "speedup", "roofline", "conversion", "row-lengths"];

fn figures(entries: Vec<Entry>) -> Vec<(String, String)> {
    let figures = Report::new(entries, None, None).unwrap().figures().unwrap();
    figures.into_iter().map(|figure| (figure.file_name(), figure.svg)).collect()
}

/// The contents of all `<text …>` elements.
fn texts(svg: &str) -> String {
    let texts =
        svg.split("<text").skip(1).map(|text| text.split_once(">\n").unwrap().1.split("\n</text>").next().unwrap());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_has_its_marks_and_its_text() {
    let figures = figures(plausible());
    let names: Vec<_> = figures.iter().map(|(name, _)| name.strip_suffix(".svg").unwrap()).collect();
    assert_eq!(names, NAMES);
    for (name, svg) in &figures {
        assert!(svg.starts_with("<svg role=\"img\" aria-labelledby=\""), "{name}: {}", &svg[..100]);
        let marks = svg.matches("<circle").count() + svg.matches("<polyline").count() + svg.matches("<rect").count();
        assert!(marks > 10, "{name}: {marks}");
        assert!(!svg.contains("no data") && !svg.contains("<script"), "{name}");
    }
    let of = |name: &str| texts(&figures.iter().find(|(file, _)| file == &format!("{name}.svg")).unwrap().1);
    for (name, says) in [
        ("gflops", "stencil:27:200, float64, cuda"),
        ("gflops", "&lt;/script&gt;"),
        ("profile", "fraction of the matrices"),
        ("speedup", "the fastest peer"),
        ("speedup", "cusparse-csr-alg2"),
        ("roofline", "gather 900 GB/s"),
        ("conversion", "hyb-automatic"),
        ("row-lengths", "2–3 entries"),
    ] {
        assert!(of(name).contains(says), "{name}: {}", of(name));
    }
}

/// Files that XML readers accept, for any names.
#[test]
fn they_are_xml() {
    let mut entries = plausible();
    entries[0].filename = "control \u{0} \u{1b}[31m \u{ffff} ]]> & <".into();
    entries[0].row_lengths.as_mut().unwrap().deviation = 1e9;
    for (name, svg) in figures(entries) {
        let legal = |character: char| character == '\n' || !(character.is_control() || character == '\u{ffff}');
        assert!(svg.chars().all(legal), "{name}");
        // Without its text, only elements remain.
        assert_eq!(svg.matches('<').count(), svg.matches('>').count(), "{name}");
        let ampersands = svg.split('&').skip(1);
        let known = ["lt;", "gt;", "amp;", "quot;", "apos;"];
        assert!(ampersands.into_iter().all(|rest| known.iter().any(|entity| rest.starts_with(entity))), "{name}");
        if let Ok(folder) = tempfile::tempdir() {
            let path = folder.path().join(&name);
            std::fs::write(&path, &svg).unwrap();
            // A stricter reader, if installed.
            if let Ok(output) = Command::new("xmllint").arg("--noout").arg(&path).output() {
                assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}

#[test]
fn without_data_they_say_so() {
    let entry = Entry { filename: "a".into(), ..Entry::default() };
    for (name, svg) in figures(vec![entry]) {
        assert!(texts(&svg).contains("no data"), "{name}: {svg}");
    }
}

#[test]
fn what_is_chosen_must_be_there() {
    let chosen = |format, matrix| Report::new(plausible(), format, matrix).map(drop).map_err(|error| error.to_string());
    assert_eq!(chosen(Some("ell"), Some("stencil:27:200")), Ok(()));
    let error = chosen(Some("cusparse-csr-alg1"), None).unwrap_err();
    assert!(
        error.starts_with("unknown format 'cusparse-csr-alg1' in the results; expected one of csr-vector, "),
        "{error}"
    );
    // A matrix without row lengths cannot be drawn.
    assert!(matches!(Report::new(plausible(), None, Some("bare")), Err(Error::Unknown { .. })));
}
