//! Any bytes as a profile, alone and after another: a loaded profile can be saved, and saving is idempotent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::format::profile;
use tfprof::internal::report::advise;
use tfprof::{Profiler, Quirks, Source};

fn save(profiler: &Profiler, quirks: Quirks) -> Vec<u8> {
    let mut out = Vec::new();
    profile::write(profiler.model(), quirks, &mut out).expect("memory");
    out
}

fn load(profiles: &[&[u8]]) -> Option<Profiler> {
    let mut profiler = Profiler::default();
    for profile in profiles {
        profiler.add_profile(Source::memory("fuzz", profile).ok()?).ok()?;
    }
    Some(profiler)
}

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let Some(profiler) = load(&[bytes]) else { return };
        for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
            let names = advise::default_names(quirks);
            profiler.advise(&names, quirks).expect("known checkers");
            save(&profiler, quirks);
        }
        // Once saved, a profile is in the form that stays.
        let first = save(&profiler, Quirks::NONE);
        let second = save(&load(&[&first]).expect("a profile of ours"), Quirks::NONE);
        let third = save(&load(&[&second]).expect("a profile of ours"), Quirks::NONE);
        assert!(second == third);
        let _ = load(&[bytes, &first]);
    });
});
