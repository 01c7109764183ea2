//! The one table of everything that is measured.
//!
//! `-select`, `-order_by`, `-min_*`, legends, columns of text, JSON keys and fields of messages all come from it.

use crate::words;

/// A number that a row of a view has, for itself and in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    RequestedBytes,
    PeakBytes,
    ResidualBytes,
    OutputBytes,
    Micros,
    AcceleratorMicros,
    CpuMicros,
    Parameters,
    FloatOps,
    /// How often it ran.
    Runs,
    /// How many nodes of the graph it stands for.
    Definitions,
    /// Multiply-adds, computed.
    Macs,
    /// Bytes read and written, computed.
    IoBytes,
    /// Nodes whose float operations nobody knows.
    UnknownOps,
    /// Time with that of the ops within it, which other numbers count once only.
    InclusiveMicros,
}

impl Metric {
    pub const COUNT: usize = 15;

    pub fn info(self) -> &'static MetricInfo {
        &METRICS[self as usize]
    }
}

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Micros,
    Count,
}

#[derive(Debug)]
pub struct MetricInfo {
    pub metric: Metric,
    /// The word for `-select` and `-order_by`; none for a number that comes along with another.
    pub word: Option<&'static str>,
    /// The option that hides rows below a minimum.
    pub min: Option<&'static str>,
    /// What the same word shows besides.
    pub with: &'static [Metric],
    /// The key in JSON and CSV.
    pub key: &'static str,
    /// The column's name in text.
    pub legend: &'static str,
    /// What stands behind the number in the text of the tree views, and of the op view.
    pub suffix: &'static str,
    pub op_suffix: &'static str,
    pub unit: Unit,
    /// One sentence for the head of a report and for help.
    pub about: &'static str,
}

/// Words that people use for a metric, and ours.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("flops", "float_ops"),
    ("time", "micros"),
    ("us", "micros"),
    ("ms", "micros"),
    ("memory", "bytes"),
    ("mem", "bytes"),
    ("parameters", "params"),
    ("weights", "params"),
    ("count", "occurrence"),
    ("occurrences", "occurrence"),
    ("gpu_micros", "accelerator_micros"),
    ("mac", "macs"),
    ("type", "op_types"),
    ("devices", "device"),
    ("shape", "input_shapes"),
];

/// "unknown KIND `WORD` …", with the word that was probably meant.
pub fn unknown_word(kind: &str, word: &str, known: &[&str]) -> String {
    let lower = word.to_lowercase();
    match OTHER_WORDS.iter().find(|(other, ours)| *other == lower && known.contains(ours)) {
        Some((_, ours)) => words::unknown_but(kind, word, ours, known),
        None => words::unknown(kind, word, known),
    }
}

/// In the order of [`Metric`], which is also the order of columns in code and op view.
pub const METRICS: [MetricInfo; Metric::COUNT] = [
    MetricInfo {
        word: Some("bytes"),
        min: Some("min_bytes"),
        about: "all memory that the op asked its allocators for while it ran, freed or not",
        ..column(Metric::RequestedBytes, "requested_bytes", "requested bytes", Unit::Bytes)
    },
    MetricInfo {
        word: Some("peak_bytes"),
        min: Some("min_peak_bytes"),
        about: "the most memory that the op held at one time",
        ..column(Metric::PeakBytes, "peak_bytes", "peak bytes", Unit::Bytes)
    },
    MetricInfo {
        word: Some("residual_bytes"),
        min: Some("min_residual_bytes"),
        about: "memory that the op still held when it was done",
        ..column(Metric::ResidualBytes, "residual_bytes", "residual bytes", Unit::Bytes)
    },
    MetricInfo {
        word: Some("output_bytes"),
        min: Some("min_output_bytes"),
        about: "the size of what the op put out, whoever allocated it",
        ..column(Metric::OutputBytes, "output_bytes", "output bytes", Unit::Bytes)
    },
    MetricInfo {
        word: Some("micros"),
        min: Some("min_micros"),
        with: &[Metric::AcceleratorMicros, Metric::CpuMicros],
        about: "accelerator time and cpu time together",
        ..column(Metric::Micros, "micros", "total execution time", Unit::Micros)
    },
    MetricInfo {
        word: Some("accelerator_micros"),
        min: Some("min_accelerator_micros"),
        about: "time that kernels took on the accelerator, as its driver measured it",
        ..column(Metric::AcceleratorMicros, "accelerator_micros", "accelerator execution time", Unit::Micros)
    },
    MetricInfo {
        word: Some("cpu_micros"),
        min: Some("min_cpu_micros"),
        about: "time from an op's start to its end on the host; for accelerator ops, the time to launch them",
        ..column(Metric::CpuMicros, "cpu_micros", "cpu execution time", Unit::Micros)
    },
    MetricInfo {
        word: Some("params"),
        min: Some("min_params"),
        suffix: " params",
        op_suffix: " params",
        about: "elements of variables",
        ..column(Metric::Parameters, "params", "# parameters", Unit::Count)
    },
    MetricInfo {
        word: Some("float_ops"),
        min: Some("min_float_ops"),
        suffix: " flops",
        op_suffix: " float_ops",
        about: "float operations; a multiply-add is two",
        ..column(Metric::FloatOps, "float_ops", "# float_ops", Unit::Count)
    },
    MetricInfo {
        word: Some("occurrence"),
        min: Some("min_occurrence"),
        with: &[Metric::Definitions],
        about: "how often the op ran, and how many nodes define it",
        ..column(Metric::Runs, "runs", "op count (run|defined)", Unit::Count)
    },
    MetricInfo {
        about: "how many nodes of the graph there are",
        ..column(Metric::Definitions, "definitions", "", Unit::Count)
    },
    MetricInfo {
        word: Some("macs"),
        min: Some("min_macs"),
        suffix: " macs",
        op_suffix: " macs",
        about: "multiply-adds of convolutions and products of matrices, by their formulas",
        ..column(Metric::Macs, "macs", "# multiply-adds", Unit::Count)
    },
    MetricInfo {
        word: Some("io_bytes"),
        min: Some("min_io_bytes"),
        about: "bytes that ops read and write, by the shapes of their inputs and outputs",
        ..column(Metric::IoBytes, "io_bytes", "bytes read and written", Unit::Bytes)
    },
    MetricInfo {
        word: Some("unknown_ops"),
        min: Some("min_unknown_ops"),
        suffix: " unknown",
        op_suffix: " unknown",
        about: "nodes whose float operations are not known: no formula, or no shapes",
        ..column(Metric::UnknownOps, "unknown_ops", "# unknown ops", Unit::Count)
    },
    MetricInfo {
        about: "time with that of the ops within it",
        ..column(Metric::InclusiveMicros, "inclusive_micros", "", Unit::Micros)
    },
];

/// What a row tells besides numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    Device,
    OpTypes,
    InputShapes,
    TensorValue,
}

#[derive(Debug)]
pub struct DetailInfo {
    pub detail: Detail,
    pub word: &'static str,
    pub about: &'static str,
}

pub const DETAILS: [DetailInfo; 4] = [
    DetailInfo { detail: Detail::Device, word: "device", about: "where the op was placed" },
    DetailInfo {
        detail: Detail::OpTypes,
        word: "op_types",
        about: "the op, its devices, and the types that an op log or a checkpoint gives it",
    },
    DetailInfo { detail: Detail::InputShapes, word: "input_shapes", about: "the shapes of what the op reads" },
    DetailInfo { detail: Detail::TensorValue, word: "tensor_value", about: "the values that a checkpoint holds" },
];

const fn column(metric: Metric, key: &'static str, legend: &'static str, unit: Unit) -> MetricInfo {
    MetricInfo { metric, word: None, min: None, with: &[], key, legend, suffix: "", op_suffix: "", unit, about: "" }
}

/// One number per metric and row; columns that nobody asked for are empty.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: [Vec<i64>; Metric::COUNT],
}

/// A set of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricSet(u32);

impl MetricSet {
    pub const ALL: MetricSet = MetricSet((1 << Metric::COUNT) - 1);

    pub fn add(&mut self, metric: Metric) {
        self.0 |= 1 << metric as u32;
    }

    pub fn has(self, metric: Metric) -> bool {
        self.0 & 1 << metric as u32 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Metric> {
        METRICS.iter().map(|info| info.metric).filter(move |metric| self.has(*metric))
    }
}

impl Table {
    pub fn new(metrics: MetricSet, rows: usize) -> Self {
        let mut table = Table::default();
        for metric in metrics.iter() {
            table.columns[metric as usize] = vec![0; rows];
        }
        table
    }

    /// The column of a metric; empty if it was not asked for.
    #[inline]
    pub fn column(&self, metric: Metric) -> &[i64] {
        &self.columns[metric as usize]
    }

    #[inline]
    pub fn column_mut(&mut self, metric: Metric) -> &mut Vec<i64> {
        &mut self.columns[metric as usize]
    }

    /// A number, 0 if its column was not asked for.
    #[inline]
    pub fn get(&self, metric: Metric, row: usize) -> i64 {
        self.columns[metric as usize].get(row).copied().unwrap_or(0)
    }

    /// The columns that were asked for, with their metrics.
    pub fn columns_mut_with_metric(&mut self) -> impl Iterator<Item = (Metric, &mut Vec<i64>)> {
        let metrics = METRICS.iter().map(|info| info.metric);
        metrics.zip(self.columns.iter_mut()).filter(|(_, column)| !column.is_empty())
    }

    /// The columns that were asked for.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut Vec<i64>> {
        self.columns.iter_mut().filter(|column| !column.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (i, info) in METRICS.iter().enumerate() {
            assert_eq!(info.metric as usize, i);
        }
    }
}
