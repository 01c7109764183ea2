//! What reports need of the loaded files.

use super::profiler::Profiler;
use crate::error::{Error, Warning};
use crate::model::Model;
use crate::options::{Options, ViewKind};
use crate::report::Loaded;
use crate::report::cost::PerBatch;
use crate::view::View;
use std::sync::Arc;

impl Loaded for Profiler {
    fn model(&self) -> &Arc<Model> {
        self.model()
    }

    fn view(&self, kind: ViewKind, options: &Options) -> Result<View, Error> {
        self.view(kind, options)
    }

    fn warnings(&self) -> &[Warning] {
        self.warnings()
    }

    fn per_batch(&self) -> PerBatch {
        self.per_batch()
    }
}
