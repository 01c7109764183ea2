//! Selects tensors by name and size.

use crate::checkpoint::Tensor;
use crate::error::Error;
use crate::metric::Metric;
use crate::options::Options;
use crate::view::filter::Patterns;

pub struct Filter {
    show: Patterns,
    hide: Patterns,
    min_parameters: i64,
    min_bytes: i64,
}

impl Filter {
    pub fn new(options: &Options) -> Result<Filter, Error> {
        Ok(Filter {
            show: Patterns::new("show_name_regexes", &options.show_name_regexes)?,
            hide: Patterns::new("hide_name_regexes", &options.hide_name_regexes)?,
            min_parameters: options.min[Metric::Parameters as usize],
            min_bytes: options.min[Metric::RequestedBytes as usize],
        })
    }

    /// A pattern may match the key or the name of the variable.
    pub fn shows(&self, tensor: &Tensor) -> bool {
        let named = |patterns: &Patterns| {
            patterns.matches(&tensor.name) || tensor.readable.as_ref().is_some_and(|name| patterns.matches(name))
        };
        named(&self.show)
            && !named(&self.hide)
            && tensor.parameters() >= self.min_parameters
            && tensor.bytes.unwrap_or(0) as i64 >= self.min_bytes
    }
}
