//! `tfprof cost`: the cost of a model, compared with a budget and a baseline.

use super::{Exit, deliver, load_into, refuse_damage, several_batches, warn};
use crate::flags::Request;
use std::io::Write;
use std::path::Path;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::baseline::changes;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Budget, Checked, Cost, Error, Inputs, Output, Profiler, Spelling, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (flags, output) = (&request.flags, &request.options.output);
    several_batches(request)?;
    if Output::takes_file(&output.form) && !FORMS.contains(&output.form.as_str()) {
        let form = &output.form;
        return Err(Error::Question(format!("cost has no form `{form}`; expected table, json, markdown or html")));
    }
    // Read the budget first: its errors should not wait for the model.
    let mut budget = match flags.budget.as_str() {
        "" => None,
        file => Some(read_budget(file)?),
    };
    if flags.fail_on_unknown {
        budget.get_or_insert_default().limit_unknown();
    }
    let cost = load(request, &flags.inputs, err)?;
    warn(&told(&cost, output), err);
    let mut exit = refuse_damage(&cost.warnings, flags.strict)?;
    let baseline = match flags.baseline.as_str() {
        "" => None,
        path => {
            let mut inputs = Inputs::default();
            inputs.settings = flags.inputs.settings.clone();
            inputs.add_path(Path::new(path))?;
            Some((path, load(request, &inputs, err)?))
        }
    };
    let verdict = budget.map(|budget| budget.check(&cost, baseline.as_ref().map(|(_, before)| before)));
    let over = verdict.map(|verdict| {
        tell_unchecked(&verdict, err);
        verdict.over
    });
    if over.as_ref().is_some_and(|over| !over.is_empty()) {
        exit = Exit::CheckFailed;
    }
    let changes = baseline.as_ref().map(|(name, before)| (*name, changes(before, &cost, &flags.comparing)));
    let report = Report { cost: &cost, over, changes, spelling: Spelling::CommandLine };
    let title = format!("cost of {}", request.named.join(", "));
    let [text, json, markdown, html] = FORMS;
    deliver(
        request,
        &flags.files(),
        out,
        err,
        &[
            (text, &|out| write_tables(&report, Style::Text(request.terminal.width), out)),
            (json, &|out| write_json(&report, out)),
            (markdown, &|out| write_tables(&report, Style::Markdown, out)),
            (html, &|out| write_tables(&report, Style::Html(title.trim_end_matches(" of "), request.page()), out)),
        ],
    )?;
    Ok(exit)
}

const FORMS: [&str; 4] = [Output::TEXT, "json", "markdown", "html"];

fn load(request: &Request, inputs: &Inputs, err: &mut dyn Write) -> Result<Cost, Error> {
    let mut profiler = Profiler::new(needs::COST);
    load_into(&mut profiler, inputs, request.terminal, err)?;
    profiler.cost()
}

/// Tables already name the batch size.
fn told(cost: &Cost, output: &Output) -> Vec<Warning> {
    let needed = |warning: &&Warning| output.form == "json" || warning.code != "batch";
    cost.warnings.iter().filter(needed).cloned().collect()
}

/// Says which limits could not be checked: nobody should think that they are kept.
pub fn tell_unchecked(verdict: &Checked, err: &mut dyn Write) {
    let warning = |limit: &String| Warning::new("unchecked_limit", format!("not checked: {limit}"));
    warn(&verdict.unchecked.iter().map(warning).collect::<Vec<_>>(), err);
}

pub fn read_budget(file: &str) -> Result<Budget, Error> {
    let io_error = |source| Error::Io { file: file.to_owned(), action: "cannot read", source };
    Budget::parse(file, &std::fs::read_to_string(file).map_err(io_error)?)
}
