//! Python calls: call paths, and the innermost call at a time. Calls nest among themselves but may cross ranges.

use super::paths::{Paths, ROOT};
use super::{CallSpan, NONE};
use crate::events::CallPath;
use crate::events::spans::{OpenSpan, SelfTime};
use crate::hash::TrustedMap;
use crate::model::names::{NameId, Names};

/// All paths of calls, and the modules among them as scopes.
#[derive(Debug, Default)]
pub struct CallPaths {
    pub paths: Vec<CallPath>,
    /// The module scope of each path.
    pub modules: Vec<u32>,
    path_of: TrustedMap<(u32, u32), u32>,
}

impl CallPaths {
    pub fn child(&mut self, outer: u32, name: NameId) -> u32 {
        let next = self.paths.len() as u32;
        let path = *self.path_of.entry((outer, name.0)).or_insert(next);
        if path == next {
            self.paths.push(CallPath { outer, call: name.0 });
            self.modules.push(ROOT);
        }
        path
    }
}

/// An open call.
#[derive(Clone, Copy, Debug)]
pub struct OpenCall {
    /// [`NONE`] if only modules are asked for and this is not one.
    pub path: u32,
    pub module: u32,
    pub self_time: SelfTime,
}

/// The calls of one thread, replayed in time.
#[derive(Debug)]
pub struct CallCursor<'c> {
    rest: &'c [CallSpan],
    pub open: Vec<OpenSpan<OpenCall>>,
}

/// A closed call.
pub type Closed<'a> = &'a mut dyn FnMut(&OpenSpan<OpenCall>);

impl<'c> CallCursor<'c> {
    /// `calls` are those of one thread, in order.
    pub fn new(calls: &'c [CallSpan]) -> CallCursor<'c> {
        CallCursor { rest: calls, open: Vec::new() }
    }

    /// Opens and closes calls up to a time.
    pub fn advance(&mut self, time: i64, tree: &mut CallPaths, scopes: &mut Paths, names: &Names, closed: Closed<'_>) {
        while let Some((call, rest)) = self.rest.split_first().filter(|(call, _)| call.start <= time) {
            self.rest = rest;
            self.close(|open| !(open.start <= call.start && call.end <= open.end), closed);
            let (outer, module) = self.open.last().map_or((NONE, ROOT), |open| (open.frame.path, open.frame.module));
            if let Some(around) = self.open.last_mut() {
                around.frame.self_time.cover(call.start, call.end);
            }
            let path = tree.child(outer, call.name);
            let module = if call.is_module { scopes.child(module, call.name, names) } else { module };
            tree.modules[path as usize] = module;
            let frame = OpenCall { path, module, self_time: SelfTime::new(call.start, call.end) };
            self.open.push(OpenSpan { start: call.start, end: call.end, frame });
        }
        self.close(|open| open.end < time, closed);
    }

    /// Closes all open calls.
    pub fn finish(&mut self, tree: &mut CallPaths, scopes: &mut Paths, names: &Names, closed: Closed<'_>) {
        self.advance(i64::MAX, tree, scopes, names, closed);
        self.close(|_| true, closed);
    }

    fn close(&mut self, is_over: impl Fn(&OpenSpan<OpenCall>) -> bool, closed: Closed<'_>) {
        while self.open.last().is_some_and(&is_over) {
            if let Some(open) = self.open.pop() {
                closed(&open);
            }
        }
    }

    /// The innermost call that holds an interval which begins now.
    pub fn around(&self, end: i64) -> Option<&OpenCall> {
        // Inner calls end no later than outer ones.
        let holding = self.open.partition_point(|open| open.end >= end);
        holding.checked_sub(1).map(|at| &self.open[at].frame)
    }
}
