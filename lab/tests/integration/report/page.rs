//! The page in a browser.

use lab::record::{Entry, is_own_format};
use lab::report::Report;
use lab::statistics::{performance_profiles, speed_ups};
use serde_json::json;

use crate::report::browser::Browser;
use crate::report::records::plausible;

/// The page of these entries in a browser, and its folder.
fn open(entries: Vec<Entry>) -> Option<(Browser, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    std::fs::write(&path, Report::new(entries, None, None).unwrap().page()).unwrap();
    Some((Browser::open(&path)?, folder))
}

/// The number of marks in each plot.
const MARKS: &str = "Object.fromEntries([...document.querySelectorAll('section')].map(section => \
    [section.id, section.querySelectorAll('svg g[aria-label=dot] > *, svg g[aria-label=bar] > *, tbody td').length]))";

/// Sets a field like a user.
fn choose(id: &str, value: &str) -> String {
    format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = {}; \
         field.dispatchEvent(new Event('input', {{ bubbles: true }})); return {MARKS}; }})()",
        json!(value)
    )
}

#[test]
fn it_draws_everything_without_complaint() {
    let Some((mut browser, _folder)) = open(plausible()) else { return };
    let marks = browser.value(MARKS);
    for plot in ["families", "gflops", "profile", "speedup", "roofline", "conversion", "row-lengths", "records"] {
        assert!(marks[plot].as_u64().unwrap() > 5, "{plot}: {marks}");
    }
    // The name of a matrix cannot escape from the data.
    assert_eq!(browser.value("document.title"), "warp-spmv: results");
    assert_eq!(browser.value("document.querySelectorAll('script').length"), 4);
    assert_eq!(browser.value("document.querySelectorAll('b').length"), 0);
    // Each plot has a name and a caption.
    let unnamed = "[...document.querySelectorAll('main svg[role=img]')].filter(svg => !svg.getAttribute('aria-label'))";
    assert_eq!(browser.value(&format!("{unnamed}.length")), 0);
    let captions = "[...document.querySelectorAll('figcaption')].map(caption => caption.textContent.length > 20)";
    assert_eq!(browser.value(captions), json!([true, true, true, true, true, true, true]));
    // On a phone nothing overflows, in dark mode and in print.
    let metrics = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    for media in ["screen", "print"] {
        let features = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
        browser.call("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
        browser.value("new Promise(done => setTimeout(done, 200))");
        if media == "screen" {
            assert_eq!(browser.value("document.documentElement.scrollWidth"), 360);
            assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(20, 23, 26)");
        } else {
            assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
        }
    }
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn many_matrices_are_grouped_by_family_after_a_summary() {
    let mut entries = plausible();
    for copy in 1..4 {
        let renamed =
            plausible().into_iter().map(|entry| Entry { filename: format!("{} {copy}", entry.filename), ..entry });
        entries.extend(renamed);
    }
    let Some((mut browser, _folder)) = open(entries) else { return };
    let closed = "[...document.querySelectorAll('#gflops details')].map(({ open }) => open)";
    let groups = browser.value(closed);
    assert!(groups.as_array().unwrap().len() > 2 && groups.as_array().unwrap().iter().all(|open| open == false));
    // The summary is the first section, with rows for all and for each group.
    assert_eq!(browser.value("document.querySelector('main > section').id"), "families");
    let rows = browser.value("document.querySelectorAll('#families tbody tr').length").as_u64().unwrap();
    assert!(rows > groups.as_array().unwrap().len() as u64, "{rows}");
    // An opened group stays open when the page is drawn again.
    browser.value("document.querySelector('#gflops details').open = true");
    browser.value(&choose("nonzeros", "1"));
    assert_eq!(browser.value(closed)[0], true);
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn filters_change_what_is_drawn() {
    let Some((mut browser, _folder)) = open(plausible()) else { return };
    let all = browser.value(MARKS);
    let count = |marks: &serde_json::Value, plot: &str| marks[plot].as_u64().unwrap();
    for (id, value) in [("family", "graph"), ("precision", "float32"), ("executor", "cpu"), ("nonzeros", "20000000")] {
        let fewer = browser.value(&choose(id, value));
        for plot in ["gflops", "roofline"] {
            assert!(0 < count(&fewer, plot) && count(&fewer, plot) < count(&all, plot), "{id} {plot}: {fewer}");
        }
        // The button that clears all filters.
        let reset = "document.querySelector('[type=reset]').click(); new Promise(done => setTimeout(done, 50))";
        browser.value(reset);
        assert_eq!(browser.value(MARKS), all);
    }
    // Without its peers no matrix has a speed-up, and without any format there is nothing.
    browser.value("document.querySelectorAll('#series input').forEach(box => { if (box.value.startsWith('cusparse')) box.click() })");
    let marks = browser.value(MARKS);
    assert_eq!((count(&marks, "speedup"), count(&marks, "gflops") > 0), (0, true));
    browser.value("document.getElementById('none').click()");
    let nothing = browser.value(MARKS);
    assert_eq!([count(&nothing, "gflops"), count(&nothing, "profile"), count(&nothing, "records")], [0; 3]);
    browser.value("document.getElementById('all').click()");
    assert_eq!(browser.value(MARKS), all);
    // A family with a name like HTML.
    let marks = browser.value(&choose("family", "a <b>family</b>"));
    assert!(count(&marks, "gflops") > 0);
    // Another chosen matrix has another histogram.
    let caption = "document.querySelector('#row-lengths figcaption').textContent";
    browser.value(&choose("chosen-entry", "1"));
    assert!(browser.value(caption).as_str().unwrap().starts_with("stencil:5:3000x1000: 3,000,000 rows"));
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn it_obeys_the_keyboard() {
    let Some((mut browser, _folder)) = open(plausible()) else { return };
    // Tab reaches the filters in order, then the plots.
    browser.press("Tab");
    let focused = "document.activeElement.id || document.activeElement.tagName";
    assert_eq!(browser.value(focused), "SUMMARY");
    browser.press("Tab");
    assert_eq!(browser.value(focused), "family");
    let before = browser.value(MARKS);
    browser.press("ArrowDown");
    assert_ne!(browser.value("document.getElementById('family').value"), "*");
    assert_ne!(browser.value(MARKS), before);
    // The arrows step through a plot, and show the record.
    browser.value("document.querySelector('#gflops [tabindex]').focus()");
    let record = "document.getElementById('record').textContent";
    assert_eq!(browser.value(record), "");
    browser.press("ArrowRight");
    let first = browser.value(record);
    assert!(first.as_str().unwrap().contains("GFLOP/s"), "{first}");
    assert_eq!(browser.value("document.querySelectorAll('#gflops g[aria-label=tip] > *').length > 0"), true);
    browser.press("ArrowRight");
    assert_ne!(browser.value(record), first);
    browser.press("Escape");
    assert_eq!(browser.value("document.querySelectorAll('#gflops g[aria-label=tip] > *').length"), 0);
    // A header of the table sorts, and keeps the focus.
    browser.value("document.querySelector('#records th:nth-child(7) button').focus()");
    let speeds = "[...document.querySelectorAll('#records td:nth-child(7)')].map(cell => parseFloat(cell.textContent)) \
                  .filter(speed => speed === speed)";
    for (order, sign) in [("ascending", 1), ("descending", -1)] {
        browser.press("Enter");
        assert_eq!(browser.value("document.querySelector('#records [aria-sort]').getAttribute('aria-sort')"), order);
        assert_eq!(browser.value("document.activeElement.textContent.startsWith('GFLOP/s')"), true);
        let sorted = format!("{speeds}.every((speed, place, all) => !place || {sign} * (speed - all[place - 1]) >= 0)");
        assert_eq!(browser.value(&sorted), true);
    }
    assert_eq!(browser.complaints, [""; 0]);
}

/// The page repeats the computations of `statistics`; without filters both agree.
#[test]
fn its_numbers_are_those_of_the_library() {
    let entries = plausible();
    let Some((mut browser, _folder)) = open(entries.clone()) else { return };
    let close = |page: &serde_json::Value, own: f64| (page.as_f64().unwrap() - own).abs() <= 2e-5 * own;

    let shown = browser.value(
        "allSpeedUps(select(), chosen().chosenFormat).map(({ our, their, ratios, unanswered, mean, worst, best }) => \
         ({ our, their, count: ratios.length, unanswered, mean, worst: [worst.entry.id, worst.ratio], \
         best: [best.entry.id, best.ratio] }))",
    );
    let shown = shown.as_array().unwrap();
    assert_eq!(shown.len(), 2 * 3);
    for one in shown {
        let (our, their) = (one["our"].as_str().unwrap(), one["their"].as_str().unwrap());
        let expected = speed_ups(
            &entries,
            |name, run| if our == "our fastest" { is_own_format(name, run) } else { name == our },
            |name, run| if their == "the fastest peer" { run.is_peer() } else { name == their },
        );
        assert_eq!((&one["count"], &one["unanswered"]), (&json!(expected.ratios.len()), &json!(expected.unanswered)));
        assert!(close(&one["mean"], expected.mean().unwrap()), "{one}");
        for (field, (place, ratio)) in [("worst", expected.worst().unwrap()), ("best", expected.best().unwrap())] {
            assert_eq!(one[field][0], place, "{one}");
            assert!(close(&one[field][1], ratio), "{one}");
        }
    }

    let profiles = browser.value(
        "performanceProfiles(select()).map(({ series, within }) => \
         [series.name, [1, 1.1, 1.25, 2, 5].map(within)])",
    );
    let expected = performance_profiles(&entries);
    assert_eq!(profiles.as_array().unwrap().len(), expected.len());
    for profile in profiles.as_array().unwrap() {
        let own = expected.iter().find(|own| own.name == profile[0]).unwrap();
        for (factor, within) in [1.0, 1.1, 1.25, 2.0, 5.0].into_iter().zip(profile[1].as_array().unwrap()) {
            assert_eq!(within.as_f64(), Some(own.within(factor)), "{} {factor}", own.name);
        }
    }
}

#[test]
fn a_thousand_runs_fit_into_a_megabyte() {
    let mut entries = Vec::new();
    while entries.len() < 100 {
        entries.extend(plausible());
    }
    let page = Report::new(entries, None, None).unwrap().page();
    assert!(page.len() < 1 << 20, "{}", page.len());
}
