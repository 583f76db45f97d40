//! Arrays and a stream of cudarc, used without copying: a program that steps a grid's temperatures in time with its own
//! kernels and copies, and multiplies with this library. On a machine with a GPU:
//!
//! ```sh
//! cargo run --release -p warp-spmv-lab --features cuda,peers --example cudarc
//! ```

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use host::executor::{Cuda, CudaBuffer, CudaMemory, DeviceCsr, DeviceIndices};
use host::format::Offsets;
use host::{Csr, Format, Plan, PlanOptions};
use synthetic::Generator;

/// A matrix in arrays of cudarc.
struct Matrix {
    shape: [usize; 2],
    row_offsets: CudaSlice<u32>,
    column_indices: CudaSlice<u32>,
    values: CudaSlice<f64>,
}

impl Matrix {
    fn new(matrix: &Csr<f64>, stream: &Arc<CudaStream>) -> Result<Self, Box<dyn Error>> {
        let Offsets::Narrow(offsets) = matrix.row_offsets() else { return Err("the matrix is too large".into()) };
        Ok(Self {
            shape: [matrix.rows(), matrix.columns()],
            row_offsets: stream.clone_htod(offsets)?,
            column_indices: stream.clone_htod(matrix.column_indices())?,
            values: stream.clone_htod(matrix.values())?,
        })
    }

    /// Returns the same matrix for this library. Nothing is copied, except offsets and columns to the host for checking.
    ///
    /// # Safety
    /// This must outlive it, and the work queued with it.
    unsafe fn borrow(&self, gpu: &Cuda, stream: &CudaStream) -> Result<Csr<f64, CudaMemory>, host::Error> {
        let [rows, columns] = self.shape;
        let described = DeviceCsr {
            rows,
            columns,
            entries: self.values.len(),
            row_offsets: DeviceIndices::Narrow(self.row_offsets.device_ptr(stream).0),
            column_indices: DeviceIndices::Narrow(self.column_indices.device_ptr(stream).0),
            values: self.values.device_ptr(stream).0,
        };
        // SAFETY: they are arrays of a matrix, of these lengths, on the executor's stream; the caller ensures the rest.
        unsafe { gpu.borrow_csr(&described) }
    }
}

/// Returns an array of cudarc for this library.
///
/// # Safety
/// The array must outlive it, and the work queued with it.
unsafe fn borrow(gpu: &Cuda, array: &mut CudaSlice<f64>, stream: &CudaStream) -> Result<CudaBuffer<f64>, host::Error> {
    let length = array.len();
    // SAFETY: an array of this length, used only on the executor's stream; the caller ensures the rest.
    unsafe { gpu.borrow(array.device_ptr_mut(stream).0, length) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let matrix = "stencil:5:1000x1000".parse::<Generator>()?.generate::<f64>()?;
    let theirs = Matrix::new(&matrix, &stream)?;
    let mut temperatures = stream.clone_htod(&vec![1.0; matrix.columns()])?;
    let mut changes = stream.alloc_zeros::<f64>(matrix.rows())?;
    {
        // SAFETY: context and stream, the matrix and both vectors outlive this block, at whose end all work has finished;
        // within it they are used only on this stream.
        let (gpu, mut plan, x, mut y) = unsafe {
            let gpu = Cuda::on_stream(context.cu_ctx().cast(), stream.cu_stream().cast())?;
            let plan = Plan::in_memory(&gpu, theirs.borrow(&gpu, &stream)?, Format::CSR_TILED, PlanOptions::default())?;
            let x = borrow(&gpu, &mut temperatures, &stream)?;
            let y = borrow(&gpu, &mut changes, &stream)?;
            (gpu, plan, x, y)
        };
        plan.apply(-0.1, &x, 0.0, &mut y)?; // Queued on cudarc's stream.
        println!("{} bytes of this library's own, {} of the matrix", gpu.memory_use().now, plan.matrix().bytes());
        stream.synchronize()?;
    }
    // The next copy of cudarc follows on the same stream.
    let changes = stream.clone_dtoh(&changes)?;
    // Ones times a row's sum: 0 inside, 1 along an edge of the grid, 2 in a corner.
    let expected: f64 = -0.1 * (4.0 * 998.0 + 4.0 * 2.0);
    let sum: f64 = changes.iter().sum();
    println!("the changes add up to {sum}, expected {expected}");
    if (sum - expected).abs() < 1e-9 { Ok(()) } else { Err("they differ".into()) }
}
