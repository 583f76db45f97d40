//! The kernels as PTX, taken apart so that the driver compiles only those that are used.

use std::collections::HashMap;

/// Compute capability (major · 10 + minor) and text, oldest first.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

/// What an entry point begins with; it ends with a brace at the beginning of a line.
const ENTRY: &str = ".visible .entry ";

/// The compute capability that is needed at least.
pub(super) fn oldest() -> u32 {
    embedded::EMBEDDED[0].0
}

/// The newest PTX that a device of this compute capability can run.
pub(super) fn for_device(compute_capability: u32) -> Option<Ptx> {
    embedded::EMBEDDED.iter().rev().find(|(needed, _)| *needed <= compute_capability).map(|(_, text)| Ptx::new(text))
}

/// A module's text, entry point by entry point.
pub(super) struct Ptx {
    /// What all entry points share: version, target, declarations, functions.
    common: String,
    entries: HashMap<&'static str, &'static str>,
}

impl Ptx {
    fn new(text: &'static str) -> Self {
        let mut parts = text.split(ENTRY);
        let mut common = parts.next().unwrap_or_default().to_owned();
        let mut entries = HashMap::new();
        for part in parts {
            let (entry, rest) = part.split_once("\n}\n").unwrap_or((part, ""));
            entries.insert(entry.split('(').next().unwrap_or_default(), entry);
            common.push_str(rest);
        }
        Self { common, entries }
    }

    /// The text of a module with this entry point alone.
    pub(super) fn module(&self, entry: &str) -> Option<String> {
        let text = self.entries.get(entry)?;
        Some(format!("{}{ENTRY}{text}\n}}\n", self.common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_is_found_alone() {
        for (_, text) in embedded::EMBEDDED {
            let ptx = Ptx::new(text);
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
    fn what_is_between_entry_points_is_kept() {
        let ptx = Ptx::new(
            ".version 7.8\n.visible .entry a(\n)\n{\nret;\n}\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n",
        );
        assert_eq!(ptx.module("b").unwrap(), ".version 7.8\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n");
        assert_eq!(ptx.module("c"), None);
    }
}
