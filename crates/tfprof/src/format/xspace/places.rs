//! Lines of source and Python calls as frames of the model.

use crate::format::xspace::hlo::Place;
use crate::model::Model;
use crate::model::names::NameId;
use crate::model::stacks::{Frame, FrameId, StringIds};

/// A built-in function has no line.
const NO_LINE: i64 = -1;

pub fn frame_of(place: &Place, model: &mut Model) -> FrameId {
    let frame = Frame {
        file: model.names.intern(&place.file),
        function: model.names.intern(&place.function),
        line: NameId::EMPTY,
        lineno: place.line.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
        function_start: 0,
        string_ids: StringIds::default(),
    };
    model.stacks.intern_frame(frame)
}

/// `file.py:21 function`, or `module function` for what is built in.
pub fn of_call(call: &str) -> Place {
    let (at, function) = call.split_once(' ').unwrap_or((call, ""));
    let numbered = at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = numbered.unwrap_or((at, NO_LINE));
    Place { file: file.to_owned(), function: function.to_owned(), line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_file_a_line_and_a_function() {
        let check = |call: &str, file: &str, line, function: &str| {
            assert_eq!(of_call(call), Place { file: file.into(), line, function: function.into() }, "{call}");
        };
        check("train.py:21 batch", "train.py", 21, "batch");
        check("builtins len", "builtins", NO_LINE, "len");
        check("<string>:2 __init__", "<string>", 2, "__init__");
        check("<unknown> append", "<unknown>", NO_LINE, "append");
    }
}
