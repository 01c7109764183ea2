//! Models of tests/models against what TensorFlow says of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tfprof::cost::Cost;
use tfprof::infer::settings::Settings;
use tfprof::inputs::Inputs;
use tfprof::metric::Metric;
use tfprof::profiler::Profiler;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models")
}

fn cost(path: &Path, settings: Settings) -> (Cost, Profiler) {
    let mut inputs = Inputs::default();
    inputs.add_path(path).unwrap();
    inputs.settings = settings;
    let mut profiler = Profiler::default();
    inputs.load(&mut profiler).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cost = Cost::new(&profiler).unwrap();
    (cost, profiler)
}

#[test]
fn look() {
    let mut names: Vec<_> = std::fs::read_dir(models()).unwrap().flatten().map(|entry| entry.path()).collect();
    names.sort();
    for path in names {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let signature = match name.as_str() {
            "signatures" => Some("both".to_owned()),
            _ => None,
        };
        let settings = Settings { signature, ..Settings::default() };
        let start = std::time::Instant::now();
        let (cost, _) = cost(&path, settings);
        let time = start.elapsed();
        println!(
            "== {name} {time:?} params {} trainable {:?} slots {} flops {} macs {} io {} nodes {} unknown {} per_batch {:?}",
            cost.get(Metric::Parameters),
            cost.trainable,
            cost.slots,
            cost.get(Metric::FloatOps),
            cost.get(Metric::Macs),
            cost.get(Metric::IoBytes),
            cost.nodes,
            cost.get(Metric::UnknownOps),
            cost.per_batch
        );
        let facts: String = std::fs::read_to_string(path.join("facts.json")).unwrap().split_whitespace().collect();
        println!("   facts {facts}");
        let types: BTreeMap<_, _> = cost
            .op_types
            .iter()
            .filter(|(_, _, figures)| figures[1] > 0)
            .map(|(op, _, figures)| (op, figures[1]))
            .collect();
        println!("   types {types:?}");
        println!("   unknown {:?}", cost.unknown);
        println!("   missing {:?}", cost.missing.iter().take(3).collect::<Vec<_>>());
        println!("   warnings {:?}", cost.warnings.iter().map(|w| &w.message).collect::<Vec<_>>());
    }
}
