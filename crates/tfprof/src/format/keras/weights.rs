//! The shapes of weights by layer, from the HDF5 file of a model. Keras 3 stores them under the class of a layer and a
//! number (`layers/dense_1/vars/0`), older versions under its name (`model_weights/fc1/fc1/kernel:0`).

use crate::checkpoint::Damage;
use crate::checkpoint::hdf5::Hdf5;

#[derive(Debug, Default)]
pub struct Weights {
    /// Path and shape, in the order of the file.
    all: Vec<(String, Vec<i64>)>,
    by_name: bool,
}

impl Weights {
    /// Lists the weights of a file, and says what is wrong with it.
    pub fn of(file: Result<Hdf5, Damage>) -> (Weights, Option<String>) {
        let mut damage = Vec::new();
        let found = file.and_then(|file| file.datasets(&mut damage));
        match found {
            Ok(found) => {
                let shaped = found.into_iter().filter_map(|found| Some((found.path, found.dataset.ok()?.shape)));
                let mut all: Vec<(String, Vec<i64>)> = shaped
                    .filter(|(path, _)| !path.starts_with("optimizer") && !path.contains("seed_generator"))
                    .collect();
                let by_name = all.iter().any(|(path, _)| path.starts_with("model_weights/"));
                all.sort_by_cached_key(|(path, _)| key(path));
                let warning = damage.first().map(|damage| damage.what.clone());
                (Weights { all, by_name }, warning)
            }
            Err(lost) => (Weights::default(), Some(format!("its weights cannot be read: {}", lost.what))),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[i64])> {
        self.all.iter().map(|(path, shape)| (path.as_str(), shape.as_slice()))
    }

    /// The weights of a layer: by the names on the way to it, and by the groups that Keras 3 makes of classes.
    pub fn of_layer(&self, names: &[String], groups: &[String]) -> Vec<(String, Vec<i64>)> {
        let Some(name) = names.last() else { return Vec::new() };
        let belongs = |path: &str| -> Option<String> {
            if self.by_name {
                let parts: Vec<&str> = path.split('/').collect();
                let outer = names.first().is_some_and(|outer| parts.get(1) == Some(&outer.as_str()));
                let at = parts.iter().rposition(|part| *part == name.as_str()).filter(|at| *at + 1 < parts.len())?;
                return outer.then(|| parts[at + 1..].join("/"));
            }
            let mut rest = path;
            for group in groups {
                rest = rest.strip_prefix("layers/").or_else(|| rest.strip_prefix("_layer_checkpoint_dependencies/"))?;
                rest = rest.strip_prefix(group.as_str())?.strip_prefix('/')?;
            }
            Some(rest.replace("vars/", ""))
        };
        self.all.iter().filter_map(|(path, shape)| Some((belongs(path)?, shape.clone()))).collect()
    }
}

/// Numbers sort by value: `vars/10` comes after `vars/2`.
fn key(path: &str) -> Vec<(u64, String)> {
    path.split('/').map(|part| (part.parse().unwrap_or(u64::MAX), part.to_owned())).collect()
}

/// The group of a class: `Conv2DTranspose` is `conv2d_transpose`.
pub fn snake_case(class: &str) -> String {
    let letters: Vec<char> = class.chars().collect();
    let mut snake = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        // As Keras: at a capital before a small letter, or after one.
        let starts = letter.is_ascii_uppercase()
            && before.is_some_and(|before| before.is_ascii_lowercase() || after.is_some_and(char::is_ascii_lowercase));
        if starts {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_classes() {
        let check = |class: &str, group: &str| assert_eq!(snake_case(class), group);
        check("Dense", "dense");
        check("Conv2D", "conv2d");
        check("BatchNormalization", "batch_normalization");
        check("LSTM", "lstm");
        check("MultiHeadAttention", "multi_head_attention");
        check("Conv2DTranspose", "conv2d_transpose");
        check("PReLU", "p_re_lu");
        check("ConvLSTM2DCell", "conv_lstm2d_cell");
    }
}
