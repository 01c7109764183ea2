//! Models of Keras: the layers of a `.keras` archive, an `.h5` file or the text of `model.to_json()`, lowered to the ops that
//! rules and formulas know. The config says which layers there are and how they are called (`network.rs`); shapes of
//! variables follow from it, and where it leaves them open, from the weights (`weights.rs`).
//!
//! A layer is lowered to the ops that Keras itself runs for it at inference (`layers.rs` finds the function of a class, and
//! each family has its file), so that figures agree with those of a `SavedModel`.

mod attention;
mod config;
mod convolution;
mod dense;
mod elementwise;
mod layers;
mod lowering;
mod moving;
mod network;
mod normalization;
mod old;
mod ops;
mod recurrent;
mod reshaping;
mod tensorflow;
mod weights;

use super::ModelFile;
use super::file_bytes::FileBytes;
use super::lowered::store;
use crate::budget;
use crate::checkpoint::hdf5::Hdf5;
use crate::checkpoint::zip::{self, Zip};
use crate::checkpoint::{ByteSource, hdf5};
use crate::error::{Error, Location};
use crate::foreign;
use crate::model::builder::Builder;
use crate::model::dialects::keras::KERAS;
use crate::words::lossy;
use lowering::Lowering;
use serde_json::Value as Json;
use std::path::Path;
use weights::Weights;

/// Whether the text of `model.to_json()` starts like this.
pub fn recognizes(head: &[u8]) -> bool {
    foreign::is_keras_json(head)
}

/// Whether a file is a model of Keras: an archive with a config, or an HDF5 file with one.
pub fn is_model(path: &Path) -> bool {
    let Ok(source) = ByteSource::open(path) else { return false };
    let Ok(head) = source.read(0, 4.min(source.len())) else { return false };
    if head.starts_with(zip::SIGNATURE) {
        let is_keras = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("keras"));
        return is_keras || Zip::open(source).is_ok_and(|archive| archive.find(CONFIG).is_some());
    }
    hdf5::SIGNATURE.starts_with(&head) && head.len() == 4 && Hdf5::open(source).is_ok_and(|file| has_config(&file))
}

fn has_config(file: &Hdf5) -> bool {
    file.root().and_then(|root| file.text(&root, MODEL_CONFIG)).is_ok_and(|config| config.is_some())
}

/// The config in an archive, and in the attributes of an HDF5 file.
const CONFIG: &str = "config.json";
const MODEL_CONFIG: &str = "model_config";

/// A config and the weights that belong to it.
struct Parts {
    config: Vec<u8>,
    weights: Weights,
    /// Damage found in the weights.
    warning: Option<String>,
    /// The version of Keras that saved the model, as the file says it.
    version: Option<String>,
}

/// Reads a model into the builder.
pub fn read(file: &ModelFile, builder: &mut Builder) -> Result<(), Error> {
    let source = match (&file.bytes, &file.path) {
        (FileBytes::Memory(bytes), _) => ByteSource::memory(&file.name, bytes.clone()),
        (FileBytes::File(_), path) => ByteSource::open(path.as_deref().unwrap_or(Path::new(&file.name)))
            .map_err(|source| Error::Io { file: file.name.clone(), action: "cannot open", source })?,
    };
    let Parts { config, weights, warning, version } = open(source)?;
    if let Some(warning) = warning {
        builder.warn_damage("damaged", None, warning);
    }
    let wrong = |message: String| Error::Input { location: Location { file: file.name.clone(), spot: None }, message };
    budget::reserve(parsed_size(&config));
    let mut config: Json = serde_json::from_slice(&config)
        .map_err(|error| wrong(format!("the config of this Keras model is damaged: {error}")))?;
    old::translate(&mut config);
    let mut lowering = Lowering::new(weights);
    lowering.is_new = version.as_ref().map_or(config["module"].is_string(), |version| version.starts_with('3'));
    network::lower_model(&config, &mut lowering).map_err(wrong)?;
    for warning in std::mem::take(&mut lowering.warnings) {
        builder.warn("keras_model", None, || warning);
    }
    let mut lowered = lowering.finish();
    lowered.stated.extend(version.map(|version| ("Keras", version)));
    store(builder, lowered, &KERAS);
    Ok(())
}

/// The largest config in bytes, as a tree: an object takes six bytes in the file and 640 in memory.
fn parsed_size(config: &[u8]) -> u64 {
    let of_byte = |byte: &u8| match byte {
        b'{' => 640,
        b'[' => 128,
        b',' => 110,
        _ => 1,
    };
    config.iter().map(of_byte).sum()
}

/// Finds the config and the weights.
fn open(source: ByteSource) -> Result<Parts, Error> {
    let head = source.read(0, 4.min(source.len()))?;
    if head.starts_with(zip::SIGNATURE) {
        let archive = Zip::open(source)?;
        let missing = |name: &str| Error::Input {
            location: Location { file: archive.name().to_owned(), spot: None },
            message: format!("this archive has no `{name}`; is it a Keras model?"),
        };
        let config = archive.source(archive.find(CONFIG).ok_or_else(|| missing(CONFIG))?)?;
        let config = config.read(0, config.len())?;
        let about = archive.find("metadata.json").and_then(|entry| archive.source(entry).ok());
        let about: Option<Json> =
            about.and_then(|about| serde_json::from_slice(&about.read(0, about.len()).ok()?).ok());
        let version = about.as_ref().and_then(|about| {
            let date = about["date_saved"].as_str().map(|date| format!(", saved {date}")).unwrap_or_default();
            Some(format!("{}{date}", about["keras_version"].as_str()?))
        });
        let (weights, warning) = match archive.find("model.weights.h5").map(|entry| archive.source(entry)) {
            Some(source) => Weights::of(source.and_then(Hdf5::open)),
            None => (Weights::default(), None),
        };
        return Ok(Parts { config, weights, warning, version });
    }
    if hdf5::SIGNATURE.starts_with(&head) && head.len() == 4 {
        let file = Hdf5::open(source)?;
        let root = file.root()?;
        let config = file.text(&root, MODEL_CONFIG)?;
        let backend = file.text(&root, "backend").ok().flatten();
        let backend = backend.map(|backend| format!(" on {}", lossy(&backend))).unwrap_or_default();
        let version = file.text(&root, "keras_version").ok().flatten();
        let version = version.map(|version| format!("{}{backend}", lossy(&version)));
        let config = config.ok_or_else(|| Error::Input {
            location: Location { file: file.source.name.clone(), spot: None },
            message: "this HDF5 file has weights, but no layers: Keras writes them with model.save(FILE), not \
                          save_weights; its tensors are listed by `tfprof checkpoint FILE`"
                .to_owned(),
        })?;
        let (weights, warning) = Weights::of(Ok(file));
        return Ok(Parts { config, weights, warning, version });
    }
    let config = source.read(0, source.len())?;
    Ok(Parts { config, weights: Weights::default(), warning: None, version: None })
}
