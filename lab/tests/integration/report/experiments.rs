//! The plots of the papers' experiments.

use lab::figures::{Experiment, FIGURES, Plot, Task, tasks};
use lab::record::{Ceilings, Conversion, Entry, RowLengths, Run};
use lab::report::Figure;

/// Entries with everything that the experiments need, on one device.
fn measured(experiments: &[Experiment]) -> Vec<Entry> {
    let entry = |text: &str, place: usize, precision: &str, names: Vec<&str>| {
        let mut entry = Entry { filename: text.into(), ..Entry::default() };
        (entry.rows, entry.cols, entry.nonzeros) = (1_000 << (place % 12), 2_000, 20_000 << (place % 9));
        (entry.env.executor, entry.env.device) = ("cuda".into(), "NVIDIA H200".into());
        entry.env.precision = precision.into();
        entry.ceilings = Some(Ceilings { copy_gbps: 1_000.0, ..Ceilings::default() });
        let longest = 10 + place as u64;
        entry.row_lengths =
            Some(RowLengths { shortest: 1, longest, mean: 5.0, deviation: place as f64, histogram: Vec::new() });
        for (number, name) in names.into_iter().enumerate() {
            let time = 1e-9 * entry.nonzeros as f64 * (1.0 + number as f64 / 7.0);
            let conversion =
                Conversion { first: 1.0, warm: 1.0, back: Some(2.0), peak_bytes: None, csr_calls: Some(3.0 + time) };
            let run = Run {
                completed: true,
                time: Some(time),
                storage: Some(1_000 + number as u64),
                bytes_needed: Some(12 * entry.nonzeros),
                conversion: Some(conversion),
                ..Run::default()
            };
            entry.spmv.insert(name.into(), run);
        }
        entry
    };
    let mut entries = Vec::new();
    for (place, Task { text, formats, .. }) in tasks(experiments, &[]).into_iter().enumerate() {
        for (precision, formats) in formats {
            let names = formats.iter().map(|format| format.name());
            entries.push(entry(&text, place, precision, names.collect()));
        }
    }
    entries
}

fn texts(svg: &str) -> Vec<String> {
    let texts = svg.split("<text").skip(1);
    let texts = texts.map(|text| text.split_once(">\n").unwrap().1.split("\n</text>").next().unwrap());
    texts.map(|text| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect()
}

fn says_no_data(figure: &Figure) -> bool {
    texts(&figure.svg).iter().any(|text| text == "no data")
}

fn draw(experiment: &Experiment, entries: &[Entry]) -> Figure {
    experiment.draw(entries).unwrap_or_else(|error| panic!("{}: {error}", experiment.name))
}

#[test]
fn each_shows_all_that_was_measured() {
    for experiment in FIGURES {
        let name = experiment.name;
        let figure = draw(experiment, &measured(&[*experiment]));
        assert_eq!(figure.file_name(), format!("{name}.svg"));
        let texts = texts(&figure.svg);
        assert!(!says_no_data(&figure), "{name}");
        // The ratio of the speeds in float64 and float32 is one number.
        let panels = if name == "bg-15" { 1 } else { experiment.precisions.len() };
        let titles = texts.iter().filter(|text| text.starts_with(experiment.source));
        assert_eq!(titles.count(), panels, "{name}");
        for series in experiment.series.iter().filter(|series| !series.formats.is_empty()) {
            let shown = texts.iter().filter(|text| text.ends_with(series.label)).count();
            assert_eq!(shown, panels, "{name}: {}", series.label);
        }
        // Peers that were not measured are not in the legend.
        assert!(texts.iter().all(|text| !text.contains("cusparse")), "{name}");
        if let Plot::ByMatrix(..) = experiment.plot {
            for text in (experiment.matrices)() {
                assert!(texts.iter().any(|shown| text.starts_with(shown.trim_end_matches('…'))), "{name}: {text}");
            }
        }
        assert_eq!(figure.svg.matches("<svg").count(), figure.svg.matches("</svg>").count(), "{name}");
    }
}

#[test]
fn what_others_measured_serves() {
    let all = measured(FIGURES);
    for experiment in FIGURES {
        let alone = draw(experiment, &measured(&[*experiment]));
        let count = |figure: &Figure| {
            let titles = texts(&figure.svg).iter().filter(|text| text.starts_with(experiment.source)).count();
            (titles, says_no_data(figure))
        };
        assert_eq!(count(&draw(experiment, &all)), count(&alone), "{}", experiment.name);
    }
}

#[test]
fn other_precisions_and_devices_have_panels() {
    let experiment: Experiment = "bg-12".parse().unwrap();
    let mut entries = measured(&[experiment]);
    entries.iter_mut().for_each(|entry| entry.env.precision = "float64".into());
    let on_cpu = entries.clone().into_iter().map(|mut entry| {
        (entry.env.executor, entry.env.device) = ("cpu".into(), "a <CPU> & more".into());
        entry
    });
    entries.extend(on_cpu.collect::<Vec<_>>());
    let figure = draw(&experiment, &entries);
    let titles: Vec<_> = texts(&figure.svg).into_iter().filter(|text| text.starts_with("Bell")).collect();
    assert_eq!(titles.len(), 2);
    assert!(titles[0].ends_with("structured matrices; float64, NVIDIA H200"), "{titles:?}");
    assert!(titles[1].ends_with("a <CPU> & more"), "{titles:?}");
    // The second is below the first.
    assert!(figure.svg.contains("<svg y=\"0\"") && figure.svg.matches("<svg y=").count() == 2);
}

#[test]
fn without_data_they_say_so() {
    for experiment in FIGURES {
        for entries in [vec![], vec![Entry { filename: (experiment.matrices)().remove(0), ..Entry::default() }]] {
            let figure = draw(experiment, &entries);
            assert!(says_no_data(&figure), "{}", experiment.name);
        }
    }
}

#[test]
fn every_experiment_is_documented() {
    let documentation = include_str!("../../../../docs/figures.md");
    let headings: Vec<_> = documentation.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected: Vec<_> = FIGURES.iter().map(|experiment| experiment.name).collect();
    let documented: Vec<_> = headings.into_iter().filter(|heading| !heading.contains(' ')).collect();
    assert_eq!(documented, expected);
}
