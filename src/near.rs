//! What somebody may have meant whose question found nothing. Pure.

use std::collections::BTreeSet;

use crate::{
    inventory::{Detail, Inventory, is_word},
    plan::{Question, Target, app_of},
};

/// Suggestions told at once.
const TOLD: usize = 3;

/// Commands to type instead, the likeliest first.
pub(crate) fn commands(inventory: &Inventory, question: &Question) -> Vec<String> {
    let wanted = match &question.target {
        Target::Named { value, .. } => value,
        Target::Around { name, .. } => name,
        Target::Matching(_) | Target::Orphans => return Vec::new(),
    };
    let mut workloads = BTreeSet::new();
    let mut apps = BTreeSet::new();
    for object in inventory.objects() {
        if object.name == *wanted && matches!(object.detail, Detail::Workload(_)) && object.owners.is_empty() {
            workloads.insert(format!("{}/{}", object.kind.kind.to_lowercase(), object.name));
        }
        apps.extend(app_of(&object.labels).map(|(_, app)| app.to_owned()));
    }
    let mut apps: Vec<(usize, String)> = apps
        .into_iter()
        .map(|app| (distance(&app.to_lowercase(), &wanted.to_lowercase()), app))
        .filter(|(distance, app)| *distance <= 2.max(wanted.len() / 4) || app.starts_with(wanted.as_str()))
        .collect();
    apps.sort();
    let apps = apps.into_iter().map(|(_, app)| app);
    let namespace = inventory.objects().first().map_or("default", |object| object.namespace.as_str());
    workloads
        .into_iter()
        .chain(apps)
        .filter(|what| is_word(what))
        .take(TOLD)
        .map(|what| format!("kubectl purge app {what} -n {namespace}"))
        .collect()
}

/// How many letters have to be added, removed or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn the_distance_counts_changes() {
        assert_eq!(distance("demo", "demo"), 0);
        assert_eq!(distance("dmeo", "demo"), 2);
        assert_eq!(distance("", "demo"), 4);
        assert_eq!(distance("demo-b", "demo"), 2);
    }
}
