//! Which kinds the server serves in a namespace, and what of it could not be seen.
//!
//! Source of the format: aggregated discovery, `k8s.io/api/apidiscovery/v2`.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use serde::Deserialize;

use super::{
    Cluster, Failure, Patience,
    answer::kind_of,
    request::{Call, JSON},
};
use crate::{
    inventory::{Kind, is_path_name},
    plan::{Blindness, Unseen},
};

/// Every namespaced kind that can be both listed and deleted, once each, at its best version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub kinds: Vec<Served>,
    /// The cluster-wide kinds that applications bring along. No run touches them.
    pub cluster_kinds: Vec<Arc<Kind>>,
    /// Group versions whose kinds are unknown because their server does not answer.
    pub unseen: Vec<Unseen>,
}

/// A kind, and the same kind at the other versions it is served in: one may answer where another cannot.
#[derive(Clone, Debug)]
pub struct Served {
    pub kind: Arc<Kind>,
    pub others: Vec<Arc<Kind>>,
    /// `deployment`, and `deploy`: what people type.
    pub nicknames: Vec<String>,
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Discovery {
    kind: String,
    /// Aggregated discovery.
    items: Vec<Group>,
    /// Plain discovery of `/apis`.
    groups: Vec<PlainGroup>,
    /// Plain discovery of `/api`.
    versions: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    metadata: GroupName,
    versions: Vec<GroupVersion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupVersion {
    version: String,
    resources: Vec<Resource>,
    freshness: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Resource {
    resource: String,
    response_kind: Option<KindName>,
    scope: String,
    singular_resource: String,
    short_names: Vec<String>,
    verbs: Vec<String>,
    subresources: Vec<Subresource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KindName {
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subresource {
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PlainGroup {
    name: String,
    versions: Vec<PlainVersion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PlainVersion {
    version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PlainResources {
    resources: Vec<PlainResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PlainResource {
    name: String,
    singular_name: String,
    short_names: Option<Vec<String>>,
    kind: String,
    namespaced: bool,
    verbs: Vec<String>,
}

impl Cluster {
    /// Asks the server what it serves: two requests at once where it knows aggregated discovery.
    pub async fn catalog(&self) -> Result<Catalog, Failure> {
        let ask = |path: &str| {
            let call = Call::get(path.to_owned()).accept(AGGREGATED);
            async move { self.ask(&call, Patience::PLAN, parse::<Discovery>).await }
        };
        let (core, groups) = tokio::join!(ask("/api"), ask("/apis"));
        let (core, groups) = (core?, groups?);
        let catalog = if core.kind == "APIGroupDiscoveryList" && groups.kind == "APIGroupDiscoveryList" {
            Catalog::from_groups(core.items.into_iter().chain(groups.items))
        } else {
            self.plain_catalog(core, groups).await
        };
        if catalog.kinds.iter().any(|served| served.kind.is("", "Pod")) {
            Ok(catalog)
        } else {
            Err(Failure::Nonsense("it serves no pods".to_owned()))
        }
    }

    /// One request for each group version, as servers without aggregated discovery want it.
    async fn plain_catalog(&self, core: Discovery, groups: Discovery) -> Catalog {
        let core = PlainGroup {
            name: String::new(),
            versions: core.versions.into_iter().map(|version| PlainVersion { version }).collect(),
        };
        let wanted: Vec<(String, String)> = std::iter::once(core)
            .chain(groups.groups)
            .flat_map(|group| group.versions.into_iter().map(move |version| (group.name.clone(), version.version)))
            .collect();
        let (wanted, odd): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|(group, version)| (group.is_empty() || is_path_name(group)) && is_path_name(version));
        let answers = join_all(wanted.iter().map(|(group, version)| async move {
            let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
            self.ask(&Call::get(path).accept(JSON), Patience::PLAN, parse::<PlainResources>).await
        }))
        .await;
        let mut unseen: Vec<Unseen> =
            odd.iter().map(|(group, version)| unavailable(group, version, NO_NAME.to_owned())).collect();
        let mut found: Vec<Group> = Vec::new();
        for ((group, version), answer) in wanted.into_iter().zip(answers) {
            match answer {
                Err(failure) => unseen.push(unavailable(&group, &version, failure.to_string())),
                Ok(list) => {
                    let version = GroupVersion { version, resources: resources(list), freshness: String::new() };
                    match found.iter_mut().find(|known| known.metadata.name == group) {
                        Some(known) => known.versions.push(version),
                        None => found.push(Group { metadata: GroupName { name: group }, versions: vec![version] }),
                    }
                }
            }
        }
        let mut catalog = Catalog::from_groups(found);
        catalog.unseen.extend(unseen);
        catalog
    }
}

fn parse<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, Failure> {
    kind_of(bytes)?;
    // Where the parse failed is told, what it stumbled on is not: it may be anything, and of any length.
    let nonsense = |error: serde_json::Error| format!("discovery: line {}, column {}", error.line(), error.column());
    serde_json::from_slice(bytes).map_err(|error| Failure::Nonsense(nonsense(error)))
}

/// What a discovery document says, aggregated or plain, whoever sent it.
pub(super) fn of_answers(answer: &[u8]) -> Option<Catalog> {
    if let Ok(list) = parse::<PlainResources>(answer)
        && !list.resources.is_empty()
    {
        let version = GroupVersion { version: "v1".to_owned(), resources: resources(list), freshness: String::new() };
        return Some(Catalog::from_groups([Group { metadata: GroupName::default(), versions: vec![version] }]));
    }
    parse::<Discovery>(answer).ok().map(|discovery| Catalog::from_groups(discovery.items))
}

fn unavailable(group: &str, version: &str, message: String) -> Unseen {
    let resource = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Unseen { resource, why: Blindness::Unavailable, message }
}

/// Plain discovery names a subresource `deployments/scale`: fold it into its resource.
fn resources(list: PlainResources) -> Vec<Resource> {
    let (subs, mains): (Vec<_>, Vec<_>) = list.resources.into_iter().partition(|entry| entry.name.contains('/'));
    mains
        .into_iter()
        .map(|main| Resource {
            subresources: subs
                .iter()
                .filter_map(|sub| sub.name.strip_prefix(&main.name)?.strip_prefix('/'))
                .map(|sub| Subresource { subresource: sub.to_owned() })
                .collect(),
            resource: main.name,
            response_kind: Some(KindName { kind: main.kind }),
            scope: if main.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
            verbs: main.verbs,
            singular_resource: main.singular_name,
            short_names: main.short_names.unwrap_or_default(),
        })
        .collect()
}

impl Catalog {
    fn from_groups(groups: impl IntoIterator<Item = Group>) -> Self {
        let mut catalog = Self::default();
        for group in groups {
            let name = group.metadata.name;
            // The server lists versions in the order of its preference: the first that serves a kind is its best.
            let mut served: BTreeMap<String, Served> = BTreeMap::new();
            for version in group.versions {
                if version.freshness == "Stale" && version.resources.is_empty() {
                    let message = "the server behind this API does not answer".to_owned();
                    catalog.unseen.push(unavailable(&name, &version.version, message));
                }
                for resource in version.resources {
                    if let Some(kind) = cluster_kind(&name, &version.version, &resource) {
                        let is_known = catalog.cluster_kinds.iter().any(|known| known.resource() == kind.resource());
                        if !is_known && kind.is_addressable() {
                            catalog.cluster_kinds.push(Arc::new(kind));
                        }
                        continue;
                    }
                    let nicknames =
                        std::iter::once(&resource.singular_resource).chain(&resource.short_names).cloned().collect();
                    let Some(kind) = kind(&name, &version.version, resource).map(Arc::new) else { continue };
                    if !kind.is_addressable() {
                        let (resource, message) = (kind.resource(), NO_NAME.to_owned());
                        catalog.unseen.push(Unseen { resource, why: Blindness::Unavailable, message });
                        continue;
                    }
                    served
                        .entry(kind.plural.clone())
                        .and_modify(|served| served.others.push(kind.clone()))
                        .or_insert_with(|| Served { kind, others: Vec::new(), nicknames });
                }
            }
            catalog.kinds.extend(served.into_values());
        }
        catalog
    }
}

/// Said of an API whose group, version or resource is called what no path can hold.
const NO_NAME: &str = "no API can be called so, and nobody asks for it";

/// Cluster-wide kinds that installing an application makes, as far as the cluster itself brings them.
const CLUSTER_KINDS: [(&str, &str); 8] = [
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
];

fn cluster_kind(group: &str, version: &str, resource: &Resource) -> Option<Kind> {
    let kind = resource.response_kind.as_ref().map(|response| response.kind.as_str())?;
    if !CLUSTER_KINDS.contains(&(group, kind)) || !resource.verbs.iter().any(|verb| verb == "list") {
        return None;
    }
    Some(Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: resource.resource.clone(),
        watchable: false,
        scalable: false,
    })
}

impl Catalog {
    /// The kind that somebody means who types `deploy`, `deployments`, `Deployment`, `deployments.apps` or
    /// `deployment.v1.apps`. The first of several, in the server's order, as in kubectl.
    #[must_use]
    pub fn find(&self, typed: &str) -> Option<&Arc<Kind>> {
        let wanted = typed.to_lowercase();
        let names = |served: &Served| {
            let mut names = vec![served.kind.plural.to_lowercase(), served.kind.kind.to_lowercase()];
            names.extend(served.nicknames.iter().filter(|name| !name.is_empty()).map(|name| name.to_lowercase()));
            names
        };
        let by_name = |served: &&Served| names(served).contains(&wanted);
        let by_group = |served: &&Served| {
            let Some((front, group)) = wanted.split_once('.') else { return false };
            // A group may itself begin with what looks like its version.
            let (own, version) = (served.kind.group.to_lowercase(), served.kind.version.to_lowercase());
            (group == own || group == format!("{version}.{own}")) && names(served).iter().any(|name| name == front)
        };
        self.kinds.iter().find(by_name).or_else(|| self.kinds.iter().find(by_group)).map(|served| &served.kind)
    }
}

/// The kind that a resource stands for; none where it can't be both listed and deleted, or is not namespaced.
/// Events are nobody's possession: they tell of objects and expire.
fn kind(group: &str, version: &str, resource: Resource) -> Option<Kind> {
    let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
    let kind = resource.response_kind.as_ref().map(|response| response.kind.clone()).unwrap_or_default();
    if resource.scope != "Namespaced" || !can("list") || !can("delete") || kind.is_empty() || kind == "Event" {
        return None;
    }
    Some(Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind,
        watchable: can("watch"),
        scalable: resource.subresources.iter().any(|sub| sub.subresource == "scale"),
        plural: resource.resource,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(json: &str) -> Catalog {
        Catalog::from_groups(serde_json::from_str::<Discovery>(json).unwrap().items)
    }

    fn resource(plural: &str, kind: &str, verbs: &str) -> String {
        format!(
            r#"{{"resource":"{plural}","responseKind":{{"kind":"{kind}"}},"scope":"Namespaced","verbs":[{verbs}]}}"#
        )
    }

    const ALL: &str = r#""list","delete","watch""#;

    #[test]
    fn each_kind_is_taken_once_at_the_first_version_that_serves_it() {
        let json = format!(
            r#"{{"items":[{{"metadata":{{"name":"demo.example"}},"versions":[
                {{"version":"v2","resources":[{}]}},{{"version":"v1","resources":[{},{}]}}]}}]}}"#,
            resource("boxes", "Box", ALL),
            resource("boxes", "Box", ALL),
            resource("crates", "Crate", ALL)
        );
        let kinds: Vec<_> = catalog(&json)
            .kinds
            .iter()
            .map(|served| (served.kind.resource(), served.kind.version.clone(), served.others.len()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("boxes.demo.example".to_owned(), "v2".to_owned(), 1),
                ("crates.demo.example".to_owned(), "v1".to_owned(), 0)
            ]
        );
    }

    #[test]
    fn a_kind_is_found_by_whatever_people_type() {
        let json = r#"{"items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{
            "resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","verbs":["list","delete"],
            "singularResource":"deployment","shortNames":["deploy"]}]}]}]}"#;
        let found = catalog(json);
        for typed in ["deploy", "deployment", "deployments", "Deployment", "deployments.apps", "deployment.v1.apps"] {
            assert!(found.find(typed).is_some(), "{typed}");
        }
        let odd = catalog(&json.replace("\"apps\"", "\"v1.Apps\"").replace("\"deployments\"", "\"Deployments\""));
        for typed in ["deployments.v1.apps", "deployments.v1.v1.apps", "Deployments"] {
            assert!(odd.find(typed).is_some(), "{typed}");
        }
        for typed in ["", "deployx", "deployments.batch", "deployments.v2.apps", "."] {
            assert!(found.find(typed).is_none(), "{typed}");
        }
    }

    #[test]
    fn what_cannot_be_listed_and_deleted_is_left_out() {
        let json = format!(
            r#"{{"items":[{{"metadata":{{"name":"metrics.k8s.io"}},"versions":[{{"version":"v1","resources":[{},{},{}]}}]}}]}}"#,
            resource("pods", "PodMetrics", r#""get","list""#),
            resource("bindings", "Binding", r#""create""#),
            resource("events", "Event", ALL)
        );
        assert!(catalog(&json).kinds.is_empty());
    }

    #[test]
    fn an_api_that_no_path_can_name_is_unseen_and_never_asked_for() {
        let json = |group: &str, plural: &str| {
            let resource = resource(plural, "Thing", ALL);
            format!(
                r#"{{"items":[{{"metadata":{{"name":"{group}"}},"versions":[{{"version":"v1","resources":[{resource}]}}]}}]}}"#
            )
        };
        assert_eq!(catalog(&json("a.example", "things")).kinds.len(), 1);
        for (group, plural) in [("a.example", "../../nodes"), ("a.example", "things?x"), ("a/b", "things"), ("..", "x")]
        {
            let catalog = catalog(&json(group, plural));
            assert!(catalog.kinds.is_empty() && catalog.unseen.len() == 1, "{group} {plural}");
        }
    }

    #[test]
    fn a_stale_group_without_kinds_is_unseen_and_not_empty() {
        let json = r#"{"items":[{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}]}"#;
        let unseen = catalog(json).unseen;
        assert_eq!(unseen.len(), 1);
        assert_eq!(unseen[0].resource, "metrics.k8s.io/v1beta1");
        assert_eq!(unseen[0].why, Blindness::Unavailable);
    }

    #[test]
    fn plain_discovery_folds_subresources_into_their_resource() {
        let list = serde_json::from_str::<PlainResources>(
            r#"{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true,"verbs":["list","delete"]},
                {"name":"deployments/scale","kind":"Scale","namespaced":true,"verbs":["get"]},
                {"name":"deploymentsx/scale","kind":"Scale","namespaced":true,"verbs":["get"]}]}"#,
        )
        .unwrap();
        let resources = resources(list);
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0].subresources.len(), 1);
    }
}
