//! A tutorial: from a matrix to the solution of a system.
//!
//! Every chapter has one complete program. Those for the CPU are tests of this crate, so they work with this version;
//! programs for a GPU are only compiled.
//!
//! 1. [Make a matrix](#1-make-a-matrix)
//! 2. [Choose a format and multiply](#2-choose-a-format-and-multiply)
//! 3. [Keep a plan in a struct](#3-keep-a-plan-in-a-struct)
//! 4. [Check the answer](#4-check-the-answer)
//! 5. [Several vectors and the transpose](#5-several-vectors-and-the-transpose)
//! 6. [Let the library choose](#6-let-the-library-choose)
//! 7. [Files](#7-files)
//! 8. [Solve a system](#8-solve-a-system)
//! 9. [Run on a GPU](#9-run-on-a-gpu)
//! 10. [Handle errors](#10-handle-errors)
//!
//! A program needs one line in its `Cargo.toml`. `default-features = false` omits the command `warp-spmv`:
//!
//! ```toml
//! [dependencies]
//! warp-spmv = { path = "../warp-spmv", default-features = false }
//! ```
//!
//! # 1. Make a matrix
//!
//! Every matrix starts as a [`Csr`](crate::Csr): compressed sparse rows, with values in `f32` or `f64`. It comes from
//! entries in any order, from its three arrays, from a [generator](crate::synthetic), or from a [file](#7-files). Each
//! constructor checks its input; a [`Csr`](crate::Csr) is valid from then on.
//!
//! ```
//! use warp_spmv::Csr;
//! use warp_spmv::synthetic::Generator;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Row, column and value of each entry. Entries of the same place are added up.
//!     let (rows, columns) = ([2, 0, 0, 1, 2], [2, 0, 1, 1, 2]);
//!     let matrix = Csr::try_from_triplets(3, 3, &rows, &columns, &[4.0, 1.0, 2.0, 3.0, 1.0])?;
//!     assert_eq!(matrix.nnz(), 4);
//!     assert!(matrix.row(0).eq([(0, 1.0), (1, 2.0)]));
//!     assert!(matrix.row(2).eq([(2, 5.0)]));
//!
//!     // The arrays of CSR: where each row begins, then the columns and the values.
//!     let same = Csr::try_new(3, 3, vec![0u32, 2, 3, 4], vec![0, 1, 1, 2], vec![1.0, 2.0, 3.0, 5.0])?;
//!     assert_eq!(same, matrix);
//!
//!     // The Laplacian of 5 points on a grid of 40 x 30.
//!     let laplacian: Csr<f32> = "stencil:5:40x30".parse::<Generator>()?.generate()?;
//!     assert_eq!((laplacian.rows(), laplacian.longest_row()), (1200, 5));
//!     Ok(())
//! }
//! ```
//!
//! # 2. Choose a format and multiply
//!
//! An [executor](crate::executor::Executor) determines where to multiply, and a [`Format`](crate::Format) how the
//! matrix is stored there. A [`Plan`](crate::Plan) takes both and the matrix: it moves the matrix into the executor's
//! memory, converts it, and allocates the workspace. After that, [`apply`](crate::Plan::apply) computes y ← α A x + β y
//! and allocates nothing.
//!
//! The format determines how fast that is; every format gives the right answer. [`Plan::new`](crate::Plan::new) chooses
//! one, [`Plan::with_format`](crate::Plan::with_format) takes the given one. A format has a name for configuration
//! files and command lines, and [`Format::STANDARD`](crate::Format::STANDARD) lists those worth comparing.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::{Csr, Format, Plan};
//!
//! fn main() -> Result<(), warp_spmv::Error> {
//!     let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
//!     let cpu = Cpu::new();
//!     let x = cpu.upload(vec![1.0, 10.0, 100.0])?;
//!
//!     let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::SELL_P)?;
//!     let mut y = cpu.upload(vec![1.0, 1.0])?;
//!     plan.apply(2.0, &x, 1.0, &mut y)?;
//!     assert_eq!(cpu.download(&y)?, [3.0, 641.0]);
//!
//!     // With β = 0, y is overwritten and never read.
//!     plan.apply(1.0, &x, 0.0, &mut y)?;
//!     assert_eq!(cpu.download(&y)?, [1.0, 320.0]);
//!
//!     assert_eq!("sell-p".parse::<Format>()?, Format::SELL_P);
//!     for &format in Format::STANDARD {
//!         let mut y = cpu.zeros(matrix.rows())?;
//!         Plan::with_format(&cpu, matrix.clone(), format)?.apply(1.0, &x, 0.0, &mut y)?;
//!         assert_eq!(cpu.download(&y)?, [1.0, 320.0], "{format}");
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # 3. Keep a plan in a struct
//!
//! A [`Plan`](crate::Plan) owns its matrix and its workspace and holds a handle to its executor. It has no lifetime, so
//! a struct can keep it together with the vectors that it multiplies. [`Vector<T, E>`](crate::Vector) is a vector in
//! the memory of executor `E`; a struct that is generic over `E` works on every executor.
//!
//! Executors are cheap handles: a clone shares the device, the memory and the queue of the original.
//!
//! A program whose matrix changes its values but not its pattern, step after step, keeps its plan and passes it the new
//! values: [`update_values`](crate::Plan::update_values); a preconditioner [accepts them,
//! too](crate::solver::preconditioner::Preconditioner::update_values).
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::{Csr, Error, Plan, Vector};
//!
//! /// A random walk on a graph.
//! struct Walk<E: Executor> {
//!     transitions: Plan<f64, E>,
//!     now: Vector<f64, E>,
//!     next: Vector<f64, E>,
//! }
//!
//! impl<E: Executor> Walk<E> {
//!     fn new(executor: &E, transitions: Csr<f64>, start: Vec<f64>) -> Result<Self, Error> {
//!         let next = executor.zeros(transitions.rows())?;
//!         let transitions = Plan::new(executor, transitions)?;
//!         Ok(Self { transitions, now: executor.upload(start)?, next })
//!     }
//!
//!     fn step(&mut self) -> Result<(), Error> {
//!         self.transitions.apply(1.0, &self.now, 0.0, &mut self.next)?;
//!         std::mem::swap(&mut self.now, &mut self.next);
//!         Ok(())
//!     }
//!
//!     fn probabilities(&self) -> Result<Vec<f64>, Error> {
//!         self.transitions.executor().download(&self.now)
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     // From vertex 0 to 1 or 2, from 1 to 2, and from 2 to 0: an edge is an entry in the column of its source.
//!     let transitions = Csr::try_from_triplets(3, 3, &[1, 2, 2, 0], &[0, 0, 1, 2], &[0.5, 0.5, 1.0, 1.0])?;
//!     let mut walk = Walk::new(&Cpu::new(), transitions, vec![1.0, 0.0, 0.0])?;
//!     walk.step()?;
//!     assert_eq!(walk.probabilities()?, [0.0, 0.5, 0.5]);
//!     walk.step()?;
//!     assert_eq!(walk.probabilities()?, [0.5, 0.0, 0.5]);
//!     Ok(())
//! }
//! ```
//!
//! # 4. Check the answer
//!
//! Formats add in different orders, so their results differ by rounding. [`exact`](crate::verify::exact) computes the
//! answer in twice the precision, and [`verify`](crate::verify::verify) compares row by row with the error bound of the
//! format. The bound follows from the entries of the row, so it catches one wrong element among millions and accepts a
//! long row that cancels.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::synthetic::Generator;
//! use warp_spmv::verify::{exact, verify};
//! use warp_spmv::{Csr, Format, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let matrix: Csr<f32> = "stencil:7:20".parse::<Generator>()?.generate()?;
//!     let x: Vec<f32> = (0..matrix.columns()).map(|column| (column as f32).sin()).collect();
//!     let start = vec![1.0; matrix.rows()];
//!
//!     let cpu = Cpu::new();
//!     let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::ELL)?;
//!     let mut y = cpu.upload(start.clone())?;
//!     plan.apply(2.0, &cpu.upload(x.clone())?, 0.5, &mut y)?;
//!     let mut y = cpu.download(&y)?;
//!
//!     // The same α, x, β, and y from before the product.
//!     let expected = exact(&matrix, 2.0, &x, 0.5, &start)?;
//!     assert!(verify(&y, &expected, plan.format())?.passed());
//!
//!     y[7] += 0.01;
//!     let verification = verify(&y, &expected, plan.format())?;
//!     assert_eq!((verification.wrong, verification.worst_row), (1, Some(7)));
//!     Ok(())
//! }
//! ```
//!
//! # 5. Several vectors and the transpose
//!
//! [`apply_multivector`](crate::Plan::apply_multivector) multiplies several vectors and reads the matrix once per 32 of
//! them. [`apply_transposed`](crate::Plan::apply_transposed) computes y ← α Aᵀ x + β y, with Aᵀ stored or not. Not
//! every format has kernels for them, the latter without a stored Aᵀ: see
//! [`multiplies_multivectors`](crate::Format::multiplies_multivectors) and
//! [`multiplies_transposed`](crate::Format::multiplies_transposed); the others return
//! [`Error::Unsupported`](crate::Error::Unsupported). If the library chooses, specify therefore what will be
//! multiplied.
//!
//! Without a stored Aᵀ, the transposed product adds atomically on a GPU, so its bits differ from run to run. For the
//! same bits every time, or for many products, the plan can store Aᵀ besides A: request both `transposed` and
//! `reproducible` if the library chooses, or [`Transposed::Stored`](crate::Transposed::Stored) in the options of a
//! plan. [`transpose_bytes`](crate::Plan::transpose_bytes) returns its size; a memory budget covers both.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::select::Selection;
//! use warp_spmv::{Csr, Format, Layout, Multivector, Plan, PlanOptions, Transposed};
//!
//! fn main() -> Result<(), warp_spmv::Error> {
//!     let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
//!     let cpu = Cpu::new();
//!     let selection =
//!         Selection { multivectors: true, transposed: true, reproducible: false, ..Selection::default() };
//!     let mut plan = Plan::automatic(&cpu, matrix.clone(), &selection)?;
//!     assert!(plan.format().multiplies_multivectors() && plan.format().multiplies_transposed());
//!
//!     // The vectors (1, 10, 100) and (2, 20, 200), element by element: the faster layout.
//!     let shape = Multivector { vectors: 2, layout: Layout::RowMajor };
//!     let x = cpu.upload(vec![1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
//!     let mut y = cpu.zeros(shape.vectors * matrix.rows())?;
//!     plan.apply_multivector(shape, 1.0, &x, 0.0, &mut y)?;
//!     let y = cpu.download(&y)?;
//!     assert_eq!(y, [1.0, 2.0, 320.0, 640.0]);
//!     // Element 1 of vector 0.
//!     assert_eq!(y[shape.place(matrix.rows(), 1, 0)], 320.0);
//!
//!     // x has an element for each row, y one for each column.
//!     let x = cpu.upload(vec![1.0, 10.0])?;
//!     let mut y = cpu.zeros(matrix.columns())?;
//!     plan.apply_transposed(1.0, &x, 0.0, &mut y)?;
//!     assert_eq!(cpu.download(&y)?, [1.0, 20.0, 30.0]);
//!
//!     // The same with a stored transpose.
//!     let options = PlanOptions {
//!         reproducible: true,
//!         transposed: Transposed::Stored(Format::CSR_TILED),
//!         ..PlanOptions::default()
//!     };
//!     let plan = Plan::with_options(&cpu, matrix, Format::SELL_P, options)?;
//!     assert_eq!(plan.transpose_format(), Some(Format::CSR_TILED));
//!     plan.apply_transposed(1.0, &x, 0.0, &mut y)?;
//!     assert_eq!(cpu.download(&y)?, [1.0, 20.0, 30.0]);
//!     Ok(())
//! }
//! ```
//!
//! # 6. Let the library choose
//!
//! [`Plan::automatic`](crate::Plan::automatic) predicts the time of every format on the device and takes the fastest.
//! [`Selection`](crate::select::Selection) describes the use of the matrix: the number of multiplications over which
//! the conversion pays off; the bytes that the arrays may take; whether the bits must be the same every time, which is
//! the default. Candidates that may well be faster than the best one are [timed](crate::select::Measure) if that pays,
//! so the choice may change from one run to the next, and with it the roundings: for the same bits in every run, name
//! the format, or use [`Measure::Never`](crate::select::Measure::Never) without a store.
//! [`Plan::new`](crate::Plan::new) is the same with the default selection, for 1,000 multiplications.
//!
//! ```
//! use warp_spmv::executor::Cpu;
//! use warp_spmv::select::Selection;
//! use warp_spmv::synthetic::Generator;
//! use warp_spmv::{Csr, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let matrix: Csr<f64> = "stencil:5:100".parse::<Generator>()?.generate()?;
//!     let selection = Selection {
//!         multiplications: Some(1000),
//!         memory_budget: Some(16 << 20),
//!         // Neither the user's calibrations nor earlier measurements.
//!         store: None,
//!         ..Selection::default()
//!     };
//!     let plan = Plan::automatic(&Cpu::new(), matrix, &selection)?;
//!
//!     let choice = plan.explain().ok_or("a plan of a chosen format says why")?;
//!     println!("{}", choice.reason());
//!     // All candidates, the best first, and why others are excluded.
//!     println!("{choice}");
//!     assert_eq!(choice.format, plan.format());
//!     assert!(plan.format().reproducible());
//!     assert!(plan.matrix().bytes() <= 16 << 20);
//!     Ok(())
//! }
//! ```
//!
//! # 7. Files
//!
//! [`io::read`](crate::io::read()) reads Matrix Market, Rutherford-Boeing, SciPy's `.npz` and containers, any of them
//! compressed with gzip, and recognises the kind by the contents. [`io::write`](crate::io::write()) determines it by
//! the name: `.mtx`, `.mtx.gz`, `.npz` or `.wspmv`. A written file appears under its name only when it is complete.
//!
//! A container (`.wspmv`) can hold the matrix in any storage format: convert once, and read the arrays without parsing.
//! [`Plan::from_matrix`](crate::Plan::from_matrix) takes a matrix that is already converted.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::format::{FillLimit, Matrix};
//! use warp_spmv::io::{self, FileKind, ReadOptions};
//! use warp_spmv::{Format, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let folder = tempfile::tempdir()?;
//!     let [text, container, vector] = ["small.mtx", "small.wspmv", "y.mtx"].map(|name| folder.path().join(name));
//!     std::fs::write(&text, "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n")?;
//!
//!     let options = ReadOptions::default();
//!     let loaded = io::read::<f64>(&text, &options)?;
//!     assert_eq!(loaded.kind, FileKind::MatrixMarket);
//!     // The other half of a symmetric matrix is filled in.
//!     assert_eq!((loaded.header.entries, loaded.matrix.nnz()), (3, 4));
//!
//!     let converted = Matrix::try_from_csr(loaded.matrix, Format::SELL_P, FillLimit::default())?;
//!     io::write_container_matrix(&container, &converted)?;
//!     let stored = io::read_matrix::<f64>(&container, &options)?;
//!     assert_eq!(stored.kind, FileKind::Container);
//!     assert!(stored.matrix == converted);
//!
//!     let cpu = Cpu::new();
//!     let mut plan = Plan::from_matrix(&cpu, stored.matrix, Format::SELL_P)?;
//!     let x = cpu.upload(vec![1.0, 10.0])?;
//!     let mut y = cpu.zeros(2)?;
//!     plan.apply(1.0, &x, 0.0, &mut y)?;
//!     io::write_vector(&vector, &cpu.download(&y)?)?;
//!     assert_eq!(io::read_vector::<f64>(&vector, None)?, [14.0, 31.0]);
//!     Ok(())
//! }
//! ```
//!
//! # 8. Solve a system
//!
//! A [`Solver`](crate::solver::Solver) solves A x = b by a method such as [`Cg`](crate::solver::Cg),
//! [`Bicgstab`](crate::solver::Bicgstab) or [`Gmres`](crate::solver::Gmres). It takes any
//! [`Operator`](crate::solver::Operator): a plan, a closure, a sum or a product of them. Options, a preconditioner and
//! a callback are optional. The iteration starts from the given x.
//!
//! A method that fails is not an error. [`Report::outcome`](crate::solver::Report::outcome) is how it ended, and only
//! [`Outcome::Converged`](crate::solver::Outcome::Converged) means that b − A x, computed anew, is within the
//! tolerance.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
//! use warp_spmv::solver::{Cg, Options, Outcome, Progress, Solver};
//! use warp_spmv::synthetic::Generator;
//! use warp_spmv::{Csr, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let matrix: Csr<f64> = "stencil:5:50".parse::<Generator>()?.generate()?;
//!     let cpu = Cpu::new();
//!     let b = cpu.upload(vec![1.0; matrix.rows()])?;
//!     let mut x = cpu.zeros(matrix.columns())?;
//!     let mut jacobi = Preconditioner::new(&cpu, &matrix, PreconditionerName::Jacobi)?;
//!     let mut plan = Plan::new(&cpu, matrix)?;
//!
//!     let mut last = 0;
//!     let mut watch = |progress: &Progress| {
//!         last = progress.iteration;
//!         // `Break` would stop the solver, with the outcome `Stopped`.
//!         ControlFlow::Continue(())
//!     };
//!     let report = Solver::new(&cpu, &mut plan)
//!         .preconditioner(&mut jacobi)
//!         .options(Options { relative_tolerance: 1e-8, iteration_limit: 500, ..Options::default() })
//!         .callback(&mut watch)
//!         .solve(&Cg, &b, &mut x)?;
//!
//!     match report.outcome {
//!         Outcome::Converged => println!("{} iterations, {:?}", report.iterations, report.elapsed),
//!         outcome => return Err(format!("{outcome}, residual norm {}", report.residual_norm).into()),
//!     }
//!     assert!(report.residual_norm <= 1e-8 * report.right_hand_side_norm);
//!     assert_eq!(last, report.iterations);
//!     Ok(())
//! }
//! ```
//!
//! Multigrid keeps the number of iterations from growing with the system. The preconditioner `amg` builds coarser and
//! coarser levels of the matrix by [smoothed aggregation](crate::solver::multigrid): for elasticity it also needs the
//! coordinates of the nodes.
//!
//! ```
//! use warp_spmv::executor::Cpu;
//! use warp_spmv::solver::multigrid::{Multigrid, NearNullSpace};
//! use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerOptions};
//! use warp_spmv::solver::{Cg, Outcome, Solver};
//! use warp_spmv::synthetic::{Elasticity, Generate};
//! use warp_spmv::{Csr, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mesh = Elasticity::new(10);
//!     let matrix: Csr<f64> = mesh.generate()?;
//!     let cpu = Cpu::new();
//!     // Three displacements a node, and the motions that strain nothing.
//!     let amg = Multigrid { node: 3, ..Multigrid::default() };
//!     let modes = NearNullSpace::rigid_body_modes(3, &mesh.positions()?)?;
//!     let mut amg = Preconditioner::multigrid(&cpu, &matrix, amg, modes, PreconditionerOptions::default())?;
//!     let levels = &amg.multigrid_report().expect("it is multigrid").levels;
//!     assert!(levels.len() > 1 && levels[1].rows < matrix.rows() / 4);
//!
//!     let (b, mut x) = (vec![1.0; matrix.rows()], vec![0.0; matrix.rows()]);
//!     let mut plan = Plan::new(&cpu, matrix)?;
//!     let report = Solver::new(&cpu, &mut plan).preconditioner(&mut amg).solve(&Cg, &b, &mut x)?;
//!     assert_eq!(report.outcome, Outcome::Converged);
//!     assert!(report.iterations < 30);
//!     Ok(())
//! }
//! ```
//!
//! # 9. Run on a GPU
//!
//! The feature `cuda` adds the executor `Cuda`. Nothing else changes: write functions that are generic over
//! [`Executor`](crate::executor::Executor). Without a GPU, [`Emulated`](crate::executor::Emulated) runs the same
//! kernels lane by lane and reports races and loads out of bounds. It is slow, but good for tests.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Emulated, Executor};
//! use warp_spmv::{Csr, Error, Plan};
//!
//! fn row_sums<E: Executor>(executor: &E, matrix: Csr<f64>) -> Result<Vec<f64>, Error> {
//!     let x = executor.upload(vec![1.0; matrix.columns()])?;
//!     let mut y = executor.zeros(matrix.rows())?;
//!     Plan::new(executor, matrix)?.apply(1.0, &x, 0.0, &mut y)?;
//!     // Launches return at once. The download waits for them.
//!     executor.download(&y)
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
//!     assert_eq!(row_sums(&Cpu::new(), matrix.clone())?, [1.0, 5.0]);
//!     assert_eq!(row_sums(&Emulated::new(0), matrix)?, [1.0, 5.0]);
//!     Ok(())
//! }
//! ```
//!
//! `Cuda::new(0)` creates an executor with its own stream on GPU 0. Its clones share the stream and the memory. An
//! array belongs to the executor that created it, because only that executor's stream determines when it is ready.
//! Another executor refuses it with [`Error::Foreign`](crate::Error::Foreign), and `Cuda::copy_of` makes a copy in the
//! order of both streams. Arrays may outlive the executor, and dropping one does not wait.
//!
//! ```no_run
//! # #[cfg(not(feature = "cuda"))]
//! # fn main() {}
//! use warp_spmv::Error;
//! # #[cfg(feature = "cuda")]
//! use warp_spmv::executor::{Cuda, Executor};
//!
//! # #[cfg(feature = "cuda")]
//! fn main() -> Result<(), Error> {
//!     let first = match Cuda::new(0) {
//!         Ok(gpu) => gpu,
//!         Err(Error::Unavailable { reason, .. }) => {
//!             println!("no GPU: {reason}");
//!             return Ok(());
//!         }
//!         Err(error) => return Err(error),
//!     };
//!     let x = first.upload(vec![1.0; 1000])?;
//!     assert_eq!(first.clone().download(&x)?, vec![1.0; 1000]);
//!
//!     let second = Cuda::new(0)?;
//!     assert!(matches!(second.download(&x), Err(Error::Foreign { .. })));
//!     let copy = second.copy_of(&x)?;
//!     assert_eq!(second.download(&copy)?, vec![1.0; 1000]);
//!     Ok(())
//! }
//! ```
//!
//! # 10. Handle errors
//!
//! An [`Error`](crate::Error) prints as one line. Its variants carry what a program needs to react: bytes, lengths,
//! line numbers. Bad input never panics. Match the variants that you can act on and return the rest; the enum may grow.
//!
//! ```
//! use warp_spmv::executor::{Cpu, Executor};
//! use warp_spmv::io::{self, ReadOptions};
//! use warp_spmv::{Csr, Error, Format, Plan, PlanOptions};
//!
//! /// In ELL, or in CSR where padding would take too much memory.
//! fn plan(cpu: &Cpu, matrix: Csr<f64>) -> Result<Plan<f64, Cpu>, Error> {
//!     match Plan::with_format(cpu, matrix.clone(), Format::ELL) {
//!         Err(Error::Fill { predicted, limit, .. }) => {
//!             println!("ELL would take {predicted} bytes, and {limit} are allowed");
//!             Plan::with_format(cpu, matrix, Format::CSR_TILED)
//!         }
//!         result => result,
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     // One full row and a diagonal: in ELL, every row is as wide as the longest.
//!     let rows: Vec<u32> = (0..1000).map(|_| 0).chain(1..1000).collect();
//!     let columns: Vec<u32> = (0..1000).chain(1..1000).collect();
//!     let matrix = Csr::try_from_triplets(1000, 1000, &rows, &columns, &vec![1.0; rows.len()])?;
//!     let cpu = Cpu::new();
//!     let mut plan = plan(&cpu, matrix.clone())?;
//!     assert_eq!(plan.format().storage(), "CSR");
//!
//!     // A vector of the wrong length. y is untouched.
//!     let mut y = cpu.upload(vec![7.0; 1000])?;
//!     let result = plan.apply(1.0, &vec![1.0; 999], 0.0, &mut y);
//!     assert!(matches!(result, Err(Error::Length { what: "x", found: 999, expected: 1000 })));
//!     assert_eq!(y[0], 7.0);
//!
//!     // Atomic additions come in any order. Where the same bits are demanded, that is an error.
//!     let options = PlanOptions { reproducible: true, ..PlanOptions::default() };
//!     let result = Plan::with_options(&cpu, matrix, Format::COO_ATOMIC, options);
//!     assert!(matches!(result, Err(Error::NotReproducible { .. })));
//!
//!     // A file with an entry outside the matrix. `parse` reads bytes in memory.
//!     let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n";
//!     match io::parse::<f64>(text, "small.mtx", &ReadOptions::default()) {
//!         Err(Error::Parse { line, reason, .. }) => println!("line {line}: {reason}"),
//!         other => panic!("expected an error, found {other:?}"),
//!     }
//!     Ok(())
//! }
//! ```
