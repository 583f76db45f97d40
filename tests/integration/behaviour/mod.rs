//! Behaviour of formats and executors, without a GPU.

mod clusters;
mod column_panels;
mod conversion_memory;
mod conversions;
mod executors;
mod faults;
mod formats;
mod fused;
mod multivectors;
mod narrow;
mod panels;
mod parameters;
mod random;
mod schedules;
mod select;
mod sparse_products;
mod stored;
mod threads;
mod transposed;
mod updates;
