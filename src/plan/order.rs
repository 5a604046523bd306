//! What of a plan has to wait for what: owners go before what they own, and what only a tie shows to be the
//! application's goes before that by which it is known. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Plan, PlanObject};

/// Who in a plan waits for whom.
#[derive(Debug)]
pub struct Order<'a> {
    by_uid: HashMap<&'a str, &'a PlanObject>,
    /// By the uid of what has to stay for them: what is known by it alone.
    known: HashMap<&'a str, Vec<&'a PlanObject>>,
}

/// Why an object has to stay for now.
#[derive(Clone, Copy, Debug)]
pub enum Held<'a> {
    /// Without it nothing would show that this one is the application's.
    For(&'a PlanObject),
    /// This one, which owns it, has to stay: it would make it anew.
    Below(&'a PlanObject),
}

impl<'a> Order<'a> {
    #[must_use]
    pub fn of(plan: &'a Plan) -> Self {
        let mut known: HashMap<&str, Vec<&PlanObject>> = HashMap::new();
        for object in &plan.objects {
            for holder in &object.known_by {
                known.entry(holder).or_default().push(object);
            }
        }
        Self { by_uid: plan.going().map(|object| (object.uid.as_str(), object)).collect(), known }
    }

    /// What an object has to stay for, where something is still there that must go first. What is on its way already
    /// (`is_going`) holds nothing below it, and what does not bind holds nothing at all.
    pub fn holder(
        &self,
        object: &PlanObject,
        is_gone: &dyn Fn(&str) -> bool,
        is_going: &dyn Fn(&str) -> bool,
        binds: &dyn Fn(&PlanObject) -> bool,
    ) -> Option<Held<'a>> {
        // Most plans have nothing of the kind.
        if self.known.is_empty() {
            return None;
        }
        let waits_for = |uid: &str| {
            let known = self.known.get(uid).into_iter().flatten().copied();
            known.into_iter().find(|known| !is_gone(&known.uid) && binds(known))
        };
        if let Some(known) = waits_for(&object.uid) {
            return Some(Held::For(known));
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut above: Vec<&PlanObject> = self.owners(object).collect();
        while let Some(owner) = above.pop() {
            if is_going(&owner.uid) || !seen.insert(&owner.uid) {
                continue;
            }
            if waits_for(&owner.uid).is_some() {
                return Some(Held::Below(owner));
            }
            above.extend(self.owners(owner));
        }
        None
    }

    fn owners(&self, object: &PlanObject) -> impl Iterator<Item = &'a PlanObject> {
        object.owners.iter().filter_map(|uid| self.by_uid.get(uid.as_str()).copied())
    }
}

/// The objects in rows: what has to go before a row's objects stands in rows before it. What is left of a circle is
/// one row.
#[must_use]
pub fn rows<'a>(objects: &[&'a PlanObject]) -> Vec<Vec<&'a PlanObject>> {
    let mut rest: BTreeMap<&str, &'a PlanObject> =
        objects.iter().map(|object| (object.uid.as_str(), *object)).collect();
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let awaited: BTreeSet<&str> = rest.values().flat_map(|object| &object.known_by).map(String::as_str).collect();
        let ready = |object: &&&PlanObject| {
            rest.contains_key(object.uid.as_str())
                && !awaited.contains(object.uid.as_str())
                && !object.owners.iter().any(|owner| rest.contains_key(owner.as_str()))
        };
        let mut row: Vec<&PlanObject> = objects.iter().filter(ready).copied().collect();
        if row.is_empty() {
            row = rest.values().copied().collect();
        }
        for object in &row {
            rest.remove(object.uid.as_str());
        }
        rows.push(row);
    }
    rows
}
