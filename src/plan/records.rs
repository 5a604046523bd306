//! Helm's records of the releases that go. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reason, Selection};
use crate::inventory::{Inventory, Object};

/// Takes Helm's record of each release all of whose objects go: without it gone a new `helm install` fails, and with
/// something of the release left it is what `helm uninstall` needs. Gives what is to be said of those that stay.
pub(super) fn take(
    inventory: &Inventory,
    selection: &mut Selection,
    kept: &BTreeMap<usize, String>,
    is_blind: bool,
) -> Vec<String> {
    let goes = |selection: &Selection, index: usize| selection.contains(index) && !kept.contains_key(&index);
    let objects = || inventory.objects().iter().enumerate();
    let releases: BTreeSet<&str> =
        objects().filter(|(index, _)| goes(selection, *index)).filter_map(|(_, object)| release_of(object)).collect();
    let mut warnings = BTreeSet::new();
    let mut found = Vec::new();
    for (index, object) in objects() {
        let Some(release) = recorded_release(object).filter(|release| releases.contains(release)) else { continue };
        let stays = objects()
            .filter(|(other, object)| release_of(object) == Some(release) && !goes(selection, *other))
            .filter(|(_, object)| !says_keep(object))
            .map(|(_, object)| object.title())
            .min();
        // The garbage collector would take what the record owns.
        let bereaves = inventory.children(index).iter().any(|&child| !goes(selection, child));
        match stays {
            Some(stays) => {
                warnings.insert(format!(
                    "Helm's record of release {release} stays: {stays} is of the release too and does not go"
                ));
            }
            None if is_blind => {
                warnings.insert(format!(
                    "Helm's record of release {release} stays: more of the release may be among what could not be read"
                ));
            }
            None if bereaves => {
                warnings.insert(format!("Helm's record of release {release} stays: it owns what does not go"));
            }
            None => found.push((index, release.to_owned())),
        }
    }
    for (index, release) in found {
        let reasons = selection.members.entry(index).or_default();
        reasons.push(Reason::Record { release });
        reasons.sort();
    }
    warnings.into_iter().collect()
}

/// What Helm itself leaves when it uninstalls.
fn says_keep(object: &Object) -> bool {
    object.annotations.get("helm.sh/resource-policy").is_some_and(|policy| policy == "keep")
}

/// The Helm release that installed an object, in its own namespace.
pub(super) fn release_of(object: &Object) -> Option<&str> {
    let release = object.annotations.get("meta.helm.sh/release-name")?;
    let here = object.annotations.get("meta.helm.sh/release-namespace").is_none_or(|name| *name == object.namespace);
    here.then_some(release.as_str())
}

/// The release that a Secret or ConfigMap of Helm's is the record of.
fn recorded_release(object: &Object) -> Option<&str> {
    let is_record = (object.kind.is("", "Secret") || object.kind.is("", "ConfigMap"))
        && object.labels.get("owner").is_some_and(|owner| owner == "helm");
    let release = object.labels.get("name").filter(|_| is_record)?;
    // Secrets are called `sh.helm.release.v1.NAME.vN`, ConfigMaps `NAME.vN` besides that in older releases.
    object.name.contains(&format!("{release}.v")).then_some(release.as_str())
}
