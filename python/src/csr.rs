//! Matrices in compressed sparse rows: from arrays, files and generators to a plan, to arrays or to a file.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use files::COMPLEX_VALUES;
use host::executor::Executor;
use host::interop::Index;
use host::{Csr as HostCsr, Format};
use numpy::PyArray1;
use pyo3::prelude::*;
use synthetic::Generator;

use crate::arrays::{IndexArrays, Indices, Input};
use crate::device::AnyExecutor;
use crate::failure::Failure;
use crate::numbers::{Family, Number, NumberType, Typed, with_type, with_typed};
use crate::options::{Stopping, Wishes};
use crate::pagerank::{self, PagerankReport};
use crate::plan::{AnyPlan, Plan};
use crate::progress::Listener;
use crate::scope::released;

/// Matrices in compressed sparse rows.
pub struct Matrices;

impl Family for Matrices {
    type Of<T: Number> = HostCsr<T>;
}

/// A matrix. Whatever is made from it takes its arrays, so that they are not copied: it can be used once.
#[pyclass(frozen, module = "warp_spmv._native")]
pub struct Csr {
    matrix: Mutex<Option<Typed<Matrices>>>,
}

impl Csr {
    pub fn new<T: Number>(matrix: HostCsr<T>) -> Self {
        Self { matrix: Mutex::new(Some(T::typed(matrix))) }
    }

    pub fn take(&self) -> Result<Typed<Matrices>, Failure> {
        let taken = self.matrix.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| Failure::runtime("the matrix was used before"))
    }
}

fn from_arrays<T: Number>(
    py: Python<'_>,
    [rows, columns]: [usize; 2],
    indices: [Indices<'_>; 2],
    values: &Bound<'_, PyAny>,
) -> Result<Csr, Failure> {
    let values = Input::<T>::new(values)?;
    let values = values.elements()?;
    fn copied<T: Number, I: Index>(
        py: Python<'_>,
        [rows, columns]: [usize; 2],
        [offsets, indices]: [&[I]; 2],
        values: &[T],
    ) -> Result<Csr, Failure> {
        released(py, || Ok(Csr::new(HostCsr::try_from_slices(rows, columns, offsets, indices, values)?)))
    }
    let slice_error = |error| Failure::from(PyErr::from(error));
    match indices {
        [Indices::Int32(offsets), Indices::Int32(indices)] => {
            let arrays = [offsets.as_slice().map_err(slice_error)?, indices.as_slice().map_err(slice_error)?];
            copied(py, [rows, columns], arrays, values)
        }
        [Indices::Int64(offsets), Indices::Int64(indices)] => {
            let arrays = [offsets.as_slice().map_err(slice_error)?, indices.as_slice().map_err(slice_error)?];
            copied(py, [rows, columns], arrays, values)
        }
        _ => Err(Failure::value("row offsets and columns are of different types, expected int32 or int64 for both")),
    }
}

/// Reads a file as one of real numbers, or of complex ones if it contains them.
fn read_any(path: PathBuf) -> Result<Csr, Failure> {
    match files::read::<f64>(&path, &files::ReadOptions::default()) {
        Ok(loaded) => Ok(Csr::new(loaded.matrix)),
        Err(error) if error.to_string().ends_with(COMPLEX_VALUES) => {
            Ok(Csr::new(files::read::<host::Complex<f64>>(&path, &files::ReadOptions::default())?.matrix))
        }
        Err(error) => Err(error.into()),
    }
}

fn plan_on<T: Number, E: Executor>(
    executor: &E,
    matrix: HostCsr<T>,
    wishes: &Wishes,
) -> Result<host::Plan<T, E>, Failure> {
    Ok(match wishes.format()? {
        Format::Auto => host::Plan::automatic(executor, matrix, &wishes.selection()?)?,
        format => host::Plan::with_options(executor, matrix, format, wishes.plan_options()?)?,
    })
}

/// As `plan_on`, for a matrix in the executor's memory.
#[cfg(feature = "cuda")]
pub fn planned_in_memory<T: Number, E: Executor>(
    executor: &E,
    matrix: HostCsr<T, E::Memory>,
    wishes: &Wishes,
) -> Result<host::Plan<T, E>, Failure> {
    Ok(match wishes.format()? {
        Format::Auto => host::Plan::automatic_in_memory(executor, matrix, &wishes.selection()?)?,
        format => host::Plan::in_memory(executor, matrix, format, wishes.plan_options()?)?,
    })
}

fn transposed<T: Number>(matrix: &HostCsr<T>, conjugate: bool) -> Result<HostCsr<T>, host::Error> {
    let mut transposed = matrix.transposed()?;
    if conjugate {
        transposed.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
    }
    Ok(transposed)
}

/// A shape, and values, columns and row offsets.
type ScipysArrays<'py> = ((usize, usize), [Bound<'py, PyAny>; 3]);

fn planned<T: Number>(
    device: &str,
    executor: AnyExecutor,
    matrix: HostCsr<T>,
    wishes: &Wishes,
) -> Result<Plan, Failure> {
    let plan = match executor {
        AnyExecutor::Cpu(executor) => AnyPlan::Cpu(plan_on(&executor, matrix, wishes)?),
        #[cfg(feature = "cuda")]
        AnyExecutor::Cuda(executor) => AnyPlan::Cuda(plan_on(&executor, matrix, wishes)?),
    };
    Ok(Plan::new(device, wishes.reproducible, plan))
}

#[pymethods]
impl Csr {
    /// Copies the arrays of a matrix, with indices of type int32 or int64 and values of any number type.
    #[staticmethod]
    fn from_arrays(
        py: Python<'_>,
        shape: [usize; 2],
        row_offsets: Indices<'_>,
        columns: Indices<'_>,
        values: &Bound<'_, PyAny>,
        dtype: &str,
    ) -> Result<Self, Failure> {
        with_type!(dtype.parse::<NumberType>()?, T => from_arrays::<T>(py, shape, [row_offsets, columns], values))
    }

    /// Reads a file of any kind; without a type, as float64 or complex128.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, dtype: Option<&str>) -> Result<Self, Failure> {
        let number_type = dtype.map(str::parse::<NumberType>).transpose()?;
        released(py, || match number_type {
            None => read_any(path),
            Some(number_type) => with_type!(number_type, T => {
                Ok(Self::new(files::read::<T>(&path, &files::ReadOptions::default())?.matrix))
            }),
        })
    }

    /// Generates a matrix.
    #[staticmethod]
    fn generate(py: Python<'_>, text: &str, dtype: &str) -> Result<Self, Failure> {
        let number_type = dtype.parse::<NumberType>()?;
        released(py, || {
            let generator: Generator = text.parse()?;
            with_type!(number_type, T => Ok(Self::new(generator.generate::<T>()?)))
        })
    }

    /// Writes the matrix to a file whose extension determines its kind.
    fn write(&self, py: Python<'_>, path: PathBuf) -> Result<(), Failure> {
        let matrix = self.take()?;
        released(py, || with_typed!(matrix, matrix => Ok(files::write(path, &matrix)?)))
    }

    /// Returns the transposed or the conjugate transposed matrix.
    fn transposed(&self, py: Python<'_>, conjugate: bool) -> Result<Self, Failure> {
        let matrix = self.take()?;
        released(py, || with_typed!(matrix, matrix => Ok(Self::new(transposed(&matrix, conjugate)?))))
    }

    /// Returns the shape, and the arrays for SciPy: values, columns, row offsets.
    fn take_arrays<'py>(&self, py: Python<'py>) -> Result<ScipysArrays<'py>, Failure> {
        with_typed!(self.take()?, matrix => {
            let (rows, columns) = (matrix.rows(), matrix.columns());
            let (values, indices) = released(py, || {
                let (offsets, indices, values) = matrix.into_parts();
                Ok((values, IndexArrays::new(offsets, indices, rows.max(columns))?))
            })?;
            let [offsets, indices] = match indices {
                IndexArrays::Int32(arrays) => arrays.map(|array| PyArray1::from_vec(py, array).into_any()),
                IndexArrays::Int64(arrays) => arrays.map(|array| PyArray1::from_vec(py, array).into_any()),
            };
            Ok(((rows, columns), [PyArray1::from_vec(py, values).into_any(), indices, offsets]))
        })
    }

    /// Moves the matrix to a device, in the requested format.
    fn plan(&self, py: Python<'_>, device: &str, wishes: Wishes) -> Result<Plan, Failure> {
        let matrix = self.take()?;
        released(py, || {
            // Checked before anything takes time.
            wishes.format()?;
            let executor = AnyExecutor::new(device)?;
            with_typed!(matrix, matrix => planned(device, executor, matrix, &wishes))
        })
    }

    /// Ranks the vertices of the graph with this matrix, and returns the ranks and a report.
    fn pagerank<'py>(
        &self,
        py: Python<'py>,
        device: &str,
        damping: f64,
        personalization: Option<Vec<f64>>,
        stopping: Stopping,
        callback: Option<Py<PyAny>>,
    ) -> Result<(Bound<'py, PyAny>, PagerankReport), Failure> {
        let matrix = self.take()?;
        let request = pagerank::Request { damping, stopping };
        let weights = personalization.as_deref();
        pagerank::rank(py, device, matrix, &request, weights, &mut Listener::new(callback))
    }
}
