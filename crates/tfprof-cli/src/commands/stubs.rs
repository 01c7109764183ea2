//! `tfprof man stubs`: the views of the Python package for editors and type checkers, from the table of options.

use tfprof::{OPTIONS, OptionInfo, ValueKind, ViewKind};

const HEAD: &str = "\
# Written by `tfprof man stubs` from the table of options; a test compares them.

from collections.abc import Sequence
from typing import TypedDict

from tfprof._view import View

";

/// The type of an option in Python.
pub fn python_type(option: &OptionInfo) -> &'static str {
    match option.value {
        ValueKind::Number if option.name == "step" => "int | str",
        ValueKind::Number => "int",
        ValueKind::Flag => "bool",
        ValueKind::Word | ValueKind::Output | ValueKind::Path => "str",
        ValueKind::Words | ValueKind::Patterns | ValueKind::Paths => "str | Sequence[str]",
    }
}

/// The text of `_views.pyi`.
pub fn write() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("class Options(TypedDict, total=False):\n    \"\"\"The keywords of `scope`, `graph`, `op` and `code`.\"\"\"\n\n");
    for option in OPTIONS.iter() {
        let (name, about) = (option.name, option.about.replace('\\', "\\\\"));
        text.push_str(&format!("    {name}: {}\n    \"\"\"{about}\"\"\"\n", python_type(option)));
    }
    text.push_str("\nclass Views:\n");
    for kind in [ViewKind::Scope, ViewKind::Graph, ViewKind::Op, ViewKind::Code] {
        text.push_str(&format!("    def {}(\n        self,\n        *,\n", kind.word()));
        for option in OPTIONS.iter() {
            text.push_str(&format!("        {}: {} | None = None,\n", option.name, python_type(option)));
        }
        text.push_str(&format!("    ) -> View:\n        \"\"\"{}\"\"\"\n", kind.about()));
    }
    text
}
