//! Checkpoints: the names, shapes and values of variables, in both formats that TensorFlow has written, in HDF5 files and
//! `.keras` archives of Keras, and in safetensors. A library of its own within the library.
//!
//! [`Checkpoint::open`] finds the files of a path (`locate.rs`) and lists the tensors (`read/`). `query/` answers
//! questions: list, compare, summarize, verify. `render/` writes the answers.
//!
//! Listing reads only indexes; values are read by offset, on demand. No length, offset or shape is trusted before it has
//! been checked against the bytes that exist.

pub mod hdf5;
pub mod locate;
pub mod query;
mod read;
pub mod render;
pub mod zip;

use crate::error::{Error, Location, OneLine, Warning};
pub use read::{ByteSource, Checkpoint, OBJECT_GRAPH, Table, Tensor, Values};
use std::fmt;
use tfprof_proto::stream::Spot;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub file: String,
    pub offset: Option<u64>,
    pub tensor: Option<String>,
    pub what: String,
    /// Nothing is damaged: data that listing does not need is not there.
    pub absent: bool,
}

impl Damage {
    /// Names the damaged tensor, unless it is known already.
    #[must_use]
    pub(crate) fn of(mut self, tensor: &str) -> Damage {
        self.tensor.get_or_insert_with(|| tensor.to_owned());
        self
    }

    /// Sets the offset, unless it is known already.
    #[must_use]
    pub(crate) fn at(mut self, offset: u64) -> Damage {
        self.offset.get_or_insert(offset);
        self
    }

    fn location(&self) -> Location {
        Location { file: self.file.clone(), spot: self.offset.map(Spot::Byte) }
    }

    fn message(&self) -> String {
        match &self.tensor {
            Some(tensor) => format!("tensor `{tensor}`: {}", self.what),
            None => self.what.clone(),
        }
    }

    pub fn warning(&self) -> Warning {
        let (location, message) = (Some(self.location()), self.message());
        let code = if self.absent { "no_data" } else { "damaged_checkpoint" };
        Warning { code, location, message, damage: !self.absent, fix: None }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), OneLine(&self.message()))
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        Error::Input { location: damage.location(), message: damage.message() }
    }
}
