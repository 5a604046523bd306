//! Guards in words: what stands in the way, and what to type to go on.

use std::fmt::Write as _;

use super::{brief, escape};
use crate::plan::Guard;

/// Names told at once; the rest are counted.
const NAMES_TOLD: usize = 3;

/// One sentence a guard, without a newline.
#[must_use]
pub fn sentence(guard: &Guard, app: &str) -> String {
    let text = match guard {
        Guard::Ambiguous { instances } => {
            let mut text = format!("\"{app}\" means {} instances:", instances.len());
            for (index, (name, count)) in instances.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let _ = write!(text, "{comma} {} ({})", brief(name), objects(*count));
            }
            text + "; choose one with --instance NAME, or all with --all-instances"
        }
        Guard::Managed { by, command, objects: count } => {
            let instead =
                command.as_ref().map_or_else(String::new, |command| format!("`{command}` does it properly; "));
            format!(
                "{} managed by {}, which may bring what is deleted back; {instead}--allow-managed goes on all the same",
                is_are(*count),
                brief(by)
            )
        }
        Guard::Unseen { owner, objects: count } => format!(
            "{} controlled by {}, and objects of that kind could not be listed, so that what it controls and whether \
             it lives is unknown; try again, or ask for permission to list them; --allow-managed goes on all the same",
            is_are(*count),
            brief(owner)
        ),
        Guard::Unavailable { resources } => format!(
            "{} could not be listed, so that what is the application's there would be missed, now and by later runs; \
             try again, with more time for an answer (--request-timeout=30s) if it is slow; --ignore-unavailable goes on \
             all the same",
            some(resources)
        ),
        Guard::SharedParent { parent, others } => {
            let parent = brief(parent);
            format!(
                "{parent} controls objects of this application, and {} too; \
                 have {parent} let go of them, or delete {parent} as a whole",
                some(others)
            )
        }
        Guard::SystemNamespace => {
            "this is one of the cluster's own namespaces; --allow-system-namespace goes on all the same".to_owned()
        }
        Guard::TooMany { count, max } => {
            format!("{} would be deleted, and --max allows {max}", objects(*count))
        }
    };
    escape::line(&text).into_owned()
}

fn objects(count: usize) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{count} objects") }
}

fn is_are(count: usize) -> String {
    if count == 1 { "1 object is".to_owned() } else { format!("{count} objects are") }
}

fn some(names: &[String]) -> String {
    let told = names.iter().take(NAMES_TOLD).map(|name| brief(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_TOLD) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_end_leaves_room_for_how_to_go_on() {
        let endless = "\u{1b}".repeat(256 << 10);
        let managed = Guard::Managed { by: endless.clone(), command: None, objects: 3 };
        let unseen = Guard::Unseen { owner: endless.clone(), objects: 3 };
        let ambiguous = Guard::Ambiguous { instances: vec![(endless.clone(), 1), ("b".into(), 1)] };
        for guard in [managed, unseen, ambiguous] {
            let sentence = sentence(&guard, "demo");
            assert!(sentence.len() < 5000 && sentence.contains("; "), "{} bytes", sentence.len());
        }
    }

    #[test]
    fn each_guard_says_how_to_go_on() {
        let ambiguous = Guard::Ambiguous { instances: vec![("demo-a".into(), 3), ("demo-b".into(), 1)] };
        assert_eq!(
            sentence(&ambiguous, "demo"),
            "\"demo\" means 2 instances: demo-a (3 objects), demo-b (1 object); \
             choose one with --instance NAME, or all with --all-instances"
        );
        let managed = Guard::Managed {
            by: "Argo CD application x".into(),
            command: Some("argocd app delete x".into()),
            objects: 2,
        };
        assert_eq!(
            sentence(&managed, "demo"),
            "2 objects are managed by Argo CD application x, which may bring what is deleted back; \
             `argocd app delete x` does it properly; --allow-managed goes on all the same"
        );
        assert_eq!(
            sentence(&Guard::TooMany { count: 12, max: 10 }, "demo"),
            "12 objects would be deleted, and --max allows 10"
        );
        assert_eq!(
            sentence(&Guard::Unavailable { resources: vec!["pods".into(), "apps/v1".into()] }, "demo"),
            "pods, apps/v1 could not be listed, so that what is the application's there would be missed, now and by \
             later runs; try again, with more time for an answer (--request-timeout=30s) if it is slow; \
             --ignore-unavailable goes on all the same"
        );
        let shared = Guard::SharedParent {
            parent: "Database/main".into(),
            others: vec!["a".into(), "b".into(), "c".into(), "d".into()],
        };
        assert!(sentence(&shared, "demo").contains("a, b, c and 1 more too"));
    }
}
