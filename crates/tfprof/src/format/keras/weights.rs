//! The shapes of weights by layer, from the HDF5 file of a model. Keras 3 stores them under the class of a layer and a
//! number (`layers/dense_1/vars/0`), older versions under its name (`model_weights/fc1/fc1/kernel:0`).

use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::hdf5::Hdf5;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;

/// A weight of the file. The path of one of a layer begins behind that layer's.
#[derive(Clone, Debug)]
pub struct Weight {
    pub path: String,
    pub shape: Vec<i64>,
    pub dtype: DType,
}

#[derive(Debug, Default)]
pub struct Weights {
    /// In the order of the file.
    all: Vec<Weight>,
    by_name: bool,
    /// Where to look for the weights of a layer: by the first and the last name on the way to it, or by its groups.
    places: UntrustedMap<String, Vec<u32>>,
}

/// Keras's name for the directory of layers in a model.
const LAYERS: [&str; 2] = ["layers/", "_layer_checkpoint_dependencies/"];

impl Weights {
    /// Lists the weights of a file, with the damage found.
    pub fn of(file: Result<Hdf5, Damage>) -> (Weights, Option<String>) {
        let mut damage = Vec::new();
        let found = file.and_then(|file| file.datasets(&mut damage));
        match found {
            Ok(found) => {
                let shaped = found.into_iter().filter_map(|found| {
                    let dataset = found.dataset.ok()?;
                    Some(Weight { path: found.path, dtype: dataset.datatype.dtype(), shape: dataset.shape })
                });
                let is_own = |path: &str| !path.starts_with("optimizer") && !path.contains("seed_generator");
                let mut all: Vec<Weight> = shaped.filter(|weight| is_own(&weight.path)).collect();
                let by_name = all.iter().any(|weight| weight.path.starts_with("model_weights/"));
                all.sort_by_cached_key(|weight| key(&weight.path));
                let warning = damage.first().map(|damage| damage.what.clone());
                let mut weights = Weights { all, by_name, places: UntrustedMap::default() };
                weights.list_places();
                (weights, warning)
            }
            Err(lost) => (Weights::default(), Some(format!("its weights cannot be read: {}", lost.what))),
        }
    }

    /// All of them.
    pub fn all(&self) -> &[Weight] {
        &self.all
    }

    /// Whether the file has the weights of a layer once, however many models call it: archives do, `.h5` files do not.
    pub fn lists_objects_once(&self) -> bool {
        !self.by_name && !self.all.is_empty()
    }

    /// Lists each weight under every layer that it may belong to.
    fn list_places(&mut self) {
        for (number, Weight { path, .. }) in self.all.iter().enumerate() {
            let mut list = |place: String| {
                budget::work(1 + place.len() as u64 / 16);
                let listed = self.places.entry(place).or_default();
                if listed.last() != Some(&(number as u32)) {
                    listed.push(number as u32);
                }
            };
            if self.by_name {
                let parts: Vec<&str> = path.split('/').collect();
                let outer = parts.get(1).copied().unwrap_or_default();
                parts[..parts.len() - 1].iter().for_each(|part| list(format!("{outer}/{part}")));
                continue;
            }
            let (mut rest, mut groups) = (path.as_str(), String::new());
            while let Some((group, below)) = below_layers(rest).and_then(|rest| rest.split_once('/')) {
                groups.push_str(group);
                groups.push('/');
                list(groups.clone());
                rest = below;
            }
        }
    }

    /// The weights of a layer: by the names on the way to it, and by the groups that Keras 3 makes of classes.
    pub fn of_layer(&self, names: &[String], groups: &[String]) -> Vec<Weight> {
        let (Some(outer), Some(name)) = (names.first(), names.last()) else { return Vec::new() };
        let belongs = |path: &str| -> Option<String> {
            if self.by_name {
                let parts: Vec<&str> = path.split('/').collect();
                let at = parts.iter().rposition(|part| part == name).filter(|at| *at + 1 < parts.len())?;
                return (parts.get(1) == Some(&outer.as_str())).then(|| parts[at + 1..].join("/"));
            }
            let mut rest = path;
            for group in groups {
                rest = below_layers(rest)?.strip_prefix(group.as_str())?.strip_prefix('/')?;
            }
            Some(rest.replace("vars/", ""))
        };
        let place = if self.by_name {
            format!("{outer}/{name}")
        } else {
            groups.iter().flat_map(|group| [group, "/"]).collect()
        };
        let listed = self.places.get(&place).map_or(&[][..], Vec::as_slice);
        budget::work(listed.len() as u64);
        let found = listed.iter().map(|number| &self.all[*number as usize]);
        found.filter_map(|weight| Some(Weight { path: belongs(&weight.path)?, ..weight.clone() })).collect()
    }
}

fn below_layers(path: &str) -> Option<&str> {
    LAYERS.iter().find_map(|directory| path.strip_prefix(directory))
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
        // As Keras does: at a capital letter next to a lower-case one.
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
