//! The application that the tests of this folder show.

use std::{sync::Arc, time::Duration};

use crate::{
    exit::Exit,
    inventory::Kind,
    plan::{Action, Blindness, Frees, Place, Plan, PlanObject, Reason, Scale, Unseen, Wave},
    report::{Newcomer, Outcome, Report},
};

pub(crate) fn kind(group: &str, kind: &str, plural: &str) -> Arc<Kind> {
    Arc::new(Kind {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
        watchable: true,
        scalable: matches!(kind, "Deployment" | "ReplicaSet" | "StatefulSet"),
    })
}

/// An object whose uid is `uid-` and its name.
pub(crate) fn object(of: &Arc<Kind>, name: &str, action: Action, reason: Reason) -> PlanObject {
    PlanObject {
        kind: Arc::clone(of),
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        action,
        scale: None,
        wave: Wave::of(of),
        reasons: vec![reason],
        notes: Vec::new(),
        now: String::new(),
        owners: Vec::new(),
        known_by: Vec::new(),
        finalizers: Vec::new(),
        terminating: false,
        uses: Vec::new(),
        finished: false,
        node: None,
        precaution: None,
        restore: None,
        pods_to_note: std::collections::BTreeSet::new(),
        refusal: None,
    }
}

pub(crate) fn label() -> Reason {
    Reason::Label { key: "app".into(), value: "demo".into() }
}

pub(crate) fn owned(owner: &str) -> Reason {
    Reason::Owned { owner: owner.into() }
}

/// A pod owned by a ReplicaSet.
pub(crate) fn pod(name: &str, replica_set: &str) -> PlanObject {
    let reason = owned(&format!("ReplicaSet/{replica_set}"));
    let mut pod = object(&kind("", "Pod", "pods"), name, Action::Cascade, reason);
    pod.owners = vec![format!("uid-{replica_set}")];
    pod
}

/// The plan of DESIGN §4.
pub(crate) fn plan() -> Plan {
    let replica_set = kind("apps", "ReplicaSet", "replicasets");
    let mut deployment = object(&kind("apps", "Deployment", "deployments"), "deployment-demo", Action::Delete, label());
    deployment.scale = Some(Scale { from: 3, to: 0 });
    deployment.now = "3 pods".into();
    let mut owned_set =
        object(&replica_set, "deployment-demo-54c9846b78", Action::Cascade, owned("Deployment/deployment-demo"));
    owned_set.reasons.insert(0, label());
    owned_set.owners = vec!["uid-deployment-demo".into()];
    let mut orphan = object(
        &replica_set,
        "deployment-demo-3344900030",
        Action::Delete,
        Reason::OrphanLabel { key: "app".into(), value: "demo".into() },
    );
    orphan.now = "2 pods".into();
    let service = object(&kind("", "Service", "services"), "service-demo", Action::Delete, Reason::Selects);
    let mut claim =
        object(&kind("", "PersistentVolumeClaim", "persistentvolumeclaims"), "data-demo-0", Action::Keep, label());
    claim.notes = vec!["holds data (--delete-data)".into()];
    claim.now = "10Gi".into();
    Plan {
        app: "demo".into(),
        instance: None,
        orphans: false,
        related: Vec::new(),
        suspected: Vec::new(),
        cluster_scoped: Vec::new(),
        place: Place {
            namespace: "xxx".into(),
            context: "prod-eu".into(),
            server: "https://10.1.2.3:6443".into(),
            user: "jane".into(),
        },
        objects: vec![
            object(&kind("", "PodTemplate", "podtemplates"), "podtemplate-demo", Action::Delete, label()),
            deployment,
            owned_set,
            orphan,
            pod("deployment-demo-54c9846b78-a", "deployment-demo-54c9846b78"),
            pod("deployment-demo-54c9846b78-b", "deployment-demo-54c9846b78"),
            pod("deployment-demo-54c9846b78-c", "deployment-demo-54c9846b78"),
            service,
            claim,
        ],
        unseen: Vec::new(),
        frees: vec![frees("requests.cpu", "3"), frees("requests.memory", "3Gi")],
        warnings: Vec::new(),
    }
}

pub(crate) fn frees(resource: &str, amount: &str) -> Frees {
    Frees {
        quota: "quota".into(),
        resource: resource.into(),
        amount: amount.into(),
        used: amount.into(),
        hard: amount.into(),
    }
}

pub(crate) fn unseen() -> Vec<Unseen> {
    let unseen =
        |resource: &str, why, message: &str| Unseen { resource: resource.into(), why, message: message.into() };
    vec![
        unseen("secrets", Blindness::Forbidden, "secrets is forbidden"),
        unseen("configmaps", Blindness::Forbidden, ""),
        unseen("metrics.k8s.io/v1beta1", Blindness::Unavailable, "503 Service\nUnavailable"),
    ]
}

/// The run of that plan, all gone but what was to be kept.
pub(crate) fn report() -> Report {
    let plan = plan();
    let outcome = |object: &PlanObject| if object.goes() { Outcome::Gone } else { Outcome::Kept };
    Report {
        outcomes: plan.objects.iter().map(outcome).collect(),
        plan,
        newcomers: Vec::new(),
        quota: Vec::new(),
        phases: Vec::new(),
        verified: true,
        verify_error: None,
        put_back: None,
        took: Duration::from_millis(2100),
        exit: Exit::Done,
    }
}

/// A pod that came after the plan.
pub(crate) fn newcomer() -> Newcomer {
    Newcomer {
        kind: kind("", "Pod", "pods"),
        name: "x".into(),
        uid: "uid-x".into(),
        why: "label app=demo".into(),
        by: None,
    }
}
