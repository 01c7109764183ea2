//! Call stacks of op logs. Their strings come after them in the file.

use super::Builder;
use crate::hash::UntrustedMap;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::stacks::{Frame, StackId, Stacks, StringIds};

impl Builder {
    /// Adds the call stacks of a log, now that its string table (`strings`) is read. Returns the model's stack for each
    /// stack of the log.
    pub fn end_log(
        &mut self,
        log: &Stacks,
        entries: &[(NodeId, StackId)],
        strings: &UntrustedMap<i64, NameId>,
    ) -> Vec<StackId> {
        let mut unknown = 0;
        let mut placed = vec![StackId::NONE; log.len()];
        placed[StackId::EMPTY.0 as usize] = StackId::EMPTY;
        let missing = self.model.names.intern("unknown");
        for id in 2..log.len() as u32 {
            let Some((outer, frame)) = log.last(StackId(id)) else { continue };
            let mut frame = *log.frame(frame);
            let mut string = |id: i64| {
                strings.get(&id).copied().unwrap_or_else(|| {
                    unknown += 1;
                    missing
                })
            };
            let StringIds { file, function, line } = frame.string_ids;
            frame.file = string(file);
            frame.function = string(function);
            frame.line = strings.get(&line).copied().unwrap_or(NameId::EMPTY);
            let frame = self.model.stacks.intern_frame(frame);
            placed[id as usize] = self.model.stacks.push(placed[outer.0 as usize], frame);
        }
        for (node, stack) in entries {
            self.model.has_traces = true;
            let slot = &mut self.model.nodes.stack[node.index()];
            if *slot == StackId::NONE {
                *slot = placed[stack.0 as usize];
            }
        }
        if unknown > 0 {
            let message = format!("{unknown} frames of code traces name files or functions that the log does not have");
            self.warn("unknown_string", None, || message);
        }
        placed
    }

    /// A frame whose strings are still ids.
    pub fn unresolved_frame(string_ids: StringIds, lineno: i32, function_start: i32) -> Frame {
        let name = NameId::EMPTY;
        Frame { file: name, function: name, line: name, lineno, function_start, string_ids }
    }
}
