//! What a product and an iteration of conjugate gradients take on many GPUs: a model of few constants, used with what a
//! partition is really like. `docs/scaling.md` says where the constants come from.

mod fit;
mod machine;
mod measured;
mod model;

pub use fit::{Sample, fit};
pub use machine::{AllReduce, Channel, Machine};
pub use measured::{MeasuredPart, MeasuredRun, read};
pub use model::{Bound, Job, Load, Phases, Prediction, Storage, loads, predict};
