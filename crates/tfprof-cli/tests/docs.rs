//! Runs every command in the README and in docs/, and compares its output with the page.
//!
//! A block that is fenced as `console` is a transcript: a line behind `$ ` is run by the system's shell, one behind
//! `tfprof> ` in the shell that the line before it started, and the lines below are what comes out; a line `...`
//! stands for any lines. An HTML comment `<!-- $ command -->` runs unseen. All commands of a page run in one fresh
//! directory that has the `corpus` and the `tests` of this repository, so each works as pasted into a clone.
//!
//! `TFPROF_DOCS=write cargo test -p tfprof-cli --test cli docs` writes what comes out into the pages. Words behind
//! `console` say how it is cut then: `head=N` keeps N lines, `report` leaves out what stands above `Profile:`.

#![cfg(unix)] // Needs `sh` and symbolic links.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the repository")
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut dirs = vec![root().join("docs")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory of pages") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn transcripts_are_real() {
    let write = std::env::var("TFPROF_DOCS").is_ok_and(|word| word == "write");
    let mut faults = String::new();
    let mut commands = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut run = PageRun::new(&page);
        let rewritten = run.check(&text);
        commands += run.commands;
        faults += &run.faults;
        if write && rewritten != text {
            std::fs::write(&page, rewritten).expect("a page is written");
        }
    }
    assert!(write || faults.is_empty(), "{faults}\nTFPROF_DOCS=write writes what comes out");
    assert!(commands > 20, "only {commands} commands were found");
}

#[test]
fn commands_stand_in_transcripts_only() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut fence: Option<&str> = None;
        for line in text.lines() {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(info) };
            } else if fence.is_some_and(|info| !info.starts_with("console")) {
                let command = line.trim_start().trim_start_matches("$ ");
                assert!(!command.starts_with("tfprof "), "{}: not in a transcript: {line}", page.display());
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for piece in text.split("](").skip(1) {
            let target = piece.split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let path = page.parent().expect("a directory").join(file);
            assert!(path.exists(), "{}: {target} leads nowhere", page.display());
        }
    }
}

/// One page, run in a directory of its own.
struct PageRun {
    page: String,
    dir: PathBuf,
    commands: usize,
    faults: String,
    /// The command that started the shell, and the lines that were typed into it.
    shell: Option<(String, Vec<String>)>,
}

impl PageRun {
    fn new(page: &Path) -> PageRun {
        let page = page.strip_prefix(root()).unwrap_or(page).display().to_string();
        let name = page.replace(['/', '.'], "-");
        let dir = std::env::temp_dir().join(format!("tfprof-docs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory for the page");
        for name in ["corpus", "tests"] {
            std::os::unix::fs::symlink(root().join(name), dir.join(name)).expect("a link to files of this repository");
        }
        PageRun { page, dir, commands: 0, faults: String::new(), shell: None }
    }

    /// Runs the page; the result is the page as it should be.
    fn check(&mut self, text: &str) -> String {
        let mut rewritten = String::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            push_lines(&mut rewritten, &[line]);
            if let Some(command) = line.strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->")) {
                self.run(command);
                continue;
            }
            let Some(cut) = line.strip_prefix("```console") else { continue };
            let block: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("```"))).collect();
            let mut block = block.into_iter().peekable();
            while let Some(command) = block.next() {
                push_lines(&mut rewritten, &[command]);
                let more = |line: &&str| line.starts_with("> ") || *line == ">";
                let mut whole = command.to_owned();
                while let Some(line) = block.next_if(more) {
                    push_lines(&mut rewritten, &[line]);
                    whole += "\n";
                    whole += line[1..].strip_prefix(' ').unwrap_or_default();
                }
                let is_output = |line: &&str| !line.starts_with("$ ") && !line.starts_with("tfprof> ");
                let expect: Vec<&str> = std::iter::from_fn(|| block.next_if(is_output)).collect();
                let Some(found) = self.output(&whole) else {
                    push_lines(&mut rewritten, &expect);
                    continue;
                };
                let found: Vec<&str> = found.lines().map(str::trim_end).collect();
                if matches(&expect, &found) {
                    push_lines(&mut rewritten, &expect);
                } else {
                    let fault = format!("{}: {command}\n--- shown\n{}\n--- found\n", self.page, expect.join("\n"));
                    self.faults += &(fault + &found.join("\n") + "\n\n");
                    push_lines(&mut rewritten, &shortened(&found, cut));
                }
            }
        }
        rewritten
    }

    /// The output of a line of a transcript, or nothing if the line is not run here.
    fn output(&mut self, line: &str) -> Option<String> {
        if let Some(typed) = line.strip_prefix("tfprof> ") {
            let (start, mut lines) = self.shell.take().expect("a `$ tfprof … shell` above the first `tfprof> `");
            let before = self.type_into(&start, &lines);
            lines.push(typed.to_owned());
            let after = self.type_into(&start, &lines);
            self.shell = Some((start, lines));
            self.commands += 1;
            let answer = after.strip_prefix(&before).unwrap_or(&after);
            // A script numbers the line that is wrong; at the prompt one can see which it is.
            return Some(match answer.strip_prefix("tfprof: line ").and_then(|rest| rest.split_once(": ")) {
                Some((_, error)) => format!("tfprof: {error}"),
                None => answer.to_owned(),
            });
        }
        let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{}: not a command: {line}", self.page));
        // Other programs may be absent, or may not end: `make test`, `go tool pprof -http=:`.
        let ours = command.contains("tfprof ") || command.contains("cargo run --release --");
        let ordinary = ["cat", "echo", "gunzip", "head", "tail", "ls"];
        if !ours && !ordinary.contains(&command.split(' ').next().unwrap_or_default()) {
            return None;
        }
        let command = command.replace("cargo run --release --", "tfprof");
        if command.starts_with("tfprof ") && (command.contains(" shell") || command.contains("tfprof shell")) {
            self.shell = Some((command, Vec::new()));
            return None;
        }
        self.commands += 1;
        Some(self.run(&command))
    }

    fn type_into(&self, start: &str, lines: &[String]) -> String {
        // Without a line there is no script.
        if lines.is_empty() {
            return String::new();
        }
        self.run_with(start, &(lines.join("\n") + "\n"))
    }

    fn run(&self, command: &str) -> String {
        self.run_with(command, "")
    }

    fn run_with(&self, command: &str, stdin: &str) -> String {
        let binary = Path::new(env!("CARGO_BIN_EXE_tfprof"));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", binary.parent().expect("a directory").display());
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&self.dir)
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        // It may end before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
        let output = child.wait_with_output().expect("the command ends");
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for PageRun {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn push_lines(text: &mut String, lines: &[&str]) {
    for line in lines {
        *text += line;
        *text += "\n";
    }
}

/// Whether the lines are those expected; `...` stands for any lines.
fn matches(expect: &[&str], found: &[&str]) -> bool {
    match expect.split_first() {
        None => found.is_empty(),
        Some((&"...", rest)) => (0..=found.len()).any(|at| matches(rest, &found[at..])),
        Some((line, rest)) => {
            found.first().is_some_and(|first| first == &line.trim_end()) && matches(rest, &found[1..])
        }
    }
}

fn shortened<'a>(found: &[&'a str], cut: &str) -> Vec<&'a str> {
    let mut lines = found.to_vec();
    if cut.contains("report")
        && let Some(at) = lines.iter().position(|line| *line == "Profile:")
    {
        lines.splice(..=at, ["..."]);
    }
    let head = cut.split_whitespace().find_map(|word| word.strip_prefix("head=")?.parse().ok());
    if let Some(head) = head.filter(|head| lines.len() > *head) {
        lines.truncate(head);
        lines.push("...");
    }
    lines
}

#[test]
fn dots_stand_for_any_lines() {
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(matches(&["..."], &[]));
    assert!(!matches(&["a", "..."], &["b"]));
    assert!(!matches(&["a"], &["a", "b"]));
}
