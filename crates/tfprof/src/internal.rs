//! Modules that the other crates of this workspace, its tests and its fuzz targets use.
//!
//! **No promise of stability**: anything here may change or go at any time. Use the names at the root of the crate.

/// Names that other crates need from the module of the same name.
macro_rules! modules {
    ($($module:ident { $($name:tt)* })+) => {
        $(pub mod $module { pub use crate::$module::{$($name)*}; })+
    };
}

modules! {
    budget { * }
    checkpoint { ByteSource, Table, Values, locate, query, render }
    columnar { * }
    comma_list { * }
    engine { compare, needs, parts, question }
    events { HostFile }
    format { NO_EVENTS, Reader, kineto, live_graph, lowered, profile, xspace }
    hardware { * }
    infer { fact, flops, inference, op_log, overrides, shapes }
    json { * }
    model { Model, allocators, attr_value, body, cells, costs, dialects, hosts, layers, lowered, names, nodes, observed, shape }
    options { boolean, refused }
    part { * }
    render { csv, direction, fit, form_by_ending, form_of, html, json, nesting, output_words, outputs, pprof, proto, roofline, tabular, tensor, text, theme, timeline }
    report { advise, budget, cost, fleet, layers, overview }
    tables { * }
    trace { OpTime, Peak, Step, TensorLife, Trace, TraceOptions, excerpt, profile }
    units { * }
    view { ceilings, columns, compare, filter, values }
    words { * }
}

#[cfg(feature = "sql")]
pub mod sql {
    pub use crate::sql::*;
}
