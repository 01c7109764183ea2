//! Any bytes as a TensorFlow Lite model: a cost or a typed error, no panic, and work bounded by the size of the input.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tfprof_fuzz::cost_of("TensorFlow Lite model", bytes));
