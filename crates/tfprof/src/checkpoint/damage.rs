//! Damage to a file of a checkpoint, reported in one sentence with file, tensor and offset.

use crate::error::{Error, Location, Warning};
use std::fmt;
use tfprof_proto::stream::Spot;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub file: String,
    pub offset: Option<u64>,
    pub tensor: Option<String>,
    pub what: String,
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
        Warning { code: "damaged_checkpoint", location, message, damage: true }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.message())
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        Error::Input { location: damage.location(), message: damage.message() }
    }
}
