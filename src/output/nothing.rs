//! What is said when nothing was found: what was looked for, and where.

use std::fmt::Write as _;

use super::escape;
use crate::plan::{Plan, Question};

/// The whole answer, with a newline at the end.
#[must_use]
pub fn render(plan: &Plan, question: &Question) -> String {
    let (app, namespace) = (escape::line(&plan.app), escape::line(&plan.place.namespace));
    let mut text = format!("Nothing of application \"{app}\" in namespace \"{namespace}\".\n");
    let keys: Vec<_> = question.keys.iter().map(|key| escape::line(key)).collect();
    let _ = writeln!(text, "Looked for objects labelled {app} under {}.", keys.join(", "));
    for line in super::plan::unseen(&plan.unseen) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}
