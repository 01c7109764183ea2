//! Call stacks of the code that created ops: frames and call paths, each stored once, parents before children.

use super::names::NameId;
use crate::hash::UntrustedMap;

/// One line of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub file: NameId,
    pub function: NameId,
    /// The text of the source line.
    pub line: NameId,
    pub lineno: i32,
    pub function_start: i32,
    /// Only the quirk of shared numbers and the writer of profiles need these.
    pub string_ids: StringIds,
}

/// The numbers of a frame's strings in the log that it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StringIds {
    pub file: i64,
    pub function: i64,
    pub line: i64,
}

/// One of the strings of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameText {
    File,
    Function,
    Line,
}

impl FrameText {
    pub const ALL: [FrameText; 3] = [FrameText::File, FrameText::Function, FrameText::Line];
}

impl Frame {
    pub fn name(&self, text: FrameText) -> NameId {
        match text {
            FrameText::File => self.file,
            FrameText::Function => self.function,
            FrameText::Line => self.line,
        }
    }

    pub fn string_id(&self, text: FrameText) -> i64 {
        match text {
            FrameText::File => self.string_ids.file,
            FrameText::Function => self.string_ids.function,
            FrameText::Line => self.string_ids.line,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub(crate) u32);

/// A call path from the outermost frame to the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub(crate) u32);

impl StackId {
    /// The call stack is unknown.
    pub const NONE: StackId = StackId(0);
    /// A call stack without frames.
    pub const EMPTY: StackId = StackId(1);

    pub fn has_frames(self) -> bool {
        self.0 > 1
    }
}

#[derive(Clone, Debug)]
pub struct Stacks {
    frames: Vec<Frame>,
    frame_ids: UntrustedMap<Frame, FrameId>,
    paths: Vec<(StackId, FrameId)>,
    path_ids: UntrustedMap<(StackId, FrameId), StackId>,
}

impl Default for Stacks {
    fn default() -> Self {
        let nothing = (StackId::NONE, FrameId(u32::MAX));
        Stacks {
            frames: Vec::new(),
            frame_ids: UntrustedMap::default(),
            paths: vec![nothing, nothing],
            path_ids: UntrustedMap::default(),
        }
    }
}

impl Stacks {
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// All frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The number of call paths, `NONE` and `EMPTY` included; ids are below it.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether no call path has a frame.
    pub fn is_empty(&self) -> bool {
        self.paths.len() <= 2
    }

    /// The path without its innermost frame, and that frame. `None` for a path without frames.
    pub fn last(&self, id: StackId) -> Option<(StackId, FrameId)> {
        id.has_frames().then(|| self.paths[id.0 as usize])
    }

    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            FrameId(self.frames.len() as u32 - 1)
        })
    }

    /// The path `outer` extended by one frame.
    pub fn push(&mut self, outer: StackId, frame: FrameId) -> StackId {
        let outer = if outer.has_frames() { outer } else { StackId::EMPTY };
        *self.path_ids.entry((outer, frame)).or_insert_with(|| {
            self.paths.push((outer, frame));
            StackId(self.paths.len() as u32 - 1)
        })
    }
}
