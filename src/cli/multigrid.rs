//! Options of `--preconditioner amg`, and the report of its levels.

use std::fmt::{self, Display};
use std::path::PathBuf;

use indicatif::HumanCount;
use serde::Serialize;
use warp_spmv::Csr;
use warp_spmv::executor::Executor;
use warp_spmv::io::{DenseMatrix, Number, read_dense};
use warp_spmv::solver::multigrid::{MultigridReport, NearNullSpace};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::synthetic::Generator;

use super::error::Error;
use super::input::Source;
use super::units::duration;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Multigrid")]
pub struct Vectors {
    /// Matrix Market array file with vectors that the matrix makes small, one per column, for amg [default: constants,
    /// one for each unknown of a node]
    #[arg(long, value_name = "FILE", conflicts_with = "coordinates")]
    near_null_space: Option<PathBuf>,
    /// Matrix Market array file with the 2 or 3 coordinates of each node, one node per row, for amg: its vectors are then
    /// the rigid body modes of elasticity; without FILE, those of the generated mesh
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    coordinates: Option<Option<PathBuf>>,
}

impl Vectors {
    /// The name of the option that was given, if any.
    pub fn given(&self) -> Option<&'static str> {
        let near_null_space = self.near_null_space.as_ref().map(|_| "--near-null-space");
        near_null_space.or(self.coordinates.as_ref().map(|_| "--coordinates"))
    }

    /// The files to read.
    pub fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.near_null_space.iter().chain(self.coordinates.iter().flatten()).map(PathBuf::as_path)
    }

    /// Creates a preconditioner, with these vectors if given.
    pub fn preconditioner<T: Number, E: Executor>(
        &self,
        executor: &E,
        source: &Source,
        matrix: &Csr<T>,
        name: PreconditionerName,
    ) -> Result<Preconditioner<T, E>, Error> {
        let (Some(option), options) = (self.given(), PreconditionerOptions::default()) else {
            return Ok(Preconditioner::new(executor, matrix, name)?);
        };
        let PreconditionerName::Amg(mut multigrid) = name else {
            return Err(Error::Usage(format!("{option} requires --preconditioner amg")));
        };
        let near_null_space = match (&self.near_null_space, &self.coordinates) {
            (Some(path), _) => {
                let (DenseMatrix { rows, columns, values }, _) = read_dense::<T>(path, &Default::default())?;
                check_rows(path, rows, matrix.rows())?;
                NearNullSpace::new(rows, columns, &values)?
            }
            (None, Some(Some(path))) => {
                let (DenseMatrix { rows, columns, values }, _) = read_dense::<f64>(path, &Default::default())?;
                check_rows(path, rows.saturating_mul(columns), matrix.rows())?;
                multigrid.node = columns as u32;
                let mut coordinates = warp_spmv::memory::with_capacity(values.len())?;
                coordinates.extend((0..values.len()).map(|place| values[place % columns * rows + place / columns]));
                NearNullSpace::rigid_body_modes(columns, &coordinates)?
            }
            _ => match source.parsed() {
                Some(Ok(Generator::Elasticity(mesh))) => {
                    multigrid.node = 3;
                    NearNullSpace::rigid_body_modes(3, &mesh.positions()?)?
                }
                _ => {
                    let reason = "--coordinates needs a file: only elasticity:… generates coordinates";
                    return Err(Error::Usage(reason.into()));
                }
            },
        };
        Ok(Preconditioner::multigrid(executor, matrix, multigrid, near_null_space, options)?)
    }
}

fn check_rows(path: &std::path::Path, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::UnknownsLength { path: path.into(), found, expected }) }
}

/// The levels of `--preconditioner amg`.
#[derive(Debug, Serialize)]
pub struct Levels {
    /// The levels, the finest first.
    pub levels: Vec<LevelRecord>,
    /// Entries of all levels' matrices over those of the finest.
    pub operator_complexity: f64,
    /// Unknowns of all levels over those of the finest.
    pub grid_complexity: f64,
    /// The steps of the setup, over all levels.
    pub setup: Vec<SetupStep>,
}

/// A level.
#[derive(Debug, Serialize)]
pub struct LevelRecord {
    /// Number of unknowns.
    pub rows: usize,
    /// Entries of its matrix.
    pub nnz: usize,
    /// Entries of the prolongation from the next level; 0 on the last.
    pub prolongation_nnz: usize,
    /// The format of its matrix.
    pub format: String,
    /// The largest eigenvalue that the smoother uses; null if it uses none.
    pub largest_eigenvalue: Option<f64>,
    /// The solver of the last level; null for the others.
    pub solved: Option<&'static str>,
}

/// A step of the setup.
#[derive(Debug, Serialize)]
pub struct SetupStep {
    /// The name of the step.
    pub step: &'static str,
    /// Its duration.
    pub seconds: f64,
}

impl Levels {
    /// The record of the levels.
    pub fn of(report: &MultigridReport) -> Self {
        let levels = report.levels.iter().map(|level| LevelRecord {
            rows: level.rows,
            nnz: level.nnz,
            prolongation_nnz: level.prolongation_nnz,
            format: level.format.to_string(),
            largest_eigenvalue: level.largest_eigenvalue,
            solved: level.coarsest,
        });
        Self {
            levels: levels.collect(),
            operator_complexity: report.operator_complexity(),
            grid_complexity: report.grid_complexity(),
            setup: report.times.iter().map(|&(step, time)| SetupStep { step, seconds: time.as_secs_f64() }).collect(),
        }
    }

    /// A line for the report.
    pub fn summary(&self) -> String {
        let (count, complexity) = (self.levels.len(), self.operator_complexity);
        format!("{count} level{}, operator complexity {complexity:.3}", if count == 1 { "" } else { "s" })
    }
}

/// Formats a table.
impl Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  level      unknowns        entries  a row    prolongation  λ of D⁻¹A  format")?;
        let count = |count: usize| HumanCount(count as u64).to_string();
        for (number, level) in self.levels.iter().enumerate() {
            let (rows, nnz) = (count(level.rows), count(level.nnz));
            let mean = level.nnz as f64 / level.rows.max(1) as f64;
            let largest = level.largest_eigenvalue.filter(|_| level.solved.is_none());
            let largest = largest.map_or("-".into(), |largest| format!("{largest:.3}"));
            let prolongation = count(level.prolongation_nnz);
            write!(
                f,
                "  {number:5} {rows:>13} {nnz:>14} {mean:>6.1} {prolongation:>15} {largest:>10}  {}",
                level.format
            )?;
            writeln!(f, "{}", level.solved.map_or(String::new(), |how| format!(", solved {how}")))?;
        }
        let steps = self.setup.iter().map(|SetupStep { step, seconds }| {
            format!("{step} {}", duration(std::time::Duration::from_secs_f64(*seconds)))
        });
        writeln!(f, "  setup: {}", steps.collect::<Vec<_>>().join(", "))
    }
}
