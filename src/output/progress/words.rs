//! What is said of each event. All of it is escaped here.

use std::time::Duration;

use super::tally::{Count, Tally};
use crate::{
    output::{
        duration::{age, took},
        wrap::brief,
    },
    run::{Blocker, Event, Phase},
};

/// The line that a pipe gets; none for what other lines say as well.
pub(super) fn line(event: &Event, tally: &Tally) -> Option<String> {
    let line = match event {
        Event::Started { .. } | Event::Gone { .. } | Event::Remaining { .. } => return None,
        Event::Scaled { title, from } => format!("scaled {title} from {from} to 0"),
        Event::Paused { title, how } => format!("{title} {how}"),
        Event::Deleted { title } => format!("deleting {title}"),
        Event::Waiting { phase, waited, remaining, blockers } => {
            return Some(waiting(*phase, *waited, *remaining, blockers));
        }
        Event::Finished { phase, took } => finished(*phase, tally.of(*phase), *took)?,
        _ => remark(event)?,
    };
    Some(brief(&line))
}

/// What is worth a line of its own wherever it is shown.
pub(super) fn remark(event: &Event) -> Option<String> {
    let line = match event {
        Event::Trouble { title, message } if title.is_empty() => format!("trouble: {message}"),
        Event::Trouble { title, message } => format!("trouble: {title}: {message}"),
        Event::Restored { title, how } => format!("restored {title}: {how}"),
        Event::Warning { message } => format!("warning: {message}"),
        Event::Forced { title, what } => format!("forced {title}: {what}"),
        Event::Stopping => "stopping: nothing new is begun (once more to leave at once)".into(),
        Event::Irreversible => "from here on nothing can be put back".into(),
        _ => return None,
    };
    Some(brief(&line))
}

/// What a phase came to; none where it had nothing to do.
pub(super) fn finished(phase: Phase, count: Count, duration: Duration) -> Option<String> {
    let Count { total, remaining } = count;
    let took = took(duration);
    let name = phase.name();
    if phase == Phase::Verify {
        return Some(format!("looked again in {took}"));
    }
    Some(match (phase, remaining) {
        _ if total == 0 => return None,
        (Phase::Pause, 0) => format!("paused {} in {took}", things(phase, total)),
        (Phase::Pause, _) => format!("paused {} of {} in {took}", total - remaining.min(total), things(phase, total)),
        (Phase::Drain, 0) => format!("drained {} in {took}", things(phase, total)),
        (Phase::Quota, 0) => format!("quota released in {took}"),
        (Phase::Quota, _) => format!("quota not released after {took}"),
        (_, 0) => format!("{name}: {} gone in {took}", things(phase, total)),
        _ => format!("{name}: {remaining} of {} still there after {took}", things(phase, total)),
    })
}

/// What a phase is doing, in a few words.
pub(super) fn doing(phase: Phase, count: Count) -> String {
    let Count { total, remaining } = count;
    match phase {
        Phase::Verify => "looking again".into(),
        Phase::Quota => "waiting for the release".into(),
        Phase::Pause => format!("pausing {}", things(phase, total)),
        _ if total == 0 => String::new(),
        _ => format!("{} of {} gone", total.saturating_sub(remaining), things(phase, total)),
    }
}

fn waiting(phase: Phase, waited: Duration, remaining: usize, blockers: &[Blocker]) -> String {
    let mut shown: Vec<String> = blockers
        .iter()
        .map(|blocker| match details(blocker) {
            details if details.is_empty() => brief(&blocker.title),
            details => brief(&format!("{} ({details})", blocker.title)),
        })
        .collect();
    let more = remaining.saturating_sub(blockers.len());
    if more > 0 && !shown.is_empty() {
        shown.push(format!("and {more} more"));
    }
    let colon = if shown.is_empty() { "" } else { ": " };
    format!("waiting {} for {}{colon}{}", age(waited), things(phase, remaining), shown.join(", "))
}

/// A thing that is waited for, on its own line: `Pod/demo-0: deleting for 20s, finalizer example.com/hold`.
pub(super) fn blocker(blocker: &Blocker) -> String {
    let details = details(blocker);
    let colon = if details.is_empty() { "" } else { ": " };
    brief(&format!("{}{colon}{details}", blocker.title))
}

/// For how long it has been on its way out and what holds it, each said once.
fn details(blocker: &Blocker) -> String {
    let mut parts = Vec::new();
    if let Some(duration) = blocker.deleting_for {
        parts.push(format!("deleting for {}", age(duration)));
    }
    if !blocker.cause.is_empty() {
        parts.push(blocker.cause.clone());
    }
    let unnamed: Vec<&str> =
        blocker.finalizers.iter().map(String::as_str).filter(|finalizer| !blocker.cause.contains(*finalizer)).collect();
    match unnamed.as_slice() {
        [] => {}
        [one] => parts.push(format!("finalizer {one}")),
        several => parts.push(format!("finalizers {}", several.join(", "))),
    }
    parts.join(", ")
}

/// `1 pod`, `3 objects`.
fn things(phase: Phase, count: usize) -> String {
    let noun = match phase {
        Phase::Drain => "pod",
        Phase::Quota => "quota",
        _ => "object",
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
