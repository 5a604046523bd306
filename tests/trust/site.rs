//! A namespace with a bystander that stays, and an application that comes anew for each case.

use std::{collections::BTreeMap, time::Duration};

use control_plane::ControlPlane;
use http::Method;
use serde_json::{Value, json};

use crate::{
    harness::World,
    proxy::{api::Api, runtime},
};

/// Everything that cases make and controllers make of it: root, plural, kind.
const KINDS: [(&str, &str, &str); 11] = [
    ("api/v1", "pods", "Pod"),
    ("api/v1", "services", "Service"),
    ("api/v1", "endpoints", "Endpoints"),
    ("api/v1", "configmaps", "ConfigMap"),
    ("api/v1", "secrets", "Secret"),
    ("api/v1", "serviceaccounts", "ServiceAccount"),
    ("apis/apps/v1", "deployments", "Deployment"),
    ("apis/apps/v1", "replicasets", "ReplicaSet"),
    ("apis/apps/v1", "controllerrevisions", "ControllerRevision"),
    ("apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice"),
    ("apis/autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
];

/// Objects by uid, each with its kind in it.
pub type Objects = BTreeMap<String, Value>;

/// `Kind/name`.
pub fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

pub struct Site {
    pub world: World,
    pub api: Api,
    /// What must be the same at the end, byte for byte.
    bystander: Objects,
}

impl Site {
    /// A namespace of its own, with an application that is nobody's business.
    pub fn new(plane: &'static ControlPlane, story: &str) -> Self {
        let world = World::on(plane, story);
        let mut site = Self { api: Api::of(plane), world, bystander: Objects::new() };
        site.api.create(&[
            site.at("api/v1", "configmaps", named("ConfigMap", "v1", "other-settings", "other")),
            site.at("api/v1", "secrets", named("Secret", "v1", "other-key", "other")),
            site.at("api/v1", "services", service("other", "other")),
            site.at("apis/apps/v1", "replicasets", replica_set("other", "other", 1)),
        ]);
        site.bystander = site.settled(1, 1);
        site
    }

    fn at(&self, root: &str, plural: &str, object: Value) -> (String, Value) {
        (self.path(root, plural), object)
    }

    fn path(&self, root: &str, plural: &str) -> String {
        format!("/{root}/namespaces/{}/{plural}", self.world.namespace)
    }

    /// Makes the application: two pods of a Deployment, one of a ReplicaSet that nothing owns, a Service, a ConfigMap
    /// and an autoscaler; and another Service and autoscaler that have no label, and are its own by what they select and
    /// scale. What there is of it when everything has settled.
    pub fn deploy(&self) -> Objects {
        let mut unlabelled = service("inner", "demo");
        unlabelled["spec"]["selector"]["set"] = "web".into();
        let mut scaler_of_old = autoscaler("web-old", "ReplicaSet");
        for object in [&mut unlabelled, &mut scaler_of_old] {
            object["metadata"]["labels"] = json!({});
        }
        let mut deployment = replica_set("web", "demo", 2);
        deployment["kind"] = "Deployment".into();
        self.api.create(&[
            self.at("api/v1", "configmaps", named("ConfigMap", "v1", "settings", "demo")),
            self.at("api/v1", "services", service("web", "demo")),
            self.at("apis/apps/v1", "deployments", deployment),
            self.at("apis/apps/v1", "replicasets", replica_set("web-old", "demo", 1)),
            self.at("apis/autoscaling/v2", "horizontalpodautoscalers", autoscaler("web", "Deployment")),
            self.at("api/v1", "services", unlabelled),
            self.at("apis/autoscaling/v2", "horizontalpodautoscalers", scaler_of_old),
        ]);
        self.settled(4, 6).into_iter().filter(|(uid, _)| !self.bystander.contains_key(uid)).collect()
    }

    /// Waits until so many pods run, each Service has its slice, and nothing changes any more.
    fn settled(&self, pods: usize, served: usize) -> Objects {
        let ready = |objects: &Objects| {
            let of = |kind: &str| objects.values().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
            let running = of("Pod").iter().filter(|pod| pod["status"]["phase"] == "Running").count();
            let endpoints: usize =
                of("EndpointSlice").iter().map(|slice| slice["endpoints"].as_array().map_or(0, Vec::len)).sum();
            let seen = |set: &Value| set["status"]["availableReplicas"] == set["spec"]["replicas"];
            let sets = of("ReplicaSet").iter().chain(&of("Deployment")).all(|set| seen(set));
            running == pods && endpoints == served && sets
        };
        let mut last = Objects::new();
        // After an outage the controllers take their time to look again.
        let waited = self.world.plane.wait_for("the application to settle", Duration::from_secs(180), || {
            let now = self.objects();
            let settled = ready(&now) && now == last;
            last = now;
            settled.then_some(())
        });
        assert!(waited.is_ok(), "{:?} in {:#?}", waited, last.values().map(title).collect::<Vec<_>>());
        last
    }

    /// Everything in the namespace.
    pub fn objects(&self) -> Objects {
        let paths: Vec<String> = KINDS.iter().map(|(root, plural, _)| self.path(root, plural)).collect();
        let lists = self.api.lists(&paths);
        let mut objects = Objects::new();
        for ((_, _, kind), items) in KINDS.iter().zip(lists) {
            for mut item in items {
                item["kind"] = (*kind).into();
                objects.insert(item["metadata"]["uid"].as_str().unwrap().to_owned(), item);
            }
        }
        objects
    }

    /// What there is besides the bystander: of the application, and made since.
    pub fn application(&self, objects: &Objects) -> Objects {
        let others = objects.iter().filter(|(uid, _)| !self.bystander.contains_key(*uid));
        others.map(|(uid, object)| (uid.clone(), object.clone())).collect()
    }

    pub fn is_bystander(&self, uid: &str) -> bool {
        self.bystander.contains_key(uid)
    }

    /// What of the bystander is not as it was.
    pub fn harm(&self, objects: &Objects) -> Vec<String> {
        let changed = self.bystander.iter().filter(|(uid, before)| objects.get(*uid) != Some(before));
        changed.map(|(_, before)| format!("the bystander's {} was touched", title(before))).collect()
    }

    /// Takes the bystander's pods away: thousands of them would only cost time.
    pub fn leave(&self) {
        let path = format!("{}/other", self.path("apis/apps/v1", "replicasets"));
        let how = json!({ "propagationPolicy": "Background" });
        runtime().block_on(self.api.call(Method::DELETE, &path, Some(&how)));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn named(kind: &str, version: &str, name: &str, app: &str) -> Value {
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "labels": { "app": app } } })
}

fn service(name: &str, app: &str) -> Value {
    let mut service = named("Service", "v1", name, app);
    service["spec"] = json!({ "selector": { "app": app }, "ports": [{ "port": 80 }] });
    service
}

fn autoscaler(target: &str, kind: &str) -> Value {
    let mut autoscaler = named("HorizontalPodAutoscaler", "autoscaling/v2", target, "demo");
    autoscaler["spec"] = json!({
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": kind, "name": target },
        "minReplicas": 1, "maxReplicas": 3,
        "metrics": [{ "type": "Resource", "resource": {
            "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 }
        } }]
    });
    autoscaler
}

/// Each set selects by its own name too, so that none adopts another's pods.
fn replica_set(name: &str, app: &str, replicas: u32) -> Value {
    let labels = json!({ "app": app, "set": name });
    let mut set = named("ReplicaSet", "apps/v1", name, app);
    set["spec"] = json!({
        "replicas": replicas,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{ "name": "main", "image": "demo", "resources": { "requests": { "cpu": "1m" } } }]
            }
        }
    });
    set
}
