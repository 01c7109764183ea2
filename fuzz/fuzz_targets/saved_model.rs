//! SavedModels whose objects refer to each other in any way: a cost, an overview, or a typed error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::Inputs;
use tfprof::internal::engine::needs;
use tfprof_fuzz::answers::Files;
use tfprof_fuzz::files::{graph, message};
use tfprof_fuzz::{Make, budgeted};
use tfprof_proto::schema;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let mut make = Make::new(bytes);
    let content = if choice % 4 == 0 { message::any(&schema::SAVED_MODEL, &mut make) } else { graph::saved_model(&mut make) };
    let files = Files::of("SavedModel", content);
    budgeted(files.size(), || {
        let profiler = files.load(needs::COST)?;
        let _ = profiler.cost();
        let _ = files.load(needs::OVERVIEW)?.overview(&Inputs::default());
        Ok(())
    });
});
