//! Which objects belong to the application, and on what evidence. Pure: an inventory and a question in, members out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Guard, Reason, Target, orphan,
    question::{APP_LABELS, Question, app_of, instance_of},
    restore::pods_before,
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
    /// Whether there may be pods, or what makes pods, that nobody saw.
    pub is_blind_to_pods: bool,
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
            around: BTreeSet::new(),
            passed: BTreeMap::new(),
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
        let is_blind_to_pods = search.is_blind_to_pods();
        let members = search.members.into_iter().map(|(index, reasons)| (index, reasons.into_iter().collect()));
        Self {
            members: members.collect(),
            related,
            suspected,
            is_blind_to_pods,
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
    /// What evidence points at, but is not taken; with the reason.
    pub(super) passed: BTreeMap<usize, String>,
    /// The applications that the object named by `TYPE/NAME` and its owner tree say they are of.
    around: BTreeSet<String>,
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
            let reason = reason.or_else(|| self.had(index, object));
            if let Some(reason) = reason {
                self.take(index, reason);
            } else if let Some((key, value)) = self.question.label_of(&object.labels) {
                let instance = instance_of(self.inventory, index, key, value);
                self.passed.insert(index, format!("label {key}={value}, of instance {instance}"));
            }
        }
    }

    fn labelled(&self, index: usize, object: &'a Object) -> Option<Reason> {
        let Some((key, value)) = self.question.label_of(&object.labels) else {
            // Its pods will say so, even where none has been born yet.
            let Detail::Workload(workload) = &object.detail else { return None };
            let (key, value) = self.question.label_of(&workload.template_labels)?;
            let is_wanted = |wanted: &String| instance_of(self.inventory, index, key, value) == wanted;
            let is_ours = app_of(&object.labels).is_none() && self.question.instance.as_ref().is_none_or(is_wanted);
            return (is_ours && self.inventory.controller(index) == Controller::None)
                .then(|| Reason::Template { key: key.to_owned(), value: value.to_owned() });
        };
        if self
            .question
            .instance
            .as_ref()
            .is_some_and(|wanted| instance_of(self.inventory, index, key, value) != wanted)
        {
            return None;
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        Some(if orphan::is_orphan(self.inventory, index) {
            Reason::OrphanLabel { key, value }
        } else {
            Reason::Label { key, value }
        })
    }

    /// A workload at 0 that controlled pods of the application.
    fn had(&self, index: usize, object: &'a Object) -> Option<Reason> {
        let had = pods_before(self.inventory, index);
        let label = match &self.question.target {
            Target::Named { .. } => {
                let (key, value) = had.iter().find_map(|labels| self.question.label_of(labels))?;
                let wanted = self.question.instance.as_ref();
                let is_ours = wanted.is_none_or(|wanted| instance_of(self.inventory, index, key, value) == wanted);
                Some(format!("{key}={value}")).filter(|_| is_ours)
            }
            Target::Matching(selector) => {
                had.iter().any(|labels| selector.matches(labels)).then(|| selector.to_string())
            }
            Target::Around { .. } | Target::Orphans => None,
        };
        Some(Reason::Had { label: label? }).filter(|_| self.another_application(object).is_none())
    }

    fn grow(&mut self) {
        while !self.fresh.is_empty() {
            self.note_around();
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

    /// A guard, where a controller of members says it is of another application, or something below it does.
    fn shared_parent(&self, controller: usize) -> Option<Guard> {
        let mut others: Vec<String> = Vec::new();
        let mut seen = BTreeSet::from([controller]);
        let mut level = vec![controller];
        while let Some(index) = level.pop() {
            let object = self.object(index);
            if !self.is_member(index)
                && let Some((key, value)) = self.another_application(object)
            {
                others.push(format!("{} ({key}={value})", object.title()));
            }
            level.extend(self.inventory.children(index).iter().copied().filter(|&child| seen.insert(child)));
        }
        others.sort();
        let parent = self.object(controller).title();
        (!others.is_empty()).then_some(Guard::SharedParent { parent, others })
    }

    /// The other application that an object says it is of: by its own labels or those that it gives to its pods,
    /// where neither says it is of the one in question.
    pub(super) fn another_application(&self, object: &Object) -> Option<(String, String)> {
        let template = match &object.detail {
            Detail::Workload(workload) => Some(&workload.template_labels),
            _ => None,
        };
        let labels: Vec<&BTreeMap<String, String>> = [Some(&*object.labels), template].into_iter().flatten().collect();
        if let Some(label) = labels.iter().find_map(|labels| self.question.label_of(labels)) {
            return self.another_instance(object, label);
        }
        if self.question.instance.as_ref().is_some_and(|wanted| object.labels.get(APP_LABELS[0]) == Some(wanted)) {
            return None;
        }
        if labels.iter().any(|labels| self.is_ours_otherwise(labels)) {
            return None;
        }
        labels.into_iter().find_map(|labels| self.other_name(labels))
    }

    /// The same application, but of an instance that was not asked for.
    fn another_instance(&self, object: &Object, (key, value): (&str, &str)) -> Option<(String, String)> {
        let wanted = self.question.instance.as_ref()?;
        let instance = instance_of(self.inventory, self.inventory.find(&object.uid)?, key, value);
        (instance != wanted).then(|| ("instance".to_owned(), instance.to_owned()))
    }

    /// Whether labels say so where the question is not of a name.
    fn is_ours_otherwise(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.question.target {
            Target::Matching(selector) => selector.matches(labels),
            Target::Around { .. } => app_of(labels).is_some_and(|(_, app)| self.around.contains(app)),
            Target::Named { .. } | Target::Orphans => false,
        }
    }

    /// Another name under the question's own keys, or else under the usual ones.
    fn other_name(&self, labels: &BTreeMap<String, String>) -> Option<(String, String)> {
        let under =
            |key: &str| labels.get(key).filter(|value| !value.is_empty()).map(|value| (key.to_owned(), value.clone()));
        let asked = match &self.question.target {
            Target::Named { keys, .. } => keys.iter().find_map(|key| under(key)),
            Target::Matching(selector) => selector.keys().find_map(under),
            Target::Around { .. } => None,
            Target::Orphans => return None,
        };
        asked.or_else(|| app_of(labels).map(|(key, value)| (key.to_owned(), value.to_owned())))
    }

    /// What the named object and its owner tree call themselves.
    fn note_around(&mut self) {
        if !matches!(self.question.target, Target::Around { .. }) {
            return;
        }
        let by_tree = |reasons: &BTreeSet<Reason>| {
            reasons
                .iter()
                .any(|reason| matches!(reason, Reason::Named | Reason::Controls { .. } | Reason::Owned { .. }))
        };
        let tree = self.members.iter().filter(|(_, reasons)| by_tree(reasons)).map(|(&index, _)| index);
        self.around =
            tree.filter_map(|index| app_of(&self.object(index).labels)).map(|(_, app)| app.to_owned()).collect();
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
        // A selector that is wider than its application picks what is another's.
        self.take_unless_anothers(found);
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
