//! What a controller has made and no living controller owns. Pure.

use super::question::app_of;
use crate::inventory::{Controller, Inventory, Object};

/// Labels by which controllers mark what they make.
const MARKS: [&str; 6] = [
    "pod-template-hash",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
    "batch.kubernetes.io/job-name",
    "job-name",
    "controller-uid",
];

/// Whether it is of a kind that controllers make, and no living controller owns it. Where the controller's kind could
/// not be looked through, it may live: that is no orphan.
pub(super) fn is_orphan(inventory: &Inventory, index: usize) -> bool {
    let object = &inventory.objects()[index];
    let made = match (object.kind.group.as_str(), object.kind.kind.as_str()) {
        ("apps", "ReplicaSet" | "ControllerRevision") | ("", "Pod") => true,
        // A Job is often made by hand; a CronJob's says when it was due.
        ("batch", "Job") => {
            object.controller().is_some()
                || object.annotations.contains_key("batch.kubernetes.io/cronjob-scheduled-timestamp")
        }
        ("discovery.k8s.io", "EndpointSlice") => object.controller().is_some() || serves_nobody(inventory, object),
        _ => false,
    };
    made && matches!(inventory.controller(index), Controller::None | Controller::Dead)
}

/// Whether an orphan shows that a controller made it: what somebody made by hand was never anybody's, and is not
/// left over.
pub(super) fn is_left_over(inventory: &Inventory, index: usize) -> bool {
    let object = &inventory.objects()[index];
    is_orphan(inventory, index)
        && (object.controller().is_some()
            || object.kind.is("apps", "ControllerRevision")
            || object.annotations.contains_key("batch.kubernetes.io/cronjob-scheduled-timestamp")
            || object.kind.is("discovery.k8s.io", "EndpointSlice")
            || MARKS.iter().any(|mark| object.labels.contains_key(*mark)))
}

/// Whether it is a slice of a Service that is not there.
fn serves_nobody(inventory: &Inventory, slice: &Object) -> bool {
    let service = slice.labels.get("kubernetes.io/service-name");
    let lives =
        |name: &String| inventory.objects().iter().any(|object| object.kind.is("", "Service") && object.name == *name);
    service.is_some_and(|name| !inventory.is_unseen("", "Service") && !lives(name))
}

/// What an orphan probably belonged to: its application, or the workload that its name is made from.
pub(super) fn former_application(object: &Object) -> Option<String> {
    if let Some((key, value)) = app_of(&object.labels) {
        return Some(format!("{key}={value}"));
    }
    if let Some(owner) = object.controller() {
        return Some(format!("{}/{}", owner.kind, owner.name));
    }
    let job = ["batch.kubernetes.io/job-name", "job-name"].iter().find_map(|key| object.labels.get(*key));
    if let Some(job) = job {
        return Some(format!("Job/{job}"));
    }
    let stem = stem(&object.name);
    (stem != object.name).then(|| stem.to_owned())
}

/// A name without the hashes and suffixes that controllers put behind the workload's name.
pub(super) fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some((front, last)) = stem.rsplit_once('-') {
        if front.is_empty() || !is_suffix(last) {
            break;
        }
        stem = front;
    }
    stem
}

/// A hash, a random suffix, an ordinal, a CronJob's minute. The letters are those of
/// `k8s.io/apimachinery/pkg/util/rand`, which leaves out vowels so as to spell nothing.
fn is_suffix(text: &str) -> bool {
    let random = |byte: u8| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte);
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits || (text.len() == 5 || (8..=10).contains(&text.len())) && text.bytes().all(random)
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn the_workloads_name_is_what_stands_before_hash_and_suffix() {
        for (name, workload) in [
            ("deployment-demo-54c9846b78-x2v4k", "deployment-demo"),
            ("deployment-demo-54c9846b78", "deployment-demo"),
            ("db-0", "db"),
            ("nightly-29384400-x9zfp", "nightly"),
            ("web", "web"),
            ("web-frontend", "web-frontend"),
            ("web-front", "web-front"),
        ] {
            assert_eq!(stem(name), workload, "{name}");
        }
    }
}
