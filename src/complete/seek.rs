//! The names that only the kubeconfig or the cluster knows.

use std::collections::BTreeMap;

use clap::Parser;

use super::{
    Candidate,
    words::{Line, Wanted},
};
use crate::{
    cluster::{Catalog, Cluster, Patience, environment::Environment, flags::ConnectionFlags, kubeconfig, transport},
    inventory::Inventory,
    plan::applications,
};

/// The connection flags of a line whose rest is not finished.
#[derive(Parser)]
#[command(name = "kubectl-purge")]
struct Connecting {
    #[command(flatten)]
    flags: ConnectionFlags,
}

/// Looks the names up; whatever goes wrong, there are none.
pub(super) async fn seek(line: &Line, wanted: &Wanted) -> Vec<Candidate> {
    found(line, wanted).await.unwrap_or_default()
}

async fn found(line: &Line, wanted: &Wanted) -> Option<Vec<Candidate>> {
    let words = std::iter::once("kubectl-purge").chain(line.connection.iter().map(String::as_str));
    let flags = Connecting::try_parse_from(words).ok()?.flags;
    let environment = Environment { is_completing: true, stdin_is_terminal: false, ..Environment::of_this_process() };
    let named = |names: BTreeMap<String, String>| {
        names.into_iter().map(|(name, description)| Candidate::new(name, description)).collect()
    };
    match wanted {
        Wanted::Contexts => Some(named(kubeconfig::names(&flags, &environment).ok()?.contexts)),
        Wanted::Clusters => Some(named(kubeconfig::names(&flags, &environment).ok()?.clusters)),
        Wanted::Users => Some(named(kubeconfig::names(&flags, &environment).ok()?.users)),
        Wanted::Namespaces => {
            let served = match connect(&flags, &environment).await {
                Some(cluster) => cluster.namespaces().await.ok(),
                None => None,
            };
            // Who may not list them can still be offered those that his contexts name.
            let known = || {
                kubeconfig::names(&flags, &environment)
                    .map_or(Vec::new(), |names| names.namespaces.into_iter().collect())
            };
            Some(served.unwrap_or_else(known).into_iter().map(|name| Candidate::new(name, "")).collect())
        }
        Wanted::Application | Wanted::Object => {
            let cluster = connect(&flags, &environment).await?;
            let catalog = cluster.catalog().await.ok()?;
            if let Some((kind, _)) = line.prefix.split_once('/') {
                return objects(&cluster, &catalog, kind).await;
            }
            let mut candidates = types(&catalog, line, wanted);
            if *wanted == Wanted::Application {
                candidates.extend(labelled(&cluster, &catalog).await.unwrap_or_default());
            }
            Some(candidates)
        }
        Wanted::Known(_) | Wanted::Files | Wanted::Folders | Wanted::Nothing => None,
    }
}

async fn connect(flags: &ConnectionFlags, environment: &Environment) -> Option<Cluster> {
    let connection = kubeconfig::resolve(flags, environment).ok()?;
    let client = transport::connect(&connection).await.ok()?;
    Some(Cluster::new(client, &connection.namespace, connection.request_timeout))
}

/// The applications that labels name. Only kinds of Kubernetes' own that applications are made of are listed, and no
/// Secrets: a namespace may hold thousands of other things, and somebody waits.
async fn labelled(cluster: &Cluster, catalog: &Catalog) -> Option<Vec<Candidate>> {
    let inventory = listed(cluster, catalog, |group, kind| {
        matches!(group, "" | "apps" | "batch" | "networking.k8s.io") && kind != "Secret"
    });
    let applications = applications(&inventory.await?);
    let named = applications.into_iter().filter(|application| !application.name.is_empty());
    let mut candidates: Vec<Candidate> = named
        .map(|application| {
            let pods = if application.pods == 1 { "pod" } else { "pods" };
            Candidate::new(application.name, format!("{}, {} {pods}", application.key, application.pods))
        })
        .collect();
    candidates.sort();
    Some(candidates)
}

/// `deploy/web` for all objects of that type.
async fn objects(cluster: &Cluster, catalog: &Catalog, typed: &str) -> Option<Vec<Candidate>> {
    let wanted = catalog.find(typed)?;
    let inventory = listed(cluster, catalog, |group, kind| wanted.is(group, kind)).await?;
    let mut names: Vec<Candidate> =
        inventory.objects().iter().map(|object| Candidate::new(format!("{typed}/{}", object.name), "")).collect();
    names.sort();
    Some(names)
}

/// `deployment/`, once its beginning is typed: all types at once would only hide the applications.
fn types(catalog: &Catalog, line: &Line, wanted: &Wanted) -> Vec<Candidate> {
    if line.prefix.is_empty() && *wanted == Wanted::Application {
        return Vec::new();
    }
    let kinds = catalog.kinds.iter().map(|served| served.kind.kind.to_lowercase());
    let mut types: Vec<Candidate> = kinds.map(|kind| Candidate::new(format!("{kind}/"), "")).collect();
    types.sort();
    types
}

async fn listed(cluster: &Cluster, catalog: &Catalog, choose: impl Fn(&str, &str) -> bool) -> Option<Inventory> {
    let chosen = catalog.kinds.iter().filter(|served| choose(&served.kind.group, &served.kind.kind));
    let catalog = Catalog { kinds: chosen.cloned().collect(), ..Catalog::default() };
    cluster.inventory(&catalog, Patience::PLAN, &[]).await.ok().map(|(inventory, _)| inventory)
}
