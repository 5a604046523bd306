//! Commands for people to copy: what to type next.

use super::escape;
use crate::plan::Plan;

/// Objects named in one command; more would only hide it.
const MOST: usize = 5;
/// The longest of their names, with the type before it. Most kinds allow 253 characters.
const LONGEST: usize = 500;

/// The purge once more, at the same place.
pub(super) fn purge(plan: &Plan) -> String {
    let app = match plan.app.strip_prefix("-l ") {
        Some(selector) => format!("-l {}", quoted(selector)),
        None if is_selector(&plan.app) => format!("-l {}", quoted(&plan.app)),
        None => quoted(&plan.app),
    };
    let instance = plan.instance.as_ref().map(|one| format!(" --instance {}", quoted(one))).unwrap_or_default();
    let what = if plan.orphans { "orphans".to_owned() } else { format!("app {app}{instance}") };
    format!("kubectl purge {what}{}", place(plan))
}

/// Whether a name may stand in a command: one that had to be escaped would be another's, and one without an end would
/// push what stands above it out of sight.
fn can_be_typed(name: &str) -> bool {
    name.len() <= LONGEST && escape::line(name) == name
}

/// A look at objects named `type/name`; none where none of them can be typed.
pub(super) fn look_at(plan: &Plan, names: &[String]) -> Option<String> {
    let names: Vec<String> =
        names.iter().filter(|name| can_be_typed(name)).take(MOST).map(|name| quoted(name)).collect();
    (!names.is_empty()).then(|| format!("kubectl get {}{} -o yaml", names.join(" "), place(plan)))
}

/// The replicas that an object had.
pub(super) fn scale(plan: &Plan, resource: &str, replicas: i64) -> Option<String> {
    can_be_typed(resource).then(|| format!("kubectl scale {} --replicas={replicas}{}", quoted(resource), place(plan)))
}

/// What a quota says of itself.
pub(super) fn look_at_quota(plan: &Plan, quota: &str) -> Option<String> {
    can_be_typed(quota).then(|| format!("kubectl describe resourcequota {}{}", quoted(quota), place(plan)))
}

/// The context is named although it may be the current one: by the time the command is typed it may be another.
fn place(plan: &Plan) -> String {
    let mut flags = format!(" -n {}", quoted(&plan.place.namespace));
    if !plan.place.context.is_empty() {
        flags.push_str(" --context ");
        flags.push_str(&quoted(&plan.place.context));
    }
    flags
}

/// Neither a label's value nor `TYPE/NAME` holds any of these.
fn is_selector(app: &str) -> bool {
    app.contains(['=', '!', ',', '(', ' '])
}

/// As one word of a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-/:@=,+%".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn the_purge_is_repeated_as_it_was_asked_for() {
        for (app, command) in [
            ("demo", "kubectl purge app demo -n xxx --context prod-eu"),
            ("deploy/web", "kubectl purge app deploy/web -n xxx --context prod-eu"),
            ("app=demo", "kubectl purge app -l app=demo -n xxx --context prod-eu"),
            ("-l app in (a, b)", "kubectl purge app -l 'app in (a, b)' -n xxx --context prod-eu"),
        ] {
            assert_eq!(purge(&Plan { app: app.into(), ..sample::plan() }), command);
        }
    }

    #[test]
    fn a_place_without_a_context_has_none() {
        let mut plan = sample::plan();
        plan.place.context.clear();
        assert_eq!(purge(&plan), "kubectl purge app demo -n xxx");
        let command = look_at_quota(&plan, "quota");
        assert_eq!(command.as_deref(), Some("kubectl describe resourcequota quota -n xxx"));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm -rf ~"), r"'it'\''s; rm -rf ~'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("arn:aws:eks:eu:1:cluster/prod"), "arn:aws:eks:eu:1:cluster/prod");
    }

    #[test]
    fn few_objects_are_named() {
        let mut plan = sample::plan();
        plan.place.context.clear();
        let names: Vec<String> = (0..9).map(|number| format!("pods/a-{number}")).collect();
        let command = "kubectl get pods/a-0 pods/a-1 pods/a-2 pods/a-3 pods/a-4 -n xxx -o yaml";
        assert_eq!(look_at(&plan, &names).as_deref(), Some(command));
    }

    #[test]
    fn a_name_that_could_not_be_typed_is_in_no_command() {
        let mut plan = sample::plan();
        plan.place.context.clear();
        let mut names =
            vec!["roles/a\nb".to_owned(), "roles/\u{1b}[2J".to_owned(), format!("roles/{}", "a".repeat(9999))];
        assert_eq!(look_at(&plan, &names), None);
        assert_eq!(scale(&plan, &names[1], 3), None);
        assert_eq!(look_at_quota(&plan, &names[2]), None);
        names.push("roles/a b".to_owned());
        assert_eq!(look_at(&plan, &names).as_deref(), Some("kubectl get 'roles/a b' -n xxx -o yaml"));
    }
}
