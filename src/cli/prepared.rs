//! A matrix on an executor, in the requested or the chosen format.

use std::time::Duration;

use warp_spmv::executor::Executor;
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::io::Number;
use warp_spmv::select::Selection;
use warp_spmv::{Csr, Format, Plan, PlanOptions, Transposed, ValueStorage};

use super::choosing::Choosing;
use super::run::timed;

/// A matrix on an executor, in a format.
pub struct Prepared<T: Number, E: Executor> {
    pub plan: Plan<T, E>,
    pub convert: Duration,
    pub upload: Duration,
}

impl<T: Number, E: Executor> Prepared<T, E> {
    /// Moves `matrix` to the executor and converts it there, or takes `stored` if it already has that storage. This is
    /// the only function that converts.
    pub fn new(
        executor: &E,
        matrix: Csr<T>,
        stored: &mut Option<Matrix<T>>,
        format: Format,
        values: ValueStorage,
    ) -> Result<Self, warp_spmv::Error> {
        const UPLOADING: &str = "moving the matrix to the executor";
        if values == ValueStorage::Full
            && stored.as_ref().map_or(Ok(false), |stored| stored.is_stored_as(format))?
            && let Some(stored) = stored.take()
        {
            let (plan, upload) = timed(executor, UPLOADING, || Plan::from_matrix(executor, stored, format))?;
            return Ok(Self { plan, convert: Duration::ZERO, upload });
        }
        let format = format.resolve(&matrix);
        let (matrix, upload) = timed(executor, UPLOADING, || matrix.upload(executor))?;
        let (matrix, convert) = timed(executor, format!("converting to {format}"), || {
            matrix.convert_with_values(executor, format, FillLimit::default(), values)
        })?;
        Ok(Self { plan: Plan::from_converted(executor, matrix, format)?, convert, upload })
    }

    /// [`new`](Self::new), or for [`Format::Auto`] chooses a format; the time for the choice and the rest counts as
    /// conversion.
    pub fn chosen(
        executor: &E,
        matrix: Csr<T>,
        stored: &mut Option<Matrix<T>>,
        format: Format,
        choosing: &Choosing,
        values: ValueStorage,
    ) -> Result<Self, warp_spmv::Error> {
        if format != Format::Auto {
            return Self::new(executor, matrix, stored, format, values);
        }
        let selection = choosing.selection_with(values);
        let (plan, convert) = timed(executor, "choosing a format", || Plan::automatic(executor, matrix, &selection))?;
        Ok(Self { plan, convert, upload: Duration::ZERO })
    }

    /// [`chosen`](Self::chosen) for products with the transpose, which is stored as well unless any order is allowed,
    /// in the same format or in one that is chosen for it.
    pub fn transposed(
        executor: &E,
        matrix: Csr<T>,
        format: Format,
        choosing: &Choosing,
    ) -> Result<Self, warp_spmv::Error> {
        let (plan, convert) = timed(executor, "storing the matrix and its transpose", || {
            if format == Format::Auto {
                let selection = Selection { transposed: true, ..choosing.selection() };
                return Plan::automatic(executor, matrix, &selection);
            }
            let options = match choosing.any_order {
                true => PlanOptions::default(),
                false => {
                    PlanOptions { reproducible: true, transposed: Transposed::Stored(format), ..PlanOptions::default() }
                }
            };
            Plan::with_options(executor, matrix, format, options)
        })?;
        Ok(Self { plan, convert, upload: Duration::ZERO })
    }
}
