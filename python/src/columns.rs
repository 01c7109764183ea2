//! The rows of an answer as columns, from which Python makes rows and tables without a detour through text.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tfprof::metric::Metric;
use tfprof::units::Amount;
use tfprof::view::{Shown, View};

/// Numbers are 64 bits each, in the order of this machine: whole (`q`), or finer than their unit (`d`).
#[derive(Debug)]
pub struct Columns {
    names: Vec<String>,
    parents: Vec<u8>,
    depths: Vec<u8>,
    accounted: Vec<u8>,
    numbers: Vec<Numbers>,
    warnings: Vec<String>,
}

/// A metric: its key, what its numbers are, those of rows alone, and totals. What the files do not say has none.
#[derive(Debug)]
struct Numbers {
    key: &'static str,
    kind: &'static str,
    own: Vec<u8>,
    total: Vec<u8>,
}

impl Columns {
    pub fn new(view: &View) -> Self {
        let rows = view.rows();
        let column = |number: &dyn Fn(&Shown) -> i64| -> Vec<u8> {
            rows.iter().flat_map(|row| number(row).to_ne_bytes()).collect()
        };
        let amounts = |metric: Metric, amount: &dyn Fn(&Shown) -> Amount| -> Vec<u8> {
            let in_parts = view.model.parts(metric) > 1;
            let bytes = |row| match amount(row) {
                amount if in_parts => (amount.n as f64 / amount.parts as f64).to_ne_bytes(),
                amount => amount.n.to_ne_bytes(),
            };
            rows.iter().flat_map(bytes).collect()
        };
        let numbers = |metric: Metric| {
            let key = metric.info().key;
            if !view.knows(metric) {
                return Numbers { key, kind: "", own: Vec::new(), total: Vec::new() };
            }
            Numbers {
                key,
                kind: if view.model.parts(metric) > 1 { "d" } else { "q" },
                own: amounts(metric, &|row| view.exact_own(metric, row)),
                total: amounts(metric, &|row| view.exact_total(metric, row)),
            }
        };
        Columns {
            names: rows.iter().map(|row| view.name(row).to_owned()).collect(),
            parents: column(&|row| row.parent as i64),
            depths: column(&|row| row.depth as i64),
            accounted: rows.iter().map(|row| u8::from(view.is_accounted(row))).collect(),
            numbers: view.metrics().iter().map(numbers).collect(),
            warnings: view.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<'py> IntoPyObject<'py> for Columns {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let columns = PyDict::new(py);
        columns.set_item("name", self.names)?;
        columns.set_item("parent", PyBytes::new(py, &self.parents))?;
        columns.set_item("depth", PyBytes::new(py, &self.depths))?;
        columns.set_item("accounted", PyBytes::new(py, &self.accounted))?;
        for Numbers { key, own, total, .. } in &self.numbers {
            columns.set_item(format!("self_{key}"), PyBytes::new(py, own))?;
            columns.set_item(format!("total_{key}"), PyBytes::new(py, total))?;
        }
        columns.set_item("metrics", self.numbers.iter().map(|numbers| numbers.key).collect::<Vec<_>>())?;
        columns.set_item("kinds", self.numbers.iter().map(|numbers| numbers.kind).collect::<Vec<_>>())?;
        columns.set_item("warnings", self.warnings)?;
        Ok(columns)
    }
}
