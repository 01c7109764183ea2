//! Ops and ranges of the host: nested by time on each thread, placed in scopes, and summed. Launches and memory events find
//! the op around them on the way.

use super::calls::CallCursor;
use super::facts::Summary;
use super::paths::ROOT;
use super::{HostKind, HostSpan, LineKind, NONE, Sequence, picos};
use crate::events::spans::{OpenSpan, OpenSpans, SelfTime};
use crate::model::hosts::{EventKind, LineFacts, SpanSums};
use std::ops::Range;

/// The scope of backward ops, below that of their forward op.
const BACKWARD: &str = "(backward)";

/// The op that a launch or memory event belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub path: u32,
    pub stack: u32,
    pub shapes: u32,
    pub start: i64,
}

/// An event on a thread that needs its enclosing op.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The line of ops.
    pub line: u32,
    pub start: i64,
    pub end: i64,
    pub what: RequestKind,
}

#[derive(Clone, Copy, Debug)]
pub enum RequestKind {
    Launch(u32),
    Memory(u32),
}

/// An open op or range.
#[derive(Clone, Copy, Debug)]
struct Frame {
    variant: u32,
    path: u32,
    stack: u32,
    shapes: u32,
    /// The enclosing ranges, itself included.
    ranges: u32,
    /// Modules and ranges around the outermost op.
    scope: u32,
    /// Whether it is an op or inside one.
    in_op: bool,
    kind: HostKind,
    self_time: SelfTime,
    span_start: i64,
}

impl Summary {
    /// Walks all threads with ops, those of forward ops first: backward ops look up their forward op.
    pub(super) fn host_lines(&mut self, mut requests: Vec<Request>) {
        requests.sort_by_key(|request| (request.line, request.start));
        let spans = std::mem::take(&mut self.trace.host);
        let calls = std::mem::take(&mut self.trace.calls);
        let mut lines: Vec<Range<usize>> = chunks(&spans, |span| span.line);
        lines.sort_by_key(|line| {
            let mut sequences = spans[line.clone()].iter().filter(|span| span.sequence != NONE);
            sequences.next().is_none_or(|span| self.trace.sequences[span.sequence as usize].is_backward)
        });
        let call_lines = chunks(&calls, |span| span.line);
        // By line, its calls.
        let mut calls_of = vec![0..0; self.trace.lines.len()];
        call_lines.iter().for_each(|range| calls_of[calls[range.start].line as usize] = range.clone());
        let mut met = vec![false; self.trace.lines.len()];
        for line in lines {
            let number = spans[line.start].line;
            let beside = self.trace.beside(number, LineKind::Calls);
            let of_line = beside.map_or(&calls[..0], |beside| &calls[calls_of[beside as usize].clone()]);
            if let Some(beside) = beside {
                met[beside as usize] = true;
            }
            let from = requests.partition_point(|request| request.line < number);
            let to = requests.partition_point(|request| request.line <= number);
            self.host_line(&spans[line], of_line, &requests[from..to]);
        }
        // Python threads without ops.
        for range in call_lines {
            if !met[calls[range.start].line as usize] {
                self.host_line(&[], &calls[range], &[]);
            }
        }
        self.trace.host = spans;
        self.trace.calls = calls;
    }

    fn host_line(&mut self, spans: &[HostSpan], calls: &[super::CallSpan], mut requests: &[Request]) {
        let mut cursor = CallCursor::new(calls);
        let mut open: OpenSpans<Frame> = OpenSpans::default();
        let mut line = spans.first().map(|span| self.begin_line(span.line));
        for span in spans {
            while let Some((request, rest)) = requests.split_first().filter(|(next, _)| next.start < span.start) {
                requests = rest;
                self.answer(request, &mut open);
            }
            open.close_before(span.start, span.end, |closed| self.close(&closed));
            self.advance_calls(&mut cursor, span.start);
            let depth = open.stack.len();
            if let Some(line) = &mut line {
                line.add(picos(span.start, self.base), picos(span.end, self.base), depth);
            }
            if let Some(parent) = open.stack.last_mut() {
                parent.frame.self_time.cover(span.start, span.end);
            }
            let frame = self.frame(span, open.stack.last().map(|parent| &parent.frame), &cursor);
            if span.id != 0
                && let Some(target @ None) = self.by_id.get_mut(&span.id)
            {
                let Frame { path, stack, shapes, .. } = frame;
                *target = Some(Target { path, stack, shapes, start: span.start });
            }
            let is_outermost = !open.stack.last().is_some_and(|parent| parent.frame.in_op);
            if self.wanted.busy && self.is_busy(span) && is_outermost {
                self.busy_host.push((span.start, span.end));
            }
            open.stack.push(OpenSpan { start: span.start, end: span.end, frame });
        }
        requests.iter().for_each(|request| self.answer(request, &mut open));
        open.close_all(|closed| self.close(&closed));
        self.finish_calls(&mut cursor);
        if let Some(mut line) = line {
            line.op_self_time = std::mem::take(&mut self.line_self_time);
            self.sums.lines.push(line);
        }
        self.call_lines(calls);
    }

    /// Whether the host works or exchanges results in a span: ops, and ranges that Gloo puts around its collectives.
    fn is_busy(&self, span: &HostSpan) -> bool {
        span.kind == HostKind::Op
            || span.kind == HostKind::Range && self.trace.names.get(span.name).starts_with("gloo:")
    }

    /// The scope of a span.
    fn frame(&mut self, span: &HostSpan, parent: Option<&Frame>, cursor: &CallCursor<'_>) -> Frame {
        let call = cursor.around(span.end).copied();
        let module = call.map_or(ROOT, |call| call.module);
        let stack = match (span.stack, call) {
            (NONE, Some(call)) if self.wanted.stacks => call.path,
            (NONE, _) => parent.map_or(NONE, |parent| parent.stack),
            (own, _) => self.own_stack(own),
        };
        let ranges = parent.map_or(ROOT, |parent| parent.ranges);
        let in_op = parent.is_some_and(|parent| parent.in_op);
        let names = &self.trace.names;
        let (path, ranges, scope) = match (span.kind, parent) {
            (HostKind::Step, _) => (self.paths.child(ROOT, self.step_name, names), ranges, ROOT),
            (_, Some(parent)) if in_op => (self.paths.child(parent.path, span.name, names), ranges, parent.scope),
            (HostKind::Range, _) => {
                let ranges = self.paths.child(ranges, span.name, names);
                (self.paths.join(module, ranges, names), ranges, ROOT)
            }
            (HostKind::Op, _) => {
                let line = self.trace.lines[span.line as usize].scope;
                let module = line.map_or(module, |line| self.paths.child(module, line, names));
                let scope = self.paths.join(module, ranges, names);
                let inside = self.scope_of(span, scope);
                (self.paths.child(inside, span.name, &self.trace.names), ranges, scope)
            }
        };
        if let Some(Sequence { number, is_backward: false }) = self.trace.sequences.get(span.sequence as usize) {
            // Ops without a gradient have the number of the next op that has one: the last op with a number owns it.
            self.forward.insert(*number, scope);
        }
        let shapes = span.shapes;
        let variant = self.table.host(path, shapes, stack);
        let self_time = SelfTime::new(span.start, span.end);
        let in_op = in_op || span.kind == HostKind::Op;
        Frame { variant, path, stack, shapes, ranges, scope, in_op, kind: span.kind, self_time, span_start: span.start }
    }

    /// The scope of an op that is in no other: of a backward op, that of its forward op.
    fn scope_of(&mut self, span: &HostSpan, scope: u32) -> u32 {
        let Some(sequence) = self.trace.sequences.get(span.sequence as usize).copied() else { return scope };
        if !sequence.is_backward {
            return scope;
        }
        let forward = self.forward.get(&sequence.number).copied();
        let backward = self.trace.names.intern(BACKWARD);
        self.paths.child(forward.unwrap_or(ROOT), backward, &self.trace.names)
    }

    /// The stack recorded with an op, as a call path.
    fn own_stack(&mut self, stack: u32) -> u32 {
        let mut path = NONE;
        for at in 0..self.trace.stacks[stack as usize].len() {
            path = self.calls.child(path, self.trace.stacks[stack as usize][at]);
        }
        path
    }

    fn close(&mut self, span: &OpenSpan<Frame>) {
        let frame = &span.frame;
        let [start, end] = [span.start, span.end].map(|time| picos(time, self.base));
        let self_time = frame.self_time.time.saturating_mul(1000);
        let sums = SpanSums { runs: 1, total: end.saturating_sub(start), self_time, first: start, last: end };
        let kind = if frame.kind == HostKind::Op { EventKind::Op } else { EventKind::Range };
        self.sums.kinds[kind as usize].add(&sums);
        self.line_self_time = self.line_self_time.saturating_add(self_time);
        let step = self.step_of(frame.span_start);
        self.add_op(frame.variant, step, &sums);
    }

    /// Finds the op around a request.
    fn answer(&mut self, request: &Request, open: &mut OpenSpans<Frame>) {
        while open.stack.last().is_some_and(|top| top.end < request.start) {
            if let Some(top) = open.stack.pop() {
                self.close(&top);
            }
        }
        // Inner spans end no later than outer ones. A call may outlive its op; the op in which it began counts.
        let holding = open.stack.partition_point(|span| span.end >= request.end);
        let holding = if holding == 0 { open.stack.len() } else { holding };
        let target = holding.checked_sub(1).map(|at| {
            let Frame { path, stack, shapes, span_start, .. } = open.stack[at].frame;
            Target { path, stack, shapes, start: span_start }
        });
        match request.what {
            RequestKind::Launch(at) => self.by_launch[at as usize] = target,
            RequestKind::Memory(at) => self.add_memory(at, target),
        }
    }

    pub(super) fn begin_line(&self, line: u32) -> LineFacts {
        let held = &self.trace.lines[line as usize];
        let thread = self.trace.names.get(held.thread);
        LineFacts {
            plane: held.plane.clone(),
            id: thread.parse().unwrap_or(0),
            name: if held.title.is_empty() { thread.to_owned() } else { held.title.clone() },
            ..LineFacts::default()
        }
    }
}

/// Splits into runs of equal keys.
pub fn chunks<T>(list: &[T], key: impl Fn(&T) -> u32) -> Vec<Range<usize>> {
    let mut at = 0;
    let ranges = list.chunk_by(|a, b| key(a) == key(b)).map(|chunk| {
        at += chunk.len();
        at - chunk.len()..at
    });
    ranges.collect()
}
