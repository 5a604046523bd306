//! What is said when nothing was found: what was looked for, where, and what is near.

use std::fmt::Write as _;

use super::escape;
use crate::plan::{Plan, Question, Target};

/// The whole answer, with a newline at the end. `near` are commands that may have been meant.
#[must_use]
pub fn render(plan: &Plan, question: &Question, near: &[String]) -> String {
    let (app, namespace) = (escape::line(&plan.app), escape::line(&plan.place.namespace));
    let mut text = match &question.target {
        Target::Orphans => format!("No orphans in namespace \"{namespace}\".\n"),
        _ => format!("Nothing of application \"{app}\" in namespace \"{namespace}\".\n"),
    };
    match &question.target {
        Target::Named { value, keys } => {
            let keys: Vec<_> = keys.iter().map(|key| escape::line(key)).collect();
            let _ = writeln!(text, "Looked for objects labelled {} under {}.", escape::line(value), keys.join(", "));
        }
        Target::Matching(_) => text.push_str("Looked for objects that the selector picks.\n"),
        Target::Around { kind, name, .. } => {
            let _ = writeln!(text, "There is no {} called {}.", escape::line(kind), escape::line(name));
        }
        Target::Orphans => text.push_str(
            "Looked for ReplicaSets, pods, Jobs, ControllerRevisions and EndpointSlices that a controller made and none owns.\n",
        ),
    }
    for line in super::plan::unseen(&plan.unseen) {
        text.push_str(&line);
        text.push('\n');
    }
    for command in near {
        let _ = writeln!(text, "Did you mean: {}", escape::line(command));
    }
    text
}
