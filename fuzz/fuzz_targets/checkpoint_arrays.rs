//! Any bytes as an HDF5 file, a `.keras` archive or safetensors: no panic, and the number of values matches the shape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::Checkpoint;
use tfprof::internal::checkpoint::ByteSource;
use tfprof_fuzz::budgeted;

fuzz_target!(|bytes: &[u8]| {
    budgeted(bytes.len(), || {
        let source = || ByteSource::memory("fuzz", bytes.to_vec());
        for opened in [Checkpoint::hdf5(source()), Checkpoint::safetensors(source())] {
            let Ok(checkpoint) = opened else { continue };
            for tensor in checkpoint.tensors.iter().take(100).filter(|tensor| tensor.bytes.unwrap_or(0) < 1 << 20) {
                if let Ok(values) = checkpoint.values(tensor) {
                    assert_eq!(values.len() as u64, tensor.elements().expect("a shape that makes sense"));
                }
            }
        }
        Ok(())
    });
});
