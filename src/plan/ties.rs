//! The evidence that lies in what objects name: selectors, scale targets, routes, claims, records, uses.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Reason, Target,
    orphan::{is_left_over, is_orphan, stem},
    question::app_of,
    restore::pods_before,
    selection::{Search, belongs_to_the_namespace},
    uses::{named, references, user_rank},
};
use crate::inventory::{Controller, Detail, Object, Selector};

impl<'a> Search<'a> {
    /// Members of a kind, by name.
    fn members_of(&self, group: &str, kind: &str) -> BTreeSet<&'a str> {
        let members = self.members.keys().map(|&index| self.object(index));
        members.filter(|object| object.kind.is(group, kind)).map(|object| object.name.as_str()).collect()
    }

    fn take_all(&mut self, found: Vec<(usize, Reason)>) {
        for (index, reason) in found {
            self.take(index, reason);
        }
    }

    /// What calls itself another application's is not taken for what it points at, but told.
    pub(super) fn take_unless_anothers(&mut self, found: Vec<(usize, Reason)>) {
        for (index, reason) in found {
            match self.another_application(self.object(index)) {
                Some((key, value)) => {
                    self.passed.insert(index, format!("{reason}, but is labelled {key}={value}"));
                }
                None => self.take(index, reason),
            }
        }
    }

    /// Whether there may be pods, or what makes pods, that nobody saw.
    pub(super) fn is_blind_to_pods(&self) -> bool {
        const MAKERS: [(&str, &str); 8] = [
            ("", "Pod"),
            ("", "ReplicationController"),
            ("apps", "Deployment"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("batch", "Job"),
            ("batch", "CronJob"),
        ];
        MAKERS.iter().any(|(group, kind)| self.inventory.is_unseen(group, kind))
    }

    /// Objects that are no members yet.
    fn outside(&self) -> impl Iterator<Item = (usize, &'a Object)> {
        self.objects().filter(|(index, _)| !self.is_member(*index))
    }

    /// Endpoints and EndpointSlices of member Services: tied to them by name and label, not always by ownership.
    pub(super) fn endpoints(&mut self) {
        let services = self.members_of("", "Service");
        let service_of = |object: &'a Object| -> Option<&'a str> {
            if object.kind.is("", "Endpoints") {
                Some(object.name.as_str())
            } else if object.kind.is("discovery.k8s.io", "EndpointSlice") {
                object.labels.get("kubernetes.io/service-name").map(String::as_str)
            } else {
                None
            }
        };
        // A member by its label, which the controller copies from the Service, goes with the Service all the same.
        let found = self
            .objects()
            .filter_map(|(index, object)| Some((index, service_of(object).filter(|name| services.contains(name))?)))
            .map(|(index, service)| (index, Reason::Endpoints { service: service.to_owned() }))
            .collect();
        self.take_all(found);
    }

    /// Services, disruption budgets and network policies that pick the application's pods and nobody else's.
    /// A workload that is scaled to 0 speaks for the pods it would have, and for those that a purge noted it had.
    pub(super) fn selecting(&mut self) {
        let mut own = Vec::new();
        let mut others = Vec::new();
        let before = self.objects().map(|(index, _)| (index, pods_before(self.inventory, index)));
        let before: Vec<_> = before.filter(|(_, pods)| !pods.is_empty()).collect();
        for (index, labels) in before.iter().flat_map(|(index, pods)| pods.iter().map(|labels| (*index, labels))) {
            if self.is_member(index) { own.push(labels) } else { others.push(labels) }
        }
        for (index, object) in self.objects() {
            let labels = match &object.detail {
                Detail::Pod(_) => &*object.labels,
                Detail::Workload(workload) => &workload.template_labels,
                _ => continue,
            };
            if self.is_member(index) { own.push(labels) } else { others.push(labels) }
        }
        let mut found = Vec::new();
        for (index, object) in self.outside() {
            let selector = match &object.detail {
                Detail::Service(service) => Selector::from_map(&service.selector),
                Detail::Selecting(selector) => selector.clone(),
                _ => continue,
            };
            // An empty selector is a rule for the whole namespace (or, on a Service, none at all).
            let picks = |all: &[&BTreeMap<String, String>]| all.iter().any(|labels| selector.matches(labels));
            if !selector.is_empty() && picks(&own) && !picks(&others) {
                found.push((index, Reason::Selects));
            }
        }
        if self.is_blind_to_pods() {
            let why = |(index, reason): (usize, Reason)| (index, format!("{reason}, as far as could be seen"));
            self.passed.extend(found.into_iter().map(why));
        } else {
            self.take_unless_anothers(found);
        }
    }

    /// Autoscalers whose target is a member.
    pub(super) fn targets(&mut self) {
        let members: BTreeMap<(&str, &str, &str), String> = self
            .members
            .keys()
            .map(|&index| self.object(index))
            .map(|object| ((&*object.kind.group, &*object.kind.kind, &*object.name), object.title()))
            .collect();
        let found = self
            .outside()
            .filter_map(|(index, object)| {
                let Detail::Scaler(scaler) = &object.detail else { return None };
                let target = members.get(&(&*scaler.group, &*scaler.kind, &*scaler.name))?;
                Some((index, Reason::Targets { target: target.clone() }))
            })
            .collect();
        self.take_unless_anothers(found);
    }

    /// Routes that send to member Services. Whether they send to others too is for keeping to say.
    pub(super) fn routes(&mut self) {
        let services = self.members_of("", "Service");
        let found = self
            .outside()
            .filter_map(|(index, object)| {
                let Detail::Route(route) = &object.detail else { return None };
                let service = route.services.iter().find(|service| services.contains(service.as_str()))?;
                Some((index, Reason::Routes { service: service.clone() }))
            })
            .collect();
        self.take_unless_anothers(found);
    }

    /// Claims of member StatefulSets: `TEMPLATE-STATEFULSET-ORDINAL`, of a bigger past too.
    pub(super) fn claims(&mut self) {
        let mut prefixes: BTreeMap<String, String> = BTreeMap::new();
        for object in self.members.keys().map(|&index| self.object(index)) {
            if let Detail::Workload(workload) = &object.detail {
                for template in &workload.claim_templates {
                    prefixes.insert(format!("{template}-{}-", object.name), object.title());
                }
            }
        }
        let found = self
            .outside()
            .filter(|(_, object)| matches!(object.detail, Detail::Claim(_)))
            .filter_map(|(index, object)| {
                let ordinal = object.name.rfind('-')? + 1;
                let is_number = object.name[ordinal..].bytes().all(|byte| byte.is_ascii_digit());
                let set = prefixes.get(&object.name[..ordinal]).filter(|_| is_number && ordinal < object.name.len())?;
                Some((index, Reason::Claims { set: set.clone() }))
            })
            .collect();
        self.take_all(found);
    }

    /// What members alone use, by the first of its users, and nothing says belongs to somebody. What only such
    /// things use is among it: a ServiceAccount's pull secret.
    pub(super) fn related(&self) -> BTreeMap<usize, String> {
        let mut related = BTreeMap::new();
        // Where pods may be unseen, nothing is known to be used by the application alone.
        if self.question.target == Target::Orphans || self.is_blind_to_pods() {
            return related;
        }
        loop {
            let more = self.used_only_by(&related);
            if more.is_empty() {
                return related;
            }
            related.extend(more);
        }
    }

    /// What only members and these use, and is none of either.
    fn used_only_by(&self, related: &BTreeMap<usize, String>) -> BTreeMap<usize, String> {
        let mut own: BTreeMap<(&str, &str), String> = BTreeMap::new();
        let mut others: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (index, object) in self.objects() {
            for used in references(object).into_iter().flat_map(named) {
                if self.is_member(index) || related.contains_key(&index) {
                    let title = object.title();
                    let first = own.entry(used).or_insert_with(|| title.clone());
                    if user_rank(&title) < user_rank(first) {
                        *first = title;
                    }
                } else {
                    others.insert(used);
                }
            }
        }
        self.outside()
            .filter(|(index, object)| {
                object.kind.group.is_empty()
                    && !related.contains_key(index)
                    && !belongs_to_the_namespace(object)
                    && app_of(&object.labels).is_none()
                    && object.owners.is_empty()
            })
            .filter_map(|(index, object)| {
                let key = (object.kind.kind.as_str(), object.name.as_str());
                own.get(&key).filter(|_| !others.contains(&key)).map(|user| (index, user.clone()))
            })
            .collect()
    }

    /// What looks like a member's child by name and hash alone.
    pub(super) fn suspected(&self) -> BTreeMap<usize, String> {
        let mut suspected = self.children_by_name();
        if self.question.target == Target::Orphans {
            suspected.extend(self.claims_of_nobody());
            suspected.extend(self.generated_by_nobody());
        }
        let passed = self.passed.iter().filter(|(index, _)| !self.is_member(**index));
        suspected.extend(passed.map(|(index, why)| (*index, why.clone())));
        suspected
    }

    /// Claims that are called as a StatefulSet's are, where there is no such StatefulSet and no pod mounts them. The
    /// name is all that says so, and they hold data: they are only told.
    fn claims_of_nobody(&self) -> BTreeMap<usize, String> {
        let mut mounted: BTreeSet<&str> = BTreeSet::new();
        let mut sets: Vec<&str> = Vec::new();
        for (_, object) in self.objects() {
            if let Detail::Pod(pod) = &object.detail {
                mounted.extend(pod.uses.claims.iter().map(String::as_str));
            }
            if object.kind.is("apps", "StatefulSet") {
                sets.push(&object.name);
            }
        }
        self.outside()
            .filter(|(_, object)| matches!(object.detail, Detail::Claim(_)) && object.owners.is_empty())
            .filter(|(_, object)| !mounted.contains(object.name.as_str()))
            .filter_map(|(index, object)| {
                let (front, ordinal) = object.name.rsplit_once('-')?;
                let (_, set) = front.split_once('-')?;
                let is_number = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
                let lives = sets.iter().any(|set| front.ends_with(&format!("-{set}")));
                (is_number && !lives).then(|| {
                    (index, format!("holds data; named like a claim of a StatefulSet that is gone, such as {set}"))
                })
            })
            .collect()
    }

    /// Pods with a name that the server made up and no other mark: a ReplicationController's, or somebody's own, as of
    /// a build's runner.
    fn generated_by_nobody(&self) -> BTreeMap<usize, String> {
        self.outside()
            .filter(|(index, object)| object.generated && is_orphan(self.inventory, *index))
            .map(|(index, _)| {
                (index, "its name is generated and nothing owns it, but no controller has marked it".to_owned())
            })
            .collect()
    }

    fn children_by_name(&self) -> BTreeMap<usize, String> {
        let mut stems: BTreeMap<&str, String> = BTreeMap::new();
        for object in self.members.keys().map(|&index| self.object(index)) {
            if matches!(object.detail, Detail::Workload(_)) {
                stems.insert(stem(&object.name), object.title());
                stems.insert(&object.name, object.title());
            }
        }
        if let Target::Named { value, .. } = &self.question.target {
            stems.entry(value).or_insert_with(|| format!("application {value}"));
        }
        self.outside()
            .filter(|(index, object)| {
                let job = object.kind.is("batch", "Job")
                    && matches!(self.inventory.controller(*index), Controller::None | Controller::Dead);
                is_left_over(self.inventory, *index) || is_orphan(self.inventory, *index) || job
            })
            .filter(|(_, object)| app_of(&object.labels).is_none())
            .filter_map(|(index, object)| {
                let job = ["batch.kubernetes.io/job-name", "job-name"].iter().find_map(|key| object.labels.get(*key));
                let by_job = job.and_then(|job| stems.get(job.as_str()).or_else(|| stems.get(stem(job))));
                let by_name = stems.get(stem(&object.name)).filter(|_| stem(&object.name) != object.name);
                Some((index, format!("named like a child of {}", by_job.or(by_name)?)))
            })
            .collect()
    }
}
