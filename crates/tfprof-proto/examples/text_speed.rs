//! Reads a graph.pbtxt as tfprof does and prints how fast that went: `text_speed FILE [TIMES]`.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::ops::ControlFlow;
use std::time::Instant;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::{schema, text};

static LIBRARY: Layout = Layout { fields: &[(1, Rule::Take(2))] };
static GRAPH: Layout = Layout { fields: &[(1, Rule::Take(1)), (2, Rule::Enter(3, &LIBRARY))] };

#[derive(Default)]
struct Count {
    records: u64,
    bytes: usize,
}

impl Sink for Count {
    fn take(&mut self, _: Tag, record: Record<'_>) -> ControlFlow<()> {
        self.records += 1;
        self.bytes += record.value.bytes().map_or(0, <[u8]>::len);
        ControlFlow::Continue(())
    }
    fn warn(&mut self, spot: Spot, message: String) {
        println!("{spot:?}: {message}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: text_speed FILE [TIMES]")?;
    let times: u32 = args.next().map_or(Ok(1), |times| times.parse())?;
    let size = std::fs::metadata(&path)?.len() as f64 / 1e6;
    for _ in 0..times {
        let mut count = Count::default();
        let start = Instant::now();
        let outcome = text::read(&mut File::open(&path)?, &schema::GRAPH_DEF, &GRAPH, &mut count);
        let rate = size / start.elapsed().as_secs_f64();
        println!("{size:.1} MB, {} records of {} wire bytes: {rate:.0} MB/s", count.records, count.bytes);
        outcome.map_err(|error| format!("{path}: {error:?}"))?;
    }
    Ok(())
}
