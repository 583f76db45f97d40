//! Human-readable quantities.

use std::time::Duration;

pub use indicatif::HumanCount;

/// Bytes, such as `1.50 MiB`.
pub fn bytes(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = (bytes.ilog2() as usize / 10 - 1).min(UNITS.len() - 1);
    format!("{:.2} {}", bytes as f64 / 1024f64.powi(unit as i32 + 1), UNITS[unit])
}

/// A time with four digits, such as `12.34 ms`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        1.0.. => (seconds, "s"),
        1e-3.. => (seconds * 1e3, "ms"),
        1e-6.. => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    four_digits(value) + " " + unit
}

/// A number with four digits, or all digits before the point if there are more.
pub fn four_digits(value: f64) -> String {
    let before_the_point = if value < 1.0 { 1 } else { value.log10() as usize + 1 };
    format!("{value:.*}", 4usize.saturating_sub(before_the_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_binary_units() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (1 << 20, "1.00 MiB"),
            (5 << 40, "5.00 TiB"),
            (1 << 67, "128.00 EiB"),
            (1 << 80, "1048576.00 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn durations_have_four_digits() {
        for (nanoseconds, text) in [
            (0, "0.000 ns"),
            (999, "999.0 ns"),
            (1_000, "1.000 µs"),
            (12_346, "12.35 µs"),
            (123_456_789, "123.5 ms"),
            (1_000_000_000, "1.000 s"),
            (12_345_000_000_000, "12345 s"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanoseconds)), text);
        }
    }
}
