//! Products of two sparse matrices have the same bits on every executor.

use warp_spmv::executor::{Cpu, Emulated, Reference};
use warp_spmv::{Complex, Scalar};

use crate::scenarios::sparse_product::check_sparse_products;

fn check<T: Scalar>() {
    check_sparse_products::<T, _>(&Reference::new());
    check_sparse_products::<T, _>(&Cpu::new());
    check_sparse_products::<T, _>(&Emulated::new(3));
}

#[test]
fn sparse_products_have_the_same_bits_on_every_executor() {
    check::<f32>();
    check::<f64>();
    check::<Complex<f32>>();
    check::<Complex<f64>>();
}
