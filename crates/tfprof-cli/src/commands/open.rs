//! `--open`: shows a written answer in the browser or the viewer of the system.

use super::demo::moment;
use crate::flags::Request;
use crate::target;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tfprof::internal::render::form_of;
use tfprof::{Error, Output};

/// Openers hand the file on and end. One that still runs after this time is the viewer itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the answer goes. With `--open` and no file named, to a page in the directory for temporary files.
pub fn target(request: &Request) -> Result<Output, Error> {
    let output = &request.options.output;
    if !request.flags.open {
        return Ok(output.clone());
    }
    if output.to_nowhere() || output.outfile == "-" {
        let message = "-open needs a file to open; name one, as in -output answer.html, or leave -output out";
        return Err(Error::Question(message.to_owned()));
    }
    if !output.to_screen() {
        return Ok(output.clone());
    }
    // The directory must be new: nobody else may have put a link there.
    let dir = std::env::temp_dir().join(format!("tfprof-page-{}-{:08x}", std::process::id(), moment()));
    let io_error = |source| Error::Io { file: dir.display().to_string(), action: "cannot create", source };
    create_own(&dir).map_err(io_error)?;
    let outfile = dir.join(format!("{}.html", request.command.word)).display().to_string();
    Ok(Output { form: "html".to_owned(), outfile })
}

/// Creates a directory that only its owner can read.
#[cfg(unix)]
fn create_own(dir: &Path) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(dir)
}

/// Creates a directory, which inherits the rights of the user's own for temporary files.
#[cfg(not(unix))]
fn create_own(dir: &Path) -> io::Result<()> {
    std::fs::create_dir(dir)
}

/// Says where the answer is and how to look at it, and opens it if asked.
pub fn say_and_open(request: &Request, file: &str, form: &str, err: &mut dyn Write) {
    if target::is_stream(file) {
        return;
    }
    let how = form_of(form).map(|form| form.opened_with).unwrap_or_default();
    let told = if !request.flags.open {
        if how.is_empty() { None } else { Some(format!("wrote {file}; {how}")) }
    } else if let Err(why) = open(file) {
        let how = if how.is_empty() { "open it yourself" } else { how };
        Some(format!("wrote {file}, but {why}; {how}"))
    } else {
        Some(format!("wrote {file} and opened it"))
    };
    if let Some(told) = told {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: {told}");
    }
}

/// Opens a file with `$BROWSER`, else with the opener of the system.
fn open(file: &str) -> Result<(), String> {
    open_in_browser(&Path::new(file).canonicalize().map_or_else(|_| OsString::from(file), OsString::from))
}

/// Opens a path or an address.
pub fn open_in_browser(path: &OsStr) -> Result<(), String> {
    let mut tried = Vec::new();
    let browser = std::env::var("BROWSER").unwrap_or_default();
    // A list, as in the systems that know this variable; `%s` stands for the file.
    for entry in browser.split(if cfg!(windows) { ';' } else { ':' }) {
        let mut words = entry.split_whitespace();
        let Some(program) = words.next() else { continue };
        let mut command = Command::new(program);
        let words: Vec<&str> = words.collect();
        for word in &words {
            if word.contains("%s") {
                command.arg(word.replace("%s", &path.to_string_lossy()));
            } else {
                command.arg(word);
            }
        }
        if !words.iter().any(|word| word.contains("%s")) {
            command.arg(path);
        }
        match start(&mut command) {
            Ok(()) => return Ok(()),
            Err(_) => tried.push(program.to_owned()),
        }
    }
    let (program, before): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let why = match start(Command::new(program).args(before).arg(path)) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "there is no program to open it",
        Err(_) => "no program could open it",
    };
    tried.push(program.to_owned());
    Err(format!("{why} (tried {}; $BROWSER may name one)", tried.join(", ")))
}

/// Starts a program, and waits a moment to hear whether it failed.
fn start(command: &mut Command) -> io::Result<()> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => return Err(io::Error::other("it failed")),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    Ok(())
}
