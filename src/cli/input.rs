//! The matrix and the vector that a command works on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use warp_spmv::Csr;
use warp_spmv::format::Matrix;
use warp_spmv::io::{COMPLEX_VALUES, FileParts, Number, ReadOptions, WholeFile, open_parts, read_matrix, read_vector};
use warp_spmv::synthetic::Generator;

use super::error::Error;
use super::progress::Progress;

/// The source of a matrix, as named by the user.
#[derive(Clone, Debug, clap::Args)]
pub struct Source {
    /// File (.mtx, .mtx.gz, .rb, .npz, .wspmv), or generator such as stencil:27:100 (see below)
    #[arg(value_name = "FILE|GENERATOR")]
    matrix: OsString,
    /// The largest size of a decompressed file, in memory
    #[arg(long, value_name = "BYTES", default_value_t = ReadOptions::default().decompressed_limit)]
    decompressed_limit: u64,
}

/// A matrix, with what is known of its source.
pub struct Input<T: Number> {
    /// The file's name, or the generator's canonical text.
    pub name: String,
    /// The matrix, as stored in the file; in CSR in most files, and from generators.
    pub matrix: Matrix<T>,
    /// The kind of values in the file: "real", "integer", "pattern" or "complex".
    pub field: &'static str,
    /// The symmetry in the file: "general", "symmetric", "skew-symmetric" or "hermitian".
    pub symmetry: &'static str,
}

impl Source {
    /// The text, if it is that of a generator.
    fn generator(&self) -> Option<&str> {
        self.matrix.to_str().filter(|text| Generator::is_generator_text(text))
    }

    /// The file to read, if the text is not that of a generator.
    pub fn file(&self) -> Option<&Path> {
        self.generator().is_none().then(|| Path::new(&self.matrix))
    }

    /// A matrix by name, with the usual limits.
    pub fn new(matrix: OsString) -> Self {
        Self { matrix, decompressed_limit: ReadOptions::default().decompressed_limit }
    }

    /// The text as it was given.
    pub fn name(&self) -> String {
        self.matrix.to_string_lossy().into_owned()
    }

    /// Approximate amount of work for the matrix.
    pub fn weight(&self) -> f64 {
        match self.parsed() {
            // Small ones take time, too.
            Some(Ok(generator)) => 1e6 + generator.expected_nnz() as f64,
            _ => 1e6 + fs::metadata(&self.matrix).map_or(0.0, |file| file.len() as f64 / 20.0),
        }
    }

    /// Checks that the generator or file exists.
    pub fn check(&self) -> Result<(), Error> {
        match self.parsed() {
            Some(parsed) => Ok(parsed.map(|_| ())?),
            None => {
                let path = PathBuf::from(&self.matrix);
                let missing = |source| explain(warp_spmv::Error::File { path: path.clone(), source });
                fs::File::open(&path).map(|_| ()).map_err(missing)
            }
        }
    }

    /// The generator, if the text is that of one.
    pub fn parsed(&self) -> Option<Result<Generator, warp_spmv::synthetic::Error>> {
        self.generator().map(str::parse)
    }

    /// Generates or reads a matrix that must be square, in CSR.
    pub fn load_square<T: Number>(&self) -> Result<(String, Csr<T>), Error> {
        let Input { name, matrix, .. } = self.load()?;
        let matrix = matrix.into_csr()?;
        let (rows, columns) = (matrix.rows(), matrix.columns());
        if rows == columns { Ok((name, matrix)) } else { Err(Error::NotSquare { name, rows, columns }) }
    }

    /// How the matrix is obtained: "generate" or "read".
    pub fn verb(&self) -> &'static str {
        if self.generator().is_some() { "generate" } else { "read" }
    }

    /// Opens the file, of which each rank reads a part, text in portions of about `portion` bytes.
    pub fn open<T: Number>(&self, portion: usize) -> Result<FileParts, Error> {
        let options = ReadOptions { decompressed_limit: self.decompressed_limit, ..Default::default() };
        let parts = open_parts(&self.matrix, portion, &options).map_err(explain)?;
        parts.check_values::<T>().map_err(explain)?;
        Ok(parts)
    }

    /// Reads an open file.
    pub fn read_whole<T: Number>(&self, file: &WholeFile) -> Result<Csr<T>, Error> {
        let progress = Progress::bytes("reading the matrix");
        let report = |done, total| progress.update(done, total);
        let options =
            ReadOptions { progress: Some(&report), decompressed_limit: self.decompressed_limit, ..Default::default() };
        Ok(file.read(&options).map_err(explain)?.matrix.into_csr()?)
    }

    /// Generates or reads the matrix.
    pub fn load<T: Number>(&self) -> Result<Input<T>, Error> {
        if let Some(text) = self.generator() {
            let generator: Generator = text.parse()?;
            let _progress = Progress::spinner("generating the matrix");
            let matrix = Matrix::Csr(generator.generate().map_err(of_generator)?);
            let field = if generator.is_complex() { "complex" } else { "real" };
            return Ok(Input { name: generator.to_string(), matrix, field, symmetry: "general" });
        }
        let progress = Progress::bytes("reading the matrix");
        let report = |done, total| progress.update(done, total);
        let options =
            ReadOptions { progress: Some(&report), decompressed_limit: self.decompressed_limit, ..Default::default() };
        let loaded = read_matrix(&self.matrix, &options).map_err(explain)?;
        let (matrix, field, symmetry) = (loaded.matrix, loaded.header.field.name(), loaded.header.symmetry.name());
        Ok(Input { name: self.matrix.to_string_lossy().into_owned(), matrix, field, symmetry })
    }
}

/// Converts a generator's error: complex values are available on request.
pub fn of_generator(error: warp_spmv::synthetic::Error) -> Error {
    match error {
        warp_spmv::synthetic::Error::Complex { .. } => Error::ComplexValues(error.to_string()),
        error => error.into(),
    }
}

/// Explains errors: a missing file with a colon in its name may be a misspelt generator, and complex values are read on
/// request.
fn explain(error: warp_spmv::Error) -> Error {
    match error {
        warp_spmv::Error::File { path, source }
            if source.kind() == io::ErrorKind::NotFound && path.as_os_str().as_encoded_bytes().contains(&b':') =>
        {
            let names: Vec<_> = Generator::HELP.iter().map(|help| help.name).collect();
            Error::Missing { path, expected: names.join(", ") }
        }
        error => match error.to_string() {
            message if message.ends_with(COMPLEX_VALUES) => Error::ComplexValues(message),
            _ => error.into(),
        },
    }
}

/// Reads a vector for a matrix with this many columns.
pub fn vector<T: Number>(path: &Path, columns: usize) -> Result<Vec<T>, Error> {
    let progress = Progress::bytes("reading a vector");
    let vector: Vec<T> = read_vector(path, Some(&|done, total| progress.update(done, total))).map_err(explain)?;
    if vector.len() != columns {
        return Err(Error::VectorLength { path: path.into(), found: vector.len(), expected: columns });
    }
    Ok(vector)
}
