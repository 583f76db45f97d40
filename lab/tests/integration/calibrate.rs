use std::fs;

use host::Format;
use host::executor::{Cpu, Executor};
use host::select::{Analysis, Calibration, Machine, Outcomes, Selection, Store, Traffic, choose, choose_with};
use lab::calibrate::{Measurement, fit};
use synthetic::Generator;

const MACHINE: Machine =
    Machine { has_kernels: true, resident_threads: 132 * 2048, cache_bytes: 50 << 20, shared_bytes: None };

/// A selection that does not depend on the user's files.
fn selection() -> Selection {
    Selection { store: None, ..Selection::default() }
}

/// The fit recovers the times of a model, and the file preserves them.
#[test]
fn a_calibration_is_fitted_and_kept() {
    let texts =
        ["stencil:5:60", "stencil:27:12", "uniform:rows=5000,per-row=9", "pareto:rows=2000,k=1.5", "dense:rows=90"];
    let analyses: Vec<_> = texts
        .iter()
        .map(|text| Analysis::new(&text.parse::<Generator>().unwrap().generate::<f64>().unwrap()).unwrap())
        .collect();
    let truth = |analysis: &Analysis, format| 1e-6 + 1e-9 * Traffic::new(analysis, format, &MACHINE).stored as f64;
    let measurements: Vec<_> = analyses
        .iter()
        .flat_map(|analysis| Format::ALL.iter().map(move |&format| (analysis, analysis.resolve(format))))
        .map(|(analysis, format)| {
            let seconds = truth(analysis, format);
            Measurement { analysis, format, seconds, conversion: Some(3.0 * seconds) }
        })
        .collect();
    let cpu = Cpu::new();
    let calibration = fit(&cpu.device().name, &MACHINE, &measurements);
    let choice = |calibration: &Calibration, analysis| {
        choose_with(analysis, &MACHINE, calibration, &Outcomes::new(), &selection()).unwrap()
    };
    for analysis in &analyses {
        for candidate in choice(&calibration, analysis).candidates {
            let truth = truth(analysis, candidate.format);
            assert!((candidate.multiply / truth - 1.0).abs() < 0.25, "{}: {candidate:?}", candidate.format);
            if candidate.format.storage() != "CSR" {
                assert!((candidate.convert / (3.0 * truth) - 1.0).abs() < 0.25, "{candidate:?}");
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    assert_eq!(store.calibration(cpu.device()).unwrap(), None);
    let path = store.keep_calibration(&calibration).unwrap();
    assert_eq!(store.calibration(cpu.device()).unwrap(), Some(calibration.clone()));
    let selection = Selection { store: Some(store.clone()), ..Selection::default() };
    let with_file = choose(&analyses[0], cpu.device(), &selection).unwrap();
    assert_eq!((&with_file.calibration, with_file.note), (&calibration.device, None));
    let text = fs::read_to_string(&path).unwrap();
    let negative = text.replacen("\"float64\": [\n      ", "\"float64\": [\n      -1", 1);
    assert_ne!(negative, text);
    for (bad, says) in [
        ("", "EOF"),
        ("{}", "missing field"),
        (&text.replacen("\"schema\": 3", "\"schema\": 99", 1), "a calibration of version 99, expected 3"),
        (&negative, "seconds, expected at least 0"),
        (&text[..text.len() / 2], "line"),
    ] {
        fs::write(&path, bad).unwrap();
        let error = store.calibration(cpu.device()).unwrap_err().to_string();
        assert!(error.starts_with(path.to_str().unwrap()) && error.contains(says), "{error}");
        assert_eq!(error.lines().count(), 1);
        let choice = choose(&analyses[0], cpu.device(), &selection).unwrap();
        assert_eq!(choice.note, Some(error));
        assert_ne!(choice.calibration, calibration.device);
    }
}
