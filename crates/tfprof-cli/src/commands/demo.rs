//! `tfprof demo`: a built-in sample to try everything on: the graph of a ResNet-32, two steps, an op log and a checkpoint.
//! `scripts/make_demo.py` and `make_demo_checkpoint.py` make it.

use super::{Exit, write_text};
use crate::flags::Request;
use crate::{shell, target};
use flate2::read::GzDecoder;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tfprof::Error;

/// A file of the sample: its name, and its bytes as gzip.
struct SampleFile {
    name: &'static str,
    gzip: &'static [u8],
}

const FILES: &[SampleFile] = &[
    SampleFile { name: "graph.pb", gzip: include_bytes!("../../demo/graph.pb.gz") },
    SampleFile { name: "run_meta_0", gzip: include_bytes!("../../demo/run_meta_0.gz") },
    SampleFile { name: "run_meta_100", gzip: include_bytes!("../../demo/run_meta_100.gz") },
    SampleFile { name: "tfprof_log", gzip: include_bytes!("../../demo/tfprof_log.gz") },
    SampleFile { name: "model.ckpt.index", gzip: include_bytes!("../../demo/model.ckpt.index.gz") },
    SampleFile {
        name: "model.ckpt.data-00000-of-00001",
        gzip: include_bytes!("../../demo/model.ckpt.data-00000-of-00001.gz"),
    },
];

/// The demo without a command: the overview, and the shell where there is a terminal.
pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    if !request.flags.write.is_empty() {
        return write(Path::new(&request.flags.write), out);
    }
    shell::run_with_overview(request, out, err)
}

/// Writes the files of the sample uncompressed.
fn write(dir: &Path, out: &mut dyn Write) -> Result<Exit, Error> {
    let names = Sample::write_to(dir)?;
    write_text(out, &format!("wrote {} to {}\n", names.join(", "), dir.display()))
}

/// The files of the sample in a temporary directory, which is removed on drop.
#[derive(Debug)]
pub struct Sample {
    dir: PathBuf,
}

impl Sample {
    pub fn unpack() -> Result<Sample, Error> {
        let dir = std::env::temp_dir().join(format!("tfprof-demo-{}-{:08x}", std::process::id(), moment()));
        let io_error = |source| Error::Io { file: dir.display().to_string(), action: "cannot write", source };
        // It must be new: we must not read or remove the files of others.
        std::fs::create_dir(&dir).map_err(io_error)?;
        let sample = Sample { dir: dir.clone() };
        for file in FILES {
            let mut plain = Vec::new();
            GzDecoder::new(file.gzip).read_to_end(&mut plain).map_err(io_error)?;
            std::fs::write(dir.join(file.name), plain).map_err(io_error)?;
        }
        Ok(sample)
    }

    /// Writes the files into a directory and returns their names. None may exist already.
    pub fn write_to(dir: &Path) -> Result<Vec<&'static str>, Error> {
        let io_error = |source| Error::Io { file: dir.display().to_string(), action: "cannot write", source };
        std::fs::create_dir_all(dir).map_err(io_error)?;
        for file in FILES {
            let path = dir.join(file.name);
            if path.exists() {
                let message = format!("{} exists; name a directory that is empty or new", path.display());
                return Err(Error::Question(message));
            }
        }
        for file in FILES {
            let path = dir.join(file.name).display().to_string();
            let fill = |out: &mut dyn Write| io::copy(&mut GzDecoder::new(file.gzip), out).map(drop);
            target::to_file(&path, &[], fill)?;
        }
        Ok(FILES.iter().map(|file| file.name).collect())
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The prefix of the checkpoint, which has the tensors of `unit_1_0`.
    pub fn checkpoint(&self) -> PathBuf {
        self.dir.join("model.ckpt")
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // The system empties its directory of temporary files if we cannot.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Makes the names of several samples in one process unique.
pub fn moment() -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_small_and_is_deleted() {
        assert!(FILES.iter().map(|file| file.gzip.len()).sum::<usize>() < 2_000_000);
        let sample = Sample::unpack().unwrap();
        let dir = sample.dir().to_owned();
        assert!(dir.join("graph.pb").is_file());
        drop(sample);
        assert!(!dir.exists());
    }
}
