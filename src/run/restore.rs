//! The way back, as long as there is one: everything as it was before the run, and before one that was killed.

use std::{sync::Arc, time::Instant};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{Event, Mission, drain::set_replicas, runner::Runner};
use crate::{
    cluster::{Cluster, Failure, Trial, WRITES_AT_ONCE},
    exit::Exit,
    inventory::Kind,
    plan::{KEDA_PAUSES, Plan, PlanObject, Restore},
    report::{PutBack, Report},
};

impl Runner<'_> {
    /// Puts back what was paused and scaled down.
    pub(super) async fn restore(&mut self) -> Vec<PutBack> {
        // Whatever time is left: what was changed is not left so for want of it.
        let cluster = &self.cluster.until(None);
        let undo = std::mem::take(&mut self.undo);
        let is_noted = !undo.is_empty();
        let due = undo.into_iter().filter_map(|(uid, before)| Some((self.object(&uid)?, before)));
        let requests: Vec<_> = due
            .map(|(object, before)| async move {
                let answer = put_back(cluster, object, &before).await;
                (object, before, answer)
            })
            .collect();
        let mut answers = stream::iter(requests).buffer_unordered(WRITES_AT_ONCE);
        let mut restored = Vec::new();
        while let Some((object, before, answer)) = answers.next().await {
            if before.is_empty() {
                // Nothing but a note that was left on it.
                continue;
            }
            match &answer {
                Ok(()) => self.tell(Event::Restored { title: object.title(), how: how(&before) }),
                // It is gone, and nothing of it to be put back.
                Err(failure) if failure.is_not_found() => continue,
                Err(failure) => {
                    self.tell(Event::Trouble { title: object.title(), message: format!("not put back: {failure}") });
                }
            }
            restored.push(PutBack {
                title: object.title(),
                resource: format!("{}/{}", object.kind.resource(), object.name),
                replicas: before.replicas,
                error: answer.err().map(|failure| failure.to_string()),
            });
        }
        restored.sort_by(|one, other| one.title.cmp(&other.title));
        // A Deployment's annotations are copied to its ReplicaSets.
        let sets = self.plan.going().filter(|object| object.kind.is("apps", "ReplicaSet") && !object.owners.is_empty());
        let forget = json!({ "metadata": { "annotations": { (Restore::ANNOTATION): null } } });
        for set in sets.filter(|_| is_noted) {
            let _ = cluster.merge(&set.kind, &set.name, &set.uid, forget.clone(), Trial::No).await;
        }
        restored
    }
}

/// Puts back what an earlier run has changed, by what it noted on the objects of the plan. Deletes nothing.
pub async fn restore(mission: Mission<'_>, plan: Plan) -> Report {
    let begun = Instant::now();
    let mut runner = Runner::new(mission.cluster, &plan, mission.events, mission.stop, mission.limits);
    let put_back = runner.restore().await;
    let failed = put_back.iter().any(|one| one.error.is_some());
    drop(runner);
    let exit = if failed { Exit::Incomplete } else { Exit::Done };
    // Each answer of the server was heard; no second look was made.
    Report { verified: false, put_back: Some(put_back), took: begun.elapsed(), ..Report::untouched(plan, exit) }
}

/// In a few words: `scaled back to 3, resumed`.
fn how(before: &Restore) -> String {
    let mut did = Vec::new();
    did.extend(before.replicas.map(|replicas| format!("scaled back to {replicas}")));
    if before.paused {
        did.push("resumed".to_owned());
    }
    if before.claims.is_some() {
        did.push("its policy for claims put back".to_owned());
    }
    if !before.autoscalers.is_empty() {
        did.push("its autoscaler made anew".to_owned());
    }
    did.join(", ")
}

/// The note is taken away last: as long as anything is missing, it stays.
async fn put_back(cluster: &Cluster, object: &PlanObject, before: &Restore) -> Result<(), Failure> {
    for manifest in &before.autoscalers {
        let mut manifest = manifest.clone();
        manifest["metadata"]["namespace"] = cluster.namespace().into();
        cluster.create(&kind_of(&manifest), &manifest).await?;
    }
    if let Some(replicas) = before.replicas {
        set_replicas(cluster, object, (&object.uid).into(), replicas).await?;
    }
    let mut patch = json!({ "metadata": { "annotations": { (Restore::ANNOTATION): null } } });
    if before.paused {
        match object.kind.kind.as_str() {
            "ScaledObject" => patch["metadata"]["annotations"][KEDA_PAUSES[0]] = Value::Null,
            "ScaledJob" => patch["metadata"]["annotations"][KEDA_PAUSES[1]] = Value::Null,
            _ => patch["spec"]["suspend"] = false.into(),
        }
    }
    if let Some(policy) = &before.claims {
        patch["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({ "whenDeleted": policy.when_deleted, "whenScaled": policy.when_scaled });
    }
    let only_the_note = patch.get("spec").is_none() && !before.paused;
    match cluster.merge(&object.kind, &object.name, &object.uid, patch, Trial::No).await {
        // Who may not write a note has left none.
        Err(failure) if failure.is_forbidden() && only_the_note => Ok(()),
        answer => answer.map(drop),
    }
}

/// The kind of an autoscaler's manifest. Its path is made of nothing that stands in the manifest.
fn kind_of(manifest: &Value) -> Arc<Kind> {
    let version = if manifest["apiVersion"] == "autoscaling/v1" { "v1" } else { "v2" };
    Arc::new(Kind {
        group: "autoscaling".to_owned(),
        version: version.to_owned(),
        kind: "HorizontalPodAutoscaler".to_owned(),
        plural: "horizontalpodautoscalers".to_owned(),
        watchable: true,
        scalable: false,
    })
}
