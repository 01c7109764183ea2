//! A saved profile answers like the files it was made from, and saving it again changes nothing.

use libtest_mimic::Trial;
use std::path::Path;
use tfprof::internal::format::profile;
use tfprof::internal::render;
use tfprof::{Input, Inputs, Options, Profiler, Quirks, Role, Source, ViewKind};

/// Models with everything that a profile can hold.
const MODELS: [&str; 6] = ["mlp_small", "resnet32", "rnn", "ps_workers", "keras_cnn", "gpu_synthetic"];

pub fn trials(corpus: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    for model in MODELS {
        let (saved, merged) = (corpus.join(model), corpus.join(model));
        trials.push(Trial::test(format!("saved_profiles_answer_as_before::{model}"), move || {
            saved_profile_answers_as_before(&saved);
            Ok(())
        }));
        trials.push(Trial::test(format!("profiles_of_single_steps_merge_in_any_order::{model}"), move || {
            profiles_of_single_steps_merge_in_any_order(&merged);
            Ok(())
        }));
    }
    trials
}

fn saved_profile_answers_as_before(dir: &Path) {
    let mut inputs = Inputs::default();
    inputs.add_path(dir).expect("a directory of the corpus");
    let mut profiler = Profiler::default();
    inputs.load(&mut profiler).expect("files of the corpus");
    for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
        let first = saved(&profiler, quirks);
        let again = loaded(&first);
        for kind in ViewKind::ALL {
            assert_same(&answers(&profiler, kind, quirks), &answers(&again, kind, quirks), dir, kind);
        }
        if quirks == Quirks::NONE {
            assert!(saved(&again, quirks) == first, "{}: saving again changes something", dir.display());
        }
    }
}

fn profiles_of_single_steps_merge_in_any_order(dir: &Path) {
    let mut inputs = Inputs::default();
    inputs.add_path(dir).expect("a directory of the corpus");
    let parts: Vec<Vec<u8>> = inputs
        .runs()
        .map(|(step, run)| {
            let mut one = inputs.clone();
            one.list.retain(|input| input.format.role != Role::Run);
            one.list.push(Input { step: Some(step), ..run.clone() });
            let mut profiler = Profiler::default();
            one.load(&mut profiler).expect("files of the corpus");
            saved(&profiler, Quirks::NONE)
        })
        .collect();
    let mut all = Profiler::default();
    inputs.load(&mut all).expect("files of the corpus");
    let merged = |order: &mut dyn Iterator<Item = &Vec<u8>>| {
        let mut profiler = Profiler::default();
        for part in order {
            profiler.add_profile(Source::memory("part", part).expect("memory")).expect("a profile of ours");
        }
        profiler
    };
    let (forth, back) = (merged(&mut parts.iter()), merged(&mut parts.iter().rev()));
    for kind in ViewKind::ALL {
        let expect = answers(&all, kind, Quirks::NONE);
        assert_same(&expect, &answers(&forth, kind, Quirks::NONE), dir, kind);
        assert_same(&expect, &answers(&back, kind, Quirks::NONE), dir, kind);
    }
}

fn saved(profiler: &Profiler, quirks: Quirks) -> Vec<u8> {
    let mut bytes = Vec::new();
    profile::write(profiler.model(), quirks, &mut bytes).expect("memory takes all");
    bytes
}

fn loaded(bytes: &[u8]) -> Profiler {
    let mut profiler = Profiler::default();
    profiler.add_profile(Source::memory("saved", bytes).expect("memory")).expect("a profile of ours");
    profiler
}

/// All figures and details of a view, for the average and for one step.
fn answers(profiler: &Profiler, kind: ViewKind, quirks: Quirks) -> String {
    let mut text = Vec::new();
    let last = profiler.model().runs.steps().last().unwrap_or(-1);
    for step in [-1, last] {
        let mut options = Options { quirks, max_depth: Some(1000), ..Options::default() };
        let all = "bytes,peak_bytes,residual_bytes,output_bytes,micros,accelerator_micros,cpu_micros,params,float_ops,\
                   occurrence,device,op_types,input_shapes";
        options.set("select", all).expect("known words");
        options.set("step", &step.to_string()).expect("a number");
        match profiler.view(kind, &options) {
            Ok(view) => render::text::write_report(&view, &mut text).expect("memory takes all"),
            Err(error) => text.extend(error.to_string().bytes()),
        }
    }
    String::from_utf8(text).expect("text")
}

fn assert_same(expect: &str, found: &str, dir: &Path, kind: ViewKind) {
    let different = expect.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(expect == found, "{} {}: {different:?}", dir.display(), kind.word());
}
