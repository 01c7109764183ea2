//! [`DIALECTS`]: the names that other files than TensorFlow's give to the ops that rules and formulas know.

pub mod keras;
pub mod onnx;
pub mod tflite;

/// A dialect: the ops of one kind of model file.
#[derive(Debug)]
pub struct Dialect {
    /// As the documentation calls it.
    pub name: &'static str,
    /// By op, sorted: the ops that rules and formulas know and to which it is lowered. A node is lowered to the first
    /// one, unless its attributes say another.
    pub ops: &'static [(&'static str, &'static [&'static str])],
}

/// All dialects besides TensorFlow's own.
pub static DIALECTS: &[&Dialect] = &[&keras::KERAS, &onnx::ONNX, &tflite::TFLITE];

impl Dialect {
    /// The op to which an op of the dialect is lowered by default; empty if rules and formulas know none.
    pub fn lowered(&self, op: &str) -> &'static str {
        let row = self.ops.binary_search_by(|(name, _)| (*name).cmp(op)).ok();
        row.and_then(|at| self.ops[at].1.first()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        for dialect in DIALECTS {
            assert!(dialect.ops.is_sorted_by(|a, b| a.0 < b.0), "{}", dialect.name);
        }
    }
}
