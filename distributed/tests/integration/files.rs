//! Invalid files: all ranks end with the error of a single reader, and nothing is left half-written.

use std::fs;
use std::path::Path;
use std::time::Duration;

use warp_spmv::Csr;
use warp_spmv::io::{ReadOptions, open_parts, read, write, write_container};
use warp_spmv_distributed::{
    Error, Options, Ranges, portion_for, read_rows, threads, write_container as write_container_together,
    write_matrix_market,
};

/// Does `work` on each of some ranks, and returns the error of all.
fn failure(ranks: usize, work: impl Fn(&warp_spmv_distributed::Communicator) -> Result<(), Error> + Sync) -> String {
    let options = Options { timeout: Some(Duration::from_secs(120)) };
    threads::run_with(ranks, options, work).unwrap_err().to_string()
}

/// The error of all ranks when they read a file in portions of `portion` bytes.
fn refusal(path: &Path, ranks: usize, portion: usize) -> String {
    failure(ranks, |communicator| {
        let parts = open_parts(path, portion, &ReadOptions::default())?;
        read_rows::<f64>(communicator, &parts, None).map(drop)
    })
}

/// A text of 60 entries, with some lines replaced.
fn text(changes: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = vec!["%%MatrixMarket matrix coordinate real general".into(), "60 60 60".into()];
    lines.extend((1..=60).map(|row| format!("{row} {} {row}.5", 61 - row)));
    for &(line, text) in changes {
        lines[line - 1] = text.into();
    }
    lines.join("\n")
}

#[test]
fn the_first_wrong_line_is_told_as_by_one_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mtx");
    let surplus = text(&[]) + "\n1 1 1\n2 2 2\n";
    let late = text(&[(62, "60 1")]) + "\n";
    let texts = [
        text(&[(40, "38 99 1")]),
        text(&[(40, "99 1 1"), (50, "0 1 1")]),
        // The first wrong line has an invalid value, which is ignored while rows are counted.
        text(&[(9, "7 1 1.2.3"), (40, "99 1 1")]),
        text(&[(9, "7 1 1 1")]),
        text(&[(3, "x")]),
        surplus.clone(),
        // The error follows the surplus entries, or precedes them.
        surplus.replace("2 2 2", "2 2"),
        surplus.replace("60 1 60.5", "60 1 y"),
        late,
        text(&[(2, "60 60 64")]),
        text(&[(2, "60 60 64"), (30, "28 61 1")]),
        text(&[(2, "60 60")]),
        text(&[(2, "60 60 99999")]),
        text(&[(1, "%%MatrixMarket matrix coordinate complex general")]),
        text(&[(1, "%%MatrixMarket matrix coordinate real symmetric")]),
        text(&[(1, "%%MatrixMarket matrix array real general")]),
    ];
    for text in &texts {
        fs::write(&path, text).unwrap();
        let alone = read::<f64>(&path, &ReadOptions::default()).unwrap_err().to_string();
        for ranks in [1, 2, 3, 4, 7] {
            for portion in [1, 40, 200, portion_for(ranks)] {
                let together = refusal(&path, ranks, portion);
                assert!(
                    together.starts_with("rank ") && together.ends_with(&alone),
                    "{together}\n{alone}, {ranks} ranks, {portion}"
                );
            }
        }
    }
    // The same with compressed files.
    let compressed = folder.path().join("m.mtx.gz");
    for text in &texts {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        fs::write(&compressed, encoder.finish().unwrap()).unwrap();
        let alone = read::<f64>(&compressed, &ReadOptions::default()).unwrap_err().to_string();
        for (ranks, portion) in [(1, 40), (3, 1), (4, 200)] {
            let together = refusal(&compressed, ranks, portion);
            assert!(together.ends_with(&alone), "{together}\n{alone}");
        }
    }
    let whole = fs::read(&compressed).unwrap();
    fs::write(&compressed, &whole[..whole.len() - 9]).unwrap();
    assert!(refusal(&compressed, 3, 50).ends_with("gzip: the compressed data is truncated"));
}

#[test]
fn an_altered_or_truncated_container_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.wspmv");
    let indices: Vec<u32> = (0..90).collect();
    let values: Vec<f64> = indices.iter().map(|&index| f64::from(index) + 0.5).collect();
    write_container(&path, &Csr::try_from_triplets(90, 90, &indices, &indices, &values).unwrap()).unwrap();
    let whole = fs::read(&path).unwrap();
    // Any byte, so that each section, the header and the bytes before it are corrupted.
    for at in (8..whole.len()).step_by(61) {
        let mut altered = whole.clone();
        altered[at] ^= 0x40;
        fs::write(&path, altered).unwrap();
        let alone = read::<f64>(&path, &ReadOptions::default()).unwrap_err().to_string();
        for ranks in [1, 2, 7] {
            let together = refusal(&path, ranks, 1);
            assert!(together.ends_with(&alone), "byte {at}: {together}\n{alone}");
        }
    }
    for length in [whole.len() - 1, 400, 100] {
        fs::write(&path, &whole[..length]).unwrap();
        let message = refusal(&path, 3, 1);
        assert!(message.contains("the file is truncated: "), "{message}");
    }
    // Correct checksums of arrays that are not a matrix.
    let seal = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        for entry in [128, 192, 256] {
            let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
            let width = if entry == 256 { 8 } else { 4 };
            let (begin, length) = (number(entry + 40), number(entry + 32) * width);
            let sum = crc32fast::hash(&bytes[begin..begin + length]);
            bytes[entry + 28..entry + 32].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = crc32fast::hash(&[&bytes[..124], &bytes[128..320]].concat());
        bytes[124..128].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, bytes).unwrap();
    };
    for (at, says) in [(320, "CSR: row 0 begins at"), (500, "CSR: row 4"), (680, "CSR: row 89 ends at")] {
        seal(&|bytes| bytes[at + 1] ^= 1);
        for ranks in [1, 4] {
            let message = refusal(&path, ranks, 1);
            assert!(message.contains(says), "{at}: {message}");
        }
    }
    // A column past the last.
    let columns = u64::from_le_bytes(whole[232..240].try_into().unwrap()) as usize;
    seal(&|bytes| bytes[columns + 4 * 50 + 1] = 7);
    let message = refusal(&path, 3, 1);
    assert!(message.starts_with("rank 1: ") && message.contains("column"), "{message}");
}

#[test]
fn ranks_that_read_different_files_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, columns: usize| {
        let path = folder.path().join(name);
        let matrix = Csr::try_from_triplets(2, columns, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap();
        write(&path, &matrix).unwrap();
        path
    };
    for kind in ["mtx", "wspmv"] {
        let paths = [file(&format!("a.{kind}"), 2), file(&format!("b.{kind}"), 3)];
        let message = failure(3, |communicator| {
            let path = &paths[usize::from(communicator.rank() == 2)];
            let parts = open_parts(path, 100, &ReadOptions::default())?;
            read_rows::<f64>(communicator, &parts, None).map(drop)
        });
        assert!(message.starts_with("rank 2: disagrees with rank 0 about the file: 2 x 3, "), "{message}");
    }
}

/// A rank that fails before the end, a missing folder, a target that cannot be replaced.
#[test]
fn nothing_half_written_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let path = folder.path().join("m.wspmv");
    fs::write(&path, "old").unwrap();
    let ranges = Ranges::even(30, 3).unwrap();
    let rows = |count: usize| {
        let indices: Vec<u32> = (0..count as u32).collect();
        Csr::try_from_triplets(count, 30, &indices, &indices, &vec![1.5; count]).unwrap()
    };
    let write_as = |path: &Path, wrong: usize| {
        failure(3, |communicator| {
            // One rank has too few rows.
            let rows = rows(if communicator.rank() == wrong { 9 } else { 10 });
            write_container_together(communicator, path, &ranges, &rows)?;
            write_matrix_market(communicator, &path.with_extension("mtx"), &ranges, &rows)?;
            Err(Error::Setting { what: "the rank", value: "none".into(), expected: "one that fails" })
        })
    };
    assert_eq!(write_as(&path, 1), "rank 1: ranges of rows: 9 rows, expected 10");
    assert_eq!((names(), fs::read_to_string(&path).unwrap()), (vec!["m.wspmv".to_owned()], "old".into()));
    let missing = write_as(&folder.path().join("missing/m.wspmv"), 9);
    assert!(missing.starts_with("rank 0: ") && missing.contains("missing/m.wspmv: "), "{missing}");
    let directory = write_as(folder.path(), 9);
    assert!(directory.ends_with("is a directory, expected the name of a file"), "{directory}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(write_as(&path, 9).ends_with("m.wspmv: is write-protected"));
        assert!(
            write_as(Path::new("/dev/null"), 9)
                .ends_with("/dev/null: is not a regular file, as several writers require")
        );
    }
    assert_eq!((names(), fs::read_to_string(&path).unwrap()), (vec!["m.wspmv".to_owned()], "old".into()));
    // Both files exist, and no temporary ones.
    let other = folder.path().join("other.wspmv");
    assert!(write_as(&other, 9).ends_with("the rank is none, expected one that fails"));
    let mut all = names();
    all.sort();
    assert_eq!(all, ["m.wspmv", "other.mtx", "other.wspmv"]);
}
