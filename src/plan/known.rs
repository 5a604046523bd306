//! By what of the plan alone an object is known to be the application's: a Service by the workload whose pods it
//! selects, a claim by its StatefulSet. With that gone, a run that comes later would not find it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Reason, Selection, Wave,
    restore::pods_before,
    uses::{named, references},
};
use crate::inventory::{Controller, Detail, Inventory, Object, Selector};

/// By position, the planned objects that have to stay until this one has gone.
pub(super) type Known = BTreeMap<usize, BTreeSet<usize>>;

/// What the plan has to take care of, so that whatever is left of it can be found again.
#[derive(Debug, Default)]
pub(super) struct Care {
    pub(super) known: Known,
    /// By a workload that is scaled down, or suspended: its pods without whose labels something would not be found.
    pub(super) pods: BTreeMap<usize, BTreeSet<usize>>,
}

/// What has to stay for what, and be noted of pods. `kept` stays in any case, but for what is kept because the server
/// would refuse to delete it (`is_refused`) others have to stay too. `rests` says what is scaled down or suspended.
pub(super) fn care(
    inventory: &Inventory,
    selection: &Selection,
    kept: &BTreeMap<usize, String>,
    rests: &dyn Fn(usize) -> bool,
    is_refused: impl Fn(usize) -> bool,
) -> Care {
    let mut search = Search { inventory, selection, kept, rests, grounds: BTreeMap::new() };
    search.ground();
    let mut care = Care::default();
    for (&index, ground) in &search.grounds {
        if let Some(pod) = ground.pod {
            for root in search.with_owners(pod).into_iter().filter(|&owner| rests(owner)) {
                care.pods.entry(root).or_default().insert(pod);
            }
        }
        let is_meant = search.goes(index) || is_refused(index);
        if is_meant && !ground.stay.is_empty() && !search.is_used_to_the_end(index) {
            care.known.insert(index, ground.stay.clone());
        }
    }
    untie(&mut care.known, &search);
    care.known.retain(|_, holders| !holders.is_empty());
    care
}

struct Search<'a> {
    inventory: &'a Inventory,
    selection: &'a Selection,
    kept: &'a BTreeMap<usize, String>,
    rests: &'a dyn Fn(usize) -> bool,
    /// Of each member whose membership is explained so far, by what.
    grounds: BTreeMap<usize, Ground>,
}

/// By what a member is known.
#[derive(Clone, Debug, Default)]
struct Ground {
    /// What of the plan has to stay for it.
    stay: BTreeSet<usize>,
    /// A pod that is gone before anything is deleted: its labels have to be noted.
    pod: Option<usize>,
}

impl<'a> Search<'a> {
    fn object(&self, index: usize) -> &'a Object {
        &self.inventory.objects()[index]
    }

    fn goes(&self, index: usize) -> bool {
        self.selection.contains(index) && !self.kept.contains_key(&index)
    }

    /// Explains member after member by what is explained already, so that nothing is known by itself.
    fn ground(&mut self) {
        let (sure, mut open): (Vec<usize>, Vec<usize>) =
            self.selection.members.keys().partition(|&&index| self.says_so_itself(index));
        self.grounds.extend(sure.into_iter().map(|index| (index, Ground::default())));
        while !open.is_empty() {
            // What has an owner goes with it; only where that owner is itself known by what it owns, that is no help.
            let mut found = self.explained(&open, false);
            if found.is_empty() {
                found = self.explained(&open, true);
            }
            if found.is_empty() {
                return;
            }
            open.retain(|index| !found.contains_key(index));
            self.grounds.extend(found);
        }
    }

    fn explained(&self, open: &[usize], owned_too: bool) -> BTreeMap<usize, Ground> {
        let explained = |&index: &usize| Some((index, self.by_owner(index, owned_too)?));
        open.iter().filter_map(explained).collect()
    }

    /// Whether neither another object nor another one's absence has to be there for it to be found.
    fn says_so_itself(&self, index: usize) -> bool {
        self.selection.members[&index]
            .iter()
            .any(|reason| reason.is_direct() || matches!(reason, Reason::Orphan { .. }))
    }

    fn by_owner(&self, index: usize, owned_too: bool) -> Option<Ground> {
        let owners = self.inventory.owners(index).iter().copied().chain(self.served(index));
        let mut owners = owners.filter(|&owner| owner != index && self.selection.contains(owner)).peekable();
        if owners.peek().is_none() || owned_too {
            return self.by_tie(index);
        }
        let owner = owners.find(|owner| self.grounds.contains_key(owner))?;
        // The garbage collector takes what goes; what is kept is found as long as its owner is.
        let stay = if self.goes(index) { BTreeSet::new() } else { self.through(owner) };
        Some(Ground { stay, pod: None })
    }

    /// The tie that holds longest.
    fn by_tie(&self, index: usize) -> Option<Ground> {
        let reasons = &self.selection.members[&index];
        let ties = reasons.iter().flat_map(|reason| self.holders(index, reason)).filter(|holder| *holder != index);
        let ties: BTreeSet<usize> = ties.filter(|holder| self.grounds.contains_key(holder)).collect();
        let best = ties.into_iter().map(|holder| (self.frailty(holder), holder)).min()?;
        let is_drained = |pod| self.drains(pod) && self.with_owners(pod).into_iter().any(|owner| (self.rests)(owner));
        let drained = Some(best.1).filter(|&pod| is_drained(pod));
        // What owns it itself takes it along.
        let above = self.with_owners(index);
        let stays = |holder: &usize| !above.contains(holder) && drained != Some(*holder);
        Some(Ground { stay: self.through(best.1).into_iter().filter(stays).collect(), pod: drained })
    }

    /// What of the plan must stay so that this member is there and known.
    fn through(&self, index: usize) -> BTreeSet<usize> {
        if !self.goes(index) {
            return self.grounds[&index].stay.clone();
        }
        self.with_owners(index)
    }

    /// A member and the planned ones that, gone, would take it along.
    fn with_owners(&self, index: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([index]);
        let mut above = vec![index];
        while let Some(index) = above.pop() {
            let owners = self.inventory.owners(index).iter().copied().chain(self.served(index));
            above.extend(owners.filter(|&owner| self.goes(owner) && all.insert(owner)));
        }
        all
    }

    /// The Services with which a controller takes an object away, as if they owned it.
    fn served(&self, index: usize) -> Vec<usize> {
        if !is_made_for_a_service(self.object(index)) {
            return Vec::new();
        }
        let reasons = self.selection.members[&index].iter();
        let by_service = reasons.filter(|reason| matches!(reason, Reason::Endpoints { .. }));
        by_service.flat_map(|reason| self.holders(index, reason)).collect()
    }

    /// How soon a member is gone, or known no more: the smaller, the longer others can go by it.
    fn frailty(&self, index: usize) -> (bool, bool, bool, std::cmp::Reverse<Wave>, usize, String, &'a str) {
        let through = self.through(index);
        let first = through.iter().map(|&index| Wave::of(&self.object(index).kind)).min();
        let object = self.object(index);
        (
            self.drains(index),
            !through.is_empty(),
            !self.grounds[&index].stay.is_empty(),
            std::cmp::Reverse(first.unwrap_or(Wave::Claims)),
            through.len(),
            object.title(),
            &object.uid,
        )
    }

    /// Members that make this a reason.
    fn holders(&self, index: usize, reason: &Reason) -> Vec<usize> {
        let object = self.object(index);
        match (reason, &object.detail) {
            (Reason::Controls { .. }, _) => {
                let led = |child: &&usize| matches!(self.inventory.controller(**child), Controller::Living(it) if it == index);
                let children = self.inventory.children(index).iter().filter(led).copied();
                children.filter(|&child| self.selection.contains(child)).collect()
            }
            (Reason::OrphanSelector { .. }, _) => self.members(|other| match &other.detail {
                Detail::Workload(workload) => workload
                    .selector
                    .as_ref()
                    .is_some_and(|selector| !selector.is_empty() && selector.matches(&object.labels)),
                _ => false,
            }),
            (Reason::Endpoints { service }, _) => {
                self.members(|other| other.kind.is("", "Service") && other.name == *service)
            }
            (Reason::Selects, Detail::Service(service)) => self.picked(&Selector::from_map(&service.selector)),
            (Reason::Selects, Detail::Selecting(selector)) => self.picked(selector),
            (Reason::Targets { .. }, Detail::Scaler(scaler)) => {
                self.members(|other| other.kind.is(&scaler.group, &scaler.kind) && other.name == scaler.name)
            }
            (Reason::Routes { .. }, Detail::Route(route)) => {
                self.members(|other| other.kind.is("", "Service") && route.services.contains(&other.name))
            }
            (Reason::Claims { set }, _) => {
                self.members(|other| matches!(other.detail, Detail::Workload(_)) && other.title() == *set)
            }
            (Reason::Record { release }, _) => {
                let of_it = |other: &Object| super::records::release_of(other) == Some(release);
                self.members(of_it).into_iter().filter(|&other| self.goes(other)).collect()
            }
            (Reason::Used { .. }, _) => self.members(|other| uses(other, object)),
            _ => Vec::new(),
        }
    }

    fn members(&self, is_one: impl Fn(&Object) -> bool) -> Vec<usize> {
        self.selection.members.keys().copied().filter(|&index| is_one(self.object(index))).collect()
    }

    fn picked(&self, selector: &Selector) -> Vec<usize> {
        self.members(|other| match &other.detail {
            Detail::Pod(_) => selector.matches(&other.labels),
            Detail::Workload(workload) => selector.matches(&workload.template_labels) || self.had(other, selector),
            _ => false,
        })
    }

    /// Whether a workload at 0 had pods that a selector picks.
    fn had(&self, workload: &Object, selector: &Selector) -> bool {
        let index = self.inventory.find(&workload.uid);
        index.is_some_and(|index| pods_before(self.inventory, index).iter().any(|labels| selector.matches(labels)))
    }

    /// Whether a pod is gone before anything is deleted: what makes it stands at 0 by then.
    fn drains(&self, index: usize) -> bool {
        let object = self.object(index);
        if !object.kind.is("", "Pod") {
            return false;
        }
        let is_at_0 = |owner: usize| match &self.object(owner).detail {
            Detail::Workload(workload) => workload.replicas == Some(0) || (self.rests)(owner),
            _ => false,
        };
        object.deletion.is_some() || self.with_owners(index).iter().any(|&owner| owner != index && is_at_0(owner))
    }

    /// Whether a pod that is not drained uses it: it has to go after the pod then, whatever it is known by.
    fn is_used_to_the_end(&self, index: usize) -> bool {
        let object = self.object(index);
        object.kind.group.is_empty()
            && !self
                .members(|pod| pod.kind.is("", "Pod") && uses(pod, object))
                .into_iter()
                .all(|pod| !self.goes(pod) || self.drains(pod))
    }
}

/// Whether a controller makes it for a Service, and takes it away again.
pub(super) fn is_made_for_a_service(object: &Object) -> bool {
    let manager = object.labels.get("endpointslice.kubernetes.io/managed-by");
    object.kind.is("", "Endpoints") || manager.is_some_and(|manager| manager.ends_with(".k8s.io"))
}

fn uses(user: &Object, object: &Object) -> bool {
    let used = references(user).into_iter().flat_map(named);
    object.kind.group.is_empty()
        && used.into_iter().any(|used| used == (object.kind.kind.as_str(), object.name.as_str()))
}

/// Lets go of what would wait for itself: two that are known by one another's owners.
fn untie(known: &mut Known, search: &Search<'_>) {
    if known.is_empty() {
        return;
    }
    let mut after: BTreeMap<usize, BTreeSet<usize>> = known.clone();
    for index in search.selection.members.keys().copied().filter(|&index| search.goes(index)) {
        for &owner in search.inventory.owners(index) {
            if search.goes(owner) && owner != index {
                after.entry(owner).or_default().insert(index);
            }
        }
    }
    // What comes before nothing, or after nothing, is in no circle.
    loop {
        let waiting: BTreeSet<usize> = after.values().flatten().copied().collect();
        let before = after.values().map(BTreeSet::len).sum::<usize>();
        after.retain(|index, later| waiting.contains(index) && !later.is_empty());
        let going_on: BTreeSet<usize> = after.keys().copied().collect();
        for later in after.values_mut() {
            later.retain(|index| going_on.contains(index));
        }
        if after.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    for (index, holders) in known {
        if let Some(circle) = after.get(index) {
            holders.retain(|holder| !circle.contains(holder));
        }
    }
}
