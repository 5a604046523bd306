//! Which objects belong to the application, and on what evidence. Pure: an inventory and a question in, members out.

use std::collections::{BTreeMap, BTreeSet};

use super::Reason;
use crate::inventory::{Controller, Detail, Inventory, Object, Selector};

/// The labels that say which application an object is of, in the order in which they are tried.
pub const APP_LABELS: [&str; 7] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/name",
    "app",
    "k8s-app",
    "release",
    "run",
];

/// Which application is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The label value, exactly.
    pub app: String,
    /// The label keys that may carry it.
    pub keys: Vec<String>,
}

impl Question {
    /// The application that any of the usual labels calls `app`.
    #[must_use]
    pub fn named(app: &str) -> Self {
        Self { app: app.to_owned(), keys: APP_LABELS.iter().map(|&key| key.to_owned()).collect() }
    }

    /// The first key under which these labels say so.
    fn key_of<'a>(&'a self, labels: &BTreeMap<String, String>) -> Option<&'a str> {
        self.keys.iter().find(|key| labels.get(*key).is_some_and(|value| *value == self.app)).map(String::as_str)
    }
}

/// The members of the application: positions in the inventory with the evidence for each, strongest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub members: BTreeMap<usize, Vec<Reason>>,
}

impl Selection {
    /// Gathers all evidence until none is new.
    #[must_use]
    pub fn of(inventory: &Inventory, question: &Question) -> Self {
        let mut search = Search { inventory, question, members: BTreeMap::new(), fresh: Vec::new() };
        search.labels();
        loop {
            search.spread();
            search.orphans();
            search.endpoints();
            search.selecting();
            if search.fresh.is_empty() {
                break;
            }
        }
        let members = search.members.into_iter().map(|(index, reasons)| (index, reasons.into_iter().collect()));
        Self { members: members.collect() }
    }

    /// Whether the object at this position is a member.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.members.contains_key(&index)
    }
}

struct Search<'a> {
    inventory: &'a Inventory,
    question: &'a Question,
    members: BTreeMap<usize, BTreeSet<Reason>>,
    /// Members whose neighbours have not been looked at yet.
    fresh: Vec<usize>,
}

impl<'a> Search<'a> {
    fn object(&self, index: usize) -> &'a Object {
        &self.inventory.objects()[index]
    }

    /// Takes an object in, or adds to the evidence for a member.
    fn take(&mut self, index: usize, reason: Reason) {
        let reasons = self.members.entry(index).or_insert_with(|| {
            self.fresh.push(index);
            BTreeSet::new()
        });
        reasons.insert(reason);
    }

    /// What calls itself so.
    fn labels(&mut self) {
        for (index, object) in self.inventory.objects().iter().enumerate() {
            if belongs_to_the_namespace(object) {
                continue;
            }
            if let Some(key) = self.question.key_of(&object.labels) {
                let (key, value) = (key.to_owned(), self.question.app.clone());
                let reason = if self.is_orphan(index) {
                    Reason::OrphanLabel { key, value }
                } else {
                    Reason::Label { key, value }
                };
                self.take(index, reason);
            }
        }
    }

    /// Along ownership from each new member: up to what controls it, then down to what it owns.
    fn spread(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        // Up first, and to the top, so that what is owned has its owner's word for it and not the other way round.
        // Of several members one controller has, the first by name speaks for it, whatever order they came in.
        let mut climbing = fresh.clone();
        while !climbing.is_empty() {
            let mut controllers: BTreeMap<usize, String> = BTreeMap::new();
            for index in climbing {
                if let Controller::Living(controller) = self.inventory.controller(index)
                    && !self.members.contains_key(&controller)
                {
                    let title = self.object(index).title();
                    let first = controllers.entry(controller).or_insert_with(|| title.clone());
                    *first = title.min(first.clone());
                }
            }
            climbing = controllers.keys().copied().collect();
            for (controller, member) in controllers {
                self.take(controller, Reason::Controls { member });
            }
            fresh.append(&mut self.fresh);
        }
        while let Some(index) = fresh.pop() {
            let owner = self.object(index).title();
            for &child in self.inventory.children(index) {
                self.take(child, Reason::Owned { owner: owner.clone() });
            }
            fresh.append(&mut self.fresh);
        }
    }

    /// What no living controller owns and a member's selector picks.
    fn orphans(&mut self) {
        let selectors: Vec<(usize, &Selector)> = self
            .members
            .keys()
            .filter_map(|&index| match &self.object(index).detail {
                Detail::Workload(workload) => Some((index, workload.selector.as_ref()?)),
                _ => None,
            })
            .filter(|(_, selector)| !selector.is_empty())
            .collect();
        for (index, object) in self.inventory.objects().iter().enumerate() {
            if self.members.contains_key(&index) || !self.is_orphan(index) || object.labels.is_empty() {
                continue;
            }
            let picking = selectors.iter().filter(|(_, selector)| selector.matches(&object.labels));
            if let Some(member) = picking.map(|(member, _)| self.object(*member).title()).min() {
                self.take(index, Reason::OrphanSelector { member });
            }
        }
    }

    /// Endpoints and EndpointSlices of member Services: tied to them by name and label, not always by ownership.
    fn endpoints(&mut self) {
        let services: BTreeSet<&str> = self
            .members
            .keys()
            .map(|&index| self.object(index))
            .filter(|object| object.kind.is("", "Service"))
            .map(|object| object.name.as_str())
            .collect();
        for (index, object) in self.inventory.objects().iter().enumerate() {
            let service = if object.kind.is("", "Endpoints") {
                Some(object.name.as_str())
            } else if object.kind.is("discovery.k8s.io", "EndpointSlice") {
                object.labels.get("kubernetes.io/service-name").map(String::as_str)
            } else {
                None
            };
            // A member by its label, which the controller copies from the Service, it goes with the Service all the same.
            if let Some(service) = service.filter(|service| services.contains(service)) {
                self.take(index, Reason::Endpoints { service: service.to_owned() });
            }
        }
    }

    /// Services, disruption budgets and network policies that pick the application's pods and nobody else's.
    /// A workload that is scaled to 0 speaks for the pods it would have.
    fn selecting(&mut self) {
        let mut own = Vec::new();
        let mut others = Vec::new();
        for (index, object) in self.inventory.objects().iter().enumerate() {
            let labels = match &object.detail {
                Detail::Pod(_) => &object.labels,
                Detail::Workload(workload) => &workload.template_labels,
                _ => continue,
            };
            if self.members.contains_key(&index) { own.push(labels) } else { others.push(labels) }
        }
        for (index, object) in self.inventory.objects().iter().enumerate() {
            let selector = match &object.detail {
                Detail::Service(service) => Selector::from_map(&service.selector),
                Detail::Selecting(selector) => selector.clone(),
                _ => continue,
            };
            // An empty selector is a rule for the whole namespace (or, on a Service, none at all).
            if selector.is_empty() || self.members.contains_key(&index) {
                continue;
            }
            let picks = |all: &[&BTreeMap<String, String>]| all.iter().any(|labels| selector.matches(labels));
            if picks(&own) && !picks(&others) {
                self.take(index, Reason::Selects);
            }
        }
    }

    /// Whether it is of a kind that controllers make, and no living controller owns it.
    fn is_orphan(&self, index: usize) -> bool {
        let object = self.object(index);
        let made = match (object.kind.group.as_str(), object.kind.kind.as_str()) {
            ("apps", "ReplicaSet" | "ControllerRevision") | ("", "Pod") => true,
            // A Job is often made by hand; a CronJob's says when it was due.
            ("batch", "Job") => {
                object.controller().is_some()
                    || object.annotations.contains_key("batch.kubernetes.io/cronjob-scheduled-timestamp")
            }
            ("discovery.k8s.io", "EndpointSlice") => object.controller().is_some(),
            _ => false,
        };
        made && matches!(self.inventory.controller(index), Controller::None | Controller::Dead)
    }
}

/// What the namespace or the cluster keeps for everyone in it, whatever its labels say.
pub(super) fn belongs_to_the_namespace(object: &Object) -> bool {
    match (object.kind.group.as_str(), object.kind.kind.as_str()) {
        ("", "ConfigMap") => object.name == "kube-root-ca.crt",
        ("", "ServiceAccount") => object.name == "default",
        _ => false,
    }
}
