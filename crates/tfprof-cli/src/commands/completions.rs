//! Completion scripts for bash, zsh and fish, from the same tables as the help.

use super::{COMMANDS, CommandInfo, Exit, write_text};
use crate::flags::{Request, spellings};
use std::io::Write;
use tfprof::internal::words;
use tfprof::{Error, ValueKind};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

pub fn run(request: &Request, out: &mut dyn Write) -> Result<Exit, Error> {
    let shell = request.paths.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let text = match shell.as_str() {
        "bash" => bash(),
        "zsh" => zsh(),
        "fish" => fish(),
        "" => return Err(Error::Question(format!("name a shell: one of {}", SHELLS.join(", ")))),
        other => return Err(Error::Question(words::unknown("shell", other, &SHELLS))),
    };
    write_text(out, &text)
}

fn command_words() -> String {
    COMMANDS.iter().map(|command| command.word).collect::<Vec<_>>().join(" ")
}

fn bash() -> String {
    let mut cases = String::new();
    for entry in spellings() {
        let answer = match entry.value {
            ValueKind::Flag => continue,
            // The last piece of a list is completed, what is before it stays.
            ValueKind::Words => format!("_tfprof_list '{}'", (entry.words)().join(" ")),
            ValueKind::Path | ValueKind::Paths => "COMPREPLY=($(compgen -f -- \"$word\"))".to_owned(),
            _ if (entry.words)().is_empty() => "COMPREPLY=()".to_owned(),
            _ => format!("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", (entry.words)().join(" ")),
        };
        cases += &format!("        -{0}|--{0}) {answer}; return ;;\n", entry.name);
    }
    let flags: Vec<_> = spellings().map(|entry| format!("-{}", entry.name)).collect();
    format!(
        "# bash completion of tfprof; written by `tfprof completions bash`\n\
         _tfprof_list() {{\n\
         \x20   local head=\n\
         \x20   [[ $word == *,* ]] && head=${{word%,*}},\n\
         \x20   COMPREPLY=($(compgen -P \"$head\" -W \"$1\" -- \"${{word##*,}}\"))\n\
         }}\n\
         _tfprof() {{\n\
         \x20   local word=${{COMP_WORDS[COMP_CWORD]}} last=${{COMP_WORDS[COMP_CWORD-1]}}\n\
         \x20   COMPREPLY=()\n\
         \x20   case $last in\n\
         {cases}\
         \x20       completions) COMPREPLY=($(compgen -W '{shells}' -- \"$word\")); return ;;\n\
         \x20       help) COMPREPLY=($(compgen -W '{commands} {names}' -- \"$word\")); return ;;\n\
         \x20   esac\n\
         \x20   if [[ $word == -* ]]; then\n\
         \x20       COMPREPLY=($(compgen -W '{flags}' -- \"$word\"))\n\
         \x20   elif ((COMP_CWORD == 1)) || [[ $last == demo ]]; then\n\
         \x20       COMPREPLY=($(compgen -W '{commands}' -- \"$word\") $(compgen -f -- \"$word\"))\n\
         \x20   else\n\
         \x20       COMPREPLY=($(compgen -f -- \"$word\"))\n\
         \x20   fi\n\
         }}\n\
         complete -o filenames -F _tfprof tfprof\n",
        shells = SHELLS.join(" "),
        commands = command_words(),
        names = spellings().map(|entry| entry.name).collect::<Vec<_>>().join(" "),
        flags = flags.join(" "),
    )
}

fn zsh() -> String {
    let quoted = |text: &str| text.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]").replace(':', "\\:");
    let described = |command: &CommandInfo| format!("        '{}:{}'\n", command.word, quoted(command.about));
    let commands: String = COMMANDS.iter().map(described).collect();
    let mut flags = String::new();
    for entry in spellings() {
        let action = match entry.value {
            ValueKind::Flag => String::new(),
            ValueKind::Words => format!(":words:_values -s , word {}", (entry.words)().join(" ")),
            ValueKind::Path | ValueKind::Paths => ":file:_files".to_owned(),
            _ if (entry.words)().is_empty() => ":value:".to_owned(),
            _ => format!(":word:({})", (entry.words)().join(" ")),
        };
        flags += &format!("        '*-{}[{}]{action}' \\\n", entry.name, quoted(entry.about));
    }
    format!(
        "#compdef tfprof\n\
         # zsh completion of tfprof; written by `tfprof completions zsh`\n\
         _tfprof() {{\n\
         \x20   local -a commands=(\n{commands}    )\n\
         \x20   _arguments \\\n{flags}\
         \x20       '1: :{{_describe command commands; _files}}' \\\n\
         \x20       '*:file:_files'\n\
         }}\n\
         _tfprof \"$@\"\n"
    )
}

fn fish() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut text = String::from("# fish completion of tfprof; written by `tfprof completions fish`\n");
    for command in COMMANDS {
        text += &format!(
            "complete -c tfprof -n __fish_use_subcommand -a {} -d '{}'\n",
            command.word,
            quoted(command.about)
        );
    }
    for entry in spellings() {
        let value = match entry.value {
            ValueKind::Flag => String::new(),
            ValueKind::Path | ValueKind::Paths => " -r".to_owned(),
            _ if (entry.words)().is_empty() => " -x".to_owned(),
            ValueKind::Words => format!(" -x -a '(__fish_append , {})'", (entry.words)().join(" ")),
            _ => format!(" -x -a '{}'", (entry.words)().join(" ")),
        };
        // fish calls a long option with a single dash an old option.
        text += &format!("complete -c tfprof -o {}{value} -d '{}'\n", entry.name, quoted(entry.about));
    }
    text += &format!("complete -c tfprof -n '__fish_seen_subcommand_from completions' -x -a '{}'\n", SHELLS.join(" "));
    text
}
