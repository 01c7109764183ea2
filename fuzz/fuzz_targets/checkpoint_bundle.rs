//! Any bytes as the index of a bundle with a data file: no panic, and no allocation beyond the size of the files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use std::path::PathBuf;
use std::sync::OnceLock;
use tfprof::internal::checkpoint::ByteSource;
use tfprof::Checkpoint;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len() + 100_000, || {
        static PREFIX: OnceLock<PathBuf> = OnceLock::new();
        let prefix = PREFIX.get_or_init(|| {
            let prefix = std::env::temp_dir().join(format!("tfprof-fuzz-{}", std::process::id()));
            let data: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
            std::fs::write(prefix.with_extension("data-00000-of-00001"), data).expect("room for a file");
            prefix
        });
        let Ok(checkpoint) = Checkpoint::bundle(ByteSource::memory("fuzz", bytes.to_vec()), prefix) else { return };
        for tensor in checkpoint.tensors.iter().take(100) {
            assert!(checkpoint.find(&tensor.name).is_some());
            let values = checkpoint.values(tensor);
            let _ = (checkpoint.stats(tensor), checkpoint.first_values(tensor, 7));
            if let Ok(values) = values {
                assert_eq!(values.len() as u64, tensor.elements().expect("a shape that makes sense"));
                for i in 0..values.len().min(100) {
                    values.get(i);
                }
                let part: Vec<_> = tensor.shape.iter().map(|dim| 0..*dim as u64 / 2).collect();
                checkpoint.part(tensor, &part).expect("a part of what is there");
            }
        }
    });
});
