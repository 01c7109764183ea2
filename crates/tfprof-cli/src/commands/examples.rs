//! Examples of commands and options, for help, the manual page and tests.

#[derive(Debug)]
pub struct Example {
    /// The arguments of the program; the shell takes them without the path.
    pub words: &'static str,
    pub about: &'static str,
}

/// In the order of the help. Every line runs on the sample if `PATH` is left out and `demo` put in front.
pub const EXAMPLES: &[Example] = &[
    Example { words: "info PATH", about: "what is this, and where do I look first?" },
    Example { words: "op PATH -select micros,bytes,occurrence -order_by micros", about: "which op types cost most?" },
    Example { words: "cost PATH", about: "how many parameters and FLOPs, and where?" },
    Example {
        words: "scope PATH -account_type_regexes VariableV2 -select params -max_depth 4",
        about: "how many parameters does each part have?",
    },
    Example {
        words: "scope PATH -start_name_regexes 'gradient.*' -min_micros 20000 -max_depth 100",
        about: "what is expensive in back-propagation?",
    },
    Example { words: "scope PATH -select float_ops -min_float_ops 1 -ops_only", about: "where do FLOPs go?" },
    Example {
        words: "graph PATH -start_name_regexes 'cost.*' -min_micros 10000 -max_depth 100",
        about: "which inputs of `cost` are slow?",
    },
    Example {
        words: "code PATH -show_name_regexes '.*py.*' -order_by micros -max_depth 100 -source_lines",
        about: "which line of Python costs most?",
    },
    Example { words: "op PATH -step 100 -output json:outfile=-", about: "one step, for a program" },
    Example {
        words: "scope PATH -hide_name_regexes 'save.*' -trim_name_regexes 'unit_1_.*'",
        about: "leave parts out",
    },
];

impl Example {
    pub fn command(&self) -> &'static str {
        self.words.split(' ').next().unwrap_or_default()
    }

    /// Whether the example uses the command or option.
    pub fn shows(&self, topic: &str) -> bool {
        self.command() == topic || self.words.split(' ').any(|word| word.strip_prefix('-') == Some(topic))
    }

    /// The example for the shell, where files are loaded already.
    pub fn in_shell(&self) -> String {
        self.words.replacen(" PATH", "", 1)
    }
}
