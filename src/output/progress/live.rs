//! The live display: finished phases stay as lines, what goes on is redrawn below them.

use std::{fmt::Write, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{
    tally::Tally,
    words::{blocker, doing, finished, remark},
};
use crate::{
    output::{duration::age, style::Tone, width, wrap::prose},
    run::{Blocker, Event, Phase},
};

/// indicatif never hides the cursor, so there is nothing to restore when a signal ends the process.
pub(super) struct Live {
    display: MultiProgress,
    style: ProgressStyle,
    running: Vec<Running>,
    color: bool,
    unicode: bool,
}

/// A phase that goes on.
struct Running {
    phase: Phase,
    bar: ProgressBar,
    /// What is waited for since long; empty as long as things move.
    blockers: Vec<Blocker>,
    /// How many there are beside `blockers`.
    more: usize,
}

impl Live {
    pub(super) fn new(color: bool, unicode: bool) -> Self {
        let elapsed = |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&age(state.elapsed()));
        };
        let style = ProgressStyle::with_template("{spinner} {prefix}   {took}{msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .tick_chars(if unicode { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "|/-\\ " })
            .with_key("took", elapsed);
        let display = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        Self { display, style, running: Vec::new(), color, unicode }
    }

    pub(super) fn tell(&mut self, event: &Event, tally: &Tally) {
        match event {
            Event::Started { phase, .. } => self.start(*phase, tally),
            Event::Remaining { phase, .. } => self.update(*phase, tally, |_| ()),
            Event::Gone { phase, title } => self.update(*phase, tally, |running| {
                running.blockers.retain(|blocker| blocker.title != *title);
            }),
            Event::Waiting { phase, remaining, blockers, .. } => self.update(*phase, tally, |running| {
                running.blockers.clone_from(blockers);
                running.more = remaining.saturating_sub(blockers.len());
            }),
            Event::Finished { phase, took } => self.finish(*phase, *took, tally),
            Event::Trouble { .. }
            | Event::Warning { .. }
            | Event::Restored { .. }
            | Event::Forced { .. }
            | Event::Stopping => self.say(event, Tone::Yellow),
            Event::Irreversible => self.say(event, Tone::Plain),
            // The counts tell it.
            Event::Paused { .. } | Event::Scaled { .. } | Event::Deleted { .. } => {}
        }
    }

    fn start(&mut self, phase: Phase, tally: &Tally) {
        let bar = self.display.add(ProgressBar::new_spinner().with_style(self.style.clone()));
        self.running.push(Running { phase, bar: bar.clone(), blockers: Vec::new(), more: 0 });
        self.update(phase, tally, |_| ());
        bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn update(&mut self, phase: Phase, tally: &Tally, change: impl FnOnce(&mut Running)) {
        if let Some(running) = self.running.iter_mut().find(|running| running.phase == phase) {
            change(running);
            let name = phase.name();
            running.bar.set_prefix(format!("{name:<9}  {}", doing(phase, tally.of(phase))));
            running.bar.set_message(below(&running.blockers, running.more, width::of_stderr()));
        }
    }

    fn finish(&mut self, phase: Phase, took: Duration, tally: &Tally) {
        let count = tally.of(phase);
        if let Some(index) = self.running.iter().position(|running| running.phase == phase) {
            let running = self.running.remove(index);
            running.bar.finish_and_clear();
            self.display.remove(&running.bar);
        }
        let Some(line) = finished(phase, count, took) else { return };
        let (sign, tone) = match (count.remaining, self.unicode) {
            (0, true) => ("✓", Tone::Green),
            (0, false) => ("+", Tone::Green),
            _ => ("!", Tone::Yellow),
        };
        self.print(sign, &line, tone);
    }

    /// The first word in its colour.
    fn say(&self, event: &Event, tone: Tone) {
        if let Some(line) = remark(event) {
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            self.print(word, rest, tone);
        }
    }

    /// A line that stays, above what is redrawn. Where it cannot be written the run goes on all the same.
    fn print(&self, word: &str, rest: &str, tone: Tone) {
        let text = prose(&format!("{word} {rest}"), width::of_stderr());
        let rest = text.strip_prefix(word).unwrap_or_default();
        let _ = self.display.println(format!("{}{rest}", tone.paint(word, self.color)));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        for running in self.running.drain(..) {
            running.bar.finish_and_clear();
        }
        let _ = self.display.clear();
    }
}

/// What is waited for, each on its line below the phase.
fn below(blockers: &[Blocker], more: usize, width: Option<usize>) -> String {
    const INDENT: &str = "\n    ";
    // The last column stays free: a line that fills it makes some terminals begin another.
    let room = width.map(|width| width.saturating_sub(5));
    let mut text = String::new();
    for shown in blockers {
        text.push_str(INDENT);
        text.push_str(&prose(&blocker(shown), room).replace('\n', INDENT));
    }
    if more > 0 && !blockers.is_empty() {
        let _ = write!(text, "{INDENT}and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        output::{escape, progress::tally::Count},
        plan::Wave,
    };

    #[test]
    fn what_is_waited_for_stands_below_its_phase() {
        let held = Blocker {
            title: "Pod/demo-0".into(),
            deleting_for: Some(Duration::from_secs(20)),
            finalizers: vec!["example.com/hold".into()],
            cause: String::new(),
        };
        assert_eq!(
            below(&[held], 2, None),
            "\n    Pod/demo-0: deleting for 20s, finalizer example.com/hold\n    and 2 more"
        );
        assert_eq!(below(&[], 2, None), "");
    }

    #[test]
    fn what_is_waited_for_tells_the_terminal_nothing_whatever_it_is_called() {
        let hostile = "a\u{1b}[2J\n\u{1b}]52;c;eA==\u{7}\r\u{202e}".repeat(1000);
        let held = Blocker {
            title: hostile.clone(),
            deleting_for: None,
            finalizers: vec![hostile.clone()],
            cause: hostile.clone(),
        };
        let shown = below(&[held.clone(), held], 2, Some(80));
        assert!(!shown.lines().any(|line| line.chars().any(escape::is_harmful) || line.contains('\r')), "{shown}");
        assert!(shown.lines().count() < 200, "{} lines", shown.lines().count());
    }

    #[test]
    fn a_phase_says_how_far_it_is() {
        assert_eq!(doing(Phase::Drain, Count { total: 3, remaining: 1 }), "2 of 3 pods gone");
        assert_eq!(doing(Phase::Wave(Wave::Services), Count { total: 1, remaining: 1 }), "0 of 1 object gone");
        assert_eq!(doing(Phase::Quota, Count { total: 1, remaining: 1 }), "waiting for the release");
        assert_eq!(doing(Phase::Verify, Count::default()), "looking again");
    }
}
