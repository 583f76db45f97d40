//! PTX split by families of kernels, in a ZIP archive.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The member that describes the archive: the header, then for each family a line with its name, a colon and its entry
/// points. The text of a family is the member `<family>.ptx`.
pub const INDEX: &str = "index";

/// The start of an entry point, which ends with a brace at the start of a line.
const ENTRY: &str = ".visible .entry ";

/// The family of entry points without number types in their names.
const UNTYPED: &str = "untyped";

/// Packs PTX family by family. The same text gives the same bytes.
pub fn pack(header: &str, ptx: &str) -> Result<Vec<u8>, ZipError> {
    let (common, entries) = take_apart(ptx);
    let mut families: BTreeMap<&str, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in &entries {
        families.entry(family(entry.name)).or_default().push(entry);
    }
    let mut index = header.to_owned();
    for (family, entries) in &families {
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        index += &format!("{family}: {}\n", names.join(" "));
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let options = options.compression_level(Some(9)).last_modified_time(zip::DateTime::default());
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file(INDEX, options)?;
    archive.write_all(index.as_bytes())?;
    for (family, entries) in families {
        archive.start_file(format!("{family}.ptx"), options)?;
        archive.write_all(common.as_bytes())?;
        for entry in entries {
            archive.write_all(entry.text.as_bytes())?;
        }
    }
    Ok(archive.finish()?.into_inner())
}

/// The index of an archive.
pub fn index(archive: &[u8]) -> Result<String, ZipError> {
    let mut text = String::new();
    ZipArchive::new(Cursor::new(archive))?.by_name(INDEX)?.read_to_string(&mut text)?;
    Ok(text)
}

/// An entry point.
struct Entry<'a> {
    name: &'a str,
    /// Its text, from its first to its last line.
    text: &'a str,
}

/// Splits PTX into what all entry points share (version, target, declarations, functions), and the entry points.
fn take_apart(ptx: &str) -> (String, Vec<Entry<'_>>) {
    let mut begins = ptx.match_indices(ENTRY).map(|(place, _)| place).peekable();
    let mut common = String::new();
    let mut share = |text: &str| {
        // Between entry points the compiler writes their names, as comments.
        for line in text.lines().filter(|line| !line.is_empty() && !line.trim_start().starts_with("//")) {
            common.push_str(line);
            common.push('\n');
        }
    };
    share(&ptx[..begins.peek().copied().unwrap_or(ptx.len())]);
    let mut entries = Vec::new();
    while let Some(begin) = begins.next() {
        let end = begins.peek().copied().unwrap_or(ptx.len());
        let length = ptx[begin..end].find("\n}\n").map_or(end - begin, |place| place + "\n}\n".len());
        let text = &ptx[begin..begin + length];
        entries.push(Entry { name: text[ENTRY.len()..].split('(').next().unwrap_or_default().trim(), text });
        share(&ptx[begin + length..end]);
    }
    (common, entries)
}

/// The family of an entry point: the name of its kernel and the number types that follow it, such as `sort_f64` for
/// `sort_f64_u32_8`. Parts of a name are joined by underscores.
fn family(entry: &str) -> &str {
    let mut end = None;
    let mut place = 0;
    for part in entry.split('_') {
        place += part.len();
        match (is_number_type(part), end) {
            (true, _) => end = Some(place),
            (false, Some(_)) => break,
            (false, None) => (),
        }
        place += 1;
    }
    end.map_or(UNTYPED, |end| &entry[..end])
}

/// Whether a part of a name is that of a floating-point or complex type, such as `f32` or `c64`, or of a type stored as
/// another, such as `f64of32` or `f32ofb16`, or of a pair, such as `f64x2`.
fn is_number_type(part: &str) -> bool {
    let part = part.strip_suffix("x2").unwrap_or(part);
    let (computed, stored) = part.split_once("of").map_or((part, None), |(computed, stored)| (computed, Some(stored)));
    let digits = ["bf", "f", "c"].iter().find_map(|letters| computed.strip_prefix(letters));
    let stored = stored.map(|stored| stored.strip_prefix('b').unwrap_or(stored));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.is_some_and(is_number) && stored.is_none_or(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_a_kernel_with_its_number_types() {
        for (entry, expected) in [
            ("ell_f32_4", "ell_f32"),
            ("csr_vector_c64_u32_8", "csr_vector_c64"),
            ("csr_multivector_c32x2_u32", "csr_multivector_c32x2"),
            ("coo_16_bf16", "coo_16_bf16"),
            ("mixed_f32_f64_u32", "mixed_f32_f64"),
            ("fetch_cells_f64", "fetch_cells_f64"),
            ("csr_vector_f64of32_u32_8", "csr_vector_f64of32"),
            ("sell_16_f32ofb16", "sell_16_f32ofb16"),
            ("ell_c64of8_4", "ell_c64of8"),
            ("scan_offsets_u32", UNTYPED),
            ("c_f", UNTYPED),
        ] {
            assert_eq!(family(entry), expected);
        }
    }

    #[test]
    fn each_family_is_a_module_of_its_own() {
        let entry = |name: &str| format!(".visible .entry {name}(\n)\n{{\nret;\n\n}}\n");
        let names = ["a_f32_1", "scan", "a_f64_1", "a_f32_2"];
        let entries: Vec<_> = names.iter().map(|name| format!("\t// .globl\t{name}\n{}", entry(name))).collect();
        let ptx = format!(".version 7.8\n\n{}.func f()\n{{\n}}\n", entries.concat());
        let packed = pack("// first\n", &ptx).unwrap();
        assert_eq!(packed, pack("// first\n", &ptx).unwrap());
        assert_eq!(index(&packed).unwrap(), "// first\na_f32: a_f32_1 a_f32_2\na_f64: a_f64_1\nuntyped: scan\n");
        let mut archive = ZipArchive::new(Cursor::new(&packed)).unwrap();
        let mut text = String::new();
        archive.by_name("a_f32.ptx").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, format!(".version 7.8\n.func f()\n{{\n}}\n{}{}", entry(names[0]), entry(names[3])));
        assert_eq!(archive.len(), 4);
    }

    #[test]
    fn what_is_no_archive_has_no_index() {
        assert!(index(b"").is_err() && index(b".version 7.8\n").is_err());
    }
}
