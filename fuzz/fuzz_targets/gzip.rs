//! Gzipped files, whole, cut, with several members or in bad order, and bombs: an answer or a sentence, within bounds.
#![no_main]

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use tfprof::internal::budget::Account;
use tfprof::{FORMATS, Limits, Profiler, Source};
use tfprof_fuzz::{Make, metered};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let mut choices = Make::new(choices);
    let mut packed = Vec::new();
    for _ in 0..1 + choices.below(3) {
        let mut packer = GzEncoder::new(Vec::new(), Compression::new(choices.below(10) as u32));
        let times = choices.pick(&[1, 1, 1, 2, 40]);
        (0..times).for_each(|_| packer.write_all(bytes).expect("memory"));
        packed.extend(packer.finish().expect("memory"));
    }
    if choices.once_in(4) {
        packed.truncate(packed.len() * choices.below(100) / 100);
    }
    if choices.once_in(4) && !packed.is_empty() {
        let at = choices.below(packed.len());
        packed[at] ^= choices.byte();
    }
    let format = &FORMATS[choices.below(FORMATS.len())];
    // The bytes that pay: those of the file, and of the unpacked ones a multiple.
    metered(packed.len() * 25, || {
        let limits = Limits { work: Some(100_000), unpacked: Some(1 << 20), ..Limits::default() };
        let _ = Account::new(limits, 0).guard(|| {
            let mut profiler = Profiler::default();
            profiler.add(Source::memory("fuzz.gz", &packed)?, format, 0)
        });
    });
    // Any bytes as a compressed file.
    let mut any = vec![0x1f, 0x8b];
    any.extend(bytes);
    metered(any.len() * 25, || {
        let _ = Source::memory("fuzz.gz", &any).and_then(|source| Profiler::default().add(source, format, 0));
    });
});
