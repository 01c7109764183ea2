//! Any bytes as a file in text format: no panic, balanced messages, well-formed records, and the same result for every
//! window size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof_fuzz::{Dribble, GRAPH, Log};
use tfprof_proto::{schema, text};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let mut whole = Log::default();
        let outcome = text::read(&mut &bytes[..], &schema::GRAPH_DEF, &GRAPH, &mut whole);
        let mut dribbled = Log::default();
        let again = text::read(&mut Dribble::new(bytes), &schema::GRAPH_DEF, &GRAPH, &mut dribbled);
        whole.check();
        whole.check_messages();
        assert_eq!(whole, dribbled);
        assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
        text::looks_like_text(bytes, &schema::GRAPH_DEF);
    });
});
