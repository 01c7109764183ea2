//! A user's settings for inference: the part of the model that counts, sizes that it leaves open, trip counts of loops.

use super::shape::{ANY, Shape};

/// Settings of inference. They are load options: changing them means to infer again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The size of unknown leading dimensions of inputs; 1 by default.
    pub batch: Option<i64>,
    /// The size of other unknown dimensions of inputs, such as the length of sequences.
    pub seq: Option<i64>,
    /// Shapes of inputs by name.
    pub inputs: Vec<(String, Shape)>,
    /// The signature of a `SavedModel` to look at.
    pub signature: Option<String>,
    /// The whole graph counts, not only the part that a signature needs.
    pub all: bool,
    /// Trip counts of loops, by the names of their nodes.
    pub trip_counts: Vec<(String, i64)>,
    /// Floating-point constants with at least one dimension are parameters: the weights of a frozen graph.
    pub const_params: bool,
}

impl Settings {
    /// These settings, overridden by `more`. Settings that select contents of a file have to be made before it is read.
    pub fn and(&self, more: &Settings) -> Result<Settings, String> {
        if more.signature.is_some() || more.all || more.const_params {
            return Err("signature, all and const_params choose what is loaded; set them when you load".to_owned());
        }
        let mut all = self.clone();
        all.batch = more.batch.or(self.batch);
        all.seq = more.seq.or(self.seq);
        all.inputs.extend(more.inputs.iter().cloned());
        all.trip_counts.extend(more.trip_counts.iter().cloned());
        Ok(all)
    }

    /// `NAME=1x224x224x3`. A size may be `?` or -1; `scalar`, or nothing after `=`, means a scalar.
    pub fn parse_input(text: &str) -> Result<(String, Shape), String> {
        let expected =
            || format!("expected NAME=SIZExSIZEx..., as in image=1x224x224x3, or NAME=scalar, found `{text}`");
        let (name, sizes) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
        let size = |word: &str| match word.trim() {
            "?" | "-1" | "None" => Some(ANY),
            digits => digits.parse().ok().filter(|size| *size >= 0),
        };
        let sizes = sizes.trim();
        let dims: Option<Vec<i64>> =
            if matches!(sizes, "" | "scalar") { Some(Vec::new()) } else { sizes.split(['x', ',']).map(size).collect() };
        let shape = Shape::of(&dims.ok_or_else(expected)?);
        // Tensors are named `image:0`; most inputs have one output.
        Ok((name.strip_suffix(":0").unwrap_or(name).to_owned(), shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_inputs() {
        let check = |text: &str, expect: Option<(&str, &[i64])>| {
            let expect = expect.map(|(name, dims)| (name.to_owned(), Shape::of(dims)));
            assert_eq!(Settings::parse_input(text).ok(), expect, "{text}");
        };
        check("x=1x224x224x3", Some(("x", &[1, 224, 224, 3])));
        check("a/b:0=?x-1x7", Some(("a/b", &[-1, -1, 7])));
        check("a=b=2,3", Some(("a=b", &[2, 3])));
        check("step=", Some(("step", &[])));
        check("keep_prob=scalar", Some(("keep_prob", &[])));
        check("x", None);
        check("=3", None);
        check("x=3x", None);
        check("x=-2", None);
    }
}
