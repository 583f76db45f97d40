//! Prolongations by kernels.

mod smoothing;
mod tentative;

pub(super) use smoothing::smoothing;
pub(super) use tentative::tentative;
