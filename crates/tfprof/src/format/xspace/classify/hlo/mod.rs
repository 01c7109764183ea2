//! The parts of a compiled XLA program that profiles refer to: names of instructions, their lines of source, and, if
//! asked for, their costs.

mod convolution;
mod costs;
mod custom_calls;
mod module;

use super::super::wire::event::BYTES_PER_WORK;
use crate::budget;
use crate::events::{OpCost, SourceLine};
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::names::escape_invalid;
use std::sync::Arc;
use tfprof_proto::fields::stack_frame_index as frame_index;
use tfprof_proto::fields::{hlo, hlo_computation, hlo_instruction, hlo_module, op_metadata};
use tfprof_proto::wire::{Fields, Value, WireError};

/// A program, as far as profiles refer to it.
#[derive(Debug, Default)]
pub struct Program {
    pub name: String,
    pub instructions: UntrustedMap<String, Instruction>,
    frames: Vec<Frame>,
}

#[derive(Debug, Default)]
pub struct Instruction {
    pub opcode: String,
    /// The path of scopes that the framework gave it.
    pub op_name: String,
    /// Of one run.
    pub cost: OpCost,
    /// As XLA names it; empty unless costs were asked for.
    pub category: String,
    /// The innermost frame, counted from 1; 0 for none.
    frame: usize,
    /// A file and a line, if there is no frame.
    source: Option<(String, i64)>,
}

#[derive(Debug)]
struct Frame {
    file: Arc<str>,
    function: Arc<str>,
    line: i64,
    outer: usize,
}

/// No real stack is deeper. The limit keeps many instructions with one deep stack from taking quadratic time.
const MAX_DEPTH: usize = 1000;

impl Program {
    /// The lines that led to an instruction, the outermost first.
    pub fn stack(&self, instruction: &Instruction) -> Vec<SourceLine> {
        if instruction.frame == 0 || instruction.frame > self.frames.len() {
            let source = instruction.source.iter();
            let line =
                |(file, line): &(String, i64)| SourceLine { file: file.clone(), function: "?".into(), line: *line };
            return source.map(line).collect();
        }
        let mut stack = Vec::new();
        let mut at = instruction.frame;
        // A cycle of parents ends the stack.
        let mut seen = UntrustedSet::default();
        while at > 0 && at <= self.frames.len() && stack.len() < MAX_DEPTH && seen.insert(at) {
            let Frame { file, function, line, outer } = &self.frames[at - 1];
            budget::work(1 + (file.len() + function.len()) as u64 / BYTES_PER_WORK);
            stack.push(SourceLine { file: file.to_string(), function: function.to_string(), line: *line });
            at = *outer;
        }
        stack.reverse();
        stack
    }
}

/// Reads an `HloProto`, with the costs of its instructions if they are wanted. Any damage rejects the whole program.
pub fn read(bytes: &[u8], with_costs: bool) -> Result<Program, WireError> {
    let mut program = Program::default();
    let mut module = None;
    each(bytes, |number, value| {
        if let (hlo::HLO_MODULE, Value::Bytes(bytes), None) = (number, value, module) {
            module = Some(bytes);
        }
        Ok(())
    })?;
    let mut named = false;
    let mut index = None;
    each(module.unwrap_or_default(), |number, value| {
        match (number, value) {
            (hlo_module::NAME, Value::Bytes(name)) if !named => {
                program.name = escape_invalid(name);
                named = true;
            }
            (hlo_module::COMPUTATIONS, Value::Bytes(computation)) => {
                each(computation, |number, value| match (number, value) {
                    (hlo_computation::INSTRUCTIONS, Value::Bytes(instruction)) => {
                        read_instruction(instruction, &mut program.instructions)
                    }
                    _ => Ok(()),
                })?;
            }
            (hlo_module::STACK_FRAME_INDEX, Value::Bytes(bytes)) if index.is_none() => index = Some(bytes),
            _ => {}
        }
        Ok(())
    })?;
    program.frames = read_frames(index.unwrap_or_default())?;
    if with_costs {
        let module = module::Module::read(module.unwrap_or_default())?;
        costs::each_cost(&module, |name, cost, category| {
            if let Some(instruction) = program.instructions.get_mut(&*String::from_utf8_lossy(name)) {
                (instruction.cost, instruction.category) = (cost, category);
            }
        });
    }
    Ok(program)
}

fn read_instruction(bytes: &[u8], into: &mut UntrustedMap<String, Instruction>) -> Result<(), WireError> {
    let (mut name, mut opcode, mut metadata): (Option<&[u8]>, Option<&[u8]>, &[u8]) = (None, None, b"");
    each(bytes, |number, value| {
        match (number, value) {
            (hlo_instruction::NAME, Value::Bytes(text)) => name = name.or(Some(text)),
            (hlo_instruction::OPCODE, Value::Bytes(text)) => opcode = opcode.or(Some(text)),
            (hlo_instruction::METADATA, Value::Bytes(bytes)) => metadata = bytes,
            _ => {}
        }
        Ok(())
    })?;
    let mut instruction = Instruction { opcode: escape_invalid(opcode.unwrap_or_default()), ..Instruction::default() };
    let (mut file, mut line) = (None, 0);
    each(metadata, |number, value| {
        match (number, value) {
            (op_metadata::OP_NAME, Value::Bytes(text)) => instruction.op_name = escape_invalid(text),
            (op_metadata::SOURCE_FILE, Value::Bytes(text)) => file = Some(escape_invalid(text)),
            (op_metadata::SOURCE_LINE, Value::Varint(n)) => line = n as i64,
            (op_metadata::STACK_FRAME_ID, Value::Varint(n)) => instruction.frame = usize::try_from(n).unwrap_or(0),
            _ => {}
        }
        Ok(())
    })?;
    instruction.source = file.map(|file| (file, line));
    into.insert(escape_invalid(name.unwrap_or_default()), instruction);
    Ok(())
}

fn read_frames(bytes: &[u8]) -> Result<Vec<Frame>, WireError> {
    let (mut files, mut functions): (Vec<Arc<str>>, Vec<Arc<str>>) = (Vec::new(), Vec::new());
    let mut locations: Vec<Location> = Vec::new();
    let mut frames: Vec<StackFrame> = Vec::new();
    each(bytes, |number, value| {
        let Value::Bytes(bytes) = value else { return Ok(()) };
        match number {
            frame_index::FILE_NAMES => files.push(escape_invalid(bytes).into()),
            frame_index::FUNCTION_NAMES => functions.push(escape_invalid(bytes).into()),
            frame_index::FILE_LOCATIONS => locations.push(location(bytes)?),
            frame_index::STACK_FRAMES => frames.push(stack_frame(bytes)?),
            _ => {}
        }
        Ok(())
    })?;
    // All of these count from 1; 0 is none.
    let unknown: Arc<str> = "?".into();
    let text = |texts: &[Arc<str>], at: u64| -> Arc<str> {
        let at = usize::try_from(at).unwrap_or(0).wrapping_sub(1);
        Arc::clone(texts.get(at).unwrap_or(&unknown))
    };
    let frame = |frame: StackFrame| {
        let at = usize::try_from(frame.location).unwrap_or(0).wrapping_sub(1);
        let Location { file, function, line } = locations.get(at).copied().unwrap_or_default();
        let (file, function) = (text(&files, file), text(&functions, function));
        Frame { file, function, line: line as i64, outer: usize::try_from(frame.outer).unwrap_or(0) }
    };
    Ok(frames.into_iter().map(frame).collect())
}

/// `FileLocation`.
#[derive(Clone, Copy, Default)]
struct Location {
    file: u64,
    function: u64,
    line: u64,
}

/// `StackFrame`.
#[derive(Clone, Copy, Default)]
struct StackFrame {
    location: u64,
    outer: u64,
}

fn location(bytes: &[u8]) -> Result<Location, WireError> {
    use frame_index::file_location::{FILE_NAME_ID, FUNCTION_NAME_ID, LINE};
    let mut location = Location::default();
    each(bytes, |number, value| {
        match (number, value) {
            (FILE_NAME_ID, Value::Varint(n)) => location.file = n,
            (FUNCTION_NAME_ID, Value::Varint(n)) => location.function = n,
            (LINE, Value::Varint(n)) => location.line = n,
            _ => {}
        }
        Ok(())
    })?;
    Ok(location)
}

fn stack_frame(bytes: &[u8]) -> Result<StackFrame, WireError> {
    use frame_index::stack_frame::{FILE_LOCATION_ID, PARENT_FRAME_ID};
    let mut frame = StackFrame::default();
    each(bytes, |number, value| {
        match (number, value) {
            (FILE_LOCATION_ID, Value::Varint(n)) => frame.location = n,
            (PARENT_FRAME_ID, Value::Varint(n)) => frame.outer = n,
            _ => {}
        }
        Ok(())
    })?;
    Ok(frame)
}

fn each<'a>(bytes: &'a [u8], mut then: impl FnMut(u32, Value<'a>) -> Result<(), WireError>) -> Result<(), WireError> {
    let mut fields = Fields::new(bytes, 0);
    while let Some(field) = fields.next_field()? {
        then(field.number, field.value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tfprof_proto::write as pb;

    fn program() -> Vec<u8> {
        let mut bytes = Vec::new();
        pb::message(&mut bytes, 1, |module| {
            pb::bytes(module, 1, b"jit_f");
            pb::message(module, 3, |computation| {
                pb::message(computation, 2, |instruction| {
                    pb::bytes(instruction, 1, b"dot.1");
                    pb::bytes(instruction, 2, b"dot");
                    pb::message(instruction, 7, |metadata| {
                        pb::bytes(metadata, 2, b"jit(f)/dot_general");
                        pb::int(metadata, 15, 2);
                    });
                });
            });
            pb::message(module, 17, |index| {
                pb::element(index, 1, b"/m/a.py");
                pb::element(index, 2, b"<module>");
                pb::element(index, 2, b"f");
                for (function, line) in [(1, 9), (2, 3)] {
                    pb::message(index, 3, |place| {
                        pb::int(place, 1, 1);
                        pb::int(place, 2, function);
                        pb::int(place, 3, line);
                    });
                }
                // The outer frame names the inner one as its own outer: a loop.
                for (place, outer) in [(1, 2), (2, 1)] {
                    pb::message(index, 4, |frame| {
                        pb::int(frame, 1, place);
                        pb::int(frame, 2, outer);
                    });
                }
            });
        });
        bytes
    }

    #[test]
    fn instructions_know_their_lines_and_loops_of_frames_end() {
        let program = read(&program(), true).unwrap();
        let dot = &program.instructions["dot.1"];
        let stack: Vec<_> =
            program.stack(dot).iter().map(|p| format!("{}:{} {}", p.file, p.line, p.function)).collect();
        assert_eq!((dot.opcode.as_str(), dot.op_name.as_str()), ("dot", "jit(f)/dot_general"));
        assert_eq!(stack, ["/m/a.py:9 <module>", "/m/a.py:3 f"]);
    }

    #[test]
    fn a_cut_program_is_refused_or_shorter() {
        let whole = program();
        for end in 0..whole.len() {
            let _ = read(&whole[..end], true);
        }
        assert!(read(&whole[..whole.len() - 1], true).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, true);
        }
    }
}
