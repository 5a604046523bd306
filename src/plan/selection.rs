//! Which objects belong to the application, and on what evidence. Pure: an inventory and a question in, members out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Guard, Reason, Target, orphan,
    question::{Question, app_of, instance_of},
};
use crate::inventory::{Controller, Detail, Inventory, Object, Selector};

/// What belongs to the application: positions in the inventory with the evidence for each, strongest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub members: BTreeMap<usize, Vec<Reason>>,
    /// Used by members alone, but not said to belong by anything else.
    pub related: BTreeMap<usize, String>,
    /// Looks like a member's child, but neither label nor owner ties it.
    pub suspected: BTreeMap<usize, String>,
    /// Controllers of members that control other applications too: not taken, and in the way.
    pub guards: Vec<Guard>,
    /// What the user should know about what was taken and what was not.
    pub warnings: Vec<String>,
}

impl Selection {
    /// Gathers all evidence until none is new.
    #[must_use]
    pub fn of(inventory: &Inventory, question: &Question) -> Self {
        let mut search = Search {
            inventory,
            question,
            members: BTreeMap::new(),
            fresh: Vec::new(),
            guards: BTreeMap::new(),
            warnings: BTreeSet::new(),
        };
        search.begin();
        search.grow();
        let mut related = search.related();
        if question.include_related && !related.is_empty() {
            for (index, user) in related {
                search.take(index, Reason::Used { user });
            }
            search.grow();
            related = search.related();
        }
        let related = related.into_iter().map(|(index, user)| (index, format!("used only by {user}"))).collect();
        let suspected = search.suspected();
        let members = search.members.into_iter().map(|(index, reasons)| (index, reasons.into_iter().collect()));
        Self {
            members: members.collect(),
            related,
            suspected,
            guards: search.guards.into_values().collect(),
            warnings: search.warnings.into_iter().collect(),
        }
    }

    /// Whether the object at this position is a member.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.members.contains_key(&index)
    }
}

pub(super) struct Search<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) question: &'a Question,
    pub(super) members: BTreeMap<usize, BTreeSet<Reason>>,
    /// Members whose neighbours have not been looked at yet.
    fresh: Vec<usize>,
    guards: BTreeMap<usize, Guard>,
    pub(super) warnings: BTreeSet<String>,
}

impl<'a> Search<'a> {
    pub(super) fn object(&self, index: usize) -> &'a Object {
        &self.inventory.objects()[index]
    }

    /// Every object with its position.
    pub(super) fn objects(&self) -> impl Iterator<Item = (usize, &'a Object)> + use<'a> {
        self.inventory.objects().iter().enumerate()
    }

    pub(super) fn is_member(&self, index: usize) -> bool {
        self.members.contains_key(&index)
    }

    /// Takes an object in, or adds to the evidence for a member.
    pub(super) fn take(&mut self, index: usize, reason: Reason) {
        let reasons = self.members.entry(index).or_insert_with(|| {
            self.fresh.push(index);
            BTreeSet::new()
        });
        reasons.insert(reason);
    }

    /// The objects that the question itself names.
    fn begin(&mut self) {
        for (index, object) in self.objects() {
            if belongs_to_the_namespace(object) {
                continue;
            }
            let reason = match &self.question.target {
                Target::Named { .. } => self.labelled(index, object),
                Target::Matching(selector) => selector.matches(&object.labels).then_some(Reason::Matches),
                Target::Around { group, kind, name } => {
                    (object.kind.is(group, kind) && object.name == *name).then_some(Reason::Named)
                }
                Target::Orphans => orphan::is_left_over(self.inventory, index)
                    .then(|| Reason::Orphan { of: orphan::former_application(object) }),
            };
            if let Some(reason) = reason {
                self.take(index, reason);
            }
        }
    }

    fn labelled(&self, index: usize, object: &Object) -> Option<Reason> {
        let (key, value) = self.question.label_of(&object.labels)?;
        let other_instance =
            self.question.instance.as_ref().is_some_and(|wanted| instance_of(object, key) != Some(wanted));
        if other_instance {
            return None;
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        Some(if orphan::is_orphan(self.inventory, index) {
            Reason::OrphanLabel { key, value }
        } else {
            Reason::Label { key, value }
        })
    }

    fn grow(&mut self) {
        while !self.fresh.is_empty() {
            self.spread();
            if self.question.target == Target::Orphans {
                continue;
            }
            self.orphans();
            self.endpoints();
            self.selecting();
            self.targets();
            self.routes();
            self.claims();
            if self.fresh.is_empty() {
                self.records();
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
                    && !self.is_member(controller)
                {
                    let title = self.object(index).title();
                    let first = controllers.entry(controller).or_insert_with(|| title.clone());
                    *first = title.min(first.clone());
                }
            }
            // All are judged before any is taken: one must not speak for its neighbour.
            let guards: Vec<Option<Guard>> = controllers.keys().map(|&index| self.shared_parent(index)).collect();
            climbing = Vec::new();
            for ((controller, member), guard) in controllers.into_iter().zip(guards) {
                if let Some(guard) = guard {
                    self.guards.insert(controller, guard);
                } else {
                    climbing.push(controller);
                    self.take(controller, Reason::Controls { member });
                }
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

    /// A guard, where a controller of members has children that say they are of another application.
    fn shared_parent(&self, controller: usize) -> Option<Guard> {
        let mut others: Vec<String> = Vec::new();
        for &child in self.inventory.children(controller) {
            let object = self.object(child);
            if !self.is_member(child)
                && let Some((key, value)) = app_of(&object.labels)
                && self.is_anothers(object)
            {
                others.push(format!("{} ({key}={value})", object.title()));
            }
        }
        others.sort();
        let parent = self.object(controller).title();
        (!others.is_empty()).then_some(Guard::SharedParent { parent, others })
    }

    /// Whether an object's labels say it is of another application than the one in question.
    pub(super) fn is_anothers(&self, object: &Object) -> bool {
        app_of(&object.labels).is_some() && !self.is_same_application(object)
    }

    /// Whether an object's labels say it is of the application in question.
    fn is_same_application(&self, object: &Object) -> bool {
        match &self.question.target {
            Target::Named { .. } => {
                let label = self.question.label_of(&object.labels);
                let instance = self.question.instance.as_ref();
                label.is_some_and(|(key, _)| instance.is_none_or(|wanted| instance_of(object, key) == Some(wanted)))
            }
            Target::Matching(selector) => selector.matches(&object.labels),
            Target::Around { .. } => {
                let own = self.members.keys().filter_map(|&index| app_of(&self.object(index).labels));
                own.map(|(_, value)| value).any(|value| app_of(&object.labels).is_some_and(|(_, app)| app == value))
            }
            Target::Orphans => true,
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
        let mut found = Vec::new();
        for (index, object) in self.objects() {
            if self.is_member(index) || object.labels.is_empty() || !orphan::is_orphan(self.inventory, index) {
                continue;
            }
            let picking = selectors.iter().filter(|(_, selector)| selector.matches(&object.labels));
            if let Some(member) = picking.map(|(member, _)| self.object(*member).title()).min() {
                found.push((index, Reason::OrphanSelector { member }));
            }
        }
        for (index, reason) in found {
            self.take(index, reason);
        }
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
