//! The end of a run as people read it: that all is gone, or exactly what is not and what to do about it.

use std::time::Duration;

use super::{
    Look, command,
    duration::{age, took},
    escape, plan,
    style::Tone,
    wrap::{brief, prose},
};
use crate::{
    exit::Exit,
    plan::PlanObject,
    report::{Outcome, PutBack, QuotaChange, Report},
};

/// Objects that an interrupted run names.
const MOST_UNFINISHED: usize = 10;

/// The closing lines, each ended.
#[must_use]
pub fn render(report: &Report, look: &Look) -> String {
    let counts = Counts::of(report);
    let mut text = Text { text: String::new(), look };
    let (tone, word, rest) = headline(report, &counts);
    text.say(tone, word, &rest);
    let complete = counts.is_complete();
    let interrupted = report.exit == Exit::Interrupted;
    if !complete && !interrupted {
        if let (false, Some(error)) = (report.verified, &report.verify_error) {
            text.line(&format!("not verified: looking again failed: {error}"));
        }
        for line in plan::unseen(&report.plan.unseen) {
            text.line(&line);
        }
        left(report, &mut text);
    }
    for change in report.quota.iter().filter(|change| change.released || !interrupted) {
        text.line(&quota(change, counts.pods_left, look.unicode));
    }
    match &report.put_back {
        Some(all) => put_back(report, all, &mut text),
        None if interrupted => unfinished(report, &mut text),
        None => {}
    }
    if !complete || interrupted {
        next(report, &mut text);
    }
    text.text
}

/// How many objects came to which end.
struct Counts {
    gone: usize,
    kept: usize,
    lost: usize,
    left: usize,
    back: usize,
    new: usize,
    /// Resources of quotas that were not given back.
    unreleased: usize,
    pods_left: bool,
}

impl Counts {
    fn of(report: &Report) -> Self {
        let count = |is: fn(&Outcome) -> bool| report.outcomes.iter().filter(|outcome| is(outcome)).count();
        let pod_left = |object: &PlanObject| object.kind.is("", "Pod");
        Self {
            gone: count(|outcome| matches!(outcome, Outcome::Gone)),
            kept: count(|outcome| matches!(outcome, Outcome::Kept)),
            lost: count(|outcome| matches!(outcome, Outcome::Lost)),
            left: count(|outcome| matches!(outcome, Outcome::Left { .. })),
            back: count(|outcome| matches!(outcome, Outcome::Recreated { .. })),
            new: report.newcomers.len(),
            unreleased: report.quota.iter().filter(|change| !change.released).count(),
            pods_left: still_there(report).any(|(object, _)| pod_left(object))
                || report.newcomers.iter().any(|newcomer| newcomer.kind.is("", "Pod")),
        }
    }

    fn is_complete(&self) -> bool {
        self.left + self.lost + self.back + self.new + self.unreleased == 0
    }

    /// What was to go.
    fn total(&self) -> usize {
        self.gone + self.left + self.back
    }
}

/// Objects that are left or came back.
fn still_there(report: &Report) -> impl Iterator<Item = (&PlanObject, &Outcome)> {
    let outcomes = report.plan.objects.iter().zip(&report.outcomes);
    outcomes.filter(|(_, outcome)| matches!(outcome, Outcome::Left { .. } | Outcome::Recreated { .. }))
}

/// Kinds that could not be read, told by name in the first line.
const MOST_UNREAD: usize = 5;

/// The first line: a word in its colour, and the rest.
fn headline(report: &Report, counts: &Counts) -> (Tone, &'static str, String) {
    let (what, namespace) = (report.plan.subject(), &report.plan.place.namespace);
    let subject = format!("{what} in namespace \"{namespace}\"");
    let (gone, total, time) = (counts.gone, counts.total(), took(report.took));
    let kept = if counts.kept > 0 { format!(", {} kept", counts.kept) } else { String::new() };
    if let Some(all) = report.put_back.as_ref().filter(|_| report.exit != Exit::Interrupted) {
        let failed = all.iter().filter(|one| one.error.is_some()).count();
        return match (all.len(), failed) {
            (0, _) => {
                (Tone::Plain, "Nothing", format!("to put back: no purge has left anything of {subject} changed."))
            }
            (count, 0) => {
                (Tone::Green, "Restored", format!("{subject}: {} put back, nothing deleted.", objects(count)))
            }
            (count, failed) => {
                (Tone::Red, "Incomplete:", format!("{subject}: {failed} of {} not put back.", objects(count)))
            }
        };
    }
    if let Some(all) = &report.put_back {
        let what = match (all.is_empty(), all.iter().all(|one| one.error.is_none())) {
            (true, _) => "nothing was changed",
            (false, true) => "nothing was deleted, and what was paused or scaled down is put back",
            (false, false) => "nothing was deleted, but not everything could be put back",
        };
        return (Tone::Red, "Interrupted:", format!("{subject}: {what}."));
    }
    if report.exit == Exit::Interrupted {
        return (Tone::Red, "Interrupted:", format!("{subject}: {gone} of {} gone after {time}.", objects(total)));
    }
    if !counts.is_complete() {
        let mut parts = Vec::new();
        for (count, words) in [
            (counts.left, "left"),
            (counts.lost, "lost that was to stay"),
            (counts.back, "came back"),
            (counts.new, "new"),
        ] {
            if count > 0 {
                parts.push(format!(", {count} {words}"));
            }
        }
        if counts.unreleased > 0 {
            parts.push(", quota not released".into());
        }
        let rest = format!("{subject}: {gone} of {} gone{kept}{}, after {time}.", objects(total), parts.concat());
        return (Tone::Red, "Incomplete:", rest);
    }
    if !report.verified {
        let why = report.verify_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let rest = format!("{subject}: {} seen to go in {time}{kept}, but looking again failed{why}.", objects(gone));
        return (Tone::Yellow, "Not verified:", rest);
    }
    let unread: Vec<String> =
        report.plan.unseen.iter().map(|unseen| format!("{} ({})", unseen.resource, unseen.why.name())).collect();
    let except = match unread.as_slice() {
        [] => String::new(),
        unread if unread.len() > MOST_UNREAD => {
            format!(", except {} kinds that could not be read (see the plan)", unread.len())
        }
        unread => format!(", except what could not be read: {}", unread.join(", ")),
    };
    let rest =
        format!("{what} from namespace \"{namespace}\": {} gone{kept}, verified in {time}{except}.", objects(gone));
    (if unread.is_empty() { Tone::Green } else { Tone::Yellow }, "Purged", rest)
}

/// All that is there and should not be, with what is known of why.
fn left(report: &Report, text: &mut Text) {
    let mut title = Some("Left:");
    for (object, outcome) in still_there(report) {
        if let Outcome::Left { finalizers, blocked_by } = outcome {
            text.title(title.take());
            text.item(&object.title());
            for why in blocked_by {
                text.detail(why);
            }
            // The same finalizer may well stand in the sentence.
            for finalizer in finalizers.iter().filter(|one| !blocked_by.iter().any(|why| why.contains(one.as_str()))) {
                text.detail(&format!("finalizer {finalizer}"));
            }
        }
    }
    let mut title = Some("Was to stay, and is gone:");
    let lost = report.plan.objects.iter().zip(&report.outcomes).filter(|(_, outcome)| **outcome == Outcome::Lost);
    for (object, _) in lost {
        text.title(title.take());
        text.item(&object.title());
    }
    let mut title = Some("Came back:");
    for (object, outcome) in still_there(report) {
        if let Outcome::Recreated { uid, by } = outcome {
            text.title(title.take());
            text.item(&object.title());
            let by = by.as_ref().map(|by| format!("made by {by}, ")).unwrap_or_default();
            text.detail(&format!("{by}new uid {uid}"));
        }
    }
    let mut title = Some("New since the plan:");
    for newcomer in &report.newcomers {
        text.title(title.take());
        text.item(&newcomer.title());
        let why = if newcomer.why.is_empty() { String::new() } else { format!("{}, ", newcomer.why) };
        let by = newcomer.by.as_ref().map(|by| format!("made by {by}, ")).unwrap_or_default();
        text.detail(&format!("{why}{by}uid {}", newcomer.uid));
    }
}

/// What an interrupted run has not come to: the first of it, for all the rest is in the plan above.
fn unfinished(report: &Report, text: &mut Text) {
    let left: Vec<String> = still_there(report).map(|(object, _)| object.title()).collect();
    let mut title = Some("Left:");
    for one in left.iter().take(MOST_UNFINISHED) {
        text.title(title.take());
        text.item(one);
    }
    if left.len() > MOST_UNFINISHED {
        text.item(&format!("and {} more", left.len() - MOST_UNFINISHED));
    }
}

/// What could not be put back, and how to do so by hand.
fn put_back(report: &Report, all: &[PutBack], text: &mut Text) {
    let mut title = Some("Not put back:");
    for one in all {
        let Some(error) = &one.error else { continue };
        text.title(title.take());
        text.item(&one.title);
        text.detail(error);
    }
    let mut title = Some("To put it back by hand:");
    for one in all.iter().filter(|one| one.error.is_some()) {
        if let Some(command) = one.replicas.and_then(|replicas| command::scale(&report.plan, &one.resource, replicas)) {
            text.title(title.take());
            text.command(&command);
        }
    }
}

/// What became of one resource of a quota.
fn quota(change: &QuotaChange, pods_left: bool, unicode: bool) -> String {
    let QuotaChange { quota, resource, charged, before, after, released, seconds } = change;
    let duration = Duration::try_from_secs_f64(*seconds).unwrap_or_default();
    if *released {
        let arrow = if unicode { "→" } else { "->" };
        return format!(
            "quota \"{quota}\": {resource} {before} {arrow} {after} (released {charged} in {})",
            took(duration)
        );
    }
    match (counts_pods(resource), pods_left) {
        (true, true) => format!("quota \"{quota}\" still counts {resource} {after}: pods are left"),
        (true, false) => {
            format!("pods are gone but quota \"{quota}\" still counts {resource} {after} after {}", age(duration))
        }
        (false, _) => format!("quota \"{quota}\" still counts {resource} {after} after {}", age(duration)),
    }
}

/// Whether a quota's resource is charged by pods, and not by objects of other kinds or by claims.
fn counts_pods(resource: &str) -> bool {
    match resource {
        "pods" | "count/pods" => true,
        "requests.storage"
        | "services"
        | "configmaps"
        | "secrets"
        | "persistentvolumeclaims"
        | "replicationcontrollers"
        | "resourcequotas" => false,
        _ => {
            !resource.starts_with("count/") && !resource.starts_with("services.") && !resource.contains("storageclass")
        }
    }
}

/// What to type next.
fn next(report: &Report, text: &mut Text) {
    let plan = &report.plan;
    if report.exit == Exit::Interrupted {
        text.title(Some("To go on:"));
        text.command(&command::purge(plan));
        return;
    }
    let mut names: Vec<String> =
        still_there(report).map(|(object, _)| format!("{}/{}", object.kind.resource(), object.name)).collect();
    let newcomers = report.newcomers.iter();
    names.extend(newcomers.map(|newcomer| format!("{}/{}", newcomer.kind.resource(), newcomer.name)));
    if names.is_empty() {
        let change = report.quota.iter().find(|change| !change.released);
        if let Some(command) = change.and_then(|change| command::look_at_quota(plan, &change.quota)) {
            text.title(Some("To see what the quota counts:"));
            text.command(&command);
        }
        return;
    }
    if let Some(look) = command::look_at(plan, &names) {
        text.title(Some("To see what is there:"));
        text.command(&look);
    }
    text.title(Some("To go on once nothing holds it:"));
    text.command(&command::purge(plan));
}

/// The lines so far. Whatever goes in is escaped here.
struct Text<'look> {
    text: String,
    look: &'look Look,
}

impl Text<'_> {
    fn say(&mut self, tone: Tone, word: &str, rest: &str) {
        let line = prose(&format!("{word} {}", escape::line(rest)), self.look.width);
        let rest = line.strip_prefix(word).unwrap_or_default();
        let word = tone.paint(word, self.look.color);
        self.push(&format!("{word}{rest}"));
    }

    fn line(&mut self, line: &str) {
        self.push(&prose(&escape::line(line), self.look.width));
    }

    fn title(&mut self, title: Option<&str>) {
        if let Some(title) = title {
            self.push(title);
        }
    }

    /// Never wrapped: it is copied.
    fn item(&mut self, item: &str) {
        self.push(&format!("  {}", brief(item)));
    }

    fn detail(&mut self, detail: &str) {
        let room = self.look.width.map(|width| width.saturating_sub(4));
        self.push(&format!("    {}", prose(&brief(detail), room).replace('\n', "\n    ")));
    }

    /// Never wrapped: it is copied.
    fn command(&mut self, command: &str) {
        self.push(&format!("  {}", escape::line(command)));
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// `1 object`, `9 objects`.
fn objects(count: usize) -> String {
    format!("{count} object{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
