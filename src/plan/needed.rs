//! What others need of the application: objects outside of it, and what of it is kept. Pure.

use std::collections::BTreeMap;

use super::{
    Selection,
    uses::{UserRank, named, references, user_rank},
};
use crate::inventory::{Detail, Inventory, Object, Selector};

/// Keeps every member that somebody needs who stays.
pub(super) fn by_others(inventory: &Inventory, selection: &Selection, kept: &mut BTreeMap<usize, String>) {
    let needs = Needs { inventory, selection, kept };
    let users = needs.users();
    let found: Vec<(usize, String)> = selection
        .members
        .keys()
        .filter(|index| !kept.contains_key(index))
        .filter_map(|&index| {
            let object = &inventory.objects()[index];
            let why = used(object, &users)
                .or_else(|| needs.selects(object))
                .or_else(|| needs.routes(object))
                .or_else(|| needs.targets(object))
                .or_else(|| needs.endpoints(object))
                .or_else(|| needs.claims(object))
                .or_else(|| needs.binds(object))
                .or_else(|| needs.grants(object))
                .or_else(|| needs.serves(object));
            Some((index, why?))
        })
        .collect();
    kept.extend(found);
}

struct Needs<'a> {
    inventory: &'a Inventory,
    selection: &'a Selection,
    kept: &'a BTreeMap<usize, String>,
}

impl<'a> Needs<'a> {
    /// Everything that stays: what is no member, and what is kept. With it, whether it is a member.
    fn stays(&self) -> impl Iterator<Item = (&'a Object, bool)> {
        self.inventory.objects().iter().enumerate().filter_map(|(index, object)| {
            let is_member = self.selection.contains(index);
            (!is_member || self.kept.contains_key(&index)).then_some((object, is_member))
        })
    }

    /// The first user that stays of each thing, by kind and name.
    fn users(&self) -> BTreeMap<(&'a str, &'a str), (String, bool)> {
        let mut users: BTreeMap<(&'a str, &'a str), (String, bool)> = BTreeMap::new();
        for (object, is_member) in self.stays() {
            for used in references(object).into_iter().flat_map(named) {
                let user = (object.title(), is_member);
                let first = users.entry(used).or_insert_with(|| user.clone());
                if told_first(&user) < told_first(first) {
                    *first = user;
                }
            }
        }
        users
    }

    /// Pods and workloads that stay and that a selector picks.
    fn selects(&self, object: &Object) -> Option<String> {
        let selector = match &object.detail {
            Detail::Service(service) if !service.selector.is_empty() => Selector::from_map(&service.selector),
            Detail::Selecting(selector) => selector.clone(),
            _ => return None,
        };
        let picked = self.stays().filter(|(other, _)| match &other.detail {
            Detail::Pod(_) => selector.matches(&other.labels),
            Detail::Workload(workload) => {
                !workload.template_labels.is_empty() && selector.matches(&workload.template_labels)
            }
            _ => false,
        });
        let (title, is_member) = first(picked)?;
        Some(if is_member { format!("selects {title}, which is kept") } else { format!("also selects {title}") })
    }

    /// Services that stay and that a route sends to. A backend that is not there is nobody.
    fn routes(&self, object: &Object) -> Option<String> {
        let Detail::Route(route) = &object.detail else { return None };
        let services =
            self.stays().filter(|(other, _)| other.kind.is("", "Service") && route.services.contains(&other.name));
        match first(services) {
            Some((title, true)) => Some(format!("routes to {title}, which is kept")),
            Some((title, false)) => Some(format!("also routes to {title}")),
            None => route.elsewhere.then(|| "also routes outside the namespace's Services".to_owned()),
        }
    }

    /// A scaler of what is kept. One that its own label gives to the application goes with it whatever it targets
    /// outside.
    fn targets(&self, object: &Object) -> Option<String> {
        let Detail::Scaler(scaler) = &object.detail else { return None };
        let target = self.stays().find(|(other, is_member)| {
            *is_member && other.kind.is(&scaler.group, &scaler.kind) && other.name == scaler.name
        })?;
        Some(format!("targets {}, which is kept", target.0.title()))
    }

    /// Endpoints of a Service that is kept.
    fn endpoints(&self, object: &Object) -> Option<String> {
        let service = if object.kind.is("", "Endpoints") {
            object.name.as_str()
        } else if object.kind.is("discovery.k8s.io", "EndpointSlice") {
            object.labels.get("kubernetes.io/service-name")?
        } else {
            return None;
        };
        let kept =
            self.stays().any(|(other, is_member)| is_member && other.kind.is("", "Service") && other.name == *service);
        kept.then(|| format!("endpoints of Service/{service}, which is kept"))
    }

    /// A claim of a StatefulSet that stays: it is mounted as soon as the set has that many replicas again.
    fn claims(&self, object: &Object) -> Option<String> {
        if !matches!(object.detail, Detail::Claim(_)) {
            return None;
        }
        let (set, is_member) = first(self.stays().filter(|(set, _)| is_claim_of(set, &object.name)))?;
        Some(if is_member { format!("claim of {set}, which is kept") } else { format!("claim of {set}") })
    }

    /// A RoleBinding that also grants to an account that stays.
    fn binds(&self, object: &Object) -> Option<String> {
        let Detail::Binding(binding) = &object.detail else { return None };
        let accounts = self
            .stays()
            .filter(|(account, _)| account.kind.is("", "ServiceAccount") && binding.accounts.contains(&account.name));
        match first(accounts) {
            Some((account, true)) => Some(format!("grants to {account}, which is kept")),
            Some((account, false)) => Some(format!("also grants to {account}")),
            None => None,
        }
    }

    /// A Role that a RoleBinding which stays grants.
    fn grants(&self, object: &Object) -> Option<String> {
        if !object.kind.is("rbac.authorization.k8s.io", "Role") {
            return None;
        }
        let bindings = self
            .stays()
            .filter(|(other, _)| matches!(&other.detail, Detail::Binding(binding) if binding.role.as_deref() == Some(&*object.name)));
        let (binding, is_member) = first(bindings)?;
        Some(if is_member {
            format!("granted by {binding}, which is kept")
        } else {
            format!("also granted by {binding}")
        })
    }

    /// A Service that a kept route sends to, unless the route is only kept because it serves others: it goes on with
    /// those.
    fn serves(&self, object: &Object) -> Option<String> {
        if !object.kind.is("", "Service") {
            return None;
        }
        let routes = self.stays().filter(|(other, is_member)| {
            let Detail::Route(route) = &other.detail else { return false };
            let serves_others = || {
                let outside = |(service, is_member): (&Object, bool)| {
                    !is_member && service.kind.is("", "Service") && route.services.contains(&service.name)
                };
                route.elsewhere || self.stays().any(outside)
            };
            *is_member && route.services.contains(&object.name) && !serves_others()
        });
        first(routes).map(|(route, _)| format!("{route}, which is kept, routes to it"))
    }
}

/// Whether a claim is called as those of a StatefulSet are.
fn is_claim_of(set: &Object, claim: &str) -> bool {
    let Detail::Workload(workload) = &set.detail else { return false };
    workload.claim_templates.iter().any(|template| {
        let ordinal = claim.strip_prefix(&format!("{template}-{}-", set.name));
        ordinal.is_some_and(|ordinal| !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Who that stays uses an object.
fn used<'a>(object: &'a Object, users: &BTreeMap<(&'a str, &'a str), (String, bool)>) -> Option<String> {
    if !object.kind.group.is_empty() {
        return None;
    }
    let (user, is_member) = users.get(&(object.kind.kind.as_str(), object.name.as_str()))?;
    Some(if *is_member { format!("used by {user}, which is kept") } else { format!("also used by {user}") })
}

/// The one of several that is told: a workload before its pods, what is outside before what is kept.
fn first<'a>(objects: impl Iterator<Item = (&'a Object, bool)>) -> Option<(String, bool)> {
    objects.map(|(object, is_member)| (object.title(), is_member)).min_by_key(told_first)
}

fn told_first((title, is_member): &(String, bool)) -> (UserRank, bool) {
    (user_rank(title), *is_member)
}
