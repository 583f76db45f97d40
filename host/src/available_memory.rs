//! How much memory is available.

use std::fs;

/// Bytes of memory that the machine can provide without swapping, as reported by the system: `MemAvailable` of
/// `/proc/meminfo` on Linux, `None` elsewhere. Limits of containers are not taken into account.
///
/// A system that overcommits memory grants any allocation, then kills the process that touches too much of it; asking
/// first turns that into an error.
pub fn available_memory() -> Option<u128> {
    from_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn from_meminfo(text: &str) -> Option<u128> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u128 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_that_counts() {
        let text =
            "MemTotal:       24689764 kB\nMemFree:         1234567 kB\nMemAvailable:   22000000 kB\nBuffers: 1 kB\n";
        assert_eq!(from_meminfo(text), Some(22_000_000 * 1024));
        for text in ["", "MemFree: 3 kB\n", "MemAvailable: kB\n", "MemAvailable: 12\n", "MemAvailable: -1 kB\n"] {
            assert_eq!(from_meminfo(text), None, "{text:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_says() {
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
