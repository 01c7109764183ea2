//! The catalog of an open checkpoint: its tensors, their types and shapes, and where their values are stored.

use super::arrays::Arrays;
use super::byte_source::{ByteSource, weight};
use super::layout::{self, Piece};
use super::object_graph::ObjectNames;
use super::table::{Block, Table};
use super::{arrays, bundle, v1};
use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::locate::{self, Files, Located};
use crate::error::{Error, Location};
use crate::foreign;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;
use crate::model::names::escape_invalid;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A checkpoint, with its tensors sorted by name.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The common prefix of its files' names.
    pub name: String,
    pub tensors: Vec<Tensor>,
    /// Damage found so far.
    pub damage: Vec<Damage>,
    /// All files of the checkpoint.
    pub files: Vec<PathBuf>,
    pub(super) pieces: Vec<Piece>,
    pub(in crate::checkpoint) store: Store,
    /// Tensors by variable name, for checkpoints of TensorFlow 2.
    aliases: UntrustedMap<String, u32>,
    /// The last block read: its neighbours are likely to be next.
    pub(super) last_block: Mutex<Option<CachedBlock>>,
}

#[derive(Debug)]
pub(super) struct CachedBlock {
    pub table: u32,
    pub number: usize,
    pub block: Block,
}

/// A tensor of a checkpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tensor {
    /// The key it is stored under.
    pub name: String,
    /// The name of the variable, if it differs from the key.
    pub readable: Option<String>,
    pub dtype: DType,
    pub shape: Vec<i64>,
    /// The size of its values; unknown for strings of the first format.
    pub bytes: Option<u64>,
    pub(super) pieces: Range<u32>,
}

/// The files that hold the values.
#[derive(Debug)]
pub(in crate::checkpoint) enum Store {
    Bundle { index: Table, shards: BTreeMap<u32, Shard> },
    Tables(Vec<Table>),
    Arrays(Arrays),
}

impl Store {
    /// A data file by its number.
    pub(super) fn shard(&self, number: u32) -> Option<&Shard> {
        match self {
            Store::Bundle { shards, .. } => shards.get(&number),
            Store::Arrays(arrays) => arrays.files.get(number as usize),
            Store::Tables(_) => None,
        }
    }
}

/// A data file, opened only to read values: there may be thousands.
#[derive(Debug)]
pub(in crate::checkpoint) struct Shard {
    pub path: PathBuf,
    /// `None` if the file is missing.
    pub length: Option<u64>,
}

/// The contents of a checkpoint of either format.
#[derive(Debug)]
pub(super) struct Contents {
    pub tensors: Vec<Tensor>,
    pub pieces: Vec<Piece>,
    pub store: Store,
}

/// The key of the object graph in checkpoints of TensorFlow 2.
pub const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// A message for models whose weights another view lists.
fn weights_of_model(path: &Path) -> Option<String> {
    let ends = |ending: &&str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    let ending = ["onnx", "tflite"].into_iter().find(ends)?;
    let file = path.display();
    Some(format!(
        "an .{ending} file is a model, not a checkpoint; list its weights with `tfprof scope {file} -select params -min_params 1`"
    ))
}

impl Checkpoint {
    /// Opens the checkpoint that `path` names: by the prefix of its files, one of its files, a directory with a state
    /// file, or a `SavedModel`.
    pub fn open(path: &Path) -> Result<Checkpoint, Error> {
        let Located { files, mut damage } = locate::locate(path)?;
        let is_arrays = matches!(files, Files::Hdf5(_) | Files::Safetensors(_));
        let open = |path: &Path| {
            let file = path.display().to_string();
            let source = ByteSource::open(path).map_err(|source| Error::Io {
                file: file.clone(),
                action: "cannot open",
                source,
            })?;
            let foreign = || weights_of_model(path).or_else(|| foreign::of_path(path).map(|(_, message)| message));
            let foreign = if is_arrays || Table::is_table(&source) { None } else { foreign() };
            budget::add_input(source.len());
            match foreign {
                Some(message) => Err(Error::Input { location: Location { file, spot: None }, message }),
                None => Ok(source),
            }
        };
        match files {
            Files::Bundle(prefix) => {
                let index = locate::with_suffix(&prefix, ".index");
                let contents = bundle::list(open(&index)?, &prefix, &mut damage)?;
                let mut files = vec![index];
                if let Store::Bundle { shards, .. } = &contents.store {
                    let weights = shards.values().map(|shard| weight(&shard.path, &files[0]));
                    budget::add_input(weights.fold(0, u64::saturating_add));
                    files.extend(shards.values().map(|shard| shard.path.clone()));
                }
                Ok(Checkpoint::new(prefix.display().to_string(), contents, damage, files))
            }
            Files::Hdf5(file) => {
                let contents = arrays::list_hdf5(open(&file)?, &file, &mut damage)?;
                Ok(Checkpoint::new(file.display().to_string(), contents, damage, vec![file]))
            }
            Files::Safetensors(files) => {
                let sources =
                    files.iter().map(|file| Ok((open(file)?, file.as_path()))).collect::<Result<_, Error>>()?;
                let contents = arrays::list_safetensors(sources, &mut damage)?;
                Ok(Checkpoint::new(path.display().to_string(), contents, damage, files))
            }
            Files::Tables(files) => {
                let sources = files.iter().map(|file| open(file)).collect::<Result<Vec<_>, _>>()?;
                let contents = v1::list(sources, &mut damage)?;
                Ok(Checkpoint::new(path.display().to_string(), contents, damage, files))
            }
        }
    }

    /// Opens an index in memory, with data files at `prefix`. For tests and fuzzing.
    #[doc(hidden)]
    pub fn bundle(index: ByteSource, prefix: &Path) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let contents = bundle::list(index, prefix, &mut damage)?;
        Ok(Checkpoint::new(prefix.display().to_string(), contents, damage, Vec::new()))
    }

    /// Opens tables of the first format in memory. For tests and fuzzing.
    #[doc(hidden)]
    pub fn tables(tables: Vec<ByteSource>) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let name = tables.first().map_or_else(String::new, |table| table.name.clone());
        let contents = v1::list(tables, &mut damage)?;
        Ok(Checkpoint::new(name, contents, damage, Vec::new()))
    }

    /// Opens an HDF5 file or a `.keras` archive in memory. For tests and fuzzing.
    #[doc(hidden)]
    pub fn hdf5(source: ByteSource) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let name = source.name.clone();
        let contents = arrays::list_hdf5(source, Path::new(&name), &mut damage)?;
        Ok(Checkpoint::new(name, contents, damage, Vec::new()))
    }

    /// Opens a safetensors file in memory. For tests and fuzzing.
    #[doc(hidden)]
    pub fn safetensors(source: ByteSource) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let name = source.name.clone();
        let contents = arrays::list_safetensors(vec![(source, Path::new(&name))], &mut damage)?;
        Ok(Checkpoint::new(name, contents, damage, Vec::new()))
    }

    fn new(name: String, contents: Contents, damage: Vec<Damage>, files: Vec<PathBuf>) -> Checkpoint {
        let Contents { mut tensors, pieces, store } = contents;
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let aliases = UntrustedMap::default();
        let last_block = Mutex::new(None);
        let mut checkpoint = Checkpoint { name, tensors, damage, files, pieces, store, aliases, last_block };
        checkpoint.add_readable_names();
        checkpoint.add_variable_names();
        checkpoint
    }

    /// Lets tensors be found by the names that their files give besides.
    fn add_readable_names(&mut self) {
        for (i, tensor) in self.tensors.iter().enumerate() {
            if let Some(name) = &tensor.readable {
                self.aliases.entry(name.clone()).or_insert(i as u32);
            }
        }
    }

    /// Names tensors after the variables of the object graph.
    fn add_variable_names(&mut self) {
        let Some(graph) = self.find(OBJECT_GRAPH) else { return };
        let graph = match self.values(graph) {
            Ok(values) => values,
            Err(damage) => return self.damage.push(damage),
        };
        let Some(names) = graph.text(0).map(ObjectNames::read) else { return };
        for (i, tensor) in self.tensors.iter_mut().enumerate() {
            tensor.readable = names.readable(&tensor.name).map(str::to_owned);
            let others = tensor.readable.iter().map(String::as_str).chain(names.full_name(&tensor.name));
            for name in others {
                // The first tensor with a name keeps it, in the order of keys.
                self.aliases.entry(name.to_owned()).or_insert(i as u32);
            }
        }
    }

    /// The tensor with this key, else with this variable name.
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        let stored = self.tensors.binary_search_by(|tensor| tensor.name.as_str().cmp(name)).ok();
        let number = stored.or_else(|| self.aliases.get(name).map(|number| *number as usize));
        number.map(|number| &self.tensors[number])
    }

    /// The names of variables that differ from their keys.
    pub fn other_names(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let mut names: Vec<_> = self.aliases.iter().collect();
        names.sort_unstable();
        names.into_iter().map(|(name, number)| (name.as_str(), &self.tensors[*number as usize]))
    }

    /// The shards that hold a tensor, sorted.
    pub fn shards(&self, tensor: &Tensor) -> Vec<u32> {
        let mut shards: Vec<u32> = self.pieces_of(tensor).iter().map(|piece| piece.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// The number of files that hold values.
    pub fn shard_count(&self) -> usize {
        match &self.store {
            Store::Bundle { shards, .. } => shards.len(),
            Store::Tables(tables) => tables.len(),
            Store::Arrays(arrays) => arrays.files.len(),
        }
    }

    pub(in crate::checkpoint) fn pieces_of(&self, tensor: &Tensor) -> &[Piece] {
        &self.pieces[tensor.pieces.start as usize..tensor.pieces.end as usize]
    }

    /// The file name of a shard.
    pub(super) fn file_name(&self, shard: u32) -> String {
        match &self.store {
            Store::Bundle { .. } | Store::Arrays(_) => {
                self.store.shard(shard).map_or_else(|| self.name.clone(), |shard| shard.path.display().to_string())
            }
            Store::Tables(tables) => tables.get(shard as usize).map_or_else(String::new, |t| t.file.name.clone()),
        }
    }
}

impl Tensor {
    /// The number of elements; `None` if the shape is invalid.
    pub fn elements(&self) -> Option<u64> {
        layout::elements(&self.shape)
    }

    /// The number of elements; 0 if the shape is invalid.
    pub fn parameters(&self) -> i64 {
        self.elements().and_then(|count| i64::try_from(count).ok()).unwrap_or(0)
    }

    /// The name to show.
    pub fn label(&self) -> &str {
        self.readable.as_deref().unwrap_or(&self.name)
    }
}

/// A key as text; invalid UTF-8 is escaped.
pub(in crate::checkpoint) fn name_text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => escape_invalid(name),
    }
}
