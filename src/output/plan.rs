//! The plan as people read it: what will happen to what, why, and what that gives back.

use super::{
    Look, escape, row,
    style::Tone,
    table,
    wrap::{brief, prose},
};
use crate::plan::{self, Action, Aside, Blindness, Frees, Plan, Unseen};

/// The whole plan: where, the table, what it comes to, what could not be seen, warnings. Each line is ended.
#[must_use]
pub fn render(plan: &Plan, look: &Look) -> String {
    let mut text = header(plan, look);
    let rows = row::rows(plan, look.wide, if look.unicode { "…" } else { "..." });
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&table::render(&rows, look));
    }
    text.push('\n');
    let mut say = |line: String| {
        text.push_str(&prose(&line, look.width));
        text.push('\n');
    };
    say(summary(plan));
    frees(&plan.frees).into_iter().for_each(&mut say);
    aside(
        "Only this application uses, and nothing says they belong to it (--include-related)",
        &plan.related,
        &mut say,
    );
    let suspected = if plan.orphans {
        "Looks left over by its name alone, and stays"
    } else {
        "Looks like part of it, but is not tied to it, and stays"
    };
    aside(suspected, &plan.suspected, &mut say);
    aside("Carries its label in the whole cluster, and is never touched", &plan.cluster_scoped, &mut say);
    unseen(&plan.unseen).into_iter().for_each(&mut say);
    if look.wide {
        say(format!("digest {}", plan::digest(plan)));
    }
    for warning in &plan.warnings {
        text.push_str(&self::warning(warning, look));
    }
    text
}

/// What is purged, and where: the last chance to see that it is the wrong cluster.
fn header(plan: &Plan, look: &Look) -> String {
    let place = &plan.place;
    let (what, namespace) = (plan.subject(), escape::line(&place.namespace));
    let mut text = prose(&format!("Purge {} in namespace \"{namespace}\"", escape::line(&what)), look.width);
    text.push('\n');
    let parts: Vec<String> = [("context ", &place.context), ("", &place.server), ("as ", &place.user)]
        .into_iter()
        .filter(|(_, part)| !part.is_empty())
        .map(|(word, part)| format!("{word}{}", escape::line(part)))
        .collect();
    if !parts.is_empty() {
        text.push_str(&prose(&parts.join(if look.unicode { " · " } else { ", " }), look.width));
        text.push('\n');
    }
    text
}

/// `Plan: scale 1 to 0, delete 4 (5 more go with their owners), keep 1.`
fn summary(plan: &Plan) -> String {
    let count = |action| plan.objects.iter().filter(|object| object.action == action).count();
    let scaled = plan.objects.iter().filter(|object| object.scale.is_some()).count();
    let (deleted, cascaded, kept) = (count(Action::Delete), count(Action::Cascade), count(Action::Keep));
    let mut parts = Vec::new();
    if scaled > 0 {
        parts.push(format!("scale {scaled} to 0"));
    }
    parts.push(match (deleted, cascaded) {
        (0, 0) => "nothing to delete".into(),
        (_, 0) => format!("delete {deleted}"),
        (_, 1) => format!("delete {deleted} (1 more goes with its owner)"),
        _ => format!("delete {deleted} ({cascaded} more go with their owners)"),
    });
    if kept > 0 {
        parts.push(format!("keep {kept}"));
    }
    format!("Plan: {}.", parts.join(", "))
}

/// One line a quota, in the order of the plan.
fn frees(frees: &[Frees]) -> Vec<String> {
    frees
        .chunk_by(|one, other| one.quota == other.quota)
        .map(|resources| {
            let amounts: Vec<String> = resources
                .iter()
                .map(|free| format!("{} {} of {}", brief(&free.resource), free.amount, free.used))
                .collect();
            let quota = resources.first().map(|free| free.quota.as_str()).unwrap_or_default();
            escape::line(&format!("Frees: {} (quota \"{quota}\").", amounts.join(", "))).into_owned()
        })
        .collect()
}

/// What is listed beside the plan: a heading, and an object a line.
fn aside(heading: &str, objects: &[Aside], say: &mut impl FnMut(String)) {
    if objects.is_empty() {
        return;
    }
    say(format!("{heading}:"));
    for object in objects {
        let why = if object.why.is_empty() { String::new() } else { format!(" ({})", object.why) };
        say(format!("  {}", brief(&format!("{}/{}{why}", object.kind.kind, object.name))));
    }
}

/// What may not be listed is one line, for its reason is known; what did not answer has each its own.
pub(super) fn unseen(unseen: &[Unseen]) -> Vec<String> {
    let with = |why| unseen.iter().filter(move |unseen| unseen.why == why);
    let forbidden: Vec<String> = with(Blindness::Forbidden).map(|unseen| brief(&unseen.resource)).collect();
    let mut lines = Vec::new();
    if !forbidden.is_empty() {
        lines.push(format!("not checked (forbidden): {}", forbidden.join(", ")));
    }
    lines.extend(with(Blindness::Unavailable).map(|unseen| {
        let colon = if unseen.message.is_empty() { "" } else { ": " };
        format!("not checked (unavailable): {}{colon}{}", brief(&unseen.resource), brief(&unseen.message))
    }));
    lines.iter().map(|line| escape::line(line).into_owned()).collect()
}

/// `warning: …`, its first word yellow.
fn warning(message: &str, look: &Look) -> String {
    let text = prose(&format!("warning: {}", escape::line(message)), look.width);
    let rest = text.strip_prefix("warning:").unwrap_or(&text);
    format!("{}{rest}\n", Tone::Yellow.paint("warning:", look.color))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{output::sample, plan::Place};

    const PLAIN: Look = Look { width: None, color: false, unicode: true, wide: false };

    #[test]
    fn the_plan_reads_as_designed() {
        let text = render(&sample::plan(), &PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "Purge application \"demo\" in namespace \"xxx\"",
                "context prod-eu · https://10.1.2.3:6443 · as jane",
                ""
            ]
        );
        assert!(lines[3].starts_with("ACTION "));
        assert_eq!(
            lines[12..],
            [
                "",
                "Plan: scale 1 to 0, delete 4 (4 more go with their owners), keep 1.",
                "Frees: requests.cpu 3 of 3, requests.memory 3Gi of 3Gi (quota \"quota\").",
            ]
        );
    }

    #[test]
    fn what_is_not_known_of_the_place_is_left_out() {
        let mut plan = sample::plan();
        plan.place = Place { namespace: "xxx".into(), server: "https://c:6443".into(), ..Place::default() };
        assert_eq!(header(&plan, &PLAIN), "Purge application \"demo\" in namespace \"xxx\"\nhttps://c:6443\n");
        plan.place.server.clear();
        assert_eq!(header(&plan, &PLAIN), "Purge application \"demo\" in namespace \"xxx\"\n");
    }

    #[test]
    fn without_utf8_there_is_only_ascii() {
        let mut plan = sample::plan();
        let owners = (0..4).map(|number| sample::pod("a", &format!("set-{number}")));
        plan.objects.extend(owners);
        for width in [None, Some(40)] {
            assert!(render(&plan, &Look { unicode: false, width, ..PLAIN }).is_ascii());
        }
    }

    #[test]
    fn the_summary_counts() {
        let mut plan = sample::plan();
        plan.objects.retain(|object| object.action == Action::Keep);
        assert_eq!(summary(&plan), "Plan: nothing to delete, keep 1.");
        let mut plan = sample::plan();
        plan.objects.truncate(3);
        assert_eq!(summary(&plan), "Plan: scale 1 to 0, delete 2 (1 more goes with its owner).");
        plan.objects.truncate(1);
        assert_eq!(summary(&plan), "Plan: delete 1.");
        plan.objects.clear();
        assert_eq!(summary(&plan), "Plan: nothing to delete.");
    }

    #[test]
    fn each_quota_has_its_line() {
        let mut pods = sample::frees("pods", "5");
        pods.quota = "objects".into();
        pods.used = "7".into();
        assert_eq!(
            frees(&[sample::frees("requests.cpu", "3"), pods]),
            ["Frees: requests.cpu 3 of 3 (quota \"quota\").", "Frees: pods 5 of 7 (quota \"objects\")."]
        );
    }

    #[test]
    fn what_was_not_seen_is_said() {
        assert_eq!(
            unseen(&sample::unseen()),
            [
                "not checked (forbidden): secrets, configmaps",
                "not checked (unavailable): metrics.k8s.io/v1beta1: 503 Service Unavailable",
            ]
        );
    }

    #[test]
    fn warnings_close_the_plan_and_are_escaped() {
        let mut plan = sample::plan();
        plan.warnings = vec!["evil \u{1b}[2J".into()];
        assert!(render(&plan, &PLAIN).ends_with("\nwarning: evil \\u{1b}[2J\n"));
        let colored = render(&plan, &Look { color: true, ..PLAIN });
        assert!(colored.ends_with("\n\u{1b}[33mwarning:\u{1b}[0m evil \\u{1b}[2J\n"));
    }
}
