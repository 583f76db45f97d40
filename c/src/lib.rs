//! The C interface. `include/warp_spmv.h` is generated from it, and `README.md` shows its use.
//!
//! Every function returns a [`Status`]; no panic leaves it. Programs are given handles: numbers that are never reused, so
//! that a destroyed one is recognized. Pointers are accessed only during the call.

mod device;
mod executor;
mod guard;
mod matrix;
mod options;
mod plan;
mod pointers;
mod registry;
mod status;

pub use device::{
    warp_spmv_executor_create_on_stream, warp_spmv_plan_apply_device_float32, warp_spmv_plan_apply_device_float64,
    warp_spmv_plan_create_device_float32, warp_spmv_plan_create_device_float64,
    warp_spmv_plan_update_values_device_float32, warp_spmv_plan_update_values_device_float64,
};
pub use executor::{Executor, warp_spmv_executor_create, warp_spmv_executor_destroy};
pub use matrix::{IndexType, Pattern};
pub use options::{Options, warp_spmv_options_default};
pub use plan::{
    Plan, warp_spmv_plan_apply_float32, warp_spmv_plan_apply_float64, warp_spmv_plan_create_float32,
    warp_spmv_plan_create_float64, warp_spmv_plan_destroy, warp_spmv_plan_format, warp_spmv_plan_shape,
    warp_spmv_plan_update_values_float32, warp_spmv_plan_update_values_float64,
};
pub use status::{Status, warp_spmv_last_message, warp_spmv_status_name, warp_spmv_version};
