//! Types of elements, as datasets and attributes declare them.

use super::Cursor;
use crate::checkpoint::Damage;
use crate::model::dtype::DType;

/// The type of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    pub class: Class,
    /// The bytes of an element.
    pub size: u32,
    pub big_endian: bool,
    /// The dimensions that each element has itself: such an element is an array.
    pub inner: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Int {
        signed: bool,
    },
    Float {
        exponent: u8,
        mantissa: u8,
    },
    Bool,
    /// Two floats.
    Complex,
    /// Text of a fixed length, with its padding.
    Text {
        padding: Padding,
    },
    /// Text elsewhere in the file.
    VariableText,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// A zero ends the text.
    Terminated,
    Zeros,
    Spaces,
}

impl Padding {
    fn of(bits: u32) -> Padding {
        match bits {
            1 => Padding::Zeros,
            2 => Padding::Spaces,
            _ => Padding::Terminated,
        }
    }

    /// The text in a field.
    pub fn strip(self, field: &[u8]) -> &[u8] {
        let is_padding = |byte: &u8| match self {
            Padding::Terminated => false,
            Padding::Zeros => *byte == 0,
            Padding::Spaces => *byte == b' ',
        };
        match self {
            Padding::Terminated => field.split(|byte| *byte == 0).next().unwrap_or_default(),
            _ => &field[..field.iter().rposition(|byte| !is_padding(byte)).map_or(0, |last| last + 1)],
        }
    }
}

/// Types within types are at most this deep.
const MAX_DEPTH: usize = 8;

impl Datatype {
    /// Reads a datatype message.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Datatype, Damage> {
        let mut inner = Vec::new();
        // The types of array elements, one within the other.
        for _ in 0..MAX_DEPTH {
            let start = cursor.at;
            let head = cursor.u8()?;
            let (version, class) = (head >> 4, head & 0x0f);
            cursor.skip(7)?;
            if class != ARRAY {
                cursor.at = start;
                let mut found = Datatype::read_one(cursor, MAX_DEPTH)?;
                found.inner = inner;
                return Ok(found);
            }
            let rank = cursor.u8()?;
            if version < 3 {
                cursor.skip(3)?;
            }
            for _ in 0..rank {
                inner.push(i64::from(cursor.u32()?));
            }
            if version < 3 {
                cursor.skip(4 * usize::from(rank))?;
            }
        }
        Err(cursor.fault("arrays within arrays are too deep".to_owned()))
    }

    /// Reads a type that is no array. `depth` bounds how far members of compounds are followed.
    fn read_one(cursor: &mut Cursor<'_>, depth: usize) -> Result<Datatype, Damage> {
        let head = cursor.u8()?;
        let (version, class) = (head >> 4, head & 0x0f);
        let bits = cursor.number(3)? as u32;
        let size = cursor.u32()?;
        let mut big_endian = bits & 1 != 0;
        let class = match class {
            INT => {
                cursor.skip(4)?;
                Class::Int { signed: bits & 8 != 0 }
            }
            FLOAT => {
                cursor.skip(5)?;
                let exponent = cursor.u8()?;
                cursor.skip(1)?;
                let mantissa = cursor.u8()?;
                cursor.skip(4)?;
                // The byte order of a VAX is neither.
                if bits & 0x40 == 0 { Class::Float { exponent, mantissa } } else { Class::Other }
            }
            TEXT => Class::Text { padding: Padding::of(bits & 0x0f) },
            VARIABLE if bits & 0x0f == 1 => Class::VariableText,
            ENUM if depth > 0 => {
                let base = Datatype::read_one(cursor, 0)?;
                big_endian = base.big_endian;
                if is_bool(cursor, version, bits & 0xffff)? { Class::Bool } else { base.class }
            }
            COMPOUND if depth > 0 && bits & 0xffff == 2 => {
                let parts =
                    [Datatype::read_member(cursor, version, size)?, Datatype::read_member(cursor, version, size)?];
                let [Some(real), Some(imaginary)] = parts else {
                    return Ok(Datatype { class: Class::Other, size, big_endian: false, inner: Vec::new() });
                };
                let is_complex = matches!(real.class, Class::Float { .. })
                    && real == imaginary
                    && real.size * 2 == size
                    && matches!(size, 8 | 16);
                big_endian = real.big_endian;
                if is_complex { Class::Complex } else { Class::Other }
            }
            _ => Class::Other,
        };
        Ok(Datatype { class, size, big_endian, inner: Vec::new() })
    }

    /// Reads the type of a member of a compound; `None` if it is not a plain one.
    fn read_member(cursor: &mut Cursor<'_>, version: u8, size: u32) -> Result<Option<Datatype>, Damage> {
        let start = cursor.at;
        let name = cursor.text()?;
        if version < 3 {
            cursor.at = start + (name.len() + 8) / 8 * 8;
            cursor.skip(0)?;
        }
        match version {
            1 => cursor.skip(4 + 1 + 3 + 4 + 4 + 16)?,
            2 => cursor.skip(4)?,
            _ => cursor.skip(super::cursor::size_of_limit(u64::from(size)))?,
        }
        let at = cursor.at;
        let class = cursor.u8()? & 0x0f;
        cursor.at = at;
        if class == FLOAT { Datatype::read_one(cursor, 0).map(Some) } else { Ok(None) }
    }

    /// The type as checkpoints name it.
    pub fn dtype(&self) -> DType {
        let name = match (self.class, self.size) {
            (Class::Int { signed: true }, 1) => "int8",
            (Class::Int { signed: true }, 2) => "int16",
            (Class::Int { signed: true }, 4) => "int32",
            (Class::Int { signed: true }, 8) => "int64",
            (Class::Int { signed: false }, 1) => "uint8",
            (Class::Int { signed: false }, 2) => "uint16",
            (Class::Int { signed: false }, 4) => "uint32",
            (Class::Int { signed: false }, 8) => "uint64",
            (Class::Float { exponent: 5, mantissa: 10 }, 2) => "float16",
            (Class::Float { exponent: 8, mantissa: 7 }, 2) => "bfloat16",
            (Class::Float { exponent: 8, mantissa: 23 }, 4) => "float32",
            (Class::Float { exponent: 11, mantissa: 52 }, 8) => "float64",
            (Class::Float { exponent: 5, mantissa: 2 }, 1) => "float8_e5m2",
            (Class::Float { exponent: 4, mantissa: 3 }, 1) => "float8_e4m3fn",
            (Class::Bool, 1) => "bool",
            (Class::Complex, 8) => "complex64",
            (Class::Complex, 16) => "complex128",
            (Class::Text { .. } | Class::VariableText, _) => "string",
            _ => "variant",
        };
        DType::named(name).unwrap_or(DType::VARIANT)
    }
}

const INT: u8 = 0;
const FLOAT: u8 = 1;
const TEXT: u8 = 3;
const COMPOUND: u8 = 6;
const ENUM: u8 = 8;
const VARIABLE: u8 = 9;
const ARRAY: u8 = 10;

/// Whether an enumeration has the names of a boolean: FALSE and TRUE.
fn is_bool(cursor: &mut Cursor<'_>, version: u8, members: u32) -> Result<bool, Damage> {
    if members != 2 {
        return Ok(false);
    }
    let mut names = Vec::new();
    for _ in 0..members {
        let start = cursor.at;
        let name = cursor.text()?;
        if version < 3 {
            cursor.at = start + (name.len() + 8) / 8 * 8;
            cursor.skip(0)?;
        }
        names.push(name);
    }
    Ok(names == [&b"FALSE"[..], b"TRUE"])
}
