//! The applications of a namespace, by the labels that a purge goes by. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    APP_LABELS, frees::charged, guard::Manager, orphan::is_left_over, question::app_of, records::release_of,
    selection::belongs_to_the_namespace,
};
use crate::inventory::{Detail, Inventory, Object, Quantity};

/// One application, or what belongs to none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// The label's value; empty for what no label and no owner gives to an application.
    pub name: String,
    /// The label's key.
    pub key: String,
    pub objects: usize,
    pub pods: usize,
    /// What its pods ask for, as Kubernetes quantities: `cpu`, `memory`.
    pub requests: BTreeMap<String, String>,
    /// What it holds of each quota.
    pub quota: Vec<Share>,
    /// How much of it a controller made and none owns.
    pub orphans: usize,
    /// The reconciler or the Helm release that manages it.
    pub managed_by: Vec<String>,
}

/// What of one quota's one resource an application holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub quota: String,
    pub resource: String,
    pub amount: String,
    pub hard: String,
}

/// Every application, the largest holder of quota first, then by name; what belongs to none comes last.
#[must_use]
pub fn applications(inventory: &Inventory) -> Vec<Application> {
    let mut groups: BTreeMap<String, (String, Vec<usize>)> = BTreeMap::new();
    for (index, object) in inventory.objects().iter().enumerate() {
        let of_the_namespace = belongs_to_the_namespace(object) || matches!(object.detail, Detail::Quota(_));
        if !of_the_namespace {
            let (name, key) = application_of(inventory, index);
            let (strongest, members) = groups.entry(name).or_insert_with(|| (key.clone(), Vec::new()));
            if strength(&key) < strength(strongest) {
                *strongest = key;
            }
            members.push(index);
        }
    }
    let mut applications: Vec<(Quantity, Application)> =
        groups.into_iter().map(|(name, (key, members))| application(inventory, name, key, &members)).collect();
    applications.sort_by(|(a_cpu, a), (b_cpu, b)| {
        (a.name.is_empty(), b_cpu, &a.name, &a.key).cmp(&(b.name.is_empty(), a_cpu, &b.name, &b.key))
    });
    applications.into_iter().map(|(_, application)| application).collect()
}

/// Where a label key stands among those that are tried.
fn strength(key: &str) -> usize {
    APP_LABELS.iter().position(|known| *known == key).unwrap_or(APP_LABELS.len())
}

/// Value and key of the object's own label, or of the nearest owner's that has one.
fn application_of(inventory: &Inventory, index: usize) -> (String, String) {
    let mut seen = BTreeSet::from([index]);
    let mut next = vec![index];
    while !next.is_empty() {
        let found = next.iter().filter_map(|&index| app_of(&inventory.objects()[index].labels)).min();
        if let Some((key, value)) = found {
            return (value.to_owned(), key.to_owned());
        }
        let above = next.iter().flat_map(|&index| inventory.owners(index)).copied();
        next = above.filter(|&owner| seen.insert(owner)).collect();
    }
    (String::new(), String::new())
}

fn application(inventory: &Inventory, name: String, key: String, members: &[usize]) -> (Quantity, Application) {
    let objects: Vec<&Object> = members.iter().map(|&index| &inventory.objects()[index]).collect();
    let mut requests: BTreeMap<&str, Quantity> = BTreeMap::new();
    for object in &objects {
        let Detail::Pod(pod) = &object.detail else { continue };
        for resource in ["cpu", "memory"].iter().filter(|_| !pod.is_terminal()) {
            let amount = pod.charge.get(&format!("requests.{resource}")).copied().unwrap_or(Quantity::ZERO);
            *requests.entry(resource).or_default() += amount;
        }
    }
    let mut quota = Vec::new();
    for holder in inventory.objects() {
        let Detail::Quota(limits) = &holder.detail else { continue };
        for (resource, amount) in charged(limits, objects.iter().copied()) {
            let hard = limits.hard.get(&resource).cloned().unwrap_or_default();
            let amount = amount.display_like(&hard);
            quota.push(Share { quota: holder.name.clone(), resource, amount, hard });
        }
    }
    quota.sort_by(|a, b| (&a.quota, &a.resource).cmp(&(&b.quota, &b.resource)));
    let managers: BTreeSet<String> = objects
        .iter()
        .filter_map(|object| {
            let helm = || release_of(object).map(|release| format!("Helm release {release}"));
            Manager::of(object).map(|manager| manager.by).or_else(helm)
        })
        .collect();
    let cpu = requests.get("cpu").copied().unwrap_or_default();
    let application = Application {
        name,
        key,
        objects: objects.len(),
        pods: objects.iter().filter(|object| matches!(object.detail, Detail::Pod(_))).count(),
        requests: requests
            .into_iter()
            .map(|(resource, amount)| {
                let like = if resource == "memory" { "1Gi" } else { "" };
                (resource.to_owned(), amount.display_like(like))
            })
            .collect(),
        quota,
        orphans: members.iter().filter(|&&index| is_left_over(inventory, index)).count(),
        managed_by: managers.into_iter().collect(),
    };
    (cpu, application)
}
