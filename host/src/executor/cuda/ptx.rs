//! The kernels as PTX, taken apart so that the driver compiles only those that are used.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use gpu_kernels::ptx::MODULES;

/// What an entry point begins with; it ends with a brace at the beginning of a line.
const ENTRY: &str = ".visible .entry ";

/// The newest PTX that the device `name` of compute capability `major`.`minor` can run.
///
/// # Errors
/// What the device lacks, if there is none.
pub(super) fn for_device(name: &str, major: u32, minor: u32) -> Result<Ptx, String> {
    let fits = |&&(needed, _): &&(u32, &str)| needed <= major * 10 + minor;
    let Some((_, text)) = MODULES.iter().rev().find(fits) else {
        let (oldest, _) = MODULES[0];
        let needed = format!("{}.{}", oldest / 10, oldest % 10);
        return Err(format!("{name} has compute capability {major}.{minor}, the kernels need {needed}"));
    };
    Ok(Ptx::new(*text))
}

/// A module's text, entry point by entry point.
pub(super) struct Ptx {
    text: Cow<'static, str>,
    /// What all entry points share: version, target, declarations, functions.
    common: String,
    /// Where the text of each entry point is.
    entries: HashMap<String, Range<usize>>,
}

impl Ptx {
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let mut begins = text.match_indices(ENTRY).map(|(place, _)| place).peekable();
        let mut common = text[..begins.peek().copied().unwrap_or(text.len())].to_owned();
        let mut entries = HashMap::new();
        while let Some(begin) = begins.next() {
            let first = begin + ENTRY.len();
            let part = &text[first..begins.peek().copied().unwrap_or(text.len())];
            let (entry, rest) = part.split_once("\n}\n").unwrap_or((part, ""));
            let name = entry.split('(').next().unwrap_or_default();
            entries.insert(name.to_owned(), first..first + entry.len());
            common.push_str(rest);
        }
        Self { text, common, entries }
    }

    /// The text of a module with this entry point alone.
    pub(super) fn module(&self, entry: &str) -> Option<String> {
        let text = &self.text[self.entries.get(entry)?.clone()];
        Some(format!("{}{ENTRY}{text}\n}}\n", self.common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_is_found_alone() {
        for (_, text) in MODULES {
            let ptx = Ptx::new(*text);
            assert_eq!(ptx.entries.len(), text.matches(ENTRY).count());
            for entry in ptx.entries.keys() {
                let module = ptx.module(entry).unwrap();
                assert_eq!(module.matches(ENTRY).count(), 1);
                assert!(module.contains(&format!("{ENTRY}{entry}(")));
                assert_eq!(module.matches('{').count(), module.matches('}').count(), "{entry}");
            }
        }
    }

    #[test]
    fn a_device_that_is_too_old_is_told_what_it_lacks() {
        for (major, minor) in [(3, 5), (6, 1), (7, 0), (7, 2)] {
            let error = for_device("Old", major, minor).err().unwrap();
            assert_eq!(error, format!("Old has compute capability {major}.{minor}, the kernels need 7.5"));
        }
        let version = |major, minor| {
            let ptx = for_device("New", major, minor).unwrap();
            ptx.common.lines().find_map(|line| line.strip_prefix(".target ").map(str::to_owned)).unwrap()
        };
        for (major, minor, target) in
            [(7, 5, "sm_75"), (8, 0, "sm_75"), (8, 9, "sm_75"), (9, 0, "sm_90"), (12, 0, "sm_90")]
        {
            assert_eq!(version(major, minor), target, "{major}.{minor}");
        }
    }

    #[test]
    fn what_is_between_entry_points_is_kept() {
        let ptx = Ptx::new(
            ".version 7.8\n.visible .entry a(\n)\n{\nret;\n}\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n",
        );
        assert_eq!(ptx.module("b").unwrap(), ".version 7.8\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n");
        assert_eq!(ptx.module("c"), None);
    }
}
