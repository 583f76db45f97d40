//! Times of a product and of an iteration of conjugate gradients on many GPUs: a model with few constants, applied to
//! actual partitions. `docs/scaling.md` describes the origin of the constants.

mod fit;
mod machine;
mod measured;
mod model;

pub use fit::{Sample, fit};
pub use machine::{AllReduce, Channel, Machine};
pub use measured::{MeasuredPart, MeasuredRun, read};
pub use model::{Bound, Job, Load, Phases, Prediction, Storage, loads, predict};
