//! The interactive shell: the real binary at a pseudo-terminal.

#![cfg(unix)] // Needs pseudo-terminals.

use rexpect::session::{PtySession, spawn_command};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for the state of one test, which goes away with it.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let dir = std::env::temp_dir().join(format!("tfprof-terminal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory for the test");
        Home(dir)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> PtySession {
    start_at(160, home, words, variables)
}

fn start_at(columns: usize, home: &Home, words: &[&str], variables: &[(&str, &str)]) -> PtySession {
    // A pseudo terminal has no size until somebody gives it one.
    let mut command = Command::new("sh");
    command.args(["-c", &format!("stty rows 24 cols {columns}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tfprof")]);
    command.args(words).current_dir(home.path());
    command.env("XDG_STATE_HOME", home.path()).env("TERM", "xterm").env("PAGER", "").env("NO_COLOR", "1");
    command.envs(variables.iter().copied());
    spawn_command(command, Some(30_000)).expect("a pseudo terminal")
}

fn shell(home: &Home, variables: &[(&str, &str)]) -> PtySession {
    let mut shell = start(home, &["demo", "shell"], variables);
    expect(&mut shell, "Ctrl-D leaves");
    expect(&mut shell, "tfprof> ");
    shell
}

/// Waits for the text and gives back what came before it.
fn expect(shell: &mut PtySession, text: &str) -> String {
    shell.exp_string(text).unwrap_or_else(|error| panic!("expected {text:?}: {error}"))
}

fn send(shell: &mut PtySession, keys: &str) {
    shell.send(keys).expect("keys are sent");
    shell.flush().expect("keys are sent");
}

fn leave(mut shell: PtySession) {
    shell.send_control('d').expect("keys are sent");
    shell.exp_eof().expect("the end");
    let status = format!("{:?}", shell.process().wait().expect("an end"));
    assert!(status.starts_with("Exited(") && status.ends_with(", 0)"), "{status}");
}

#[test]
fn tab_completes_commands_options_and_values() {
    let home = Home::new("tab");
    let mut shell = shell(&home, &[]);
    send(&mut shell, "sc\t");
    expect(&mut shell, "scope ");
    send(&mut shell, "-start\t");
    expect(&mut shell, "-start_name_regexes ");
    send(&mut shell, "pool\t");
    expect(&mut shell, "pool_logit/");
    send(&mut shell, "D\t");
    expect(&mut shell, "pool_logit/DW");
    send(&mut shell, " -select par\t -max_depth 3\r");
    expect(&mut shell, "pool_logit/DW (64x10, 640/1.28k params)");
    expect(&mut shell, "tfprof> ");
    // Several words fit: they are shown.
    send(&mut shell, "op -order_by \t");
    expect(&mut shell, "accelerator_micros");
    expect(&mut shell, "tfprof> op -order_by ");
    send(&mut shell, "occ\t-max_depth 1\r");
    expect(&mut shell, "Profile:");
    expect(&mut shell, "tfprof> ");
    leave(shell);
}

#[test]
fn history_lasts_across_starts() {
    let home = Home::new("history");
    let mut first = shell(&home, &[]);
    send(&mut first, "set -max_depth 77\r");
    expect(&mut first, "tfprof> ");
    leave(first);
    assert!(home.path().join("tfprof/history").is_file());
    assert!(!home.path().join(".tfprof_history.txt").exists());
    let mut second = shell(&home, &[]);
    send(&mut second, "\x1b[A");
    expect(&mut second, "set -max_depth 77");
    send(&mut second, "\r");
    expect(&mut second, "tfprof> ");
    send(&mut second, "\r");
    expect(&mut second, "-max_depth                  77");
    expect(&mut second, "-output                     stdout:");
    leave(second);
}

#[test]
fn ctrl_c_abandons_a_line_and_wrong_lines_do_not_end_the_shell() {
    let home = Home::new("ctrl-c");
    let mut shell = shell(&home, &[]);
    send(&mut shell, "set -max_depth 5");
    expect(&mut shell, "-max_depth 5");
    shell.send_control('c').expect("keys are sent");
    expect(&mut shell, "tfprof> ");
    send(&mut shell, "\r");
    expect(&mut shell, "-max_depth                  10");
    expect(&mut shell, "tfprof> ");
    send(&mut shell, "op -select micro\r");
    expect(&mut shell, "unknown metric `micro` in -select; did you mean `micros`?");
    expect(&mut shell, "tfprof> ");
    send(&mut shell, "quit\r");
    shell.exp_eof().expect("the end");
}

#[test]
fn ctrl_c_stops_a_statement_and_not_the_prompt() {
    let home = Home::new("sql-ctrl-c");
    let mut prompt = start(&home, &["demo", "sql"], &[]);
    expect(&mut prompt, "sql> ");
    send(&mut prompt, "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c;\r");
    expect(&mut prompt, "from c;\u{1b}[?2004l");
    std::thread::sleep(std::time::Duration::from_millis(300));
    prompt.send_control('c').expect("keys are sent");
    expect(&mut prompt, "the statement was stopped");
    expect(&mut prompt, "sql> ");
    send(&mut prompt, "select 6 * 7 as answer;\r");
    expect(&mut prompt, "    42");
    send(&mut prompt, ".quit\r");
    prompt.exp_eof().expect("the end");
}

#[test]
fn long_answers_go_through_the_pager_and_short_ones_do_not() {
    let home = Home::new("pager");
    let mut shell = shell(&home, &[("PAGER", "sed 's/^/PAGED /'")]);
    send(&mut shell, "op -max_depth 2\r");
    let short = expect(&mut shell, "tfprof> ");
    assert!(short.contains("Conv2DBackpropInput") && short.contains("Doc:") && !short.contains("PAGED"), "{short}");
    send(&mut shell, "op -max_depth 100\r");
    let before = expect(&mut shell, "PAGED AddN");
    assert!(!before.contains("Doc:"), "explained twice: {before}");
    expect(&mut shell, "tfprof> ");
    leave(shell);
}

#[test]
fn colour_and_bars_are_for_terminals_that_want_them() {
    let home = Home::new("colour");
    let words = ["demo", "op", "-order_by", "micros", "-max_depth", "1"];
    let mut coloured = start(&home, &words, &[("NO_COLOR", "")]);
    let text = coloured.exp_eof().expect("an answer");
    assert!(text.contains("    \x1b[0m \x1b[1mConv2DBackpropFilter\x1b[0m"), "{text}");
    // The pseudo terminal gives bytes, one character each.
    let bar: String = "\x1b[36m███▏ ".bytes().map(char::from).collect();
    assert!(text.contains(&bar), "{text}");
    let mut plain = start(&home, &words, &[]);
    let text = plain.exp_eof().expect("an answer");
    assert!(!text.contains('\x1b') && !text.contains("accelerator execution time |"), "{text}");
    // With the original's layout, the plain form at a terminal has the bytes of the piped one.
    let words = [&words[..], &["-original_quirks"]].concat();
    let text = start(&home, &words, &[]).exp_eof().expect("an answer");
    let piped = Command::new(env!("CARGO_BIN_EXE_tfprof")).args(words).output().expect("an answer");
    assert_eq!(text.replace("\r\n", "\n"), String::from_utf8(piped.stdout).expect("text"));
}

#[test]
fn pipes_and_files_get_plain_and_wide_answers() {
    let home = Home::new("pipes");
    let mut shell = start_at(80, &home, &["demo", "shell"], &[("NO_COLOR", "")]);
    expect(&mut shell, "`?` is help");
    let line = "op -select micros,bytes -max_depth 1";
    for target in ["> plain.txt", "| cat > piped.txt", ""] {
        expect(&mut shell, "tfprof> ");
        send(&mut shell, &format!("{line} {target}\r"));
        expect(&mut shell, "\r\n");
    }
    expect(&mut shell, "propFilter\x1b[0m");
    expect(&mut shell, "tfprof> ");
    // After a pipe, a failing line and an absent command, the shell goes on.
    send(&mut shell, "op -select beauty | cat\r");
    expect(&mut shell, "unknown metric `beauty`");
    expect(&mut shell, "tfprof> ");
    send(&mut shell, "op | no_such_command_at_all\r");
    expect(&mut shell, "cannot run `no_such_command_at_all`: exit code 127");
    expect(&mut shell, "tfprof> ");
    send(&mut shell, "? | head -1\r");
    expect(&mut shell, "look first");
    expect(&mut shell, "tfprof> ");
    leave(shell);
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("a file");
    let words: Vec<&str> = std::iter::once("demo").chain(line.split(' ')).collect();
    let outside = Command::new(env!("CARGO_BIN_EXE_tfprof")).args(words).output().expect("an answer");
    let outside = String::from_utf8(outside.stdout).expect("text");
    assert!(outside.lines().any(|line| line.len() > 80));
    assert_eq!((read("plain.txt"), read("piped.txt")), (outside.clone(), outside));
}

#[test]
fn a_pager_of_the_users_choice_has_the_terminal() {
    let home = Home::new("less");
    let mut shell = shell(&home, &[("LESS", "")]);
    send(&mut shell, "scope -max_depth 4 -select params | less\r");
    expect(&mut shell, "node name | # parameters");
    // Ctrl-C is for the command, not for the shell.
    shell.send_control('c').expect("keys are sent");
    // `less` rings the bell; keys sent before that may be dropped with the interrupt.
    expect(&mut shell, "\u{7}");
    send(&mut shell, "q");
    expect(&mut shell, "tfprof> ");
    leave(shell);
}

#[test]
fn help_does_not_wrap() {
    let home = Home::new("help-width");
    for columns in [80, 200] {
        for words in [&["help"][..], &["op", "--help"], &[]] {
            let text = start_at(columns, &home, words, &[]).exp_eof().expect("an answer");
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{words:?} at {columns} columns");
        }
    }
}

#[test]
fn no_row_wraps() {
    let home = Home::new("width");
    for columns in [80, 200] {
        for words in [
            "demo op -select micros,bytes,params,float_ops,device",
            "demo scope -max_depth 9 -select micros,bytes",
            "demo code -max_depth 40",
            "demo graph -max_depth 12 -select micros,op_types",
            "demo cost",
            "demo advise",
            "demo checkpoint",
            "demo info",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let text = start_at(columns, &home, &words, &[("NO_COLOR", "")]).exp_eof().expect("an answer");
            // The pseudo terminal gives bytes, one character each.
            let text = String::from_utf8(text.chars().map(|c| c as u8).collect()).expect("text");
            assert!(text.lines().count() > 10, "{text}");
            // Columns that do not fit are named.
            let is_narrow_op = columns == 80 && words[1] == "op";
            assert_eq!(
                text.contains("no room for # parameters, # float_ops, assigned devices;"),
                is_narrow_op,
                "{text}"
            );
            // Messages are sentences, not rows.
            // A line of progress is written again and again over itself, and at last removed.
            let rows = text.lines().flat_map(|line| line.split("\x1b[G\x1b[K"));
            for row in rows.filter(|line| !line.starts_with("tfprof: ")) {
                let visible = row.split('\x1b').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
                let first = row.split('\x1b').next().unwrap_or_default().chars().count();
                let width = first + visible.skip(1).map(|part| part.chars().count()).sum::<usize>();
                assert!(width <= columns, "{width} columns of {columns}: {row}");
            }
        }
    }
}

#[test]
fn names_from_a_file_send_no_control_codes_to_a_terminal() {
    let home = Home::new("controls");
    let graph = "node { name: \"a\\033]0;title\\007\\033[2J\" op: \"A\\r\\302\\233m\" } node { name: \"a\\033]0;title\\007\\033[2J\" op: \"B\" }";
    std::fs::write(home.path().join("graph.pbtxt"), graph).expect("a file");
    for colour in ["", "1"] {
        let words = ["scope", "graph.pbtxt", "-select", "op_types,params"];
        let mut terminal = start(&home, &words, &[("NO_COLOR", colour)]);
        let text = terminal.exp_eof().expect("an answer");
        assert!(text.contains("a\\x1b]0;title\\x07\\x1b[2J"), "{text:?}");
        let ours = ["\x1b[36m", "\x1b[1m", "\x1b[2m", "\x1b[0m"].iter().fold(text, |text, mark| text.replace(mark, ""));
        let controls = |c: char| c.is_control() && !matches!(c, '\n' | '\r');
        assert!(!ours.contains(controls) && !ours.replace("\r\n", "").contains('\r'), "{ours:?}");
    }
}

#[test]
fn the_demo_as_a_path_names_the_command() {
    let text = start_at(200, &Home::new("demo_path"), &["info", "demo"], &[]).exp_eof().expect("an answer");
    assert!(text.contains("for the built-in sample, type tfprof demo COMMAND"), "{text}");
}

#[test]
fn the_demo_shows_the_overview_and_opens_the_shell() {
    let home = Home::new("demo");
    let mut shell = start(&home, &["demo"], &[]);
    expect(&mut shell, "464.15k trainable, 930.58k in all variables");
    expect(&mut shell, "to look deeper");
    expect(&mut shell, "tfprof> ");
    leave(shell);
}

#[test]
fn long_reading_shows_a_temporary_bar() {
    let home = Home::new("progress");
    let slowly = "(echo 'node { name: \"a\" op: \"A\" }'; sleep 1; echo 'node { name: \"b\" op: \"B\" }') | \
                  \"$0\" op --graph_path=- -select occurrence";
    let mut command = Command::new("sh");
    command.args(["-c", slowly, env!("CARGO_BIN_EXE_tfprof")]).current_dir(home.path()).env("TERM", "xterm");
    let mut terminal = spawn_command(command, Some(30_000)).expect("a pseudo terminal");
    expect(&mut terminal, "reading standard input");
    expect(&mut terminal, "\x1b[G\x1b[K");
    expect(&mut terminal, "Profile:");
    terminal.exp_eof().expect("the end");
}

#[test]
fn a_terminal_folds_the_frames_of_frameworks() {
    let home = Home::new("frames");
    let lines = |words: &[&str]| {
        let mut run = start(&home, &[&["demo", "code", "-select", "micros", "-max_depth", "100"], words].concat(), &[]);
        run.exp_eof().expect("the end")
    };
    let folded = lines(&[]);
    assert!(folded.contains(" frames of frameworks are folded; use -frames all") && !folded.contains("math_ops.py"));
    assert!(folded.contains("resnet32.py:30:conv") && folded.lines().count() < 200, "{folded}");
    for words in [&["-frames", "all"][..], &["-original_quirks"]] {
        let all = lines(words);
        assert!(!all.contains("folded") && all.contains("gen_nn_ops.py"), "{words:?}");
    }
}
