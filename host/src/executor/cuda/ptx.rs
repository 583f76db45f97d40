//! The kernels as PTX: a family of kernels is unpacked on first use, and the driver compiles only the kernel used.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::io::{Cursor, Read};
use std::ops::Range;

use gpu_kernels::ptx::ARCHIVES;
use zip::ZipArchive;
use zip::result::ZipError;

/// The beginning of an entry point, which ends with a brace at the beginning of a line.
const ENTRY: &str = ".visible .entry ";

/// The newest PTX that the device `name` of compute capability `major`.`minor` can run.
///
/// # Errors
/// The device's deficiency, if no PTX fits.
pub(super) fn for_device(name: &str, major: u32, minor: u32) -> Result<Ptx, String> {
    let fits = |&&(needed, _): &&(u32, &[u8])| needed <= major * 10 + minor;
    let Some(&(architecture, archive)) = ARCHIVES.iter().rev().find(fits) else {
        let (oldest, _) = ARCHIVES[0];
        let needed = format!("{}.{}", oldest / 10, oldest % 10);
        return Err(format!("{name} has compute capability {major}.{minor}, the kernels need {needed}"));
    };
    Ptx::packed(archive, architecture).map_err(|error| format!("the library's PTX cannot be read: {error}"))
}

/// The kernels of an architecture.
pub(super) struct Ptx {
    /// The architecture that they are compiled for, such as 90 for sm_90; 0 if they are not from the library.
    pub architecture: u32,
    /// The library's kernels, including those not unpacked yet.
    archive: Option<ZipArchive<Cursor<&'static [u8]>>>,
    /// The family of each entry point in the archive.
    family_of: HashMap<String, String>,
    families: HashMap<String, Module>,
}

impl Ptx {
    /// The kernels of an archive.
    fn packed(bytes: &'static [u8], architecture: u32) -> Result<Self, ZipError> {
        let mut archive = ZipArchive::new(Cursor::new(bytes))?;
        let index = member(&mut archive, "index")?;
        let mut family_of = HashMap::new();
        let families = index.lines().filter(|line| !line.starts_with("//")).filter_map(|line| line.split_once(':'));
        for (family, entries) in families {
            family_of.extend(entries.split_whitespace().map(|entry| (entry.to_owned(), family.to_owned())));
        }
        Ok(Self { architecture, archive: Some(archive), family_of, families: HashMap::new() })
    }

    /// The kernels of one text.
    pub(super) fn of_text(text: String) -> Self {
        let module = Module::new(text);
        let family_of = module.entries.keys().map(|entry| (entry.clone(), String::new())).collect();
        Self { architecture: 0, archive: None, family_of, families: HashMap::from([(String::new(), module)]) }
    }

    /// The text of a module with only this entry point; `None` if the entry point does not exist.
    ///
    /// # Errors
    /// When the archive is damaged.
    pub(super) fn module(&mut self, entry: &str) -> Result<Option<String>, ZipError> {
        let Some(family) = self.family_of.get(entry) else { return Ok(None) };
        let module = match (self.families.entry(family.clone()), &mut self.archive) {
            (Slot::Occupied(slot), _) => slot.into_mut(),
            (Slot::Vacant(slot), Some(archive)) => slot.insert(Module::new(member(archive, &format!("{family}.ptx"))?)),
            (Slot::Vacant(_), None) => return Ok(None),
        };
        Ok(module.alone(entry))
    }
}

/// The text of a member of an archive.
fn member(archive: &mut ZipArchive<Cursor<&'static [u8]>>, name: &str) -> Result<String, ZipError> {
    let mut member = archive.by_name(name)?;
    let mut text = String::with_capacity(member.size() as usize);
    member.read_to_string(&mut text)?;
    Ok(text)
}

/// A module's text, entry point by entry point.
struct Module {
    text: String,
    /// The text shared by all entry points: version, target, declarations, functions.
    common: String,
    /// The range of each entry point's text.
    entries: HashMap<String, Range<usize>>,
}

impl Module {
    fn new(text: String) -> Self {
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

    /// The text of a module with only this entry point.
    fn alone(&self, entry: &str) -> Option<String> {
        let text = &self.text[self.entries.get(entry)?.clone()];
        Some(format!("{}{ENTRY}{text}\n}}\n", self.common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_is_found_alone() {
        for &(architecture, archive) in ARCHIVES {
            let mut ptx = Ptx::packed(archive, architecture).unwrap();
            let entries: Vec<_> = ptx.family_of.keys().cloned().collect();
            assert!(!entries.is_empty());
            for entry in entries {
                let module = ptx.module(&entry).unwrap().unwrap();
                assert_eq!(module.matches(ENTRY).count(), 1);
                assert!(module.starts_with(".version ") && module.contains(&format!("{ENTRY}{entry}(")));
                assert_eq!(module.matches('{').count(), module.matches('}').count(), "{entry}");
            }
            let unpacked: usize = ptx.families.values().map(|module| module.entries.len()).sum();
            assert_eq!(unpacked, ptx.family_of.len());
        }
    }

    #[test]
    fn a_family_is_unpacked_when_it_is_used() {
        let mut ptx = Ptx::packed(ARCHIVES[0].1, ARCHIVES[0].0).unwrap();
        assert!(ptx.families.is_empty());
        assert!(ptx.module("ell_f64_4").unwrap().is_some());
        assert!(ptx.module("ell_f64_1").unwrap().is_some());
        assert!(ptx.module("ell_f64_2").unwrap().is_none());
        assert!(ptx.families.keys().eq(["ell_f64"]));
    }

    #[test]
    fn a_device_that_is_too_old_is_told_what_it_lacks() {
        for (major, minor) in [(3, 5), (6, 1), (7, 0), (7, 2)] {
            let error = for_device("Old", major, minor).err().unwrap();
            assert_eq!(error, format!("Old has compute capability {major}.{minor}, the kernels need 7.5"));
        }
        let target = |major, minor| {
            let module = for_device("New", major, minor).unwrap().module("scale_f32").unwrap().unwrap();
            module.lines().find_map(|line| line.strip_prefix(".target ").map(str::to_owned)).unwrap()
        };
        for (major, minor, expected) in
            [(7, 5, "sm_75"), (8, 0, "sm_75"), (8, 9, "sm_75"), (9, 0, "sm_90"), (12, 0, "sm_90")]
        {
            assert_eq!(target(major, minor), expected, "{major}.{minor}");
        }
    }

    #[test]
    fn what_is_between_entry_points_is_kept() {
        let text =
            ".version 7.8\n.visible .entry a(\n)\n{\nret;\n}\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n";
        let mut ptx = Ptx::of_text(text.into());
        let module = ptx.module("b").unwrap().unwrap();
        assert_eq!(module, ".version 7.8\n.func f()\n{\n}\n.visible .entry b(\n)\n{\nret;\n}\n");
        assert_eq!(ptx.module("c").unwrap(), None);
    }
}
