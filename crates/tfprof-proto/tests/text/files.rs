//! Real graphs: the text says what the binary says.

use crate::support::{GRAPH, Log, read_graph};
use std::path::Path;
use tfprof_proto::schema;
use tfprof_proto::stream;
use tfprof_proto::text::looks_like_text;

#[test]
fn text_and_binary_give_the_same_records() {
    let mut compared = 0;
    for path in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")).unwrap() {
        let path = path.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pbtxt") {
            compare(&path);
            compared += 1;
        }
    }
    assert!(compared > 5);
}

fn compare(path: &Path) {
    let text = std::fs::read(path).unwrap();
    let binary = std::fs::read(path.with_extension("pb")).unwrap();
    let from_text = read_graph(&text);
    let mut from_binary = Log::default();
    assert!(stream::read(&mut &binary[..], &GRAPH, &mut from_binary).unwrap());
    assert_eq!((&from_text.error, &from_text.warnings), (&None, &Vec::new()), "{}", path.display());
    assert_eq!(from_text.records.len(), from_binary.records.len(), "{}", path.display());
    for (text, binary) in from_text.records.iter().zip(&from_binary.records) {
        // Written by hand, these say what a binary leaves out because it is the default.
        let text = text.replace("{size: 0}", "{}").replace("{name: \"\" ", "{").replace(" op: \"\"", "");
        assert_eq!(&text, binary, "{}", path.display());
    }
    assert!(looks_like_text(&text[..text.len().min(4096)], &schema::GRAPH_DEF));
    assert!(!looks_like_text(&binary[..binary.len().min(4096)], &schema::GRAPH_DEF));
}
