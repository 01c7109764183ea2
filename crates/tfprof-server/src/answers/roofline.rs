//! The roofline: each row at its FLOPs per byte and FLOP/s, below the peaks of its device.

use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::Tree;
use serde_json::{Value, json};
use tfprof::internal::render::roofline::{Dot, ceiling, dots};
use tfprof::internal::view::ceilings::{Bound, Peaks};
use tfprof::{Metric, Side};

/// The maximum number of dots in an answer: those with the most time.
const MOST_DOTS: usize = 1000;
/// The columns of the table beside the picture, and the word for what bounds a row.
const WORDS: [&str; 7] =
    ["device_micros", "float_ops", "io_bytes", "flops_per_byte", "flops_per_second", "roofline_share", "bound_by"];

pub fn roofline(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let asked = site.asked(params)?;
    let asked = asked.with(asked.kind, &WORDS)?;
    let tree = site.tree(&asked)?;
    let (all, unplaced) = dots(&tree.view);
    let ceiling = ceiling(&tree.view);
    let device = Peaks::find(&tree.view.model, &asked.options)?.names.into_iter().find(|name| !name.starts_with("cc"));
    let roofs: Value =
        ceiling.by_precision().into_iter().map(|(word, flops)| json!({ "word": word, "flops": flops })).collect();
    // Where no peak is known, the best that the profile reached is the only line to draw.
    let most = |of: fn(&Dot) -> f64| all.iter().map(of).reduce(f64::max);
    let best = json!({ "flops": most(|dot| dot.flops_per_second), "bandwidth": most(|dot| dot.flops_per_second / dot.intensity) });
    let left = all.len().saturating_sub(MOST_DOTS) as u64;
    let frame = site.frame(&tree).leaving_out(left, "rows with less time");
    Ok(frame.reply(object! {
        "columns": tree.columns(),
        "device": device,
        "peaks": tree.view.peaks(),
        "bandwidth": ceiling.bandwidth(),
        "roofs": roofs,
        "best": best,
        "rows": all.len(),
        "unplaced": unplaced,
        "dots": all.iter().take(MOST_DOTS).map(|dot| dot_json(&tree, dot)).collect::<Value>(),
    }))
}

fn dot_json(tree: &Tree, dot: &Dot) -> Value {
    let own = |metric: Metric| tree.number(Side::SelfOnly, metric, dot.row);
    let name = if tree.view.kind.word() == "code" { tree.short_name(dot.row) } else { tree.path(dot.row) };
    json!({
        "sel": tree.sel(dot.row),
        "name": name,
        "op": if tree.op(dot.row).is_empty() { tree.short_name(dot.row) } else { tree.op(dot.row).to_owned() },
        "dir": tree.direction(dot.row).word(),
        "micros": dot.micros,
        "share": dot.share,
        "float_ops": own(Metric::FloatOps),
        "io_bytes": own(Metric::IoBytes),
        "intensity": dot.intensity,
        "flops": dot.flops_per_second,
        "of_roofline": own(Metric::RooflineShare),
        "bound": dot.bound.map(Bound::word),
    })
}
