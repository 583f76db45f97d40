//! DLPack's description of an array in a capsule.

use std::ffi::{c_int, c_void};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::failure::Failure;

/// `DLTensor` in DLPack's header, unchanged since its first version.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: c_int,
    device_number: c_int,
    dimensions: c_int,
    type_code: u8,
    type_bits: u8,
    type_lanes: u16,
    shape: *const i64,
    /// In elements; NULL if contiguous in row-major order.
    strides: *const i64,
    byte_offset: u64,
}

/// An array: its address, shape, strides in elements, type in NumPy's notation, and device in DLPack's numbering.
type Description = (u64, Vec<i64>, Option<Vec<i64>>, String, (i32, i32));

/// Describes the array of a capsule, which remains its owner.
#[pyfunction]
pub fn dlpack_array(capsule: &Bound<'_, PyCapsule>) -> Result<Description, Failure> {
    let pointer = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Tensor>();
    // SAFETY: DLPack's capsules with this name hold a `DLManagedTensor`, which begins with the tensor, and the capsule
    // is borrowed. Strides and shape have a number per dimension.
    unsafe {
        let tensor = pointer.as_ref();
        let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
        let numbers = |array: *const i64| match dimensions {
            0 => Vec::new(),
            _ => std::slice::from_raw_parts(array, dimensions).to_vec(),
        };
        let strides = (!tensor.strides.is_null()).then(|| numbers(tensor.strides));
        let address = (tensor.data.addr() as u64).wrapping_add(tensor.byte_offset);
        let device = (tensor.device_type, tensor.device_number);
        Ok((address, numbers(tensor.shape), strides, type_name(tensor)?, device))
    }
}

fn type_name(tensor: &Tensor) -> Result<String, Failure> {
    let kind = match tensor.type_code {
        0 => 'i',
        1 => 'u',
        2 => 'f',
        5 => 'c',
        6 => 'b',
        code => {
            return Err(Failure::number_type(format!("an array of DLPack's type {code}, which NumPy does not have")));
        }
    };
    let (bits, lanes) = (tensor.type_bits, tensor.type_lanes);
    if !bits.is_multiple_of(8) || lanes != 1 {
        let message = format!("an array of {lanes} lanes of {bits} bits, which NumPy does not have");
        return Err(Failure::number_type(message));
    }
    Ok(format!("{kind}{}", bits / 8))
}
