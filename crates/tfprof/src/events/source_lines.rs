//! Source lines of ops and Python calls, as stack frames of the model.

use crate::model::Model;
use crate::model::names::NameId;
use crate::model::stacks::{Frame, FrameId, StringIds};

/// A line of source: a stack frame of an op, or a Python call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceLine {
    pub file: String,
    pub function: String,
    pub line: i64,
}

/// The line of a built-in function.
const NO_LINE: i64 = -1;

pub fn intern_frame(source: &SourceLine, model: &mut Model) -> FrameId {
    let frame = Frame {
        file: model.names.intern(&source.file),
        function: model.names.intern(&source.function),
        line: NameId::EMPTY,
        lineno: source.line.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
        function_start: 0,
        string_ids: StringIds::default(),
    };
    model.stacks.intern_frame(frame)
}

/// Parses `file.py:21 function`, or `module function` of a built-in.
pub fn of_call(call: &str) -> SourceLine {
    let (at, function) = call.split_once(' ').unwrap_or((call, ""));
    let numbered = at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = numbered.unwrap_or((at, NO_LINE));
    SourceLine { file: file.to_owned(), function: function.to_owned(), line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_file_a_line_and_a_function() {
        let check = |call: &str, file: &str, line, function: &str| {
            assert_eq!(of_call(call), SourceLine { file: file.into(), line, function: function.into() }, "{call}");
        };
        check("train.py:21 batch", "train.py", 21, "batch");
        check("builtins len", "builtins", NO_LINE, "len");
        check("<string>:2 __init__", "<string>", 2, "__init__");
        check("<unknown> append", "<unknown>", NO_LINE, "append");
    }
}
