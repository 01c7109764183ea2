//! A loaded profile that answers the requests of pages: one immutable model for all of them.

use crate::answers;
use crate::params::Params;
use crate::question::{Asked, Command, python_string};
use crate::reply::{Body, Frame, Problem, Reply};
use crate::timeline::Timeline;
use crate::tree::Tree;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tfprof::{Error, Inputs, Metric, Overview, Profiler, ViewKind};

/// How a page is about its files.
#[derive(Debug)]
pub struct Setup {
    pub command: Command,
    /// The directory whose source files may be shown.
    pub source_root: PathBuf,
}

/// The first side of a comparison.
#[derive(Debug)]
pub struct Baseline {
    pub profiler: Profiler,
    pub overview: Overview,
    /// Its path as it was typed.
    pub name: String,
}

/// A loaded profile.
#[derive(Debug)]
pub struct Site {
    pub profiler: Profiler,
    pub inputs: Inputs,
    pub setup: Setup,
    pub overview: Overview,
    /// The profile to compare with.
    pub baseline: Option<Baseline>,
    views: Mutex<Views>,
    timeline: OnceLock<Result<Arc<Timeline>, Problem>>,
    pub(crate) memory: OnceLock<Result<Arc<answers::memory::Steps>, Problem>>,
}

/// The most rows that remembered views may have together, and the most views.
const MOST_ROWS: usize = 8_000_000;
const MOST_VIEWS: usize = 64;

type Slot = Arc<OnceLock<Result<Arc<Tree>, Problem>>>;

/// Views by question; the one that was used longest ago goes first.
#[derive(Debug, Default)]
struct Views {
    slots: HashMap<String, (u64, Slot)>,
    clock: u64,
}

impl Site {
    /// `profiler` must hold everything of the inputs.
    pub fn new(profiler: Profiler, inputs: Inputs, setup: Setup) -> Result<Site, Error> {
        let overview = profiler.overview(&inputs)?;
        let (views, timeline, memory) = Default::default();
        Ok(Site { profiler, inputs, setup, overview, baseline: None, views, timeline, memory })
    }

    /// The same with a profile to compare it with.
    pub fn compared_with(mut self, profiler: Profiler, inputs: &Inputs, name: &str) -> Result<Site, Error> {
        let overview = profiler.overview(inputs)?;
        self.baseline = Some(Baseline { profiler, overview, name: name.to_owned() });
        Ok(self)
    }

    /// Answers a request: `key` is a route and its parameters, as in `flame?metric=bytes`.
    pub fn answer(&self, key: &str) -> Reply {
        self.answer_in(key, false)
    }

    /// The same, with whole levels instead of pages.
    pub fn answer_whole(&self, key: &str) -> Reply {
        self.answer_in(key, true)
    }

    fn answer_in(&self, key: &str, whole: bool) -> Reply {
        let (route, query) = key.split_once('?').unwrap_or((key, ""));
        let answered = Params::parse(query).and_then(|mut params| {
            params.whole = whole;
            let Some((_, answer)) = answers::ROUTES.iter().find(|(name, _)| *name == route) else {
                return Err(Problem::not_found(format!("there is no request `{route}`")));
            };
            let reply = answer(self, &mut params)?;
            params.finish()?;
            Ok(reply)
        });
        answered.unwrap_or_else(Reply::from)
    }

    /// The tree of a question, from memory if it was asked before.
    pub fn tree(&self, asked: &Asked) -> Result<Arc<Tree>, Problem> {
        self.remembered(&asked.key, || {
            let view = self.profiler.view(asked.kind, &asked.options)?;
            Ok(Tree::new(view, asked.clone()))
        })
    }

    /// A tree by its key, made if it is not there. Others that ask the same wait for the first.
    pub fn remembered(&self, key: &str, make: impl FnOnce() -> Result<Tree, Problem>) -> Result<Arc<Tree>, Problem> {
        let slot = self.views.lock().unwrap_or_else(PoisonError::into_inner).slot(key);
        slot.get_or_init(|| make().map(Arc::new)).clone()
    }

    /// The metric that says most about these files.
    pub fn default_metric(&self) -> Metric {
        self.overview.metric
    }

    /// Takes the parameters of a question, and whether warm-up is left out.
    pub fn asked(&self, params: &mut Params) -> Result<Asked, Problem> {
        let leaves_out = params.flag("warm");
        let asked = Asked::take(params, self.default_metric())?;
        let warm_up = answers::steps::warm_up(&self.overview);
        match warm_up.only_other {
            Some(step) if leaves_out && asked.step() == tfprof::Step::Average => asked.at_step(step),
            _ => Ok(asked),
        }
    }

    /// The parts of an answer that name its command.
    pub fn frame(&self, tree: &Tree) -> Frame {
        let options = tree.command_options();
        let kind = tree.view.kind.word();
        let command = self.setup.command.line(kind, &options);
        Frame::new(command, self.setup.command.python(kind, &options)).warn(&tree.view.warnings)
    }

    pub fn plain_frame(&self, command: &str) -> Frame {
        let line = self.setup.command.line(command, &[]);
        let python = match command {
            "info" => self.setup.command.python("overview", &[]),
            _ => format!("import os\nos.system({})", python_string(&line)),
        };
        Frame::new(line, python)
    }

    pub fn timeline(&self) -> Result<Arc<Timeline>, Problem> {
        self.timeline.get_or_init(|| Timeline::of(self).map(Arc::new)).clone()
    }

    /// Whether the files can answer a view at all.
    pub fn knows_view(&self, kind: ViewKind) -> Result<(), Problem> {
        let word = self.default_metric().info().word.unwrap_or("params");
        self.tree(&Asked::new(kind, &[word], None, Vec::new())?).map(drop)
    }
}

impl Views {
    fn slot(&mut self, key: &str) -> Slot {
        self.clock += 1;
        if let Some((used, slot)) = self.slots.get_mut(key) {
            *used = self.clock;
            return Arc::clone(slot);
        }
        self.make_room();
        let slot = Slot::default();
        self.slots.insert(key.to_owned(), (self.clock, Arc::clone(&slot)));
        slot
    }

    fn make_room(&mut self) {
        let rows = |slot: &Slot| slot.get().and_then(|tree| tree.as_ref().ok()).map_or(0, |tree| tree.len());
        let mut by_use: Vec<(u64, usize)> = self.slots.values().map(|(used, slot)| (*used, rows(slot))).collect();
        by_use.sort_unstable();
        let mut sum: usize = by_use.iter().map(|(_, rows)| rows).sum();
        let mut left = by_use.len();
        for (used, rows) in by_use {
            if left < MOST_VIEWS && sum < MOST_ROWS {
                break;
            }
            self.slots.retain(|_, slot| slot.0 != used);
            left -= 1;
            sum -= rows;
        }
    }
}

impl Reply {
    /// An answer of bytes that never change.
    pub fn bytes(bytes: Vec<u8>) -> Reply {
        Reply { status: 200, body: Body::Bytes(bytes) }
    }
}
