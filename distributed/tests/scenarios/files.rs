//! Files read and written by all ranks together.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use warp_spmv::format::Offsets;
use warp_spmv::io::{
    FileParts, MatrixMarketOptions, Number, ReadOptions, open_parts, parse_matrix_market, read_container, read_matrix,
    write_container, write_matrix_market,
};
use warp_spmv::{Complex, Csr};
use warp_spmv_distributed as distributed;
use warp_spmv_distributed::{Communicator, Error, FileRows, Ranges, Rows, read_rows};

use crate::shared::matrices::matrices;

/// A folder that rank 0 creates and removes.
struct Folder {
    path: PathBuf,
    _owned: Option<TempDir>,
}

impl Folder {
    fn new(communicator: &Communicator) -> Result<Self, Error> {
        let owned = (communicator.rank() == 0).then(|| tempfile::tempdir().unwrap());
        let path = owned.as_ref().map_or(String::new(), |folder| folder.path().to_str().unwrap().to_owned());
        let path = communicator.broadcast(0, path.as_bytes())?;
        Ok(Self { path: String::from_utf8(path).unwrap().into(), _owned: owned })
    }

    /// The path of a file that rank 0 writes before the others continue.
    fn written(&self, communicator: &Communicator, name: &str, write: impl Fn(&PathBuf)) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        communicator.barrier()?;
        if communicator.rank() == 0 {
            write(&path);
        }
        communicator.barrier()?;
        Ok(path)
    }
}

/// Checks the rows of this rank, bit by bit.
fn check_rows<T: Number>(communicator: &Communicator, found: FileRows<T>, expected: &Csr<T>, what: &str) {
    let FileRows { header, ranges, rows } = found;
    assert_eq!((header.rows, rows.columns()), (expected.rows(), expected.columns()), "{what}");
    assert_eq!(ranges.total(), expected.rows() as u64, "{what}");
    let (found, expected) =
        (Rows::from_csr(rows).unwrap(), Rows::of(expected, ranges.of(communicator.rank())).unwrap());
    // NaNs are unequal.
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{what}, rank {}", communicator.rank());
}

fn read<T: Number>(communicator: &Communicator, path: &PathBuf, portion: usize) -> Result<FileRows<T>, Error> {
    let parts = open_parts(path, portion, &ReadOptions::default())?;
    read_rows(communicator, &parts, None)
}

/// All matrices, through containers and texts: the same files as a single rank writes, and the same rows as it reads.
pub fn round_trips<T: Number>(communicator: &Communicator) -> Result<(), Error> {
    let folder = Folder::new(communicator)?;
    for (number, (name, matrix)) in matrices::<T>().iter().enumerate() {
        let path = folder.written(communicator, "alone.wspmv", |path| write_container(path, matrix).unwrap())?;
        let found = read::<T>(communicator, &path, 1)?;
        let ranges = Ranges::balanced(matrix.row_lengths(), communicator.ranks())?;
        assert_eq!(found.ranges, ranges, "{name}");
        let rows = found.rows.try_clone()?;
        check_rows(communicator, found, matrix, name);
        let together = folder.path.join("together.wspmv");
        distributed::write_container(communicator, &together, &ranges, &rows)?;
        // Ranks store offsets in as few bytes as possible, which one rank leaves unchanged.
        let usual = Offsets::from_lengths(matrix.row_lengths())?.width();
        if usual == matrix.row_offsets().width() {
            assert!(fs::read(&together).unwrap() == fs::read(&path).unwrap(), "{name}");
        }
        check_rows(communicator, read::<T>(communicator, &together, 1)?, matrix, name);

        let text = ["alone.mtx", "alone.mtx.gz"][number % 2];
        let path = folder.written(communicator, text, |path| {
            write_matrix_market(path, matrix, MatrixMarketOptions::default()).unwrap();
        })?;
        let together = folder.path.join(text.replace("alone", "together"));
        distributed::write_matrix_market(communicator, &together, &ranges, &rows)?;
        let (alone, both) = (read_matrix::<T>(&path, &ReadOptions::default())?, [&path, &together]);
        let alone = alone.matrix.into_csr()?;
        if number % 2 == 0 {
            assert!(fs::read(&together).unwrap() == fs::read(&path).unwrap(), "{name}");
        }
        for path in both {
            // Many portions per rank, and one or none.
            for portion in [97, 1 << 20] {
                let portion = if matrix.nnz() > 3000 { portion * 50 } else { portion };
                check_rows(communicator, read::<T>(communicator, path, portion)?, &alone, name);
            }
        }
    }
    communicator.barrier()
}

/// Values of another type than the file's, each rounded once; an existing target.
pub fn rounded_values(communicator: &Communicator) -> Result<(), Error> {
    let folder = Folder::new(communicator)?;
    let values: Vec<f64> = (0..60).map(|place| 1.0 / f64::from(place * place + 3)).collect();
    let indices: Vec<u32> = (0..60).map(|place| place * 7 % 60).collect();
    let matrix = Csr::try_from_triplets(60, 60, &indices, &indices, &values)?;
    let path = folder.written(communicator, "m.wspmv", |path| write_container(path, &matrix).unwrap())?;
    check_rows(communicator, read::<f32>(communicator, &path, 1)?, &read_container::<f32>(&path)?, "float32");
    let complex = read_container::<Complex<f64>>(&path)?;
    check_rows(communicator, read::<Complex<f64>>(communicator, &path, 1)?, &complex, "complex128");
    // Replaces the existing file.
    let FileRows { ranges, rows, .. } = read::<f32>(communicator, &path, 1)?;
    distributed::write_container(communicator, &path, &ranges, &rows)?;
    check_rows(communicator, read::<f32>(communicator, &path, 1)?, &matrix.cast::<f32>()?, "replaced");
    // A file in another format is read as a whole, which the ranks leave to the caller.
    let path = folder.written(communicator, "m.npz", |path| warp_spmv::io::write(path, &matrix).unwrap())?;
    match open_parts(&path, 1, &ReadOptions::default())? {
        FileParts::Whole(file) => {
            assert_eq!(file.kind(), "a SciPy npz file");
            assert_eq!(file.read::<f64>(&ReadOptions::default())?.matrix.into_csr()?, matrix);
        }
        _ => panic!("an .npz file has no parts"),
    }
    communicator.barrier()
}

/// Texts with everything that a single reader accepts: unordered and duplicate entries, symmetries, comments, line ends.
pub fn texts(communicator: &Communicator) -> Result<(), Error> {
    let folder = Folder::new(communicator)?;
    let head = |rest: &str| format!("%%MatrixMarket matrix coordinate {rest}");
    // The sum of the three depends on their order.
    let repeated: String = (0..40)
        .flat_map(|place| [(place % 5 + 1, 1e16), (place % 7 + 1, 1.0), (place % 5 + 1, -1e16), (3, 0.1)])
        .map(|(row, value)| format!("{row} 2 {value}\n"))
        .collect();
    let spaced = "general\r\n% a comment\r\n\r\n  3 4\t4 \r\n%\r\n3 1 1e1\r\n\n\n 1  4 -2\r\n2 2 1D2\r\n%%\n3 3 inf";
    for text in [
        head(&format!("real general\n7 3 160\n{repeated}")),
        head(&format!("real {spaced}")),
        head("integer symmetric\n4 4 6\n1 1 5\n4 1 2\n2 2 1\n3 2 7\n4 2 7\n4 4 -9\n"),
        head("real skew-symmetric\n5 5 4\n5 1 2.5\n2 1 1\n5 4 7\n3 1 -2\n"),
        head("pattern symmetric\n3 3 3\n3 3\n2 1\n3 1\n"),
        head("pattern general\n1 1 3\n1 1\n1 1\n1 1\n"),
        head("real general\n6 6 0\n% nothing\n"),
        head("real general\n0 4 0\n"),
        head("real general\n2 2 1\n2 2 3") + &"\n% a long comment at the end".repeat(30),
    ] {
        let (alone, header) = parse_matrix_market::<f64>(text.as_bytes(), "m.mtx", None)?;
        let path = folder.written(communicator, "m.mtx", |path| fs::write(path, &text).unwrap())?;
        for portion in [1, 13, 64, 1000] {
            let found = read::<f64>(communicator, &path, portion)?;
            assert_eq!(found.header, header);
            check_rows(communicator, found, &alone, &text);
        }
    }
    let text = head("complex hermitian\n3 3 4\n1 1 2 0\n2 1 1 -3\n3 2 0 1\n3 3 -1 0\n");
    let (alone, _) = parse_matrix_market::<Complex<f64>>(text.as_bytes(), "m.mtx", None)?;
    let path = folder.written(communicator, "m.mtx", |path| fs::write(path, &text).unwrap())?;
    check_rows(communicator, read(communicator, &path, 9)?, &alone, "hermitian");
    communicator.barrier()
}
