//! A table of the limits of a device's speed.

use crate::record::{Ceilings, Entry};

/// A limit: label, value, digits behind the point, and unit.
type Limit = (&'static str, fn(&Ceilings) -> f64, usize, &'static str);

const LIMITS: [Limit; 5] = [
    ("copy", |limits| limits.copy_gbps, 0, "GB/s"),
    ("reads", |limits| limits.read_gbps, 0, "GB/s"),
    ("reads of random sectors of 32 bytes", |limits| limits.gather_gbps, 0, "GB/s"),
    ("empty multiplication, on the device", |limits| 1e6 * limits.launch, 1, "µs"),
    ("the same as the caller sees it, with many queued", |limits| 1e6 * limits.call, 1, "µs"),
];

/// Returns a table of the limits, each from the lowest to the highest measurement; empty if none was measured.
pub(super) fn ceilings(entries: &[Entry]) -> String {
    let measured: Vec<_> = entries.iter().filter_map(|entry| entry.ceilings.as_ref()).collect();
    if measured.is_empty() {
        return String::new();
    }
    let mut text = String::from("| limit | measured |\n|---|--:|\n");
    for (label, value, digits, unit) in LIMITS {
        let numbers = || measured.iter().map(move |limits| value(limits));
        let range = [numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max)];
        let [least, most] = range.map(|number| format!("{number:.digits$}"));
        let range = if least == most { least } else { format!("{least} to {most}") };
        text += &format!("| {label} | {range} {unit} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_limit() {
        let entry = |copy_gbps: f64, launch: f64| {
            let ceilings =
                Ceilings { copy_gbps, read_gbps: 5.0, gather_gbps: 2.0, launch, call: 3e-6, ..Ceilings::default() };
            Entry { ceilings: Some(ceilings), ..Entry::default() }
        };
        let expected = "\
| limit | measured |
|---|--:|
| copy | 90 to 100 GB/s |
| reads | 5 GB/s |
| reads of random sectors of 32 bytes | 2 GB/s |
| empty multiplication, on the device | 5.8 to 7.2 µs |
| the same as the caller sees it, with many queued | 3.0 µs |
";
        assert_eq!(ceilings(&[entry(100.2, 5.8e-6), Entry::default(), entry(90.0, 7.24e-6)]), expected);
        assert_eq!(ceilings(&[Entry::default()]), "");
    }
}
