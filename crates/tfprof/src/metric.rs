//! The one table of metrics.
//!
//! `-select`, `-order_by`, `-min_*`, legends, columns of text, JSON keys and message fields all come from [`METRICS`].
//! A new metric is one row and the code that fills it; a new ratio is one row.

mod table;

pub use table::{Column, MetricSet, Table};

use crate::words;

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    Bytes,
    Micros,
    Count,
    BytesPerSecond,
    FlopsPerSecond,
    /// A part of a whole, shown in percent.
    Share,
}

/// Where the numbers of a metric come from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// Recorded while the program ran.
    Measured,
    /// Counted by formulas, from shapes, or given by an op log.
    Computed,
    /// Read from the graph.
    Graph,
    /// Derived: the quotient of two other metrics of the same row. Totals are divided, quotients are never summed.
    Ratio { numerator: Metric, denominator: Metric, scale: f64 },
}

/// The option that hides rows below a minimum.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Minimum {
    pub option: &'static str,
    pub about: &'static str,
}

/// Everything there is to know about a metric.
#[derive(Debug)]
#[non_exhaustive]
pub struct MetricInfo {
    pub metric: Metric,
    /// The word for `-select` and `-order_by`; none for a metric that comes along with another.
    pub word: Option<&'static str>,
    pub min: Option<Minimum>,
    /// Metrics that the same word also shows.
    pub with: &'static [Metric],
    /// The key in JSON and CSV.
    pub key: &'static str,
    /// The column's title in text.
    pub legend: &'static str,
    /// The text after the number, in the tree views and in the op view.
    pub suffix: &'static str,
    pub op_suffix: &'static str,
    pub unit: Unit,
    pub source: Source,
    /// `-step -1` shows the average over the steps of a node; other metrics are the same in every step.
    pub averaged: bool,
    /// The original has it.
    pub original: bool,
    /// Of a ratio: the time of the ops whose part of it is known. If that is not all of the device time, it is unknown.
    pub covered_by: Option<Metric>,
    /// One sentence for the head of a report and for help.
    pub about: &'static str,
}

impl MetricInfo {
    const fn new(metric: Metric, source: Source, key: &'static str, legend: &'static str, unit: Unit) -> MetricInfo {
        MetricInfo {
            metric,
            word: None,
            min: None,
            with: &[],
            key,
            legend,
            suffix: "",
            op_suffix: "",
            unit,
            source,
            averaged: matches!(source, Source::Measured),
            original: true,
            covered_by: None,
            about: "",
        }
    }

    pub const fn is_ratio(&self) -> bool {
        matches!(self.source, Source::Ratio { .. })
    }

    /// Only a graph or an op log says anything about it.
    pub(crate) fn needs_graph(&self) -> bool {
        matches!(self.source, Source::Graph | Source::Computed) && self.word.is_some()
    }

    /// Measured memory, which files may have and readers may skip.
    pub(crate) const fn is_measured_memory(&self) -> bool {
        matches!((self.source, self.unit), (Source::Measured, Unit::Bytes))
    }
}

/// Makes [`Metric`] and [`METRICS`] from one list of rows: `Variant(source, key, legend, unit) { other fields }`.
macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident($($main:expr),+) { $($field:ident: $value:expr),* $(,)? })+) => {
        /// A number that each row of a view has, for itself and in total.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Metric {
            $($(#[$doc])* $metric,)+
        }

        impl Metric {
            pub const COUNT: usize = [$(Metric::$metric),+].len();
        }

        /// In the order of [`Metric`], which is also the order of columns in code and op view.
        pub const METRICS: [MetricInfo; Metric::COUNT] = [
            $(MetricInfo { $($field: $value,)* ..MetricInfo::new(Metric::$metric, $($main),+) },)+
        ];
    };
}

metrics! {
    RequestedBytes(Source::Measured, "requested_bytes", "requested bytes", Unit::Bytes) {
        word: Some("bytes"),
        min: Some(minimum("min_bytes", "hide rows whose total of requested bytes is less")),
        about: "all memory that the op asked its allocators for while it ran, freed or not",
    }
    PeakBytes(Source::Measured, "peak_bytes", "peak bytes", Unit::Bytes) {
        word: Some("peak_bytes"),
        min: Some(minimum("min_peak_bytes", "hide rows whose total of peak bytes is less")),
        about: "the most memory that the op held at one time",
    }
    ResidualBytes(Source::Measured, "residual_bytes", "residual bytes", Unit::Bytes) {
        word: Some("residual_bytes"),
        min: Some(minimum("min_residual_bytes", "hide rows whose total of residual bytes is less")),
        about: "memory that the op still held when it was done",
    }
    OutputBytes(Source::Measured, "output_bytes", "output bytes", Unit::Bytes) {
        word: Some("output_bytes"),
        min: Some(minimum("min_output_bytes", "hide rows whose total of output bytes is less")),
        about: "the size of the op's outputs, whoever allocated them",
    }
    Micros(Source::Measured, "micros", "total execution time", Unit::Micros) {
        word: Some("micros"),
        min: Some(minimum("min_micros", "hide rows whose total time is less, in microseconds")),
        with: &[Metric::AcceleratorMicros, Metric::CpuMicros],
        about: "accelerator time and cpu time together",
    }
    AcceleratorMicros(Source::Measured, "accelerator_micros", "accelerator execution time", Unit::Micros) {
        word: Some("accelerator_micros"),
        min: Some(minimum("min_accelerator_micros", "hide rows whose total of accelerator time is less")),
        about: "time that kernels took on the accelerator, as its driver measured it",
    }
    CpuMicros(Source::Measured, "cpu_micros", "cpu execution time", Unit::Micros) {
        word: Some("cpu_micros"),
        min: Some(minimum("min_cpu_micros", "hide rows whose total of cpu time is less")),
        about: "time from an op's start to its end on the host; for accelerator ops, the time to launch them",
    }
    Parameters(Source::Graph, "params", "# parameters", Unit::Count) {
        word: Some("params"),
        min: Some(minimum("min_params", "hide rows with fewer parameters (of their own in scope and graph view)")),
        suffix: " params",
        op_suffix: " params",
        about: "elements of variables",
    }
    FloatOps(Source::Computed, "float_ops", "# float_ops", Unit::Count) {
        word: Some("float_ops"),
        min: Some(minimum("min_float_ops", "hide rows with fewer FLOPs (of their own in scope and graph view)")),
        suffix: " flops",
        op_suffix: " float_ops",
        about: "FLOPs; a multiply-add is two",
    }
    /// How often it ran.
    Runs(Source::Measured, "runs", "op count (run|defined)", Unit::Count) {
        word: Some("occurrence"),
        min: Some(minimum("min_occurrence", "hide rows that ran less often; in op view, that have fewer nodes")),
        with: &[Metric::Definitions],
        about: "how often the op ran, and how many nodes define it",
    }
    /// The number of graph nodes that it stands for.
    Definitions(Source::Graph, "definitions", "", Unit::Count) {
        about: "the number of graph nodes",
    }
    /// Multiply-adds.
    Macs(Source::Computed, "macs", "# multiply-adds", Unit::Count) {
        word: Some("macs"),
        min: Some(minimum("min_macs", "hide rows whose total of multiply-adds is less")),
        suffix: " macs",
        op_suffix: " macs",
        original: false,
        about: "multiply-adds of convolutions and products of matrices, by their formulas",
    }
    /// Bytes read and written.
    IoBytes(Source::Computed, "io_bytes", "bytes read and written", Unit::Bytes) {
        word: Some("io_bytes"),
        min: Some(minimum("min_io_bytes", "hide rows whose total of bytes read and written is less")),
        original: false,
        about: "bytes that ops read and write, by the shapes of their inputs and outputs",
    }
    /// Nodes whose FLOPs are unknown.
    UnknownOps(Source::Computed, "unknown_ops", "# unknown ops", Unit::Count) {
        word: Some("unknown_ops"),
        min: Some(minimum("min_unknown_ops", "hide rows with fewer nodes of unknown cost")),
        suffix: " unknown",
        op_suffix: " unknown",
        original: false,
        about: "nodes whose FLOPs are unknown: no formula, or no shapes",
    }
    /// Time including the ops nested within it; other metrics count each interval once.
    InclusiveMicros(Source::Measured, "inclusive_micros", "", Unit::Micros) {
        original: false,
        about: "the time of the op and of all ops within it",
    }
    /// Time on the device that did the work, without the time to launch it.
    DeviceMicros(Source::Measured, "device_micros", "device time", Unit::Micros) {
        word: Some("device_micros"),
        min: Some(minimum("min_device_micros", "hide rows whose total of device time is less")),
        original: false,
        about: "time on the device that did the work: the accelerator's, or the cpu's for an op without accelerator time",
    }
    MicrosPerRun(ratio(Metric::Micros, Metric::Runs), "micros_per_run", "time per run", Unit::Micros) {
        word: Some("micros_per_run"),
        suffix: " per run",
        op_suffix: " per run",
        original: false,
        about: "execution time of one run: micros divided by runs, as both are shown",
    }
    FlopsPerByte(ratio(Metric::FloatOps, Metric::IoBytes), "flops_per_byte", "float_ops per byte", Unit::Count) {
        word: Some("flops_per_byte"),
        suffix: " flops/byte",
        op_suffix: " flops/byte",
        original: false,
        about: "arithmetic intensity: FLOPs for each byte read or written",
    }
    FlopsPerSecond(rate(Metric::FloatOps), "flops_per_second", "achieved FLOP/s", Unit::FlopsPerSecond) {
        word: Some("flops_per_second"),
        original: false,
        covered_by: Some(Metric::KnownFlopsMicros),
        about: "FLOPs divided by device time",
    }
    BytesPerSecond(rate(Metric::IoBytes), "bytes_per_second", "achieved bytes/s", Unit::BytesPerSecond) {
        word: Some("bytes_per_second"),
        original: false,
        covered_by: Some(Metric::KnownBytesMicros),
        about: "bytes read and written divided by device time",
    }
    /// Device time of the ops whose FLOPs are known.
    KnownFlopsMicros(Source::Computed, "known_flops_micros", "", Unit::Micros) {
        original: false,
        about: "device time of the ops whose FLOPs are known",
    }
    /// Device time of the ops whose bytes are known.
    KnownBytesMicros(Source::Computed, "known_bytes_micros", "", Unit::Micros) {
        original: false,
        about: "device time of the ops whose bytes are known",
    }
    /// Device time of the ops whose FLOPs and bytes, and whose peaks, are known.
    CoveredMicros(Source::Computed, "covered_micros", "", Unit::Micros) {
        original: false,
        about: "device time of the ops that can be compared with a peak",
    }
    ComputeMicros(Source::Computed, "compute_micros", "time at peak FLOP/s", Unit::Micros) {
        word: Some("compute_micros"),
        original: false,
        about: "FLOPs divided by the peak of the device",
    }
    MemoryMicros(Source::Computed, "memory_micros", "time at peak bandwidth", Unit::Micros) {
        word: Some("memory_micros"),
        original: false,
        about: "bytes read and written divided by the peak of the device",
    }
    RooflineMicros(Source::Computed, "roofline_micros", "roofline time", Unit::Micros) {
        word: Some("roofline_micros"),
        original: false,
        about: "the least time that the device could take: for each op, its FLOPs or its bytes at their peak, whichever is longer",
    }
    LostMicros(Source::Computed, "lost_micros", "time above roofline", Unit::Micros) {
        word: Some("lost_micros"),
        min: Some(minimum("min_lost_micros", "hide rows whose total time above the roofline is less")),
        original: false,
        about: "device time minus roofline time, for the ops that can be compared with a peak",
    }
    FlopsShare(ratio(Metric::ComputeMicros, Metric::DeviceMicros), "flops_share", "of peak FLOP/s", Unit::Share) {
        word: Some("flops_share"),
        original: false,
        covered_by: Some(Metric::KnownFlopsMicros),
        about: "achieved FLOP/s as a share of the peak of the device",
    }
    BandwidthShare(ratio(Metric::MemoryMicros, Metric::DeviceMicros), "bandwidth_share", "of peak bandwidth", Unit::Share) {
        word: Some("bandwidth_share"),
        original: false,
        covered_by: Some(Metric::KnownBytesMicros),
        about: "achieved bytes a second as a share of the peak of the device",
    }
    RooflineShare(ratio(Metric::RooflineMicros, Metric::DeviceMicros), "roofline_share", "of roofline", Unit::Share) {
        word: Some("roofline_share"),
        original: false,
        covered_by: Some(Metric::CoveredMicros),
        about: "the least time that the device could take as a share of the time it took",
    }
    CoveredShare(ratio(Metric::CoveredMicros, Metric::DeviceMicros), "covered_share", "time covered", Unit::Share) {
        word: Some("covered_share"),
        original: false,
        about: "the share of device time in ops that can be compared with a peak",
    }
}

const fn minimum(option: &'static str, about: &'static str) -> Minimum {
    Minimum { option, about }
}

const fn ratio(numerator: Metric, denominator: Metric) -> Source {
    Source::Ratio { numerator, denominator, scale: 1.0 }
}

/// So much a second of device time.
const fn rate(numerator: Metric) -> Source {
    Source::Ratio { numerator, denominator: Metric::DeviceMicros, scale: 1e6 }
}

/// The indices of averaged metrics in [`METRICS`].
pub const AVERAGED: [usize; count_averaged(METRICS.len())] = {
    let (mut found, mut i) = ([0; count_averaged(METRICS.len())], 0);
    while i < METRICS.len() {
        if METRICS[i].averaged {
            found[count_averaged(i)] = i;
        }
        i += 1;
    }
    found
};

/// The number of averaged metrics among the first.
const fn count_averaged(first: usize) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < first {
        count += METRICS[i].averaged as usize;
        i += 1;
    }
    count
}

impl Metric {
    #[inline]
    pub fn info(self) -> &'static MetricInfo {
        &METRICS[self as usize]
    }

    /// The metric of a word for `-select` and `-order_by`.
    pub fn of_word(word: &str) -> Option<Metric> {
        METRICS.iter().find(|info| info.word == Some(word)).map(|info| info.metric)
    }

    pub fn is_ratio(self) -> bool {
        self.info().is_ratio()
    }

    /// The metric itself, or the numerator of a ratio: shares of a whole only make sense for sums.
    #[must_use]
    pub(crate) fn summed(self) -> Metric {
        match self.info().source {
            Source::Ratio { numerator, .. } => numerator,
            _ => self,
        }
    }
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
    ("intensity", "flops_per_byte"),
    ("bytes_accessed", "io_bytes"),
    ("flop_rate", "flops_per_second"),
    ("bandwidth", "bytes_per_second"),
    ("mfu", "flops_share"),
    ("utilization", "roofline_share"),
    ("peak_share", "flops_share"),
    ("roofline", "roofline_micros"),
    ("lost", "lost_micros"),
    ("bound", "bound_by"),
    ("hlo_category", "category"),
    ("module", "program"),
    ("kernel", "kernels"),
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

/// A detail that a row shows besides numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Detail {
    Device,
    OpTypes,
    InputShapes,
    TensorValue,
    Category,
    Program,
    Kernels,
    BoundBy,
}

#[derive(Debug)]
#[non_exhaustive]
pub struct DetailInfo {
    pub detail: Detail,
    pub word: &'static str,
    pub about: &'static str,
}

pub const DETAILS: [DetailInfo; 8] = [
    DetailInfo { detail: Detail::Device, word: "device", about: "where the op was placed" },
    DetailInfo {
        detail: Detail::OpTypes,
        word: "op_types",
        about: "the op, its devices, and the types that an op log or a checkpoint gives it",
    },
    DetailInfo { detail: Detail::InputShapes, word: "input_shapes", about: "the shapes of the op's inputs" },
    DetailInfo { detail: Detail::TensorValue, word: "tensor_value", about: "the values that a checkpoint holds" },
    DetailInfo {
        detail: Detail::Category,
        word: "category",
        about: "the category of an XLA instruction, as XLA names it",
    },
    DetailInfo {
        detail: Detail::Program,
        word: "program",
        about: "the compiled programs (modules) that the op is part of",
    },
    DetailInfo {
        detail: Detail::Kernels,
        word: "kernels",
        about: "the kernels that the op launched: registers, shared memory, grid, block, occupancy, and their runs and \
                time in the whole profile",
    },
    DetailInfo {
        detail: Detail::BoundBy,
        word: "bound_by",
        about: "what bounds the row: compute, memory, communication, or overhead (short runs far from both peaks)",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimums_are_named_after_the_word() {
        for info in &METRICS {
            assert_eq!(info.metric.info().metric, info.metric);
            if let Some(min) = info.min {
                assert_eq!(Some(min.option), info.word.map(|word| format!("min_{word}")).as_deref());
            }
        }
    }

    #[test]
    fn ratios_divide_sums_and_are_never_summed() {
        for info in METRICS.iter().filter(|info| info.is_ratio()) {
            let Source::Ratio { numerator, denominator, scale } = info.source else { unreachable!() };
            assert!(!numerator.is_ratio() && !denominator.is_ratio() && scale > 0.0);
            assert!(info.min.is_none() && !info.averaged && !info.original);
        }
        let mut table = Table::new(MetricSet::ALL, 2);
        assert!(table.column(Metric::MicrosPerRun).is_empty());
        table.column_mut(Metric::Micros)[1] = 7;
        table.column_mut(Metric::Runs)[1] = 2;
        assert_eq!([0, 1].map(|row| table.ratio(Metric::MicrosPerRun, row)), [None, Some(3.5)]);
        assert_eq!(table.ratio(Metric::Micros, 1), None);
    }
}
