//! Runs the real binary, and finds the corpus.

#![allow(dead_code, reason = "each test uses some of it")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A path below `corpus/`.
pub fn corpus(path: &str) -> String {
    format!("{}/../../corpus/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// A fresh directory for the files of one test.
pub fn scratch(test: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a scratch directory");
    dir
}

/// Runs `tfprof` with words.
pub fn tfprof<S: AsRef<std::ffi::OsStr>>(words: &[S]) -> Answer {
    tfprof_with(words, b"")
}

/// Runs `tfprof` with words and something on its standard input.
pub fn tfprof_with<S: AsRef<std::ffi::OsStr>>(words: &[S], input: &[u8]) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tfprof"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output: Output = child.wait_with_output().expect("an end");
    writer.join().expect("the writer");
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
