//! Specs whose whole point is to name other objects: autoscalers, routes, service accounts.
//!
//! Source of the formats: `k8s.io/api` autoscaling/v2, networking.k8s.io/v1, core/v1;
//! `sigs.k8s.io/gateway-api` v1; OpenShift route/v1; KEDA v1alpha1; VPA v1.

use serde::Deserialize;

use super::{
    specs::Named,
    wire::{Item, Metadata},
};
use crate::inventory::{Binding, Detail, References, Route, Scaler};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ScalerItem {
    metadata: Metadata,
    spec: Option<ScalerSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScalerSpec {
    /// HorizontalPodAutoscaler, ScaledObject.
    scale_target_ref: Option<Target>,
    /// VerticalPodAutoscaler.
    target_ref: Option<Target>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Target {
    api_version: Option<String>,
    kind: Option<String>,
    name: String,
}

impl Item for ScalerItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let detail = spec.scale_target_ref.or(spec.target_ref).map_or(Detail::None, |target| {
            let version = target.api_version.unwrap_or_default();
            let group = version.rsplit_once('/').map_or_else(String::new, |(group, _)| group.to_owned());
            // KEDA takes a Deployment for granted.
            let (group, kind) = match target.kind {
                // These are of no other group, and KEDA lets it be left out.
                Some(kind)
                    if matches!(kind.as_str(), "Deployment" | "StatefulSet" | "ReplicaSet") && group.is_empty() =>
                {
                    ("apps".to_owned(), kind)
                }
                Some(kind) if !kind.is_empty() => (group, kind),
                _ => ("apps".to_owned(), "Deployment".to_owned()),
            };
            Detail::Scaler(Scaler { group, kind, name: target.name })
        });
        (self.metadata, detail)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IngressItem {
    metadata: Metadata,
    spec: Option<IngressSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IngressSpec {
    default_backend: Option<IngressBackend>,
    rules: Option<Vec<IngressRule>>,
    tls: Option<Vec<IngressTls>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct IngressBackend {
    service: Option<Named>,
    resource: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct IngressRule {
    http: Option<IngressPaths>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct IngressPaths {
    paths: Option<Vec<IngressPath>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct IngressPath {
    backend: IngressBackend,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IngressTls {
    secret_name: Option<String>,
}

impl Item for IngressItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let mut route = Route::default();
        let rules = spec.rules.unwrap_or_default().into_iter().filter_map(|rule| rule.http?.paths);
        for backend in rules.flatten().map(|path| path.backend).chain(spec.default_backend) {
            route.services.extend(backend.service.map(|service| service.name));
            route.elsewhere |= backend.resource.is_some();
        }
        route.secrets.extend(spec.tls.into_iter().flatten().filter_map(|tls| tls.secret_name));
        (self.metadata, Detail::Route(route))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GatewayRouteItem {
    metadata: Metadata,
    spec: Option<GatewayRouteSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct GatewayRouteSpec {
    rules: Option<Vec<GatewayRule>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GatewayRule {
    backend_refs: Option<Vec<BackendRef>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct BackendRef {
    group: Option<String>,
    kind: Option<String>,
    name: String,
    namespace: Option<String>,
}

impl Item for GatewayRouteItem {
    fn parts(self) -> (Metadata, Detail) {
        let rules = self.spec.and_then(|spec| spec.rules).unwrap_or_default();
        let mut route = Route::default();
        for backend in rules.into_iter().filter_map(|rule| rule.backend_refs).flatten() {
            let is_service = backend.group.as_deref().unwrap_or_default().is_empty()
                && backend.kind.as_deref().is_none_or(|kind| kind == "Service");
            let is_here = backend.namespace.as_deref().is_none_or(|namespace| namespace == self.metadata.namespace());
            if is_service && is_here {
                route.services.insert(backend.name);
            } else {
                route.elsewhere = true;
            }
        }
        (self.metadata, Detail::Route(route))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenShiftRouteItem {
    metadata: Metadata,
    spec: Option<OpenShiftRouteSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OpenShiftRouteSpec {
    to: Option<Named>,
    alternate_backends: Option<Vec<Named>>,
}

impl Item for OpenShiftRouteItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let services = spec.to.into_iter().chain(spec.alternate_backends.into_iter().flatten());
        let services = services.map(|service| service.name).collect();
        (self.metadata, Detail::Route(Route { services, ..Route::default() }))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AccountItem {
    metadata: Metadata,
    secrets: Option<Vec<Named>>,
    image_pull_secrets: Option<Vec<Named>>,
}

impl Item for AccountItem {
    fn parts(self) -> (Metadata, Detail) {
        let named = self.secrets.into_iter().chain(self.image_pull_secrets).flatten();
        let secrets = named.map(|secret| secret.name).filter(|name| !name.is_empty()).collect();
        (self.metadata, Detail::Account(References { secrets, ..References::default() }))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BindingItem {
    metadata: Metadata,
    role_ref: Option<Subject>,
    subjects: Option<Vec<Subject>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: Option<String>,
}

impl Item for BindingItem {
    fn parts(self) -> (Metadata, Detail) {
        let role = self.role_ref.filter(|role| role.kind == "Role").map(|role| role.name);
        let mut binding = Binding { role, ..Binding::default() };
        for subject in self.subjects.unwrap_or_default() {
            let is_here = subject.namespace.as_deref().is_none_or(|namespace| namespace == self.metadata.namespace());
            if subject.kind == "ServiceAccount" && is_here {
                binding.accounts.insert(subject.name);
            } else {
                binding.elsewhere = true;
            }
        }
        (self.metadata, Detail::Binding(binding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route<T: Item>(json: &str) -> (Vec<String>, bool, Vec<String>) {
        match serde_json::from_str::<T>(json).unwrap().parts().1 {
            Detail::Route(route) => {
                (route.services.into_iter().collect(), route.elsewhere, route.secrets.into_iter().collect())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_ingress_names_its_services_and_certificates() {
        let json = r#"{"spec":{"defaultBackend":{"service":{"name":"a"}},"tls":[{"secretName":"cert"},{}],
            "rules":[{"http":{"paths":[{"backend":{"service":{"name":"b"}}},{"backend":{"resource":{"kind":"Bucket"}}}]}},{"host":"x"}]}}"#;
        assert_eq!(route::<IngressItem>(json), (vec!["a".into(), "b".into()], true, vec!["cert".into()]));
    }

    #[test]
    fn a_gateway_route_names_services_of_its_own_namespace() {
        let json = r#"{"metadata":{"namespace":"shop"},"spec":{"rules":[{"backendRefs":[{"name":"a"},{"name":"b","namespace":"shop","kind":"Service"}]},{}]}}"#;
        assert_eq!(route::<GatewayRouteItem>(json), (vec!["a".into(), "b".into()], false, vec![]));
        let json = r#"{"metadata":{"namespace":"shop"},"spec":{"rules":[{"backendRefs":[{"name":"a","namespace":"other"}]}]}}"#;
        assert_eq!(route::<GatewayRouteItem>(json), (vec![], true, vec![]));
    }

    #[test]
    fn a_scaler_names_its_target_and_keda_means_a_deployment() {
        let target = |json: &str| match serde_json::from_str::<ScalerItem>(json).unwrap().parts().1 {
            Detail::Scaler(scaler) => format!("{}/{}/{}", scaler.group, scaler.kind, scaler.name),
            other => panic!("{other:?}"),
        };
        let hpa = r#"{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db"}}}"#;
        assert_eq!(target(hpa), "apps/StatefulSet/db");
        assert_eq!(target(r#"{"spec":{"scaleTargetRef":{"name":"web"}}}"#), "apps/Deployment/web");
        assert_eq!(
            target(r#"{"spec":{"targetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"w"}}}"#),
            "/ReplicationController/w"
        );
    }
}
