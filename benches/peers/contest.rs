//! One competitor's runs of one piece of work.

use std::{
    collections::BTreeMap,
    fs,
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Result, ensure};
use control_plane::AuditEvent;
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    figures::Figures,
    ground::Ground,
    link::Link,
    run::{Ran, run},
    watcher::Watch,
};

/// Longer than the slowest peer.
const LIMIT: Duration = Duration::from_secs(900);

impl Figures {
    pub fn of(who: &str) -> Self {
        Self { who: who.to_owned(), ..Self::default() }
    }

    /// A run that is over when the program returns.
    pub fn look(&mut self, ground: &Ground, command: Command, link: &Link) -> Result<()> {
        let ran = self.run(ground, command, link)?;
        self.done.push(ran.took.as_secs_f64());
        Ok(())
    }

    /// A run that is over when a witness has seen the last object go.
    pub fn purge(&mut self, ground: &Ground, command: Command, link: &Link, watch: &Watch) -> Result<()> {
        ensure!(watch.count > 0, "there is nothing to delete");
        let ran = self.run(ground, command, link)?;
        let gone = watch.gone(LIMIT)?;
        self.done.push(gone.saturating_duration_since(ran.begun).as_secs_f64());
        Ok(())
    }

    fn run(&mut self, ground: &Ground, command: Command, link: &Link) -> Result<Ran> {
        link.bytes.take();
        let log = ground.folder.join("last-run.log");
        let from = SystemTime::now();
        let ran = run(command, &log)?;
        self.windows.push((from, SystemTime::now()));
        if ran.code != 0 {
            let said = fs::read_to_string(&log).unwrap_or_default();
            anyhow::bail!("{} ended with {}:\n{said}", self.who, ran.code);
        }
        // 0: it had ended before anybody could look, which is no measure of anything.
        if ran.peak > 0 {
            self.memory.push(ran.peak as f64);
        }
        self.bytes.push(link.bytes.take() as f64);
        self.returned.push(ran.took.as_secs_f64());
        Ok(ran)
    }

    /// Drops the first run, which found everything cold.
    pub fn forget_first(&mut self) {
        for values in [&mut self.done, &mut self.returned, &mut self.bytes] {
            values.remove(0);
        }
        self.windows.remove(0);
    }
}

/// A floor: what the server needs when it is asked directly, without any program.
pub fn floor(figures: &mut Figures, watch: &Watch, act: impl FnOnce() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    act()?;
    let returned = begun.elapsed();
    let gone = watch.gone(LIMIT)?;
    figures.returned.push(returned.as_secs_f64());
    figures.done.push(gone.saturating_duration_since(begun).as_secs_f64());
    Ok(())
}

/// The requests of one user, by verb and resource. A watch counts when it begins.
pub fn requests_of(ground: &Ground, user: &str) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for event in ground.plane.audit_events()? {
        if event.user() == user && is_counted(&event) {
            let of = match (event.resource(), event.subresource()) {
                ("", _) => event.uri().split('?').next().unwrap_or_default().to_owned(),
                (resource, "") => resource.to_owned(),
                (resource, subresource) => format!("{resource}/{subresource}"),
            };
            let tried = if event.is_dry_run() { " (dry run)" } else { "" };
            *counts.entry(format!("{} {of}{tried}", event.verb())).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Fills in how many requests each competitor made a run: by its user, for whom the log tells competitors apart, and
/// by the time of its runs, for two may share a user. The floors make none that are worth a count.
pub fn count_requests(ground: &Ground, rows: &mut [Figures]) -> Result<()> {
    let events = ground.plane.audit_events()?;
    for row in rows {
        let user = user_of(&row.who);
        let mut count = 0_usize;
        for event in events.iter().filter(|event| event.user() == user && is_counted(event)) {
            let at = event.json().pointer("/requestReceivedTimestamp").and_then(Value::as_str).unwrap_or_default();
            let at = SystemTime::from(at.parse::<Timestamp>()?);
            count += usize::from(row.windows.iter().any(|(from, to)| (*from..=*to).contains(&at)));
        }
        row.requests = count as f64 / row.windows.len().max(1) as f64;
    }
    Ok(())
}

/// Whose token a competitor carries, by its name in the table.
fn user_of(who: &str) -> &'static str {
    match who {
        ours if ours.starts_with("kubectl purge") => "purge",
        kubectl if kubectl.starts_with("kubectl") => "kubectl",
        helm if helm.starts_with("helm") => "helm",
        _ => "",
    }
}

/// Each request once: a watch, which is logged twice, when it begins.
fn is_counted(event: &AuditEvent) -> bool {
    event.stage() == if event.verb() == "watch" { "ResponseStarted" } else { "ResponseComplete" }
}
