//! The little of a compiled XLA program that names its instructions and says which line of source each came from.

use crate::model::names::escape_invalid;
use rustc_hash::FxHashMap;
use tfprof_proto::wire::{Fields, Value, WireError};

/// A program, as far as profiles refer to it.
#[derive(Debug, Default)]
pub struct Program {
    pub name: String,
    pub instructions: FxHashMap<String, Instruction>,
    frames: Vec<Frame>,
}

#[derive(Debug, Default)]
pub struct Instruction {
    pub opcode: String,
    /// The path of scopes that the framework gave it.
    pub op_name: String,
    /// The innermost frame, by its place from 1; 0 if there is none.
    frame: usize,
    /// A file and a line, where that is all there is.
    source: Option<(String, i64)>,
}

/// A line of source on the way to an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: String,
    pub function: String,
    pub line: i64,
}

#[derive(Debug, Default)]
struct Frame {
    place: Place,
    outer: usize,
}

/// No real stack is deeper; without a limit, many instructions deep in one stack would cost its square.
const DEEPEST: usize = 1000;

impl Program {
    /// The lines that led to an instruction, the outermost first.
    pub fn stack(&self, instruction: &Instruction) -> Vec<Place> {
        if instruction.frame == 0 || instruction.frame > self.frames.len() {
            let source = instruction.source.iter();
            let place = |(file, line): &(String, i64)| Place { file: file.clone(), function: "?".into(), line: *line };
            return source.map(place).collect();
        }
        let mut stack = Vec::new();
        let mut at = instruction.frame;
        // A loop of parents ends the stack.
        let mut seen = rustc_hash::FxHashSet::default();
        while at > 0 && at <= self.frames.len() && stack.len() < DEEPEST && seen.insert(at) {
            stack.push(self.frames[at - 1].place.clone());
            at = self.frames[at - 1].outer;
        }
        stack.reverse();
        stack
    }
}

/// Reads an `HloProto`. A program that is damaged anywhere is not used at all.
pub fn read(bytes: &[u8]) -> Result<Program, WireError> {
    let mut program = Program::default();
    let mut module = None;
    each(bytes, |number, value| {
        if let (1, Value::Bytes(bytes), None) = (number, value, module) {
            module = Some(bytes);
        }
        Ok(())
    })?;
    let mut named = false;
    let mut index = None;
    each(module.unwrap_or_default(), |number, value| {
        match (number, value) {
            (1, Value::Bytes(name)) if !named => {
                program.name = escape_invalid(name);
                named = true;
            }
            (3, Value::Bytes(computation)) => each(computation, |number, value| match (number, value) {
                (2, Value::Bytes(instruction)) => read_instruction(instruction, &mut program.instructions),
                _ => Ok(()),
            })?,
            (17, Value::Bytes(bytes)) if index.is_none() => index = Some(bytes),
            _ => {}
        }
        Ok(())
    })?;
    program.frames = read_frames(index.unwrap_or_default())?;
    Ok(program)
}

fn read_instruction(bytes: &[u8], into: &mut FxHashMap<String, Instruction>) -> Result<(), WireError> {
    let (mut name, mut opcode, mut metadata): (Option<&[u8]>, Option<&[u8]>, &[u8]) = (None, None, b"");
    each(bytes, |number, value| {
        match (number, value) {
            (1, Value::Bytes(text)) => name = name.or(Some(text)),
            (2, Value::Bytes(text)) => opcode = opcode.or(Some(text)),
            (7, Value::Bytes(bytes)) => metadata = bytes,
            _ => {}
        }
        Ok(())
    })?;
    let mut instruction = Instruction { opcode: escape_invalid(opcode.unwrap_or_default()), ..Instruction::default() };
    let (mut file, mut line) = (None, 0);
    each(metadata, |number, value| {
        match (number, value) {
            (2, Value::Bytes(text)) => instruction.op_name = escape_invalid(text),
            (3, Value::Bytes(text)) => file = Some(escape_invalid(text)),
            (4, Value::Varint(n)) => line = n as i64,
            (15, Value::Varint(n)) => instruction.frame = usize::try_from(n).unwrap_or(0),
            _ => {}
        }
        Ok(())
    })?;
    instruction.source = file.map(|file| (file, line));
    into.insert(escape_invalid(name.unwrap_or_default()), instruction);
    Ok(())
}

fn read_frames(bytes: &[u8]) -> Result<Vec<Frame>, WireError> {
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    let mut places: Vec<[u64; 3]> = Vec::new();
    let mut frames: Vec<[u64; 2]> = Vec::new();
    each(bytes, |number, value| {
        let Value::Bytes(bytes) = value else { return Ok(()) };
        match number {
            1 => files.push(escape_invalid(bytes)),
            2 => functions.push(escape_invalid(bytes)),
            3 => places.push(numbers(bytes)?),
            4 => frames.push(numbers(bytes)?),
            _ => {}
        }
        Ok(())
    })?;
    // All of these count from 1, and 0 is none.
    let text = |texts: &[String], at: u64| -> String {
        let at = usize::try_from(at).unwrap_or(0).wrapping_sub(1);
        texts.get(at).map_or_else(|| "?".to_owned(), Clone::clone)
    };
    let frame = |[place, outer]: [u64; 2]| {
        let place = usize::try_from(place).unwrap_or(0).wrapping_sub(1);
        let [file, function, line] = places.get(place).copied().unwrap_or_default();
        let place = Place { file: text(&files, file), function: text(&functions, function), line: line as i64 };
        Frame { place, outer: usize::try_from(outer).unwrap_or(0) }
    };
    Ok(frames.into_iter().map(frame).collect())
}

/// The first numbers of a message, by their fields.
fn numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N], WireError> {
    let mut numbers = [0; N];
    each(bytes, |number, value| {
        if let (Some(slot), Value::Varint(n)) = (numbers.get_mut((number as usize).wrapping_sub(1)), value) {
            *slot = n;
        }
        Ok(())
    })?;
    Ok(numbers)
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
        let program = read(&program()).unwrap();
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
            let _ = read(&whole[..end]);
        }
        assert!(read(&whole[..whole.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
