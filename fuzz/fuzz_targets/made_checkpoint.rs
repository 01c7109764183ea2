//! Made tables with right checksums, of both formats: listed, summarized, verified, compared and written in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::OnceLock;
use tfprof::internal::checkpoint::ByteSource;
use tfprof::internal::checkpoint::query::{Comparison, Listing, select_values};
use tfprof::internal::checkpoint::render::Answer;
use tfprof::{Checkpoint, Comparing, Container, Error, Options};
use tfprof_fuzz::answers::{check_csv, check_json, check_page, check_text};
use tfprof_fuzz::files::checkpoint;
use tfprof_fuzz::{Make, budgeted};

/// The bytes that all tensors of bundles lie in.
const DATA: usize = 4096;

fn prefix() -> &'static PathBuf {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = std::env::temp_dir().join(format!("tfprof-fuzz-{}", std::process::id()));
        let data: Vec<u8> = (0..DATA).map(|i| (i % 251) as u8).collect();
        std::fs::write(prefix.with_extension("data-00000-of-00001"), data).expect("room for a file");
        prefix
    })
}

fn open(bytes: &[u8], is_bundle: bool) -> (usize, Result<Checkpoint, Error>) {
    let mut make = Make::new(bytes);
    let content = if is_bundle { checkpoint::bundle(&mut make) } else { checkpoint::tables(&mut make) };
    let (size, source) = (content.len(), ByteSource::memory("fuzz", content));
    (size, if is_bundle { Checkpoint::bundle(source, prefix()) } else { Checkpoint::tables(vec![source]) })
}

fn write(answer: &dyn Answer) {
    let mut out = Vec::new();
    answer.text(Some(80), &mut out).expect("memory");
    check_text(&out);
    out.clear();
    answer.json(&[], &mut out).expect("memory");
    check_json(&out);
    out.clear();
    answer.csv(&mut out).expect("memory");
    check_csv(&out);
    out.clear();
    answer.html(Container::PAGE, &mut out).expect("memory");
    check_page(&out);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let is_bundle = choice & 1 == 0;
    let mut make = Make::new(bytes);
    let content = if is_bundle { checkpoint::bundle(&mut make) } else { checkpoint::tables(&mut make) };
    budgeted(content.len() + DATA, || {
        let (_, checkpoint) = open(bytes, is_bundle);
        let (_, other) = open(&bytes[..bytes.len() / 2], is_bundle);
        let checkpoint = checkpoint?;
        let options = Options::default();
        write(&Listing::new(&checkpoint, &options, choice & 2 != 0)?);
        if choice & 4 != 0 {
            write(&checkpoint.verify());
        }
        if choice & 8 != 0 {
            write(&Comparison::new(&checkpoint, &other?, &options, &Comparing::default(), choice & 2 != 0)?);
        }
        for tensor in checkpoint.tensors.iter().take(3) {
            if let Ok(selected) = select_values(&checkpoint, &tensor.name) {
                write(&selected);
            }
        }
        Ok(())
    });
});
