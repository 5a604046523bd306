//! Everything in the namespace, once per uid, and the owner graph over it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use thiserror::Error;

use super::{Detail, Kind, Object, OwnerRef};

/// An object that does not lie in the namespace that was asked for.
///
/// The server answered another question than the one put to it; nothing may be planned from such an answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the server listed {title} of namespace {found:?} where namespace {asked:?} was asked for")]
pub struct Stray {
    pub title: String,
    pub found: String,
    pub asked: String,
}

/// The state of an object's managing controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// It has none.
    None,
    /// It is this object of the inventory.
    Living(usize),
    /// It was looked for and is gone.
    Dead,
    /// Its kind could not be looked through: it may well live.
    Unseen,
    /// Its kind is none of this namespace's: it may well live.
    Unknown,
}

/// The objects of one namespace as of one look, with the ties of ownership between them.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    objects: Vec<Object>,
    by_uid: HashMap<String, usize>,
    owners: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    /// Group and kind of what was listed to the end.
    listed: HashSet<(String, String)>,
    /// Group and kind of what could not be listed.
    unseen: HashSet<(String, String)>,
    versions: HashMap<Arc<Kind>, String>,
}

impl Inventory {
    /// Puts the objects together. The first of several with one uid stands for all: two API groups can serve one
    /// object. `listed` names group and kind of everything that was looked through.
    pub fn new(
        namespace: &str,
        objects: impl IntoIterator<Item = Object>,
        listed: HashSet<(String, String)>,
    ) -> Result<Self, Stray> {
        // Collected in place: there may be many thousands.
        let mut objects: Vec<Object> = objects.into_iter().collect();
        if let Some(stray) = objects.iter().find(|object| object.namespace != namespace) {
            return Err(Stray { title: stray.title(), found: stray.namespace.clone(), asked: namespace.to_owned() });
        }
        let mut by_uid = HashMap::with_capacity(objects.len());
        objects.retain(|object| {
            let next = by_uid.len();
            let is_new = !object.uid.is_empty() && !by_uid.contains_key(&object.uid);
            if is_new {
                by_uid.insert(object.uid.clone(), next);
            }
            is_new
        });
        objects.shrink_to_fit();
        let mut this = Self { objects, by_uid, listed, ..Self::default() };
        this.children = vec![Vec::new(); this.objects.len()];
        for (index, object) in this.objects.iter().enumerate() {
            let mut owners: Vec<usize> = object.owners.iter().filter_map(|owner| this.find(&owner.uid)).collect();
            owners.dedup();
            owners.retain(|owner| *owner != index);
            for owner in &owners {
                this.children[*owner].push(index);
            }
            this.owners.push(owners);
        }
        Ok(this)
    }

    /// Notes which kinds, by group and kind, there may be objects of that nobody saw.
    #[must_use]
    pub fn without(mut self, unseen: HashSet<(String, String)>) -> Self {
        self.unseen = unseen;
        self
    }

    /// Notes the resourceVersion of each kind's list.
    #[must_use]
    pub fn with_versions(mut self, versions: HashMap<Arc<Kind>, String>) -> Self {
        self.versions = versions;
        self
    }

    /// The resourceVersion from which a watch goes on where the kind's list ended.
    #[must_use]
    pub fn version(&self, kind: &Kind) -> Option<&str> {
        self.versions.get(kind).map(String::as_str)
    }

    /// Whether there may be objects of this kind that nobody saw.
    #[must_use]
    pub fn is_unseen(&self, group: &str, kind: &str) -> bool {
        self.unseen.contains(&(group.to_owned(), kind.to_owned()))
    }

    /// Every object; positions are what the other methods take and give.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Adds what was learnt of an object after the listing.
    pub fn set_detail(&mut self, index: usize, detail: Detail) {
        self.objects[index].detail = detail;
    }

    /// Where the object of this uid stands.
    #[must_use]
    pub fn find(&self, uid: &str) -> Option<usize> {
        self.by_uid.get(uid).copied()
    }

    /// The living owners, joined by uid.
    #[must_use]
    pub fn owners(&self, index: usize) -> &[usize] {
        &self.owners[index]
    }

    /// What names the object as an owner.
    #[must_use]
    pub fn children(&self, index: usize) -> &[usize] {
        &self.children[index]
    }

    /// The state of the object's managing controller.
    #[must_use]
    pub fn controller(&self, index: usize) -> Controller {
        self.objects[index].controller().map_or(Controller::None, |owner| self.owner_state(owner))
    }

    /// Whether the object of this reference lives, as far as was seen.
    #[must_use]
    pub fn owner_state(&self, owner: &OwnerRef) -> Controller {
        let kind = (owner.group.clone(), owner.kind.clone());
        match self.find(&owner.uid) {
            Some(index) => Controller::Living(index),
            None if self.listed.contains(&kind) => Controller::Dead,
            None if self.unseen.contains(&kind) => Controller::Unseen,
            None => Controller::Unknown,
        }
    }
}
