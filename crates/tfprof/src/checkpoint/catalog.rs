//! A checkpoint, opened: which tensors it has, of which type and shape, and where their values are.

use super::layout::{self, Piece};
use super::locate::{self, Found};
use super::object_graph::ObjectNames;
use super::stored::Stored;
use super::table::{Block, Table};
use super::{Damage, bundle, v1};
use crate::error::Error;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;
use crate::model::names::escape_invalid;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The tensors of a checkpoint, in the order of their names.
#[derive(Debug)]
pub struct Checkpoint {
    /// What the files' names begin with.
    pub name: String,
    pub tensors: Vec<Tensor>,
    /// What was found wrong so far.
    pub damage: Vec<Damage>,
    /// All files that belong to it.
    pub files: Vec<PathBuf>,
    pub(super) pieces: Vec<Piece>,
    pub(super) store: Store,
    /// Tensors by other names that people know them by.
    aliases: UntrustedMap<String, u32>,
    /// The block of a table that was read last, with its table and number: its neighbours are asked for next.
    pub(super) last_block: Mutex<Option<(u32, usize, Block)>>,
}

/// What a checkpoint says of a tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The name under which it is stored.
    pub name: String,
    /// The name by which people know it, if that is another one.
    pub readable: Option<String>,
    pub dtype: DType,
    pub shape: Vec<i64>,
    /// How many bytes its values take; unknown for strings within a table.
    pub bytes: Option<u64>,
    pub(super) pieces: Range<u32>,
}

#[derive(Debug)]
pub(super) enum Store {
    Bundle { index: Table, shards: BTreeMap<u32, Shard>, big_endian: bool },
    Tables(Vec<Table>),
}

/// A data file; it is opened when a value is asked for, so that thousands of shards are no matter.
#[derive(Debug)]
pub(super) struct Shard {
    pub path: PathBuf,
    /// None if it is not there.
    pub length: Option<u64>,
}

/// What a reader of either format found.
#[derive(Debug)]
pub(super) struct Listed {
    pub tensors: Vec<Tensor>,
    pub pieces: Vec<Piece>,
    pub store: Store,
}

/// The tensor that describes the objects of TensorFlow 2.
pub const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

impl Checkpoint {
    /// Opens the checkpoint that `path` means: what its files' names begin with, one of its files, a directory with a
    /// state file, or a `SavedModel`.
    pub fn open(path: &Path) -> Result<Checkpoint, Error> {
        let found = locate::locate(path)?;
        let open = |path: &Path| {
            let file = path.display().to_string();
            Stored::open(path).map_err(|source| Error::Io { file, action: "cannot open", source })
        };
        let mut damage = found.damage;
        match found.what {
            Found::Bundle(prefix) => {
                let index = locate::with_suffix(&prefix, ".index");
                let listed = bundle::list(open(&index)?, &prefix, &mut damage)?;
                let mut files = vec![index];
                if let Store::Bundle { shards, .. } = &listed.store {
                    files.extend(shards.values().map(|shard| shard.path.clone()));
                }
                Ok(Checkpoint::new(prefix.display().to_string(), listed, damage, files))
            }
            Found::Tables(files) => {
                let stored = files.iter().map(|file| open(file)).collect::<Result<Vec<_>, _>>()?;
                let listed = v1::list(stored, &mut damage)?;
                Ok(Checkpoint::new(path.display().to_string(), listed, damage, files))
            }
        }
    }

    /// Opens an index in memory; its data files are looked for at `prefix`. For tests and fuzzing.
    pub fn bundle(index: Stored, prefix: &Path) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let listed = bundle::list(index, prefix, &mut damage)?;
        Ok(Checkpoint::new(prefix.display().to_string(), listed, damage, Vec::new()))
    }

    /// Opens tables of the first format in memory. For tests and fuzzing.
    pub fn tables(tables: Vec<Stored>) -> Result<Checkpoint, Error> {
        let mut damage = Vec::new();
        let name = tables.first().map_or_else(String::new, |table| table.name.clone());
        let listed = v1::list(tables, &mut damage)?;
        Ok(Checkpoint::new(name, listed, damage, Vec::new()))
    }

    fn new(name: String, listed: Listed, damage: Vec<Damage>, files: Vec<PathBuf>) -> Checkpoint {
        let Listed { mut tensors, pieces, store } = listed;
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let aliases = UntrustedMap::default();
        let last_block = Mutex::new(None);
        let mut checkpoint = Checkpoint { name, tensors, damage, files, pieces, store, aliases, last_block };
        checkpoint.name_objects();
        checkpoint
    }

    /// Gives the tensors of an object graph the names that people know them by.
    fn name_objects(&mut self) {
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
                // The first tensor of a name keeps it, in the order of the stored names.
                self.aliases.entry(name.to_owned()).or_insert(i as u32);
            }
        }
    }

    /// The tensor of that stored name, else the one that people know by it.
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        let stored = self.tensors.binary_search_by(|tensor| tensor.name.as_str().cmp(name)).ok();
        let number = stored.or_else(|| self.aliases.get(name).map(|number| *number as usize));
        number.map(|number| &self.tensors[number])
    }

    /// All names of a tensor: the stored one and those that people know it by.
    pub fn other_names(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let mut names: Vec<_> = self.aliases.iter().collect();
        names.sort_unstable();
        names.into_iter().map(|(name, number)| (name.as_str(), &self.tensors[*number as usize]))
    }

    /// The shards that hold a tensor, each once.
    pub fn shards(&self, tensor: &Tensor) -> Vec<u32> {
        let mut shards: Vec<u32> = self.pieces_of(tensor).iter().map(|piece| piece.file).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// How many files hold values.
    pub fn shard_count(&self) -> usize {
        match &self.store {
            Store::Bundle { shards, .. } => shards.len(),
            Store::Tables(tables) => tables.len(),
        }
    }

    pub(super) fn pieces_of(&self, tensor: &Tensor) -> &[Piece] {
        &self.pieces[tensor.pieces.start as usize..tensor.pieces.end as usize]
    }

    /// The name of a shard's file.
    pub(super) fn file_name(&self, shard: u32) -> String {
        match &self.store {
            Store::Bundle { shards, .. } => {
                shards.get(&shard).map_or_else(|| self.name.clone(), |shard| shard.path.display().to_string())
            }
            Store::Tables(tables) => tables.get(shard as usize).map_or_else(String::new, |t| t.file.name.clone()),
        }
    }
}

impl Tensor {
    /// The number of its elements; none if its shape makes no sense.
    pub fn elements(&self) -> Option<u64> {
        layout::elements(&self.shape)
    }

    /// The name for people.
    pub fn label(&self) -> &str {
        self.readable.as_deref().unwrap_or(&self.name)
    }
}

/// A stored name as text; what is not UTF-8 is escaped.
pub(super) fn name_text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => escape_invalid(name),
    }
}
