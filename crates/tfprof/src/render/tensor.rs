//! The values of a tensor as text below a row, as a message, as JSON and as CSV.

use super::csv::write_field;
use crate::checkpoint::Values;
use crate::json::write_string;
use crate::model::dtype::{DType, Element};
use crate::model::names::escape_invalid;
use crate::quirks::Quirks;
use std::io::{self, Write};
use tfprof_proto::fields::tf_prof_tensor;
use tfprof_proto::write as pb;

/// Longer text is cut, in bytes.
const LONGEST: usize = 10_000;

/// At most this many values fit into the text of a tensor: each takes at least a digit and a blank.
pub const SHOWN: u64 = LONGEST as u64 / 2 + 1;

/// `[[1.00 2.00 ],\n[3.00 4.00 ],\n],\n`, cut if it is long. The first [`SHOWN`] values are enough.
pub fn text(values: &Values, quirks: &Quirks) -> Vec<u8> {
    let mut out = Vec::new();
    if !has_text(values.dtype, quirks) {
        return out;
    }
    let rows = Rows::new(&values.shape);
    for number in 0..rows.count {
        if out.len() > LONGEST {
            break;
        }
        out.resize(out.len() + rows.opened(number), b'[');
        if rows.empty {
            out.extend_from_slice(b"[],\n");
        } else if number < values.len() as u64 {
            push_element(&mut out, values.get(number as usize), quirks);
        }
        for _ in 0..rows.closed(number) {
            out.extend_from_slice(b"],\n");
        }
    }
    // As the original: the last bracket is closed after the cut.
    if rows.count == 0 {
        out.extend_from_slice(b"[");
    } else if out.len() <= LONGEST {
        out.truncate(out.len() - 3);
    }
    out.truncate(LONGEST);
    out.extend_from_slice(b"],\n");
    if out.len() >= LONGEST {
        out.extend_from_slice(b"...omitted from display\n\n");
    }
    out
}

/// As the original: only four numeric types, and strings, on which it crashes.
fn has_text(dtype: DType, quirks: &Quirks) -> bool {
    let few = [DType::FLOAT, DType::DOUBLE, DType::INT32, DType::INT64, DType::STRING];
    !quirks.few_types_have_values || few.contains(&dtype)
}

fn push_element(out: &mut Vec<u8>, element: Element<'_>, quirks: &Quirks) {
    let float = |x: f64| float_text(seen(x, quirks));
    let text = match element {
        Element::Float(x) => float(x),
        Element::Int(n) => n.to_string(),
        Element::Uint(n) => n.to_string(),
        Element::Bool(on) => on.to_string(),
        Element::Complex(re, im) => format!("({},{})", float(re), float(im)),
        Element::Text(text) => {
            // The original crashes on strings.
            out.push(b'\'');
            out.extend_from_slice(escape_invalid(text).as_bytes());
            out.extend_from_slice(b"' ");
            return;
        }
        Element::Opaque => "?".to_owned(),
    };
    out.extend_from_slice(text.as_bytes());
    out.push(b' ');
}

/// Writes all values in full precision, one line for each row of the innermost dimension.
pub fn rows(values: &Values, out: &mut dyn Write) -> io::Result<()> {
    let rows = Rows::new(&values.shape);
    if rows.are_too_many() {
        return out.write_all(b"[]\n");
    }
    let mut line = Vec::new();
    for number in 0..rows.count {
        let row = rows.opened(number);
        line.resize(line.len() + row, b'[');
        if rows.empty {
            line.extend_from_slice(b"[]");
        } else if (number as usize) < values.len() {
            push_digits(&mut line, values.get(number as usize), values.dtype);
        }
        let closed = rows.closed(number);
        line.resize(line.len() + closed, b']');
        line.push(if closed > 0 { b'\n' } else { b' ' });
        if line.len() > 60_000 || number + 1 == rows.count {
            out.write_all(&line)?;
            line.clear();
        }
    }
    if rows.count == 0 { out.write_all(b"[]\n") } else { Ok(()) }
}

/// Writes one line for each value, with its indices.
pub fn csv(values: &Values, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"index,value\n")?;
    for number in 0..values.len() {
        let mut digits = Vec::new();
        match values.get(number) {
            Element::Text(text) => write_field(&escape_invalid(text), &mut digits)?,
            Element::Complex(re, im) => write!(digits, "\"{re},{im}\"")?,
            element => push_digits(&mut digits, element, values.dtype),
        }
        write!(out, "{number},")?;
        out.write_all(&digits)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn push_digits(out: &mut Vec<u8>, element: Element<'_>, dtype: DType) {
    // The fewest digits that identify the number among those of its type.
    let float = |x: f64| if dtype == DType::DOUBLE { format!("{x:?}") } else { format!("{:?}", x as f32) };
    let text = match element {
        Element::Float(x) => float(x),
        Element::Complex(re, im) if dtype.size() == Some(8) => format!("({},{})", re as f32, im as f32),
        Element::Complex(re, im) => format!("({re},{im})"),
        Element::Int(n) => n.to_string(),
        Element::Uint(n) => n.to_string(),
        Element::Bool(on) => on.to_string(),
        Element::Text(text) => format!("'{}'", escape_invalid(text)),
        Element::Opaque => "?".to_owned(),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Two decimals, rounded as C does.
fn float_text(x: f64) -> String {
    match x {
        x if x.is_nan() && x.is_sign_negative() => "-nan".to_owned(),
        x if x.is_nan() => "nan".to_owned(),
        x => format!("{x:.2}"),
    }
}

/// As the original: six significant digits.
fn seen(x: f64, quirks: &Quirks) -> f64 {
    if quirks.values_lose_digits && x.is_finite() { format!("{x:.5e}").parse().unwrap_or(x) } else { x }
}

/// A `TFProfTensorProto`.
pub fn message(values: &Values, quirks: &Quirks) -> Vec<u8> {
    let mut out = Vec::new();
    pb::int(&mut out, tf_prof_tensor::DTYPE, i64::from(values.dtype.0));
    if !has_text(values.dtype, quirks) {
        return out;
    }
    let (mut floats, mut ints, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..values.len() {
        match values.get(number) {
            Element::Float(x) => floats.extend_from_slice(&seen(x, quirks).to_le_bytes()),
            Element::Int(n) => ints.push(n),
            Element::Uint(n) => ints.push(n as i64),
            Element::Bool(on) => ints.push(i64::from(on)),
            Element::Complex(re, im) => [re, im].iter().for_each(|x| floats.extend_from_slice(&x.to_le_bytes())),
            // The field is a string, which must be UTF-8.
            Element::Text(text) => pb::element(&mut texts, tf_prof_tensor::VALUE_STR, escape_invalid(text).as_bytes()),
            Element::Opaque => {}
        }
    }
    pb::bytes(&mut out, tf_prof_tensor::VALUE_DOUBLE, &floats);
    pb::packed(&mut out, tf_prof_tensor::VALUE_INT64, &ints);
    out.extend_from_slice(&texts);
    out
}

/// Writes nested lists that follow the shape; a scalar is a bare value.
pub fn json(values: &Values, out: &mut dyn Write) -> io::Result<()> {
    if values.shape.is_empty() {
        return match values.len() {
            0 => out.write_all(b"null"),
            _ => json_element(values.get(0), out),
        };
    }
    let rows = Rows::new(&values.shape);
    if rows.count == 0 || rows.are_too_many() {
        return out.write_all(b"[]");
    }
    for number in 0..rows.count {
        if number > 0 {
            out.write_all(b",")?;
        }
        for _ in 0..rows.opened(number) {
            out.write_all(b"[")?;
        }
        if rows.empty {
            out.write_all(b"[]")?;
        } else {
            json_element(values.get(number as usize), out)?;
        }
        for _ in 0..rows.closed(number) {
            out.write_all(b"]")?;
        }
    }
    Ok(())
}

fn json_element(element: Element<'_>, out: &mut dyn Write) -> io::Result<()> {
    match element {
        Element::Float(x) => json_float(x, out),
        Element::Int(n) => write!(out, "{n}"),
        Element::Uint(n) => write!(out, "{n}"),
        Element::Bool(on) => write!(out, "{on}"),
        Element::Complex(re, im) => {
            out.write_all(b"[")?;
            json_float(re, out)?;
            out.write_all(b",")?;
            json_float(im, out)?;
            out.write_all(b"]")
        }
        Element::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => write_string(text, out),
            Err(_) => write!(out, "{{\"base64\":\"{}\"}}", base64(text)),
        },
        Element::Opaque => out.write_all(b"null"),
    }
}

/// Escapes bytes that are not UTF-8, without loss.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().enumerate().fold(0_u32, |bits, (i, byte)| bits | u32::from(*byte) << (16 - 8 * i));
        for i in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]);
            text.push(if i <= three.len() { letter } else { '=' });
        }
    }
    text
}

/// The shortest digits that identify the number; NaN and infinities in quotes, since JSON lacks them.
fn json_float(x: f64, out: &mut dyn Write) -> io::Result<()> {
    match x {
        x if x.is_nan() => out.write_all(b"\"nan\""),
        f64::INFINITY => out.write_all(b"\"inf\""),
        f64::NEG_INFINITY => out.write_all(b"\"-inf\""),
        // Keep the point of a whole number, so that readers take it for a float.
        x => write!(out, "{x:?}"),
    }
}

/// Where brackets open and close in the sequence of elements.
struct Rows {
    /// The number of elements, or of empty rows.
    count: u64,
    /// The elements are empty rows.
    empty: bool,
    /// The number of elements within a bracket of each level, the innermost first.
    within: Vec<u64>,
}

impl Rows {
    fn new(shape: &[i64]) -> Rows {
        // As the original: a scalar is a row of one.
        let shape = if shape.is_empty() { &[1] } else { shape };
        let outer = shape.iter().position(|dim| *dim <= 0).unwrap_or(shape.len());
        let mut product = 1_u64;
        let within = shape[..outer].iter().rev().map(|dim| {
            product = product.saturating_mul(*dim as u64);
            product
        });
        let within: Vec<u64> = within.collect();
        let count = within.last().copied().unwrap_or(0);
        Rows { count, empty: outer < shape.len(), within }
    }

    /// Whether they are empty and not worth writing: a tiny file can declare any number of them.
    fn are_too_many(&self) -> bool {
        self.empty && self.count > 1000
    }

    fn opened(&self, number: u64) -> usize {
        self.within.iter().take_while(|within| number.is_multiple_of(**within)).count()
    }

    fn closed(&self, number: u64) -> usize {
        self.within.iter().take_while(|within| (number + 1).is_multiple_of(**within)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_are_not_counted_out() {
        let values = Values::empty(DType::FLOAT, vec![1_000_000_000_000, 0]);
        let mut out = Vec::new();
        rows(&values, &mut out).unwrap();
        json(&values, &mut out).unwrap();
        assert_eq!(out, b"[]\n[]");
    }

    #[test]
    fn bytes_in_letters() {
        let check = |bytes: &[u8], expect| assert_eq!(base64(bytes), expect);
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"\xff\xfe\xfd\x00", "//79AA==");
    }

    #[test]
    fn brackets_follow_the_shape() {
        let check = |shape: &[i64], expect: &[(usize, usize)]| {
            let rows = Rows::new(shape);
            let brackets: Vec<_> = (0..rows.count).map(|i| (rows.opened(i), rows.closed(i))).collect();
            assert_eq!(brackets, expect, "{shape:?}");
        };
        check(&[], &[(1, 1)]);
        check(&[2, 2], &[(2, 0), (0, 1), (1, 0), (0, 2)]);
        check(&[2, 0, 3], &[(1, 0), (0, 1)]);
        check(&[0], &[]);
        check(&[1, 1], &[(2, 2)]);
    }

    #[test]
    fn six_digits_are_seen() {
        let check = |x: f64, expect: &str| assert_eq!(float_text(seen(x, &Quirks::ORIGINAL)), expect);
        check(123_456.789, "123457.00");
        check(-0.004, "-0.00");
        check(2.675, "2.67");
        check(f64::NAN, "nan");
        check(f64::NEG_INFINITY, "-inf");
        assert_eq!(float_text(seen(123_456.789, &Quirks::NONE)), "123456.79");
    }
}
