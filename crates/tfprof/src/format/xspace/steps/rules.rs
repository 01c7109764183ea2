//! The rules that find steps, one after the other, and how each context finds its step.

use super::collector::{CALL, CUSTOM, Collector, Launch, MARKS, Mark, ROOT, STEP};
use super::{NONE, Rule, Step, Steps, Way};
use crate::format::xspace::records::Records;
use crate::format::xspace::stats::Key;
use crate::model::names::NameId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the steps of a rule are, before events are told which they belong to.
struct Chosen {
    rule: Rule,
    marker: String,
    others: Vec<String>,
    steps: Vec<Step>,
    /// Marks of the rule with the place of their step.
    marks: Vec<(usize, u32)>,
}

impl Collector<'_> {
    fn by_marker(&self) -> Option<Chosen> {
        let marks = &self.marks[CUSTOM];
        let all: Vec<usize> = (0..marks.len()).collect();
        let first = marks.first()?;
        let marker = self.names.get(first.name).to_owned();
        let numbered = marks.iter().all(|mark| mark.number.is_some());
        Some(if numbered {
            grouped(Rule::Marker, marker, Vec::new(), marks, &all)
        } else {
            by_place(Rule::Marker, marker, Vec::new(), marks, all)
        })
    }

    fn by_step_num(&self) -> Option<Chosen> {
        let marks = &self.marks[STEP];
        let (best, others) = self.best(marks, 0..marks.len(), false)?;
        let mine: Vec<_> = (0..marks.len()).filter(|at| marks[*at].name == best).collect();
        Some(grouped(Rule::StepNum, self.names.get(best).to_owned(), others, marks, &mine))
    }

    fn by_steps_line(&self) -> Option<Chosen> {
        let marks = &self.device_steps;
        if marks.is_empty() || marks.iter().any(|(_, mark)| mark.number.is_none()) {
            return None;
        }
        let all: Vec<usize> = (0..marks.len()).collect();
        Some(group(Rule::StepsLine, "Steps".to_owned(), Vec::new(), &all, |at| &marks[at].1))
    }

    fn by_function_call(&self) -> Option<Chosen> {
        let marks = &self.marks[CALL];
        let (best, others) = self.best(marks, 0..marks.len(), true)?;
        let mine = (0..marks.len()).filter(|at| marks[*at].name == best).collect();
        Some(by_place(Rule::FunctionCalls, self.names.get(best).to_owned(), others, marks, mine))
    }

    fn by_root(&self) -> Option<Chosen> {
        let marks = &self.marks[ROOT];
        let mut roots: Vec<_> = (0..marks.len()).filter(|at| !self.data_ids.contains(&marks[*at].id)).collect();
        if roots.iter().any(|at| marks[*at].is_function) {
            roots.retain(|at| marks[*at].is_function);
        }
        let (best, others) = self.best(marks, roots.iter().copied(), true)?;
        roots.retain(|at| marks[*at].name == best);
        Some(by_place(Rule::Root, self.names.get(best).to_owned(), others, marks, roots))
    }

    /// The name with the largest time, those that come at least twice first; and the other names.
    fn best(
        &self,
        marks: &[Mark],
        among: impl Iterator<Item = usize>,
        twice_first: bool,
    ) -> Option<(NameId, Vec<String>)> {
        let mut by_name: BTreeMap<NameId, (u64, i64)> = BTreeMap::new();
        for at in among {
            let (count, time) = by_name.entry(marks[at].name).or_default();
            *count += 1;
            *time = time.saturating_add(marks[at].end.saturating_sub(marks[at].start));
        }
        let mut names: Vec<_> = by_name.into_iter().collect();
        let rank = |count: u64| twice_first && count < 2;
        names.sort_by(|(a, (m, x)), (b, (n, y))| {
            let text = |name: &NameId| self.names.get(*name);
            (rank(*m), *y, text(a)).cmp(&(rank(*n), *x, text(b)))
        });
        let mut names = names.into_iter().map(|(name, _)| name);
        let best = names.next()?;
        Some((best, names.map(|name| self.names.get(name).to_owned()).collect()))
    }

    /// Steps by the runs of the program that takes most time; nothing if there are no such runs.
    fn by_module(&self, records: &Records) -> Option<Chosen> {
        let mut totals: BTreeMap<NameId, i64> = BTreeMap::new();
        let mut spans: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
        records.each(|record| {
            let context = &self.contexts[record.context as usize];
            if context.is_run {
                let total = totals.entry(self.runs[context.run as usize].0).or_default();
                *total = total.saturating_add(record.own);
                let end = record.start.saturating_add(record.total);
                let span = spans.entry(context.run).or_insert((record.start, end));
                *span = (span.0.min(record.start), span.1.max(end));
            }
        });
        let name = |module: &NameId| self.names.get(*module);
        let mut modules: Vec<_> = totals.iter().collect();
        modules.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| name(a).cmp(name(b))));
        let best = *modules.first()?.0;
        let of_best = |run: &u32| self.runs[*run as usize].0 == best;
        let mut runs: Vec<_> = spans
            .iter()
            .filter(|(run, _)| of_best(run))
            .map(|(run, span)| (*span, self.runs[*run as usize].1, *run))
            .collect();
        runs.sort_unstable();
        let steps = runs.iter().zip(0..).map(|(((start, end), ..), number)| Step { number, start: *start, end: *end });
        Some(Chosen {
            rule: Rule::ModuleRuns,
            marker: name(&best).to_owned(),
            others: modules.iter().skip(1).map(|(module, _)| name(module).to_owned()).collect(),
            steps: steps.collect(),
            marks: runs.iter().zip(0..).map(|((.., run), step)| (*run as usize, step)).collect(),
        })
    }

    /// Finds the steps. `whole` is when the first event began and the last one ended; `records` are all ops.
    pub fn settle(self, whole: Option<(i64, i64)>, records: &Records) -> Steps {
        let rules: [fn(&Self) -> Option<Chosen>; 5] =
            [Self::by_marker, Self::by_step_num, Self::by_steps_line, Self::by_function_call, Self::by_root];
        let everything = || {
            let (rule, start, end) = match whole {
                Some((start, end)) => (Rule::WholeProfile, start, end),
                None => (Rule::None, 0, 0),
            };
            let steps = if rule == Rule::None { Vec::new() } else { vec![Step { number: 0, start, end }] };
            Chosen { rule, marker: String::new(), others: Vec::new(), steps, marks: Vec::new() }
        };
        let chosen = rules.iter().find_map(|rule| rule(&self));
        let chosen = chosen.or_else(|| self.by_module(records)).unwrap_or_else(everything);
        self.place(chosen)
    }

    /// Contexts learn how to find their steps.
    fn place(self, chosen: Chosen) -> Steps {
        let mut steps = Steps {
            rule: chosen.rule,
            marker: chosen.marker,
            others: chosen.others,
            list: chosen.steps,
            ..Steps::default()
        };
        steps.order();
        let step_of: FxHashMap<u32, u32> = chosen.marks.iter().map(|(at, step)| (*at as u32, *step)).collect();
        let mut device_of: FxHashMap<&str, u32> = FxHashMap::default();
        if chosen.rule == Rule::StepsLine {
            for (at, step) in chosen.marks {
                let (plane, mark) = &self.device_steps[at];
                let next = device_of.len() as u32;
                let device = *device_of.entry(plane).or_insert(next);
                steps.own.resize(device_of.len(), Vec::new());
                steps.own[device as usize].push((mark.start, mark.end, step));
            }
            steps.own.iter_mut().for_each(|steps| steps.sort_unstable());
        }
        let marked = |marks: &[u32; MARKS], run: u32| {
            let mark = match chosen.rule {
                Rule::Marker => marks[CUSTOM],
                Rule::StepNum => marks[STEP],
                Rule::FunctionCalls => marks[CALL],
                Rule::Root => marks[ROOT],
                Rule::ModuleRuns => run,
                _ => return None,
            };
            step_of.get(&mark).copied()
        };
        let launched = |launch: Launch, key: Option<Key>| {
            let (around, start) = self.launches.get(&(launch, key?))?;
            let step = marked(&around.marks, around.run).unwrap_or_else(|| steps.at(*start));
            Some(step).filter(|step| *step != NONE)
        };
        let ways = self.contexts.iter().map(|context| {
            let plane = &self.planes[context.plane as usize];
            if let Some(step) = marked(&context.marks, context.run) {
                return Way::Marked(step);
            }
            if let Some(device) = device_of.get(plane.as_str()) {
                return Way::Device(*device);
            }
            let kinds = [Launch::Correlation, Launch::Run, Launch::Function];
            let mut launches = kinds.into_iter().zip(context.launches);
            launches.find_map(|(launch, key)| launched(launch, key)).map_or(Way::Time, Way::Launched)
        });
        let ways = ways.collect();
        steps.ways = ways;
        steps
    }
}

/// Steps by the numbers of their marks: equal numbers are one, from the first start to the last end.
fn grouped(rule: Rule, marker: String, others: Vec<String>, marks: &[Mark], mine: &[usize]) -> Chosen {
    group(rule, marker, others, mine, |at| &marks[at])
}

fn group<'m>(
    rule: Rule,
    marker: String,
    others: Vec<String>,
    mine: &[usize],
    mark: impl Fn(usize) -> &'m Mark,
) -> Chosen {
    let mut by_number: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for at in mine {
        let Mark { start, end, number, .. } = mark(*at);
        let step = by_number.entry(number.unwrap_or(0)).or_insert((*start, *end));
        *step = (step.0.min(*start), step.1.max(*end));
    }
    let mut steps: Vec<Step> =
        by_number.into_iter().map(|(number, (start, end))| Step { number, start, end }).collect();
    steps.sort_by_key(|step| (step.start, step.number));
    let place: FxHashMap<i64, u32> = steps.iter().zip(0..).map(|(step, place)| (step.number, place)).collect();
    let marks = mine.iter().map(|at| (*at, place[&mark(*at).number.unwrap_or(0)])).collect();
    Chosen { rule, marker, others, steps, marks }
}

/// Each mark a step, numbered from 0 by start.
fn by_place(rule: Rule, marker: String, others: Vec<String>, marks: &[Mark], mut mine: Vec<usize>) -> Chosen {
    mine.sort_by_key(|at| (marks[*at].start, marks[*at].end));
    let steps = mine.iter().zip(0..).map(|(at, number)| {
        let Mark { start, end, .. } = marks[*at];
        Step { number, start, end }
    });
    let steps = steps.collect();
    Chosen { rule, marker, others, steps, marks: mine.into_iter().zip(0..).collect() }
}
