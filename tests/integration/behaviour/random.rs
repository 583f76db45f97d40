//! Random products on the CPU and the emulator; the example `random_products` runs any number of them.

use warp_spmv::executor::Cpu;

use crate::scenarios::random::{Tally, check_random, emulators};

#[test]
fn random_products_of_the_emulator_are_right() {
    let mut emulators = emulators();
    let mut tally = Tally::default();
    for number in 0..4000 {
        let emulator = &mut emulators[(number % 4) as usize];
        emulator.set_seed(number);
        check_random(emulator, number, &mut tally).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(tally.matrices(), 4000);
    println!("{tally}");
}

#[test]
fn random_products_of_the_cpu_are_right() {
    let mut tally = Tally::default();
    for number in 0..20_000 {
        check_random(&Cpu::new(), number, &mut tally).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(tally.matrices(), 20_000);
}
