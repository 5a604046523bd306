//! The members by the words of the specification: each rule tried on each object, until no rule takes anything. Slow
//! and obvious on purpose.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{APP_KEYS, listed};
use crate::{
    inventory::{Controller, Detail, Inventory, Object, References, Selector},
    plan::{Plan, Question, Target, app_of},
};

pub(super) struct Oracle<'a> {
    objects: &'a [Object],
    inventory: Inventory,
    question: &'a Question,
    members: BTreeSet<String>,
    /// Of the members those that were named, or are above or below a member.
    tree: BTreeSet<String>,
    /// What the tree calls itself, as of the beginning of a round.
    around: BTreeSet<String>,
}

type Labels = BTreeMap<String, String>;

/// Uids of what belongs to the answer.
pub(super) fn members(objects: &[Object], question: &Question) -> BTreeSet<String> {
    let inventory = Inventory::new("ns", objects.to_vec(), listed()).unwrap();
    let (members, tree, around) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut oracle = Oracle { objects, inventory, question, members, tree, around };
    let named = oracle.those(|object| oracle.is_asked_for(object));
    oracle.tree.extend(named.iter().cloned());
    oracle.grow(named);
    if question.include_related && question.target != Target::Orphans {
        let related = oracle.related();
        oracle.grow(related);
    }
    oracle.members
}

impl<'a> Oracle<'a> {
    fn those(&self, holds: impl Fn(&Object) -> bool) -> BTreeSet<String> {
        self.objects.iter().filter(|object| holds(object)).map(|object| object.uid.clone()).collect()
    }

    fn is_member(&self, object: &Object) -> bool {
        self.members.contains(&object.uid)
    }

    fn members(&self) -> impl Iterator<Item = &'a Object> {
        self.objects.iter().filter(|object| self.is_member(object))
    }

    fn find(&self, uid: &str) -> Option<&'a Object> {
        self.objects.iter().find(|object| object.uid == uid)
    }

    /// The named, the selected, the one object, or what is left over.
    fn is_asked_for(&self, object: &Object) -> bool {
        let is_everybodys = matches!(
            (object.kind.kind.as_str(), object.name.as_str()),
            ("ConfigMap", "kube-root-ca.crt") | ("ServiceAccount", "default")
        );
        !is_everybodys
            && match &self.question.target {
                Target::Named { .. } => {
                    let had = had_pods(object).iter().any(|labels| self.says_name(labels));
                    self.says_name(&object.labels)
                        || self.makes_named(object)
                        || had && self.leads_itself(object) && !self.is_anothers(object)
                }
                Target::Matching(selector) => {
                    let had = had_pods(object).iter().any(|labels| selector.matches(labels));
                    selector.matches(&object.labels) || had && self.leads_itself(object) && !self.is_anothers(object)
                }
                Target::Around { group, kind, name } => object.kind.is(group, kind) && object.name == *name,
                Target::Orphans => self.is_left_over(object),
            }
    }

    fn says_name(&self, labels: &Labels) -> bool {
        let Target::Named { value, .. } = &self.question.target else { return false };
        APP_KEYS.iter().any(|key| labels.get(*key) == Some(value))
    }

    /// Its pods are called so, it itself is called nothing, and it is nobody's.
    fn makes_named(&self, object: &Object) -> bool {
        let Detail::Workload(workload) = &object.detail else { return false };
        self.says_name(&workload.template_labels) && app_of(&object.labels).is_none() && object.controller().is_none()
    }

    /// No living controller hands its annotations down to it.
    fn leads_itself(&self, object: &Object) -> bool {
        object.controller().is_none_or(|owner| self.find(&owner.uid).is_none())
    }

    fn is_orphan(&self, object: &Object) -> bool {
        let state = self.inventory.controller(self.inventory.find(&object.uid).unwrap());
        let has_controller = object.controller().is_some();
        let is_made = match object.kind.kind.as_str() {
            "Pod" | "ReplicaSet" | "ControllerRevision" => true,
            "Job" => has_controller || is_of_a_cron_job(object),
            "EndpointSlice" => {
                let service = object.labels.get("kubernetes.io/service-name");
                let lives = |name: &String| {
                    self.objects.iter().any(|other| other.kind.kind == "Service" && other.name == *name)
                };
                has_controller || service.is_some_and(|name| !lives(name))
            }
            _ => false,
        };
        is_made && matches!(state, Controller::None | Controller::Dead)
    }

    /// An orphan that shows that a controller made it.
    fn is_left_over(&self, object: &Object) -> bool {
        let is_marked = object.labels.contains_key("pod-template-hash")
            || matches!(object.kind.kind.as_str(), "ControllerRevision" | "EndpointSlice")
            || is_of_a_cron_job(object)
            || object.controller().is_some();
        self.is_orphan(object) && is_marked
    }

    /// What an object says of itself, or has its pods say, where neither says it is ours.
    fn is_anothers(&self, object: &Object) -> bool {
        let nothing = Labels::new();
        let template = match &object.detail {
            Detail::Workload(workload) => &workload.template_labels,
            _ => &nothing,
        };
        [&*object.labels, template].iter().all(|labels| !self.says_ours(labels))
            && [&*object.labels, template].iter().any(|labels| self.says_something(labels))
    }

    fn says_ours(&self, labels: &Labels) -> bool {
        match &self.question.target {
            Target::Named { .. } => self.says_name(labels),
            Target::Matching(selector) => selector.matches(labels),
            Target::Around { .. } => app_of(labels).is_some_and(|(_, app)| self.around.contains(app)),
            Target::Orphans => false,
        }
    }

    fn says_something(&self, labels: &Labels) -> bool {
        match &self.question.target {
            Target::Orphans => false,
            Target::Matching(selector) if selector.keys().any(|key| labels.contains_key(key)) => true,
            _ => app_of(labels).is_some(),
        }
    }

    fn grow(&mut self, mut fresh: BTreeSet<String>) {
        self.members.extend(fresh.iter().cloned());
        while !fresh.is_empty() {
            let before = self.members.clone();
            self.around = self
                .members()
                .filter(|object| self.tree.contains(&object.uid))
                .filter_map(|object| app_of(&object.labels))
                .map(|(_, app)| app.to_owned())
                .collect();
            self.climb(fresh);
            self.descend();
            let spread = self.members.clone();
            if self.question.target != Target::Orphans {
                self.tie();
            }
            fresh = self.members.difference(&spread).cloned().collect();
            if self.members == before {
                return;
            }
        }
    }

    /// controls: up to the top, unless a controller or what is below it says it is another's. All of a row are judged
    /// before any of them is taken.
    fn climb(&mut self, mut climbing: BTreeSet<String>) {
        while !climbing.is_empty() {
            let above = climbing.iter().filter_map(|uid| {
                let object = self.find(uid)?;
                let owner = self.find(&object.controller()?.uid)?;
                (owner.uid != *uid && !self.is_member(owner)).then_some(owner)
            });
            let taken: BTreeSet<String> =
                above.filter(|owner| !self.is_shared(owner)).map(|owner| owner.uid.clone()).collect();
            self.members.extend(taken.iter().cloned());
            self.tree.extend(taken.iter().cloned());
            climbing = taken;
        }
    }

    fn is_shared(&self, parent: &Object) -> bool {
        let mut below = BTreeSet::from([parent.uid.clone()]);
        loop {
            let more = self.those(|object| {
                !below.contains(&object.uid) && object.owners.iter().any(|owner| below.contains(&owner.uid))
            });
            if more.is_empty() {
                break;
            }
            below.extend(more);
        }
        below.iter().filter_map(|uid| self.find(uid)).any(|object| !self.is_member(object) && self.is_anothers(object))
    }

    /// owned: everything below a member.
    fn descend(&mut self) {
        loop {
            let owned = self.those(|object| {
                let owners = object.owners.iter().filter(|owner| owner.uid != object.uid);
                owners.into_iter().any(|owner| self.members.contains(&owner.uid))
            });
            let count = self.members.len();
            self.tree.extend(owned.iter().cloned());
            self.members.extend(owned);
            if self.members.len() == count {
                return;
            }
        }
    }

    /// The ties by selector and by name, in the order of the specification.
    fn tie(&mut self) {
        let picked = self.those(|object| {
            !object.labels.is_empty()
                && self.is_orphan(object)
                && !self.is_anothers(object)
                && self.members().any(|member| picks(member, &object.labels))
        });
        self.members.extend(picked);
        let endpoints = self.those(|object| match object.kind.kind.as_str() {
            "Endpoints" => self.has("Service", &object.name),
            "EndpointSlice" => {
                object.labels.get("kubernetes.io/service-name").is_some_and(|name| self.has("Service", name))
            }
            _ => false,
        });
        self.members.extend(endpoints);
        let selecting = self.those(|object| !self.is_anothers(object) && self.selects_ours_alone(object));
        self.members.extend(selecting);
        let targeting = self.those(|object| {
            let Detail::Scaler(scaler) = &object.detail else { return false };
            !self.is_anothers(object) && self.has(&scaler.kind, &scaler.name)
        });
        self.members.extend(targeting);
        let routing = self.those(|object| {
            let Detail::Route(route) = &object.detail else { return false };
            !self.is_anothers(object) && route.services.iter().any(|service| self.has("Service", service))
        });
        self.members.extend(routing);
        let claims = self.those(|object| {
            object.kind.kind == "PersistentVolumeClaim"
                && ["db", "web"].iter().any(|set| {
                    let ordinal = object.name.strip_prefix(&format!("data-{set}-"));
                    ordinal.is_some_and(|ordinal| ["0", "1"].contains(&ordinal)) && self.has("StatefulSet", set)
                })
        });
        self.members.extend(claims);
    }

    fn has(&self, kind: &str, name: &str) -> bool {
        self.members().any(|member| member.kind.kind == kind && member.name == name)
    }

    /// selects: this application's pods and nobody else's.
    fn selects_ours_alone(&self, object: &Object) -> bool {
        let selector = match &object.detail {
            Detail::Service(service) => Selector::from_map(&service.selector),
            Detail::Selecting(selector) => selector.clone(),
            _ => return false,
        };
        let picks = |own: bool| {
            self.objects.iter().filter(|pod| self.is_member(pod) == own).any(|pod| match &pod.detail {
                Detail::Pod(_) => selector.matches(&pod.labels),
                Detail::Workload(workload) => {
                    let had = || had_pods(pod).iter().any(|labels| selector.matches(labels));
                    selector.matches(&workload.template_labels) || self.leads_itself(pod) && had()
                }
                _ => false,
            })
        };
        !selector.is_empty() && picks(true) && !picks(false)
    }

    /// What only members use, and what only such things use, if nothing says whose it is.
    fn related(&self) -> BTreeSet<String> {
        let mut related: BTreeSet<String> = BTreeSet::new();
        loop {
            let more = self.those(|object| {
                let is_ours = |user: &Object| self.is_member(user) || related.contains(&user.uid);
                let users: Vec<&Object> = self.objects.iter().filter(|user| uses(user, object)).collect();
                !is_ours(object)
                    && !["kube-root-ca.crt", "default"].contains(&object.name.as_str())
                    && app_of(&object.labels).is_none()
                    && object.owners.is_empty()
                    && !users.is_empty()
                    && users.iter().all(|user| is_ours(user))
            });
            if more.is_empty() {
                return related;
            }
            related.extend(more);
        }
    }
}

/// Labels of pods that a purge noted on a workload that it put to rest.
fn had_pods(object: &Object) -> Vec<Labels> {
    let Detail::Workload(workload) = &object.detail else { return Vec::new() };
    let note = object.annotations.get("kubectl-purge/restore").filter(|_| workload.replicas == Some(0));
    let note: serde_json::Value = note.map(|note| serde_json::from_str(note).unwrap()).unwrap_or_default();
    serde_json::from_value(note["pods"].clone()).unwrap_or_default()
}

fn is_of_a_cron_job(object: &Object) -> bool {
    object.annotations.contains_key("batch.kubernetes.io/cronjob-scheduled-timestamp")
}

/// Whether a workload's selector picks these labels.
fn picks(object: &Object, labels: &Labels) -> bool {
    let Detail::Workload(workload) = &object.detail else { return false };
    workload.selector.as_ref().is_some_and(|selector| !selector.is_empty() && selector.matches(labels))
}

/// Whether one object names another as something that it uses.
fn uses(user: &Object, object: &Object) -> bool {
    let among = |uses: &References| match object.kind.kind.as_str() {
        "ConfigMap" => uses.config_maps.contains(&object.name),
        "Secret" => uses.secrets.contains(&object.name),
        "ServiceAccount" => uses.service_accounts.contains(&object.name),
        "PersistentVolumeClaim" => uses.claims.contains(&object.name),
        _ => false,
    };
    match &user.detail {
        Detail::Pod(pod) => among(&pod.uses),
        Detail::Workload(workload) => among(&workload.uses),
        Detail::Account(uses) => among(uses),
        Detail::Route(route) => object.kind.kind == "Secret" && route.secrets.contains(&object.name),
        _ => false,
    }
}

/// What the planned uids must hold of Helm's records: with everything of a release gone its records go, and with
/// anything of it left they stay.
pub(super) fn assert_records(objects: &[Object], plan: &Plan, members: &BTreeSet<String>) {
    let going: BTreeSet<&str> = plan.going().map(|object| object.uid.as_str()).collect();
    for record in objects.iter().filter(|object| object.name.starts_with("sh.helm.release.v1.")) {
        let release = &record.labels["name"];
        let is_kept =
            |object: &Object| object.annotations.get("helm.sh/resource-policy").is_some_and(|it| it == "keep");
        let mut of_it =
            objects.iter().filter(|object| object.annotations.get("meta.helm.sh/release-name") == Some(release));
        let left = of_it.find(|object| !is_kept(object) && !going.contains(object.uid.as_str()));
        if going.contains(record.uid.as_str()) && !members.contains(&record.uid) {
            assert!(left.is_none(), "{} goes, and {} of its release stays", record.uid, left.unwrap().uid);
        }
    }
}
