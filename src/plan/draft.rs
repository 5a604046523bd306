//! From the members of an application to its plan: what happens to each, in which order, and what that frees.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Action, Aside, Place, Plan, PlanObject, Precaution, Question, Reason, Restore, Scale, Selection, Target, Unseen,
    Wave,
    frees::frees,
    keep::kept,
    known::{Care, care, is_made_for_a_service},
    records,
    uses::{named, references},
};
use crate::inventory::{Controller, Detail, Inventory, Object};

/// All annotations of an object together have 256 KiB.
const NOTE_SIZE: usize = 64 * 1024;

/// What the user chose that bears on the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Take claims too.
    pub delete_data: bool,
    /// Delete workloads as they stand.
    pub no_scale_down: bool,
    /// Objects to keep: group, kind and name.
    pub exclude: Vec<(String, String, String)>,
    /// By uid, what the server would refuse to delete, in a sentence: it stays, with all that it needs.
    pub refused: BTreeMap<String, String>,
}

impl Plan {
    /// Plans the purge of what the selection holds.
    #[must_use]
    pub fn draft(
        inventory: &Inventory,
        selection: &Selection,
        question: &Question,
        choices: &Choices,
        place: Place,
        unseen: Vec<Unseen>,
    ) -> Self {
        let (selection, kept, records) = with_records(inventory, selection, choices, !unseen.is_empty());
        let selection = &selection;
        let by_name = selection
            .members
            .keys()
            .map(|&index| &inventory.objects()[index])
            .filter(|object| object.kind.group.is_empty())
            .map(|object| ((object.kind.kind.as_str(), object.name.as_str()), object.uid.as_str()))
            .collect();
        let mut draft = Draft { inventory, selection, kept: &kept, care: Care::default(), choices, by_name };
        let is_refused = |index: usize| choices.refused.contains_key(&inventory.objects()[index].uid);
        draft.care = care(inventory, selection, &kept, &|index| draft.rests(index), is_refused);
        let draft = draft;
        let mut objects: Vec<PlanObject> =
            selection.members.iter().map(|(&index, reasons)| draft.object(index, reasons)).collect();
        let depths = depths(&objects);
        objects.sort_by_cached_key(|object| {
            let is_known_by_itself = object.known_by.is_empty();
            let depth = depths[&object.uid];
            (
                object.action,
                object.wave,
                is_known_by_itself,
                depth,
                rank(object),
                object.name.clone(),
                object.uid.clone(),
            )
        });
        let going: Vec<&PlanObject> = objects.iter().filter(|object| object.goes()).collect();
        let frees = frees(inventory, &going);
        Self {
            app: question.app.clone(),
            instance: question.instance.clone(),
            orphans: question.target == Target::Orphans,
            place,
            objects,
            related: aside(inventory, &selection.related),
            suspected: aside(inventory, &selection.suspected),
            cluster_scoped: Vec::new(),
            unseen,
            frees,
            warnings: selection.warnings.iter().cloned().chain(records).collect(),
        }
    }
}

/// The selection with Helm's records of the releases that go, what of it all is kept, and what is to be said of
/// records that stay. A record may itself be kept, and have more kept with it: then less of its release goes.
fn with_records(
    inventory: &Inventory,
    members: &Selection,
    choices: &Choices,
    is_blind: bool,
) -> (Selection, BTreeMap<usize, String>, Vec<String>) {
    let mut all_kept = kept(inventory, members, choices);
    loop {
        let mut selection = members.clone();
        let said = records::take(inventory, &mut selection, &all_kept, is_blind);
        let before = all_kept.len();
        for (index, why) in kept(inventory, &selection, choices) {
            all_kept.entry(index).or_insert(why);
        }
        if all_kept.len() == before {
            all_kept.retain(|index, _| selection.contains(*index));
            return (selection, all_kept, said);
        }
    }
}

struct Draft<'a> {
    inventory: &'a Inventory,
    selection: &'a Selection,
    kept: &'a BTreeMap<usize, String>,
    care: Care,
    choices: &'a Choices,
    /// Uids of the members of the core group, by kind and name: what a pod can use.
    by_name: BTreeMap<(&'a str, &'a str), &'a str>,
}

impl Draft<'_> {
    fn goes(&self, index: usize) -> bool {
        self.selection.contains(index) && !self.kept.contains_key(&index)
    }

    fn object(&self, index: usize, reasons: &[Reason]) -> PlanObject {
        let object = &self.inventory.objects()[index];
        let owners: Vec<usize> =
            self.inventory.owners(index).iter().copied().filter(|&owner| self.goes(owner)).collect();
        let action = if self.kept.contains_key(&index) {
            Action::Keep
        } else if self.cascades(index, &owners) {
            Action::Cascade
        } else {
            Action::Delete
        };
        let mut reasons = reasons.to_vec();
        if action == Action::Cascade {
            // What it goes with says more than the label it inherited.
            reasons.sort_by_key(|reason| !matches!(reason, Reason::Owned { .. } | Reason::Endpoints { .. }));
        }
        let mut notes: Vec<String> = self.kept.get(&index).cloned().into_iter().collect();
        notes.extend(self.mounted_by(object));
        if let Some(since) = &object.deletion {
            let finalizers = object.finalizers.join(", ");
            notes.push(if finalizers.is_empty() {
                format!("being deleted since {since}")
            } else {
                format!("being deleted since {since}, finalizers {finalizers}")
            });
        }
        let goes = action != Action::Keep;
        notes.extend(self.refused_ties(index).filter(|_| goes));
        let precaution = Precaution::of(object, !self.choices.no_scale_down).filter(|_| goes);
        notes.extend(precaution.as_ref().map(Precaution::sentence));
        let restore = self.restore(index).filter(|_| goes);
        notes.extend(restore.as_ref().filter(|restore| !restore.is_empty()).map(Restore::sentence));
        PlanObject {
            kind: object.kind.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            action,
            scale: if action == Action::Keep { None } else { self.scale(index) },
            wave: self.wave(index),
            reasons,
            notes,
            now: self.now(index),
            owners: self.uids(&owners),
            known_by: self.care.known.get(&index).map_or_else(Vec::new, |holders| self.uids(holders)),
            finalizers: object.finalizers.clone(),
            terminating: object.deletion.is_some(),
            uses: self.uses(object),
            finished: matches!(&object.detail, Detail::Pod(pod) if pod.is_terminal()),
            node: match &object.detail {
                Detail::Pod(pod) => pod.node.clone(),
                _ => None,
            },
            precaution,
            restore,
            pods_to_note: self.pods_to_note(index),
            refusal: self.choices.refused.get(&object.uid).cloned(),
        }
    }

    /// Why it has to stay in the end: the server would refuse to delete what only it shows to be the application's.
    fn refused_ties(&self, index: usize) -> Option<String> {
        let known = self.care.known.iter().filter(|(_, holders)| holders.contains(&index));
        let refused = known.map(|(&known, _)| known).find(|&known| !self.goes(known))?;
        let title = self.inventory.objects()[refused].title();
        Some(format!("stays in the end: without it, nothing shows that {title} is the application's"))
    }

    fn uids<'i>(&self, indices: impl IntoIterator<Item = &'i usize>) -> Vec<String> {
        indices.into_iter().map(|&index| self.inventory.objects()[index].uid.clone()).collect()
    }

    /// Whether the cluster itself takes the object away when what the plan deletes has gone.
    fn cascades(&self, index: usize, owners: &[usize]) -> bool {
        let object = &self.inventory.objects()[index];
        if !owners.is_empty() {
            return true;
        }
        is_made_for_a_service(object)
            && self.selection.members[&index].iter().any(|reason| matches!(reason, Reason::Endpoints { .. }))
    }

    /// What an earlier run noted on it. Notes on a Deployment are copied to its ReplicaSets, where they mean nothing.
    /// A note of what is not so any more holds nothing to go back to, and is there to be taken away.
    fn restore(&self, index: usize) -> Option<Restore> {
        let object = &self.inventory.objects()[index];
        let note = object.annotations.get(Restore::ANNOTATION)?;
        let led = matches!(self.inventory.controller(index), Controller::Living(owner) if self.goes(owner));
        let mut restore = Restore::parse(note, &object.kind.kind, &object.name).filter(|_| !led)?;
        if matches!(&object.detail, Detail::Workload(workload) if workload.replicas > Some(0)) {
            // Somebody has scaled it up again.
            restore.replicas = None;
            restore.pods.clear();
        }
        Some(restore)
    }

    /// Down to 0 where it is not there already. What a member controls is scaled through that member.
    fn scale(&self, index: usize) -> Option<Scale> {
        let object = &self.inventory.objects()[index];
        let Detail::Workload(workload) = &object.detail else { return None };
        let from = workload.replicas.unwrap_or(0);
        let led = matches!(self.inventory.controller(index), Controller::Living(owner) if self.goes(owner));
        (object.kind.scalable && !led && from > 0 && !self.choices.no_scale_down && object.deletion.is_none())
            .then_some(Scale { from, to: 0 })
    }

    /// No later than that by which alone it is known.
    fn wave(&self, index: usize) -> Wave {
        let (mut first, mut seen) = (self.own_wave(index), BTreeSet::from([index]));
        let mut next = vec![index];
        while let Some(index) = next.pop() {
            for &holder in self.care.known.get(&index).into_iter().flatten() {
                if seen.insert(holder) {
                    first = first.min(self.own_wave(holder));
                    next.push(holder);
                }
            }
        }
        first
    }

    /// Whether its pods are gone before anything is deleted.
    fn rests(&self, index: usize) -> bool {
        let suspends = || Precaution::of(&self.inventory.objects()[index], !self.choices.no_scale_down);
        self.goes(index) && (self.scale(index).is_some() || suspends() == Some(Precaution::Suspend))
    }

    /// Labels of its pods that have to be noted before they go.
    fn pods_to_note(&self, index: usize) -> BTreeSet<BTreeMap<String, String>> {
        let pods = self.care.pods.get(&index).into_iter().flatten();
        let size = |labels: &BTreeMap<String, String>| -> usize {
            labels.iter().map(|(key, value)| key.len() + value.len() + 6).sum()
        };
        let mut room = NOTE_SIZE;
        let labels = pods.map(|&pod| &*self.inventory.objects()[pod].labels);
        let labels = labels.take_while(|labels| {
            room = room.saturating_sub(size(labels));
            room > 0
        });
        labels.cloned().collect()
    }

    /// A custom resource that owns a workload goes before it, or it would make it anew.
    fn own_wave(&self, index: usize) -> Wave {
        let wave = Wave::of(&self.inventory.objects()[index].kind);
        if wave == Wave::Config && self.owns_workloads(index) { Wave::Owners } else { wave }
    }

    fn owns_workloads(&self, index: usize) -> bool {
        let mut seen = BTreeSet::from([index]);
        let mut next = vec![index];
        while let Some(index) = next.pop() {
            for &child in self.inventory.children(index) {
                if Wave::of(&self.inventory.objects()[child].kind) == Wave::Workloads {
                    return true;
                }
                if seen.insert(child) {
                    next.push(child);
                }
            }
        }
        false
    }

    /// The table's last column.
    fn now(&self, index: usize) -> String {
        let object = &self.inventory.objects()[index];
        match &object.detail {
            Detail::Pod(pod) if pod.phase == "Running" || pod.phase.is_empty() => String::new(),
            Detail::Pod(pod) if pod.reason.is_empty() => pod.phase.clone(),
            Detail::Pod(pod) => format!("{} ({})", pod.phase, pod.reason),
            Detail::Workload(_) => match self.pods(index) {
                0 => String::new(),
                1 => "1 pod".to_owned(),
                pods => format!("{pods} pods"),
            },
            Detail::Claim(claim) => claim.requested.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Who mounts a claim, while anybody does.
    fn mounted_by(&self, object: &Object) -> Option<String> {
        if !matches!(object.detail, Detail::Claim(_)) {
            return None;
        }
        let mounts = |pod: &&Object| matches!(&pod.detail, Detail::Pod(pod) if !pod.is_terminal() && pod.uses.claims.contains(&object.name));
        let mut pods: Vec<String> = self.inventory.objects().iter().filter(mounts).map(Object::title).collect();
        pods.sort();
        let first = pods.first()?;
        Some(match pods.len() {
            1 => format!("mounted by {first}"),
            count => format!("mounted by {first} and {} more", count - 1),
        })
    }

    /// Pods below an object in the owner graph.
    fn pods(&self, index: usize) -> usize {
        let mut seen = BTreeSet::from([index]);
        let mut next = vec![index];
        let mut pods = 0;
        while let Some(index) = next.pop() {
            for &child in self.inventory.children(index) {
                if seen.insert(child) {
                    pods += usize::from(matches!(self.inventory.objects()[child].detail, Detail::Pod(_)));
                    next.push(child);
                }
            }
        }
        pods
    }

    /// Uids of members that the object's pods use.
    fn uses(&self, object: &Object) -> Vec<String> {
        let Detail::Pod(_) = object.detail else { return Vec::new() };
        let used = references(object).into_iter().flat_map(named);
        used.filter_map(|named| self.by_name.get(&named)).map(|&uid| uid.to_owned()).collect()
    }
}

/// What is listed beside the plan, in the order of kind and name.
fn aside(inventory: &Inventory, found: &BTreeMap<usize, String>) -> Vec<Aside> {
    let mut aside: Vec<Aside> = found
        .iter()
        .map(|(&index, why)| {
            let object = &inventory.objects()[index];
            let (kind, name, uid) = (object.kind.clone(), object.name.clone(), object.uid.clone());
            Aside { kind, name, uid, why: why.clone() }
        })
        .collect();
    aside.sort_by(|a, b| (&a.kind.kind, &a.name, &a.uid).cmp(&(&b.kind.kind, &b.name, &b.uid)));
    aside
}

/// How many planned owners stand above each object. A circle of owners ends where it began.
fn depths(objects: &[PlanObject]) -> BTreeMap<String, usize> {
    let by_uid: BTreeMap<&str, &PlanObject> = objects.iter().map(|object| (object.uid.as_str(), object)).collect();
    let mut depths = BTreeMap::new();
    for object in objects {
        depth(object, &by_uid, &mut depths, &mut BTreeSet::new());
    }
    depths
}

fn depth(
    object: &PlanObject,
    by_uid: &BTreeMap<&str, &PlanObject>,
    depths: &mut BTreeMap<String, usize>,
    above: &mut BTreeSet<String>,
) -> usize {
    if let Some(&known) = depths.get(&object.uid) {
        return known;
    }
    if !above.insert(object.uid.clone()) {
        return 0;
    }
    let owners: Vec<&PlanObject> = object.owners.iter().filter_map(|uid| by_uid.get(uid.as_str()).copied()).collect();
    let deepest = owners.into_iter().map(|owner| depth(owner, by_uid, depths, above) + 1).max().unwrap_or(0);
    above.remove(&object.uid);
    depths.insert(object.uid.clone(), deepest);
    deepest
}

/// The order of kinds within a wave, for reading and for deleting what has no owner to wait for.
fn rank(object: &PlanObject) -> (usize, String) {
    const ORDER: [&str; 10] = [
        "PodTemplate",
        "CronJob",
        "Job",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicationController",
        "ReplicaSet",
        "Pod",
        "ControllerRevision",
    ];
    let kind = &object.kind.kind;
    (ORDER.iter().position(|known| known == kind).unwrap_or(ORDER.len()), kind.clone())
}
