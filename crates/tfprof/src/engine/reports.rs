//! Gathers the data of reports from the loaded files.

use super::formats::Role;
use super::inputs::Inputs;
use super::profiler::Profiler;
use crate::error::{Error, Warning};
use crate::model::Model;
use crate::options::{Options, ViewKind};
use crate::quirks::Quirks;
use crate::report::Loaded;
use crate::report::advise::{self, Advice};
use crate::report::cost::{Cost, PerBatch};
use crate::report::overview::{InputFile, Overview, Sources};
use crate::view::View;
use std::path::Path;
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

impl Profiler {
    /// An overview of the loaded files, which `inputs` lists.
    pub fn overview(&self, inputs: &Inputs) -> Result<Overview, Error> {
        let sources = Sources {
            files: files(inputs),
            has_graph: inputs.list.iter().any(|input| matches!(input.format.role, Role::Graph | Role::Profile)),
            other_runs: inputs.other_runs.clone(),
        };
        Overview::new(self, sources)
    }

    /// The cost of a model and the ops whose cost is unknown.
    pub fn cost(&self) -> Result<Cost, Error> {
        Cost::new(self)
    }

    /// Runs the [`CHECKERS`](advise::CHECKERS) of these names.
    pub fn advise(&self, checkers: &[String], quirks: Quirks) -> Result<Vec<Advice>, Error> {
        advise::advise(self.model(), checkers, quirks)
    }
}

fn files(inputs: &Inputs) -> Vec<InputFile> {
    let file = |kind: String, path: &Path| InputFile {
        kind,
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
    };
    let roles = [Role::Graph, Role::Profile, Role::Checkpoint, Role::OpLog, Role::Host];
    let plain = roles.into_iter().flat_map(|role| inputs.of(role));
    let plain = plain.map(|input| file(input.format.label.to_owned(), &input.path));
    plain.chain(inputs.runs().map(|(step, run)| file(format!("{} {step}", run.format.label), &run.path))).collect()
}
