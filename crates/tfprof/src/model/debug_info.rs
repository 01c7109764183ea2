//! Where in the source the nodes of a graph and of its functions were created.

use super::names::{NameId, Names};
use super::stacks::{Frame, FrameId, StackId, Stacks, StringIds};
use crate::budget;
use crate::hash::UntrustedMap;

/// Bytes of a text that are one unit of work.
const BYTES_PER_WORK: u64 = 16;

/// Stack traces by the names of nodes: `node`, or `node@function`.
#[derive(Debug, Default)]
pub struct DebugInfo {
    pub files: Vec<String>,
    /// Frames and traces by the file's own ids.
    pub frames: UntrustedMap<u64, SourceLine>,
    pub traces: UntrustedMap<u64, Vec<u64>>,
    pub trace_of_node: UntrustedMap<String, u64>,
    /// The number of frames and traces without an id; they get ids from the end of the number range.
    without_id: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SourceLine {
    /// The position in [`DebugInfo::files`].
    pub file: usize,
    pub number: i32,
    pub function: String,
    pub code: String,
}

impl DebugInfo {
    pub fn is_empty(&self) -> bool {
        self.trace_of_node.is_empty()
    }

    /// An id for a frame or trace that has none.
    pub fn new_id(&mut self) -> u64 {
        self.without_id += 1;
        u64::MAX - self.without_id
    }

    /// The call stack of a node of the graph, or of a function. Many nodes may name one trace, so `known` has those that were
    /// looked up before.
    pub fn stack(
        &self,
        node: &str,
        function: Option<&str>,
        known: &mut UntrustedMap<u64, StackId>,
        (names, stacks): (&mut Names, &mut Stacks),
    ) -> Option<StackId> {
        let trace = match function {
            Some(function) => self.trace_of_node.get(&format!("{node}@{function}")),
            None => self.trace_of_node.get(node).or_else(|| self.trace_of_node.get(&format!("{node}@"))),
        }?;
        let stack = match known.get(trace) {
            Some(stack) => *stack,
            None => {
                let mut stack = StackId::EMPTY;
                for id in self.traces.get(trace)? {
                    let Some(line) = self.frames.get(id) else { continue };
                    let frame = self.frame(line, names, stacks);
                    stack = stacks.push(stack, frame);
                }
                known.insert(*trace, stack);
                stack
            }
        };
        stack.has_frames().then_some(stack)
    }

    fn frame(&self, line: &SourceLine, names: &mut Names, stacks: &mut Stacks) -> FrameId {
        budget::work(1);
        let mut name = |text: &str| {
            budget::work(text.len() as u64 / BYTES_PER_WORK);
            if text.is_empty() { NameId::EMPTY } else { names.intern(text) }
        };
        let file = name(self.files.get(line.file).map_or("", String::as_str));
        let (function, code) = (name(&line.function), name(&line.code));
        stacks.intern_frame(Frame {
            file,
            function,
            line: code,
            lineno: line.number,
            function_start: -1,
            string_ids: StringIds::default(),
        })
    }
}
