//! Any bytes as a file in wire format: no panic, balanced messages, and the same result for every window size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof_fuzz::{Dribble, GRAPH, Log};
use tfprof_proto::stream;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let mut whole = Log::default();
        let outcome = stream::read(&mut &bytes[..], &GRAPH, &mut whole);
        let mut dribbled = Log::default();
        let again = stream::read(&mut Dribble::new(bytes), &GRAPH, &mut dribbled);
        whole.check();
        assert_eq!(whole, dribbled);
        assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
    });
});
