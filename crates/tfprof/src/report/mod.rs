//! Reports: answers that are not a tree, each with its data and its writers.

pub mod advise;
pub mod cost;
pub mod overview;

use crate::error::{Error, Warning};
use crate::model::Model;
use crate::options::{Options, ViewKind};
use crate::report::cost::PerBatch;
use crate::view::View;
use std::sync::Arc;

/// The loaded files, as reports see them.
pub(crate) trait Loaded {
    fn model(&self) -> &Arc<Model>;

    /// Answers a question about them.
    fn view(&self, kind: ViewKind, options: &Options) -> Result<View, Error>;

    /// Warnings of loading.
    fn warnings(&self) -> &[Warning];

    /// The cost as a function of the batch size.
    fn per_batch(&self) -> PerBatch;
}
