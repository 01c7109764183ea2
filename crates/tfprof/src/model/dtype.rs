//! Data types of tensors: names, element sizes, and decoding of single elements.

/// A tensor's data type, as TensorFlow numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DType(pub i32);

/// One element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Element<'a> {
    Float(f64),
    Int(i64),
    Uint(u64),
    Bool(bool),
    Complex(f64, f64),
    Text(&'a [u8]),
    /// A handle or object that only the program that wrote it could read.
    Opaque,
}

/// How elements of a type are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Float,
    Double,
    Half,
    Brain,
    /// Bits of exponent and of mantissa, bias, and which patterns are not numbers.
    Small {
        exponent: u32,
        mantissa: u32,
        bias: i32,
        special: Special,
    },
    /// Bytes.
    Int(u32),
    Uint(u32),
    /// Bits within one byte.
    Bits(u32),
    UnsignedBits(u32),
    Bool,
    Complex,
    DoubleComplex,
    Text,
    Opaque,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// Infinities and many NaNs, as IEEE 754 has them.
    Ieee,
    /// All ones is the only NaN; no infinity.
    AllOnes,
    /// Minus zero is the only NaN; no infinity.
    MinusZero,
    Never,
}

const fn small(exponent: u32, mantissa: u32, bias: i32, special: Special) -> Form {
    Form::Small { exponent, mantissa, bias, special }
}

const TYPES: &[(i32, &str, Form)] = &[
    (1, "float32", Form::Float),
    (2, "float64", Form::Double),
    (3, "int32", Form::Int(4)),
    (4, "uint8", Form::Uint(1)),
    (5, "int16", Form::Int(2)),
    (6, "int8", Form::Int(1)),
    (7, "string", Form::Text),
    (8, "complex64", Form::Complex),
    (9, "int64", Form::Int(8)),
    (10, "bool", Form::Bool),
    (11, "qint8", Form::Int(1)),
    (12, "quint8", Form::Uint(1)),
    (13, "qint32", Form::Int(4)),
    (14, "bfloat16", Form::Brain),
    (15, "qint16", Form::Int(2)),
    (16, "quint16", Form::Uint(2)),
    (17, "uint16", Form::Uint(2)),
    (18, "complex128", Form::DoubleComplex),
    (19, "float16", Form::Half),
    (20, "resource", Form::Opaque),
    (21, "variant", Form::Opaque),
    (22, "uint32", Form::Uint(4)),
    (23, "uint64", Form::Uint(8)),
    (24, "float8_e5m2", small(5, 2, 15, Special::Ieee)),
    (25, "float8_e4m3fn", small(4, 3, 7, Special::AllOnes)),
    (26, "float8_e4m3fnuz", small(4, 3, 8, Special::MinusZero)),
    (27, "float8_e4m3b11fnuz", small(4, 3, 11, Special::MinusZero)),
    (28, "float8_e5m2fnuz", small(5, 2, 16, Special::MinusZero)),
    (29, "int4", Form::Bits(4)),
    (30, "uint4", Form::UnsignedBits(4)),
    (31, "int2", Form::Bits(2)),
    (32, "uint2", Form::UnsignedBits(2)),
    (33, "float4_e2m1fn", small(2, 1, 1, Special::Never)),
];

impl DType {
    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self.form(), Some(Form::Float | Form::Double | Form::Half | Form::Brain | Form::Small { .. }))
    }

    /// Whether elements are whole numbers or booleans of at least one byte.
    pub fn is_integer(self) -> bool {
        matches!(self.form(), Some(Form::Int(_) | Form::Uint(_) | Form::Bool))
    }

    /// A little-endian integer of this type.
    pub fn integer(self, bytes: &[u8]) -> i64 {
        let is_signed = matches!(self.form(), Some(Form::Int(_)));
        let is_negative = is_signed && bytes.last().is_some_and(|last| *last >= 0x80);
        let mut word = [if is_negative { 0xff } else { 0 }; 8];
        let count = bytes.len().min(8);
        word[..count].copy_from_slice(&bytes[..count]);
        i64::from_le_bytes(word)
    }

    /// Whether elements stand for floats in a range that other tensors give.
    pub fn is_quantized(self) -> bool {
        matches!(self.0, 11..=13 | 15 | 16)
    }

    /// The default.
    pub const UNKNOWN: DType = DType(0);
    pub const FLOAT: DType = DType(1);
    pub const DOUBLE: DType = DType(2);
    pub const INT32: DType = DType(3);
    pub const UINT8: DType = DType(4);
    pub const STRING: DType = DType(7);
    pub const COMPLEX64: DType = DType(8);
    pub const INT64: DType = DType(9);
    pub const BOOL: DType = DType(10);
    pub const COMPLEX128: DType = DType(18);
    pub const RESOURCE: DType = DType(20);
    pub const VARIANT: DType = DType(21);

    /// The type of a name, as [`name`](Self::name) gives it.
    pub fn named(name: &str) -> Option<DType> {
        TYPES.iter().find(|(_, known, _)| *known == name).map(|(number, ..)| DType(*number))
    }

    fn form(self) -> Option<Form> {
        TYPES.iter().find(|(number, ..)| *number == self.0).map(|(_, _, form)| *form)
    }

    /// Whether TensorFlow has such a type.
    pub fn is_known(self) -> bool {
        self.form().is_some()
    }

    /// TensorFlow's name for it.
    pub fn name(self) -> String {
        match TYPES.iter().find(|(number, ..)| *number == self.0) {
            Some((_, name, _)) => (*name).to_owned(),
            None => format!("type{}", self.0),
        }
    }

    /// Bytes per element; `None` if elements vary in size.
    pub fn size(self) -> Option<usize> {
        Some(match self.form()? {
            Form::Float => 4,
            Form::Double | Form::Complex => 8,
            Form::Half | Form::Brain => 2,
            Form::DoubleComplex => 16,
            Form::Int(bytes) | Form::Uint(bytes) => bytes as usize,
            // As the original: types smaller than a byte take a whole one.
            Form::Small { .. } | Form::Bits(_) | Form::UnsignedBits(_) | Form::Bool => 1,
            Form::Text | Form::Opaque => return None,
        })
    }

    /// Bytes per number: half of an element if it is complex.
    pub fn number_size(self) -> usize {
        let size = self.size().unwrap_or(1);
        if matches!(self.form(), Some(Form::Complex | Form::DoubleComplex)) { size / 2 } else { size }
    }

    /// Decodes one element from its [`size`](Self::size) bytes.
    pub fn element(self, bytes: &[u8]) -> Element<'_> {
        let Some(form) = self.form() else { return Element::Opaque };
        let bits = little_endian(bytes);
        match form {
            Form::Float => Element::Float(f64::from(f32::from_bits(bits as u32))),
            Form::Double => Element::Float(f64::from_bits(bits)),
            Form::Half => Element::Float(small_float(bits as u32, 5, 10, 15, Special::Ieee)),
            Form::Brain => Element::Float(f64::from(f32::from_bits((bits as u32) << 16))),
            Form::Small { exponent, mantissa, bias, special } => {
                Element::Float(small_float(bits as u32, exponent, mantissa, bias, special))
            }
            Form::Int(bytes) => Element::Int(sign_extended(bits, bytes * 8)),
            Form::Uint(_) => Element::Uint(bits),
            Form::Bits(width) => Element::Int(sign_extended(bits, width)),
            Form::UnsignedBits(width) => Element::Uint(bits & ((1 << width) - 1)),
            Form::Bool => Element::Bool(bits != 0),
            Form::Complex => Element::Complex(
                f64::from(f32::from_bits(bits as u32)),
                f64::from(f32::from_bits(little_endian(bytes.get(4..).unwrap_or_default()) as u32)),
            ),
            Form::DoubleComplex => Element::Complex(
                f64::from_bits(bits),
                f64::from_bits(little_endian(bytes.get(8..).unwrap_or_default())),
            ),
            Form::Text => Element::Text(bytes),
            Form::Opaque => Element::Opaque,
        }
    }
}

/// Up to eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u64 {
    let mut array = [0; 8];
    let n = bytes.len().min(8);
    array[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(array)
}

fn sign_extended(bits: u64, width: u32) -> i64 {
    ((bits << (64 - width)) as i64) >> (64 - width)
}

fn small_float(bits: u32, exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> f64 {
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    let exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
    let sign = if negative { -1.0 } else { 1.0 };
    let top = exponent == (1 << exponent_bits) - 1;
    match special {
        Special::Ieee if top && mantissa == 0 => return sign * f64::INFINITY,
        Special::Ieee if top => return f64::NAN,
        Special::AllOnes if top && mantissa == (1 << mantissa_bits) - 1 => return f64::NAN,
        Special::MinusZero if negative && exponent == 0 && mantissa == 0 => return f64::NAN,
        _ => {}
    }
    let scale = |exponent: i32| f64::from(exponent).exp2();
    let fraction = f64::from(mantissa) / f64::from(1_u32 << mantissa_bits);
    if exponent == 0 {
        sign * fraction * scale(1 - bias)
    } else {
        sign * (1.0 + fraction) * scale(exponent as i32 - bias)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: i32, bytes: &[u8], expect: Element<'_>) {
        assert_eq!(DType(number).element(bytes), expect, "{} {bytes:?}", DType(number).name());
    }

    #[test]
    fn elements_of_each_type() {
        check(1, &1.5_f32.to_le_bytes(), Element::Float(1.5));
        check(2, &(-0.1_f64).to_le_bytes(), Element::Float(-0.1));
        check(3, &(-7_i32).to_le_bytes(), Element::Int(-7));
        check(4, &[200], Element::Uint(200));
        check(5, &(-300_i16).to_le_bytes(), Element::Int(-300));
        check(6, &[0xff], Element::Int(-1));
        check(9, &i64::MIN.to_le_bytes(), Element::Int(i64::MIN));
        check(10, &[1], Element::Bool(true));
        check(14, &[0x80, 0x3f], Element::Float(1.0));
        check(19, &[0x00, 0x3c], Element::Float(1.0));
        check(19, &[0x01, 0x00], Element::Float(2_f64.powi(-24)));
        check(19, &[0x00, 0xfc], Element::Float(f64::NEG_INFINITY));
        check(23, &u64::MAX.to_le_bytes(), Element::Uint(u64::MAX));
        check(24, &[0x7c], Element::Float(f64::INFINITY));
        check(25, &[0x7e], Element::Float(448.0));
        check(26, &[0x7f], Element::Float(240.0));
        check(27, &[0x7f], Element::Float(30.0));
        check(28, &[0x7f], Element::Float(57344.0));
        check(29, &[0x08], Element::Int(-8));
        check(30, &[0x0f], Element::Uint(15));
        check(31, &[0x03], Element::Int(-1));
        check(33, &[0x0f], Element::Float(-6.0));
        let complex: Vec<u8> = [1.0_f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        check(8, &complex, Element::Complex(1.0, -2.0));
    }

    #[test]
    fn some_patterns_are_not_numbers() {
        for (number, bits) in [(25, 0x7f), (25, 0xff), (26, 0x80), (27, 0x80), (28, 0x80), (24, 0x7e)] {
            let Element::Float(value) = DType(number).element(&[bits]) else { panic!("{number}") };
            assert!(value.is_nan(), "{number} {bits:x}");
        }
    }

    #[test]
    fn any_type_takes_any_bytes() {
        for number in -1..40 {
            for length in 0..17 {
                DType(number).element(&vec![0xa5; length]);
            }
        }
    }
}
