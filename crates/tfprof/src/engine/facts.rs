//! The loaded files as tables.

use super::inputs::Inputs;
use super::profiler::Profiler;
#[cfg(feature = "sql")]
use crate::sql::Source;
use crate::tables::{Facts, FileFact};
#[cfg(feature = "sql")]
use std::sync::Arc;

impl Profiler {
    /// The tables of everything that is loaded; `inputs` lists the files.
    #[doc(hidden)]
    pub fn facts(&self, inputs: &Inputs) -> Facts<'_> {
        Facts::new(self.model(), inputs.facts(), self.warnings())
    }

    /// The same for statements in SQL, which several threads may ask.
    #[cfg(feature = "sql")]
    #[doc(hidden)]
    pub fn sql_source(&self, inputs: &Inputs) -> Arc<Source> {
        let source = Source::new(Arc::clone(self.model()), inputs.facts(), self.warnings().to_vec());
        Arc::new(source.limited(self.limits(), self.input()))
    }
}

impl Inputs {
    /// The files as rows of a table. Runs have their steps, by position if nothing says otherwise.
    pub(crate) fn facts(&self) -> Vec<FileFact> {
        let mut steps = self.runs();
        let fact = |input: &super::inputs::Input| {
            let is_run = input.format.role == crate::format::Role::Run;
            let size = std::fs::metadata(&input.path).ok().filter(std::fs::Metadata::is_file);
            FileFact {
                path: input.path.display().to_string(),
                format: input.format.name,
                bytes: size.map(|size| i64::try_from(size.len()).unwrap_or(i64::MAX)),
                step: if is_run { steps.next().map(|(step, _)| step) } else { None },
            }
        };
        self.list.iter().map(fact).collect()
    }
}
