//! The inferred shapes and costs of a `GraphDef`, as lines of JSON:
//! `cargo run -p tfprof --example infer graph.pb [NAME=SHAPE ...]`.
//!
//! `tests/tf/shapes.py` compares them with TensorFlow's own inference, `tests/tf/recurrent.py` with runs.

use std::io::{BufWriter, Write};
use tfprof::Settings;
use tfprof::internal::infer::inference::{NoCalls, NodeCost, infer};
use tfprof::internal::infer::overrides::Overrides;
use tfprof::internal::model::body::Body;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let bytes = std::fs::read(args.next().ok_or("which file?")?)?;
    let inputs = args.map(|input| Settings::parse_input(&input)).collect::<Result<_, _>>()?;
    let body = Body::of_graph(&bytes);
    let instance = infer(&body, &[], &Overrides { inputs, ..Overrides::default() }, &mut NoCalls);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for node in 0..body.len() as u32 {
        let shape = |fact: &tfprof::internal::infer::fact::Fact| match fact.shape.dims() {
            None => "null".to_owned(),
            Some(dims) => format!("{dims:?}"),
        };
        let shapes: Vec<String> = instance.outputs(node).iter().map(shape).collect();
        let types: Vec<i32> = instance.outputs(node).iter().map(|fact| fact.dtype.0).collect();
        let cost = match instance.cost(node) {
            NodeCost::Known(cost) => format!("[{},{},{}]", cost.float_ops, cost.macs, cost.io_bytes),
            NodeCost::Unknown(why, _) => format!("{why:?}").escape_debug().to_string(),
            NodeCost::Call => "Call".to_owned(),
        };
        let (name, op) = (body.name(node), body.op(node));
        writeln!(
            out,
            r#"{{"name":{name:?},"op":{op:?},"shapes":[{}],"types":{types:?},"cost":{cost:?}}}"#,
            shapes.join(",")
        )?;
    }
    Ok(())
}
