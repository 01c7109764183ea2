//! A loaded profile that answers the requests of pages: one immutable model for all of them.

use crate::answers;
use crate::params::Params;
use crate::question::{Command, ViewQuestion, python_string};
use crate::remembered::Remembered;
use crate::reply::{Body, Frame, Problem, Reply};
use crate::timeline::Timeline;
use crate::tree::{Direction, Tree, directions};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tfprof::internal::budget::Account;
use tfprof::reports::Missing;
use tfprof::{Error, Inputs, Metric, Overview, Profiler, ViewKind};

/// The settings of a page.
#[derive(Debug)]
pub struct Setup {
    pub command: Command,
    /// The directory whose source files may be shown.
    pub source_root: PathBuf,
    /// Options that hold unless a question has others: the peaks to compare with.
    pub defaults: Vec<(String, String)>,
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
    /// The reason why nothing is loaded, if a trace has no events.
    pub nothing: Option<String>,
    /// The profile to compare with.
    pub baseline: Option<Baseline>,
    /// The budget of the files and all answers about them.
    pub(crate) account: Account,
    trees: Remembered<Result<Arc<Tree>, Problem>>,
    replies: Remembered<Reply>,
    /// By node, found once for all trees.
    directions: Arc<OnceLock<Vec<Direction>>>,
    timeline: OnceLock<Result<Arc<Timeline>, Problem>>,
    /// The tables for SQL, which statements share.
    #[cfg(feature = "sql")]
    tables: OnceLock<Arc<tfprof::internal::sql::Source>>,
    pub(crate) memory: OnceLock<Result<Arc<answers::memory::Steps>, Problem>>,
}

/// The capacity of the view cache, in rows and in views.
const MOST_ROWS: usize = 8_000_000;
const MOST_VIEWS: usize = 64;
/// The capacity of the answer cache, in bytes and in answers.
const MOST_BYTES: usize = 48 << 20;
const MOST_REPLIES: usize = 2000;

/// The hint on recording, for a trace without events.
const RECORD_XSPACE: &[&str] = &[
    "with jax.profiler.trace('logdir'):",
    "    for i in range(10):",
    "        with jax.profiler.StepTraceAnnotation('train', step_num=i):",
    "            jax.block_until_ready(step())",
    "# the same in TensorFlow",
    "with tf.profiler.experimental.Profile('logdir'):",
    "    for i in range(10):",
    "        with tf.profiler.experimental.Trace('train', step_num=i, _r=1):",
    "            step()",
];
const RECORD_TORCH: &[&str] = &[
    "with torch.profiler.profile() as prof:",
    "    for _ in range(10):",
    "        step()",
    "        prof.step()",
    "prof.export_chrome_trace('trace.json')",
];

impl Site {
    /// `profiler` must hold everything of the inputs.
    pub fn new(profiler: Profiler, inputs: Inputs, setup: Setup) -> Result<Site, Error> {
        let overview = profiler.overview(&inputs)?;
        let account = Account::current().unwrap_or_else(|| Account::new(inputs.limits, 0));
        let rows = |tree: &Result<Arc<Tree>, Problem>| tree.as_ref().map_or(0, |tree| tree.len());
        let (directions, timeline, memory) = Default::default();
        Ok(Site {
            profiler,
            inputs,
            setup,
            overview,
            nothing: None,
            baseline: None,
            account,
            trees: Remembered::new(rows, MOST_ROWS, MOST_VIEWS),
            replies: Remembered::new(Reply::len, MOST_BYTES, MOST_REPLIES),
            directions,
            timeline,
            memory,
            #[cfg(feature = "sql")]
            tables: OnceLock::new(),
        })
    }

    /// The tables for SQL.
    #[cfg(feature = "sql")]
    pub fn sql_source(&self) -> &Arc<tfprof::internal::sql::Source> {
        self.tables.get_or_init(|| self.profiler.sql_source(&self.inputs))
    }

    /// The same for a trace without events; `why` is the sentence about it.
    #[must_use]
    pub fn without_events(mut self, why: String) -> Site {
        let how = if why.contains(".json") { RECORD_TORCH } else { RECORD_XSPACE };
        let how = how.iter().map(|line| (*line).to_owned()).collect();
        let why_short = "the profiler was on, and nothing ran";
        self.overview.missing = vec![Missing { code: "no_steps", what: "events", why: why_short.to_owned(), how }];
        self.nothing = Some(why);
        self
    }

    /// The same with a profile to compare it with.
    pub fn compared_with(mut self, profiler: Profiler, inputs: &Inputs, name: &str) -> Result<Site, Error> {
        let overview = profiler.overview(inputs)?;
        self.baseline = Some(Baseline { profiler, overview, name: name.to_owned() });
        Ok(self)
    }

    /// Answers a request: `key` is a route and its parameters, as in `flame?metric=bytes`. Tabs ask the same questions, so
    /// answers are cached.
    pub fn answer(&self, key: &str) -> Reply {
        self.answer_until(key, &Arc::default())
    }

    /// The same; the caller sets `stop` when it no longer needs the answer.
    pub fn answer_until(&self, key: &str, stop: &Arc<AtomicBool>) -> Reply {
        let answer = || {
            let answer = || self.answer_in(key, |params| params.stop = Arc::clone(stop));
            if !answers::is_kept(key) {
                return answer();
            }
            let reply = self.replies.get(key, answer);
            if reply.status != 200 {
                self.replies.forget(key);
            }
            reply
        };
        self.charged(answer)
    }

    /// Computes an answer within the budget. If memory runs out, remembered answers are dropped.
    fn charged(&self, answer: impl Fn() -> Reply) -> Reply {
        let ask = || self.account.another(|| Ok(answer())).map_err(Problem::from).unwrap_or_else(Reply::from);
        let reply = ask();
        if !reply.is_limit {
            return reply;
        }
        self.trees.clear();
        self.replies.clear();
        ask()
    }

    /// The same, with whole levels instead of pages.
    pub fn answer_whole(&self, key: &str) -> Reply {
        self.charged(|| self.answer_in(key, |params| params.whole = true))
    }

    fn answer_in(&self, key: &str, prepare: impl FnOnce(&mut Params)) -> Reply {
        let (route, query) = key.split_once('?').unwrap_or((key, ""));
        let answered = Params::parse(query).and_then(|mut params| {
            prepare(&mut params);
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
    pub fn tree(&self, asked: &ViewQuestion) -> Result<Arc<Tree>, Problem> {
        self.remembered(&asked.key, || {
            let view = self.profiler.view(asked.kind, &asked.options)?;
            Ok(Tree::new(view, asked.clone()).sharing(&self.directions))
        })
    }

    /// By node, its direction.
    pub fn node_directions(&self) -> &[Direction] {
        self.directions.get_or_init(|| directions(self.profiler.model()))
    }

    /// A tree by its key, made if it is not there. Others that ask the same wait for the first.
    pub fn remembered(&self, key: &str, make: impl FnOnce() -> Result<Tree, Problem>) -> Result<Arc<Tree>, Problem> {
        let tree = self.trees.get(key, || make().map(Arc::new));
        // Do not cache a failure: there may be room next time.
        if tree.as_ref().is_err_and(Problem::is_limit) {
            self.trees.forget(key);
        }
        tree
    }

    /// The default metric for these files.
    pub fn default_metric(&self) -> Metric {
        self.overview.metric
    }

    /// Takes the parameters of a question, and whether warm-up is left out.
    pub fn asked(&self, params: &mut Params) -> Result<ViewQuestion, Problem> {
        let leaves_out = params.flag("warm");
        let asked = ViewQuestion::take(params, self.default_metric(), &self.setup.defaults)?;
        let warm_up = answers::steps::warm_up(&self.overview, self.profiler.model());
        match warm_up.others {
            Some(steps) if leaves_out && asked.step() == tfprof::Step::Average => asked.at_steps(steps),
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
        self.tree(&ViewQuestion::new(kind, &[word], None, Vec::new())?).map(drop)
    }
}

impl Reply {
    /// An immutable answer as bytes.
    pub fn bytes(bytes: Vec<u8>) -> Reply {
        Reply { status: 200, body: Body::Bytes(bytes), is_limit: false }
    }

    fn len(&self) -> usize {
        match &self.body {
            Body::Json(bytes) | Body::Bytes(bytes) => bytes.len(),
        }
    }
}
