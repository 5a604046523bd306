//! The run as it goes on, on standard error: a live display on a terminal, one line a step elsewhere.

mod live;
mod tally;
mod words;

use std::{env, io, io::IsTerminal as _};

use tracing::level_filters::LevelFilter;

use self::{live::Live, tally::Tally};
use super::{Color, ColorEnv, stream, unicode};
use crate::run::Event;

/// Listens to a run.
pub struct Progress {
    printer: Printer,
    tally: Tally,
}

enum Printer {
    Live(Live),
    Lines,
}

impl Progress {
    /// For standard error as it is. A terminal that cannot move its cursor gets lines.
    #[must_use]
    pub fn of_stderr(color: Color) -> Self {
        let is_terminal = io::stderr().is_terminal();
        // A display that is redrawn and lines of `-v` would write over each other.
        let is_told = LevelFilter::current() != LevelFilter::OFF;
        let moves = is_terminal && !is_told && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let printer = if moves {
            Printer::Live(Live::new(color.decide(&ColorEnv::read(), is_terminal), unicode()))
        } else {
            Printer::Lines
        };
        Self { printer, tally: Tally::default() }
    }

    /// Shows what happened.
    pub fn tell(&mut self, event: &Event) {
        self.tally.count(event);
        match &mut self.printer {
            Printer::Live(live) => live.tell(event, &self.tally),
            Printer::Lines => {
                if let Some(line) = words::line(event, &self.tally) {
                    stream::to_stderr(&format!("{line}\n"));
                }
            }
        }
    }

    /// Takes the live display away, whatever the run was doing; what it had said stays. Dropping does the same.
    pub fn end(self) {
        drop(self);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        plan::Wave,
        run::{Blocker, Phase},
    };

    /// The lines that a pipe gets.
    fn lines(events: &[Event]) -> Vec<String> {
        let mut tally = Tally::default();
        let line = |event| {
            tally.count(event);
            words::line(event, &tally)
        };
        events.iter().filter_map(line).collect()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn blocker(title: &str, cause: &str) -> Blocker {
        Blocker { title: title.into(), deleting_for: Some(seconds(20)), finalizers: Vec::new(), cause: cause.into() }
    }

    fn waiting(phase: Phase, remaining: usize, blockers: Vec<Blocker>) -> Event {
        Event::Waiting { phase, waited: seconds(20), remaining, blockers }
    }

    #[test]
    fn a_run_in_a_pipe_is_one_line_a_step() {
        let workloads = Phase::Wave(Wave::Workloads);
        let held = Blocker {
            finalizers: vec!["example.com/hold".into()],
            ..blocker("Pod/demo-0", "finalizer example.com/hold")
        };
        assert_eq!(
            lines(&[
                Event::Started { phase: Phase::Drain, total: 3 },
                Event::Scaled { title: "Deployment/demo".into(), from: 3 },
                Event::Gone { phase: Phase::Drain, title: "Pod/demo-1".into() },
                Event::Remaining { phase: Phase::Drain, remaining: 1, total: 3 },
                waiting(Phase::Drain, 1, vec![held]),
                Event::Remaining { phase: Phase::Drain, remaining: 0, total: 3 },
                Event::Finished { phase: Phase::Drain, took: Duration::from_millis(21_200) },
                Event::Irreversible,
                Event::Started { phase: workloads, total: 2 },
                Event::Deleted { title: "Deployment/demo".into() },
                Event::Warning { message: "v1 is deprecated".into() },
                Event::Trouble { title: "ReplicaSet/demo-1".into(), message: "conflict:\nanother uid".into() },
                Event::Remaining { phase: workloads, remaining: 1, total: 2 },
                Event::Finished { phase: workloads, took: seconds(65) },
                Event::Started { phase: Phase::Quota, total: 1 },
                Event::Remaining { phase: Phase::Quota, remaining: 0, total: 1 },
                Event::Finished { phase: Phase::Quota, took: Duration::from_millis(400) },
                Event::Started { phase: Phase::Verify, total: 0 },
                Event::Finished { phase: Phase::Verify, took: Duration::from_millis(300) },
            ]),
            [
                "scaled Deployment/demo from 3 to 0",
                "waiting 20s for 1 pod: Pod/demo-0 (deleting for 20s, finalizer example.com/hold)",
                "drained 3 pods in 21.2s",
                "from here on nothing can be put back",
                "deleting Deployment/demo",
                "warning: v1 is deprecated",
                "trouble: ReplicaSet/demo-1: conflict: another uid",
                "workloads: 1 of 2 objects still there after 1m5s",
                "quota released in 0.4s",
                "looked again in 0.3s",
            ]
        );
    }

    #[test]
    fn what_is_waited_for_is_counted_in_its_own_word() {
        let wave = Phase::Wave(Wave::Services);
        let quota = Blocker { deleting_for: None, ..blocker("ResourceQuota/quota", "still counts requests.cpu 3") };
        assert_eq!(
            lines(&[
                waiting(Phase::Drain, 5, vec![blocker("Pod/a", ""), blocker("Pod/b", "node dead1 does not answer")]),
                waiting(wave, 1, vec![blocker("Service/web", "finalizer x/y")]),
                waiting(wave, 2, Vec::new()),
                waiting(Phase::Quota, 1, vec![quota]),
            ]),
            [
                "waiting 20s for 5 pods: Pod/a (deleting for 20s), \
                 Pod/b (deleting for 20s, node dead1 does not answer), and 3 more",
                "waiting 20s for 1 object: Service/web (deleting for 20s, finalizer x/y)",
                "waiting 20s for 2 objects",
                "waiting 20s for 1 quota: ResourceQuota/quota (still counts requests.cpu 3)",
            ]
        );
    }

    #[test]
    fn names_without_an_end_do_not_push_the_rest_out_of_sight() {
        let endless = "\u{1b}".repeat(256 << 10);
        let held = Blocker { finalizers: vec![endless.clone()], ..blocker(&endless, &endless) };
        for line in lines(&[
            Event::Started { phase: Phase::Drain, total: 2 },
            Event::Scaled { title: endless.clone(), from: 3 },
            waiting(Phase::Drain, 2, vec![held.clone(), held]),
            Event::Trouble { title: endless.clone(), message: endless.clone() },
        ]) {
            assert!(line.len() < 5000, "{} bytes", line.len());
        }
    }

    #[test]
    fn finalizers_that_the_cause_does_not_name_are_named() {
        let mut held = blocker("Pod/a", "node dead1 does not answer");
        held.finalizers = vec!["x/one".into(), "x/two".into()];
        assert_eq!(
            lines(&[waiting(Phase::Drain, 1, vec![held])]),
            ["waiting 20s for 1 pod: Pod/a (deleting for 20s, node dead1 does not answer, finalizers x/one, x/two)"]
        );
    }

    #[test]
    fn a_phase_with_nothing_to_do_says_nothing() {
        for phase in [Phase::Drain, Phase::Wave(Wave::Config), Phase::Quota, Phase::Remains] {
            let events = [Event::Started { phase, total: 0 }, Event::Finished { phase, took: seconds(0) }];
            assert_eq!(lines(&events), Vec::<String>::new(), "{phase:?}");
        }
    }

    #[test]
    fn text_from_the_cluster_is_escaped() {
        let evil = || "x\u{1b}[2J\r".to_owned();
        let events = [
            Event::Scaled { title: evil(), from: 1 },
            Event::Deleted { title: evil() },
            Event::Trouble { title: evil(), message: evil() },
            Event::Warning { message: evil() },
            waiting(Phase::Drain, 1, vec![Blocker { finalizers: vec![evil()], ..blocker(&evil(), &evil()) }]),
        ];
        for line in lines(&events) {
            assert!(line.contains("x\\u{1b}[2J"), "{line}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
