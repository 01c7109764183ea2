//! Made models of Keras, ONNX and TensorFlow Lite, and made files of weights: costs, lists and values, or a typed error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::checkpoint::ByteSource;
use tfprof::internal::checkpoint::query::Listing;
use tfprof::internal::checkpoint::render::Answer;
use tfprof::{Checkpoint, Options};
use tfprof_fuzz::answers::{check_json, check_text};
use tfprof_fuzz::files::network;
use tfprof_fuzz::{Make, budgeted, cost_of};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let mut make = Make::new(bytes);
    match choice % 8 {
        0 | 1 => cost_of("Keras model", &network::keras(&mut make)),
        2 | 3 => cost_of("ONNX model", &network::onnx(&mut make)),
        4 => cost_of("TensorFlow Lite model", &network::tflite(&mut make)),
        5 => {
            let (config, weights) = bytes.split_at(bytes.len() / 2);
            let (config, weights) = (network::keras(&mut Make::new(config)), network::hdf5(&mut Make::new(weights)));
            let files = [("metadata.json", &b"{}"[..]), ("config.json", &config), ("model.weights.h5", &weights)];
            cost_of("Keras model", &network::archive(&mut make, &files));
        }
        6 => {
            let weights = network::hdf5(&mut make.clone());
            list(network::archive(&mut make, &[("model.weights.h5", &weights)]), Checkpoint::hdf5);
        }
        _ => list(network::safetensors(&mut make), Checkpoint::safetensors),
    }
});

fn list(bytes: Vec<u8>, open: fn(ByteSource) -> Result<Checkpoint, tfprof::Error>) {
    budgeted(bytes.len(), || {
        let checkpoint = open(ByteSource::memory("fuzz", bytes.clone()))?;
        let listing = Listing::new(&checkpoint, &Options::default(), true)?;
        let mut out = Vec::new();
        listing.text(Some(80), &mut out).expect("memory");
        check_text(&out);
        out.clear();
        listing.json(&[], &mut out).expect("memory");
        check_json(&out);
        for tensor in checkpoint.tensors.iter().take(20) {
            if let Ok(values) = checkpoint.values(tensor) {
                assert_eq!(values.len() as u64, tensor.elements().expect("a shape that makes sense"));
            }
        }
        Ok(())
    });
}
