//! Provenance of results: devices, the program's version and commit, and the days of the measurements.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::record::Entry;

/// Returns the devices of some entries.
pub fn devices<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> String {
    let devices: BTreeSet<_> = entries.into_iter().map(|entry| &*entry.env.device).collect();
    joined(devices.into_iter().filter(|device| !device.is_empty()))
}

/// Returns the program and the days, as far as known: "warp-spmv 0.1.0 at 95d94da, 21 to 22 November 2026".
pub fn provenance<'a>(entries: impl IntoIterator<Item = &'a Entry> + Clone) -> String {
    let environments = || entries.clone().into_iter().map(|entry| &entry.env);
    let versions: BTreeSet<_> = environments().map(|env| &*env.version).filter(|version| !version.is_empty()).collect();
    let commits: BTreeSet<_> = environments().filter_map(|env| env.commit.as_deref()).collect();
    let times: BTreeSet<_> = environments().map(|env| env.unix_time).filter(|&time| time > 0).collect();
    let mut parts = Vec::new();
    if !versions.is_empty() {
        let commits = joined(commits);
        let at = if commits.is_empty() { String::new() } else { format!(" at {commits}") };
        parts.push(format!("warp-spmv {}{at}", joined(versions)));
    }
    let day = |time: Option<&u64>| time.and_then(|&time| day(time));
    if let (Some(first), Some(last)) = (day(times.first()), day(times.last())) {
        parts.push(days_between(first, last));
    }
    parts.join(", ")
}

/// Returns the day of a time in seconds since 1970, in UTC; `None` after the year 9999.
fn day(unix_time: u64) -> Option<Date> {
    let time = Timestamp::from_second(unix_time.try_into().ok()?).ok()?;
    Some(TimeZone::UTC.to_datetime(time).date())
}

fn days_between(first: Date, last: Date) -> String {
    let end = last.strftime("%-d %B %Y");
    if first == last {
        end.to_string()
    } else if first.first_of_month() == last.first_of_month() {
        format!("{} to {end}", first.day())
    } else {
        format!("{} to {end}", first.strftime("%-d %B %Y"))
    }
}

/// Words separated by commas and a final "and".
fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    match &words[..] {
        [] => String::new(),
        [word] => (*word).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Environment;

    fn entry(device: &str, commit: Option<&str>, unix_time: u64) -> Entry {
        let (device, commit) = (device.into(), commit.map(Into::into));
        let env = Environment { device, version: "0.1.0".into(), commit, unix_time, ..Environment::default() };
        Entry { env, ..Entry::default() }
    }

    #[test]
    fn program_and_days() {
        let day = 24 * 3600;
        // 21 November 2026, half a minute before midnight.
        let time = 1_795_305_570;
        let of = |entries: &[Entry]| provenance(entries);
        assert_eq!(of(&[entry("A", Some("abc"), time)]), "warp-spmv 0.1.0 at abc, 21 November 2026");
        let two = [entry("A", Some("def"), time + 60), entry("B", Some("abc"), time)];
        assert_eq!(of(&two), "warp-spmv 0.1.0 at abc and def, 21 to 22 November 2026");
        assert_eq!(devices(&two), "A and B");
        let long = [entry("A", None, time), entry("B", None, time + 30 * day), entry("C", None, time + day)];
        assert_eq!(of(&long), "warp-spmv 0.1.0, 21 November 2026 to 21 December 2026");
        assert_eq!(devices(&long), "A, B and C");
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!((provenance(&[Entry::default()]), devices(&[])), (String::new(), String::new()));
        assert_eq!(provenance(&[entry("", None, u64::MAX)]), "warp-spmv 0.1.0");
    }
}
