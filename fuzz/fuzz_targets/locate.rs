//! Directories of any names and contents: files are found, recognized and loaded, or refused in a sentence; nothing outside
//! of the directory is opened.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use tfprof::{Checkpoint, Inputs, Profiler};
use tfprof_fuzz::files::{checkpoint, graph, xspace};
use tfprof_fuzz::{Make, budgeted};

const NAMES: &[&str] = &[
    "checkpoint", "c.index", "c.data-00000-of-00001", "c.meta", "graph.pbtxt", "saved_model.pb", "variables/variables.index", "run_meta_1",
    "plugins/profile/r/h.xplane.pb", "a.pt.trace.json", "tfprof_log", "c-00000-of-00002", "x.gz", "profile", "train/plugins/profile/s/a.xplane.pb",
];

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("tfprof-fuzz-locate-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut make = Make::new(bytes);
    let (mut size, mut paths) = (0, vec![dir.clone()]);
    for _ in 0..6 {
        let mut part = make.raw();
        let name = if make.once_in(4) { PathBuf::from(std::ffi::OsString::from_vec(make.name())) } else { make.pick(NAMES).into() };
        let inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside || name.as_os_str().is_empty() || name.as_os_str().len() > 200 || name.to_string_lossy().contains('\0') {
            continue;
        }
        let mut own = Make::new(&part);
        let content = match make.below(6) {
            0 => graph::graph(&mut own),
            1 => xspace::space(&mut own),
            2 => checkpoint::bundle(&mut own),
            3 => [b"model_checkpoint_path: \"", &part[..], b"\""].concat(),
            4 => b"model_checkpoint_path: \"../../other\"".to_vec(),
            _ => std::mem::take(&mut part),
        };
        let path = dir.join(name);
        let _ = std::fs::create_dir_all(path.parent().expect("a directory"));
        if std::fs::write(&path, &content).is_ok() {
            size += content.len();
            paths.push(path);
        }
    }
    let path = paths[make.below(paths.len())].clone();
    budgeted(size, || {
        let mut inputs = Inputs::default();
        inputs.add_path(&path)?;
        let mut profiler = Profiler::default();
        inputs.load(&mut profiler)?;
        profiler.overview(&inputs).map(drop)
    });
    budgeted(size, || Checkpoint::open(&path).map(drop));
});
