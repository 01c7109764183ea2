//! Any bytes as a checkpoint of the first format: no panic, and the number of values matches the shape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::checkpoint::ByteSource;
use tfprof::Checkpoint;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let Ok(checkpoint) = Checkpoint::tables(vec![ByteSource::memory("fuzz", bytes.to_vec())]) else { return };
        for tensor in checkpoint.tensors.iter().take(100) {
            if let Ok(values) = checkpoint.values(tensor) {
                assert_eq!(values.len() as u64, tensor.elements().expect("a shape that makes sense"));
                for i in 0..values.len().min(100) {
                    values.get(i);
                }
            }
            let _ = checkpoint.stats(tensor);
        }
    });
});
