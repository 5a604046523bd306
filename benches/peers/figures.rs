//! Figures of several runs, and how they compare.

use std::{fmt::Write as _, time::SystemTime};

use serde::{Deserialize, Serialize};

/// What one competitor needed for one piece of work, over its runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    pub who: String,
    /// Seconds until the work was done, each run.
    pub done: Vec<f64>,
    /// Seconds until the program returned, each run.
    pub returned: Vec<f64>,
    /// Peak memory of each run in KiB.
    pub memory: Vec<f64>,
    /// Bytes on the wire, each run.
    pub bytes: Vec<f64>,
    /// Requests a run, by the API server's audit log.
    pub requests: f64,
    /// From when to when each run went, to find its requests in the audit log.
    #[serde(skip)]
    pub windows: Vec<(SystemTime, SystemTime)>,
}

/// A target and what was reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Goal {
    pub what: String,
    pub target: f64,
    pub reached: f64,
    pub unit: String,
}

impl Goal {
    pub fn new(what: &str, target: f64, reached: f64, unit: &str) -> Self {
        Self { what: what.to_owned(), target, reached, unit: unit.to_owned() }
    }

    /// All targets are upper bounds.
    pub fn is_reached(&self) -> bool {
        self.reached <= self.target
    }
}

/// One piece of work, done by several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    pub title: String,
    pub rows: Vec<Figures>,
    pub goals: Vec<Goal>,
    /// Anything else worth reading.
    pub notes: Vec<String>,
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The median of the ratios run by run, which holds when the machine's speed drifts.
pub fn ratio(these: &[f64], those: &[f64]) -> f64 {
    let ratios: Vec<f64> = these.iter().zip(those).map(|(this, that)| this / that).collect();
    median(&ratios)
}

impl Work {
    pub fn row(&self, who: &str) -> &Figures {
        self.rows.iter().find(|row| row.who == who).unwrap_or_else(|| panic!("nobody called {who}"))
    }

    /// How many times as long somebody else took until the work was done.
    pub fn ratio(&self, this: &str, that: &str) -> f64 {
        ratio(&self.row(this).done, &self.row(that).done)
    }

    /// Two goals of one target, like against like: until all is gone, and until each has returned. A peer may have
    /// deleted everything long before it says so, and this program looks a second time before it does: neither alone
    /// is the whole truth, and one's end held against the other's would flatter.
    pub fn against(&mut self, this: &str, that: &str, target: f64) {
        let gone = self.ratio(this, that);
        let returned = ratio(&self.row(this).returned, &self.row(that).returned);
        self.goals.push(Goal::new(&format!("of {that}, until all is gone"), target, gone, ""));
        self.goals.push(Goal::new(&format!("of {that}, until each returns"), target, returned, ""));
    }

    /// Our objects gone against the peer's word: what its user waits for, but no like against like, so no goal.
    pub fn note_mixed(&mut self, this: &str, that: &str) {
        let mixed = ratio(&self.row(this).done, &self.row(that).returned);
        self.notes.push(format!("{this} gone against {that} returned (unlike, no goal): {mixed:.4}"));
    }

    /// A Markdown table, the first row's time being the measure of all others.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n\n", self.title);
        if !self.rows.is_empty() {
            text += "| who | done | times ours | returned | requests | bytes | peak memory |\n";
            text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
        }
        for row in &self.rows {
            let times = ratio(&row.done, &self.rows[0].done);
            let _ = writeln!(
                text,
                "| {} | {} | {times:.2} | {} | {} | {} | {} |",
                row.who,
                spread(&row.done),
                short(median(&row.returned), "s"),
                short(row.requests, ""),
                short(median(&row.bytes) / 1e6, "MB"),
                short(median(&row.memory) / 1024.0, "MiB"),
            );
        }
        text.push('\n');
        for goal in &self.goals {
            let verdict = if goal.is_reached() { "reached" } else { "**missed**" };
            let Goal { what, target, reached, unit } = goal;
            let _ = writeln!(text, "- {what}: {reached:.3}{unit}, to be at most {target:.3}{unit}: {verdict}");
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text.push('\n');
        text
    }
}

fn short(value: f64, unit: &str) -> String {
    if !value.is_finite() || value == 0.0 {
        return "–".to_owned();
    }
    let text = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

fn spread(values: &[f64]) -> String {
    let (least, most) =
        values.iter().fold((f64::MAX, f64::MIN), |(least, most), &value| (least.min(value), most.max(value)));
    if values.is_empty() { "–".to_owned() } else { format!("{:.3} s ({least:.3} to {most:.3})", median(values)) }
}
