//! Every input of the corpus, damaged in every way that files get damaged: each gives an answer or a typed error, in
//! memory that is a multiple of the file's size, and in time.
//!
//! This is about the library, file by file; `crates/tfprof-cli/tests/hostile.rs` has the cases that need a whole process.

#![allow(unsafe_code)] // To count memory, which only an allocator can do.

mod memory;
mod mutate;

use mutate::mutations;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tfprof::internal::checkpoint::ByteSource;
use tfprof::internal::events::HostFile;
use tfprof::internal::format::kineto;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::internal::render;
use tfprof::internal::trace::excerpt::{Excerpt, ExcerptTrace};
use tfprof::internal::trace::profile::ProfileTrace;
use tfprof::internal::trace::{Step, Trace, TraceOptions};
use tfprof::{Checkpoint, Error, Format, Options, Profiler, Quirks, Role, Selection, Source, ViewKind};

/// The memory that an answer may take: a constant, and a multiple of the file's size.
const BASE: usize = 8 << 20;
const TIMES: usize = 100;

/// No file of the corpus takes a second to answer, so that one that takes this long hangs.
const HANGS: Duration = Duration::from_secs(60);

#[test]
fn every_damaged_input_gives_an_answer_or_an_error() {
    let inputs = inputs();
    assert!(inputs.len() > 60, "{}", inputs.len());
    let next = AtomicUsize::new(0);
    let (answers, errors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let busy: Mutex<[Option<(Instant, String)>; 2]> = Mutex::default();
    let failures = Mutex::new(Vec::new());
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (inputs, next, busy, failures, done) = (&inputs, &next, &busy, &failures, &done);
            let (answers, errors) = (&answers, &errors);
            // As small a stack as some systems give to threads: depth of an input must not take any of it.
            let thread = std::thread::Builder::new().stack_size(1 << 20);
            let work = move || {
                while let Some((path, bytes)) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for (kind, (what, damaged)) in ViewKind::ALL.into_iter().cycle().zip(mutations(bytes)) {
                        let name = format!("{}: {what}", path.display());
                        busy.lock().expect("no panic")[worker] = Some((Instant::now(), name.clone()));
                        let (outcome, peak) = memory::peak_of(|| ask(path, kind, bytes, &damaged));
                        if outcome.is_ok() { answers } else { errors }.fetch_add(1, Ordering::Relaxed);
                        if peak > BASE + TIMES * damaged.len() {
                            failures.lock().expect("no panic").push(format!("{name}: held {peak} bytes"));
                        }
                    }
                }
                busy.lock().expect("no panic")[worker] = None;
                done.fetch_add(1, Ordering::Relaxed);
            };
            thread.spawn_scoped(scope, work).expect("a thread");
        }
        while done.load(Ordering::Relaxed) < 2 {
            std::thread::sleep(Duration::from_millis(100));
            for (since, name) in busy.lock().expect("no panic").iter().flatten() {
                if since.elapsed() > HANGS {
                    // There is no way to stop a thread that hangs.
                    fail_at_once(name);
                }
            }
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
    let (answers, errors) = (answers.into_inner(), errors.into_inner());
    assert!(answers > 10_000 && errors > 500, "{answers} answers, {errors} errors");
}

#[allow(clippy::print_stderr)]
fn fail_at_once(name: &str) {
    eprintln!("no answer after {} seconds: {name}", HANGS.as_secs());
    std::process::abort();
}

/// The inputs of all models, unpacked.
fn inputs() -> Vec<(PathBuf, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![here.join("../corpus"), here.join("dialects/samples"), here.join("keras/samples")];
    let mut inputs = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory of the corpus") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "golden" {
                    open.push(path);
                }
            } else if dir.ends_with("kineto")
                || !(name.contains(".json") || name.contains(".md") || name.contains(".data-"))
            {
                inputs.push((path.clone(), unpacked(&path)));
            }
        }
    }
    inputs.sort();
    inputs
}

fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a file of the corpus");
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut plain = Vec::new();
    // One that is cut short on purpose gives what there is.
    let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain);
    plain
}

/// Puts a question that a file is good for to its damaged form.
fn ask(path: &Path, kind: ViewKind, whole: &[u8], damaged: &[u8]) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.contains(".index") || name.contains(".ckpt") {
        let checkpoint = Checkpoint::bundle(ByteSource::memory("damaged", damaged.to_vec()), path)?;
        assert!(checkpoint.tensors.iter().all(|tensor| checkpoint.find(&tensor.name).is_some()));
        return Ok(());
    }
    if name.ends_with(".safetensors") {
        let checkpoint = Checkpoint::safetensors(ByteSource::memory("damaged", damaged.to_vec()))?;
        checkpoint.tensors.iter().for_each(|tensor| drop(checkpoint.values(tensor)));
        return Ok(());
    }
    if name.ends_with(".h5") || name.ends_with(".keras") {
        return ask_keras(damaged);
    }
    let mut profiler = Profiler::default();
    let format = Format::recognize(&whole[..whole.len().min(64 * 1024)]).unwrap_or(Format::of(Role::Graph));
    if format.name == kineto::NAME {
        return ask_trace(&mut profiler, kind, damaged);
    }
    if format.role == Role::Host {
        return ask_profile(&mut profiler, kind, damaged);
    }
    profiler.add(Source::memory("damaged", damaged)?, format, 0)?;
    if name.ends_with(".onnx") || name.ends_with(".tflite") {
        profiler.infer()?;
        profiler.cost()?;
    }
    let mut options = Options { max_depth: Some(1000), ..Options::default() };
    options.select = Selection::parse(&Selection::all_words()).ok();
    for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
        options.quirks = quirks;
        match profiler.view(kind, &options) {
            Ok(view) => render::json::write(&view, profiler.warnings(), &mut std::io::sink()).expect("a sink"),
            Err(error) => drop(error.to_string()),
        }
    }
    if format.role == Role::Run {
        let step = Step { step: 0, open: Box::new(move || Source::memory("damaged", damaged)) };
        Trace::new(vec![step], TraceOptions { show_memory: true, ..TraceOptions::default() })?
            .write(&mut std::io::sink())
            .expect("a sink");
    }
    Ok(())
}

/// The tensors of a file of Keras, and the cost of its model.
fn ask_keras(damaged: &[u8]) -> Result<(), Error> {
    if let Ok(checkpoint) = Checkpoint::hdf5(ByteSource::memory("damaged", damaged.to_vec())) {
        checkpoint.tensors.iter().for_each(|tensor| drop(checkpoint.values(tensor)));
    }
    let format = Format::named("Keras model").expect("a format");
    let mut profiler = Profiler::default();
    profiler.add(Source::memory("damaged", damaged)?, format, 0)?;
    profiler.infer()?;
    profiler.cost()?;
    Ok(())
}

/// The same for a profile of TensorFlow 2 or JAX, of which the files lie in memory as a whole.
fn ask_profile(profiler: &mut Profiler, kind: ViewKind, damaged: &[u8]) -> Result<(), Error> {
    let files = [ProfileFile::memory("damaged", damaged.to_vec())];
    ProfileTrace::new(&files, true)?.write(&mut std::io::sink()).expect("a sink");
    ask_hosts(profiler, kind, &files)
}

/// The same for a trace of PyTorch.
fn ask_trace(profiler: &mut Profiler, kind: ViewKind, damaged: &[u8]) -> Result<(), Error> {
    let file = kineto::open(Path::new(""), Source::memory("damaged", damaged)?)?;
    ExcerptTrace::new(&file, Excerpt::default())?.write(&mut std::io::sink()).expect("a sink");
    file.lanes()?;
    ask_hosts(profiler, kind, &[file])
}

fn ask_hosts(profiler: &mut Profiler, kind: ViewKind, files: &[impl HostFile]) -> Result<(), Error> {
    profiler.add_profiles(files, None, &|_, _| {})?;
    let options = Options { max_depth: Some(1000), ..Options::default() };
    match profiler.view(kind, &options) {
        Ok(view) => render::json::write(&view, profiler.warnings(), &mut std::io::sink()).expect("a sink"),
        Err(error) => drop(error.to_string()),
    }
    Ok(())
}
