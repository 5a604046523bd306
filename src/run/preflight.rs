//! Every write of a plan tried before the question: what the server would refuse is in the plan, not a surprise
//! half-way.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::{
    cluster::{Cluster, Deletion, Failure, Trial, WRITES_AT_ONCE},
    inventory::{Inventory, Kind},
    plan::{Action, Plan, PlanObject, Precaution, Scale, Wave},
};

/// Objects of one kind that are tried; of more, so many.
const OF_A_KIND: usize = 50;
/// And of those that differ in nothing but their names, so many.
const OF_ALIKE: usize = 3;
/// For all trials together: somebody waits for the plan.
const LIMIT: Duration = Duration::from_secs(10);

/// A write that the run would send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Delete,
    Scale(Scale),
    Precaution,
}

/// What an answer to a trial means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Granted,
    /// In the server's words.
    Refused(String),
    /// It could not be tried; no more is known than before.
    Untried(String),
}

/// Marks the autoscalers of the plan that could wake a workload from 0: only their specs say which.
pub async fn find_wakers(cluster: &Cluster, plan: &mut Plan) {
    if plan.objects.iter().all(|object| object.scale.is_none()) {
        return;
    }
    // Somebody waits for the plan.
    let cluster = &cluster.until(std::time::Instant::now().checked_add(LIMIT));
    for object in &mut plan.objects {
        let due = object.goes() && !object.terminating && object.kind.is("autoscaling", "HorizontalPodAutoscaler");
        if !due {
            continue;
        }
        if let Ok(Some(manifest)) = cluster.manifest(&object.kind, &object.name).await
            && manifest["spec"]["minReplicas"] == 0
        {
            object.notes.push(Precaution::DeleteFirst.sentence());
            object.precaution = Some(Precaution::DeleteFirst);
        }
    }
}

/// What came of trying a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// By uid, in a sentence, what the server would refuse to delete.
    pub refused: BTreeMap<String, String>,
    /// By uid, what else it would refuse.
    pub notes: BTreeMap<String, Vec<String>>,
    pub warnings: Vec<String>,
}

/// Tries every write of the plan with `dryRun=All`.
pub async fn preflight(cluster: &Cluster, plan: &Plan, inventory: &Inventory) -> Findings {
    let (writes, sampled) = writes(plan, inventory);
    let mut findings = Findings { warnings: sampled, ..Findings::default() };
    let total = writes.len();
    let objects = &plan.objects;
    let requests = writes.into_iter().map(|(index, write)| async move {
        let object = &objects[index];
        (index, write, judge(object, write, try_out(cluster, object, write).await))
    });
    let mut answers = stream::iter(requests).buffer_unordered(WRITES_AT_ONCE);
    let until = Instant::now() + LIMIT;
    let mut verdicts = Vec::new();
    while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
        verdicts.push(answer);
    }
    drop(answers);
    let mut untried: Vec<String> =
        (verdicts.len()..total).map(|_| format!("no answer within {}s", LIMIT.as_secs())).collect();
    verdicts.sort_by_key(|(index, ..)| *index);
    for (index, write, verdict) in verdicts {
        match verdict {
            Verdict::Granted => {}
            Verdict::Refused(words) => findings.refuse(&plan.objects[index], write, &words),
            Verdict::Untried(words) => untried.push(words),
        }
    }
    findings.warn(&untried);
    findings
}

/// The writes to be tried, by the object's position, and what to say of kinds of which not all are.
fn writes(plan: &Plan, inventory: &Inventory) -> (Vec<(usize, Write)>, Vec<String>) {
    let due = || plan.objects.iter().enumerate().filter(|(_, object)| object.goes() && !object.terminating);
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    for (_, object) in due() {
        *totals.entry(object.kind.resource()).or_default() += 1;
    }
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let mut alike: HashMap<Looks<'_>, usize> = HashMap::new();
    let mut writes = Vec::new();
    for (index, object) in due() {
        let resource = object.kind.resource();
        let count = tried.entry(resource.clone()).or_default();
        if totals[&resource] > OF_A_KIND {
            let same = alike.entry(Looks::of(object, inventory)).or_default();
            if *count == OF_A_KIND || *same == OF_ALIKE {
                continue;
            }
            *same += 1;
        }
        *count += 1;
        // Endpoints are left to their controller.
        if object.wave != Wave::Services || object.action != Action::Cascade {
            writes.push((index, Write::Delete));
        }
        writes.extend(object.scale.map(|scale| (index, Write::Scale(scale))));
        writes.extend(object.precaution.as_ref().map(|_| (index, Write::Precaution)));
    }
    let sampled = totals
        .into_iter()
        .filter(|(resource, total)| tried[resource] < *total)
        .map(|(resource, total)| format!("of {total} {resource}, the deletion of {} was tried", tried[&resource]))
        .collect();
    (writes, sampled)
}

/// What a server's rules go by. Siblings that share all of it are treated alike.
#[derive(PartialEq, Eq, Hash)]
struct Looks<'a> {
    /// What nothing owns is like nothing else.
    owners: Result<&'a [String], &'a str>,
    kind: &'a Kind,
    labels: Option<&'a BTreeMap<String, String>>,
    annotations: Option<&'a BTreeMap<String, String>>,
    finalizers: &'a [String],
}

impl<'a> Looks<'a> {
    fn of(object: &'a PlanObject, inventory: &'a Inventory) -> Self {
        let seen = inventory.find(&object.uid).map(|index| &inventory.objects()[index]);
        let is_owned = object.action == Action::Cascade && !object.owners.is_empty();
        Self {
            owners: if is_owned { Ok(&object.owners) } else { Err(&object.uid) },
            kind: &object.kind,
            labels: seen.map(|seen| &*seen.labels),
            annotations: seen.map(|seen| &seen.annotations),
            finalizers: &object.finalizers,
        }
    }
}

async fn try_out(cluster: &Cluster, object: &PlanObject, write: Write) -> Result<(), Failure> {
    let PlanObject { kind, name, uid, .. } = object;
    match (write, &object.precaution) {
        (Write::Scale(scale), _) => match cluster.set_scale(kind, name, uid.into(), scale.to, Trial::Yes).await {
            Err(failure) if failure.is_forbidden() => {
                cluster.set_replicas(kind, name, uid.into(), scale.to, Trial::Yes).await.map_err(|_| failure)
            }
            answer => answer,
        },
        (Write::Precaution, Some(Precaution::Suspend)) => {
            cluster.merge(kind, name, uid, json!({ "spec": { "suspend": true } }), Trial::Yes).await.map(drop)
        }
        (Write::Precaution, Some(Precaution::Pause { key, value })) => {
            let patch = json!({ "metadata": { "annotations": { (*key): value } } });
            cluster.merge(kind, name, uid, patch, Trial::Yes).await.map(drop)
        }
        (Write::Precaution, Some(Precaution::RetainClaims(_))) => {
            let policy = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
            let patch = json!({ "spec": { "persistentVolumeClaimRetentionPolicy": policy } });
            cluster.merge(kind, name, uid, patch, Trial::Yes).await.map(drop)
        }
        // An autoscaler that goes first is deleted, and that is tried as such.
        (Write::Precaution, _) => Ok(()),
        (Write::Delete, _) => {
            let deletion = Deletion { uid, resource_version: None, grace_period: None, trial: Trial::Yes };
            cluster.delete(cluster.turn().await, kind, name, &deletion).await.map(drop)
        }
    }
}

fn judge(object: &PlanObject, write: Write, answer: Result<(), Failure>) -> Verdict {
    let Err(failure) = answer else { return Verdict::Granted };
    let words = failure.to_string();
    match failure.code() {
        // It has gone or changed meanwhile: the run sees to that.
        Some(404 | 409) => Verdict::Granted,
        // A webhook with side effects can't be tried; nor can it when this server knows no dry run of it.
        Some(400) if words.contains("does not support dry run") => Verdict::Untried(words),
        // What goes with its owner is deleted by the garbage collector, whatever this user may do.
        Some(403) if object.action == Action::Cascade && write == Write::Delete && is_rbac(&words) => Verdict::Granted,
        Some(500) if words.contains("webhook") => Verdict::Refused(words),
        _ if failure.is_passing() => Verdict::Untried(words),
        _ => Verdict::Refused(words),
    }
}

/// The authorizer's words, not those of an admission plugin. Source: `k8s.io/apiserver` `handlers/responsewriters`.
fn is_rbac(words: &str) -> bool {
    words.contains("\" cannot ")
}

impl Findings {
    fn refuse(&mut self, object: &PlanObject, write: Write, words: &str) {
        let note = match (write, &object.precaution) {
            (Write::Delete, _) => {
                self.refused.insert(object.uid.clone(), format!("the server would refuse: {words}"));
                return;
            }
            (Write::Precaution, Some(Precaution::RetainClaims(_))) => {
                let sentence = format!(
                    "its claims would be destroyed with it, and its policy cannot be changed; the server would refuse: {words}"
                );
                self.refused.entry(object.uid.clone()).or_insert(sentence);
                return;
            }
            (Write::Scale(_), _) => {
                format!("deleted without scaling down, which the server would refuse: {words}")
            }
            (Write::Precaution, _) => format!("not possible, the server would refuse: {words}"),
        };
        self.notes.entry(object.uid.clone()).or_default().push(note);
    }

    fn warn(&mut self, untried: &[String]) {
        match self.refused.len() {
            0 => {}
            1 => self
                .warnings
                .push("the server would refuse to delete 1 object: it stays, with all that it needs".to_owned()),
            count => self
                .warnings
                .push(format!("the server would refuse to delete {count} objects: they stay, with all that they need")),
        }
        if let Some(first) = untried.first() {
            let writes = if untried.len() == 1 { "1 write".to_owned() } else { format!("{} writes", untried.len()) };
            self.warnings.push(format!("{writes} could not be tried beforehand: {first}"));
        }
    }

    /// Puts notes and warnings into the plan.
    pub fn put_into(self, plan: &mut Plan) {
        for object in plan.objects.iter_mut().filter(|object| object.goes()) {
            object.notes.extend(self.notes.get(&object.uid).into_iter().flatten().cloned());
        }
        plan.warnings.extend(self.warnings);
    }
}

/// The first of the server's refusals, where they leave nothing of the plan: there is nothing to begin.
#[must_use]
pub fn all_refused(plan: &Plan) -> Option<&str> {
    plan.objects.iter().find_map(|object| object.refusal.as_deref()).filter(|_| plan.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn failure(code: u16, message: &str) -> Failure {
        Failure::Api { code, reason: String::new(), message: message.into(), retry_after: None }
    }

    fn verdict(action: Action, code: u16, message: &str) -> Verdict {
        let mut object = sample::pod("web-a", "web");
        object.action = action;
        judge(&object, Write::Delete, Err(failure(code, message)))
    }

    #[test]
    fn what_has_gone_or_changed_is_no_refusal() {
        assert_eq!(verdict(Action::Delete, 404, "gone"), Verdict::Granted);
        assert_eq!(verdict(Action::Delete, 409, "uid"), Verdict::Granted);
    }

    #[test]
    fn what_goes_with_its_owner_needs_no_right_of_ours_but_a_policy_binds_the_collector_too() {
        let rbac = "pods \"web-a\" is forbidden: User \"jane\" cannot delete resource \"pods\"";
        assert_eq!(verdict(Action::Cascade, 403, rbac), Verdict::Granted);
        assert_eq!(verdict(Action::Delete, 403, rbac), Verdict::Refused(rbac.into()));
        assert!(matches!(verdict(Action::Cascade, 422, "denied request"), Verdict::Refused(_)));
    }

    #[test]
    fn a_dead_webhook_refuses_and_a_busy_server_does_not() {
        assert!(matches!(verdict(Action::Delete, 500, "failed calling webhook \"x\""), Verdict::Refused(_)));
        assert!(matches!(verdict(Action::Delete, 503, "unavailable"), Verdict::Untried(_)));
        let dry = "admission webhook \"x\" does not support dry run";
        assert!(matches!(verdict(Action::Delete, 400, dry), Verdict::Untried(_)));
    }

    #[test]
    fn of_many_only_some_are_tried_and_that_is_said() {
        let mut plan = sample::plan();
        plan.objects.extend((0..60).map(|number| sample::pod(&format!("p-{number}"), "web")));
        let mut others = (0..60).map(|number| sample::pod(&format!("q-{number}"), "web"));
        plan.objects.extend(others.by_ref().map(|pod| PlanObject { action: Action::Delete, ..pod }));
        let (writes, sampled) = writes(&plan, &Inventory::default());
        assert_eq!(sampled, ["of 123 pods, the deletion of 50 was tried"]);
        assert_eq!(writes.iter().filter(|(index, _)| plan.objects[*index].kind.kind == "Pod").count(), OF_A_KIND);
        let siblings = |(index, _): &&(usize, Write)| plan.objects[*index].name.starts_with("p-");
        assert_eq!(writes.iter().filter(siblings).count(), OF_ALIKE);
        assert_eq!(writes.iter().filter(|(_, write)| matches!(write, Write::Scale(_))).count(), 1);
    }

    #[test]
    fn a_plan_of_which_nothing_is_left_is_hopeless() {
        let mut plan = sample::plan();
        assert_eq!(all_refused(&plan), None);
        for object in &mut plan.objects {
            object.action = Action::Keep;
        }
        assert_eq!(all_refused(&plan), None);
        plan.objects[0].refusal = Some("no".into());
        assert_eq!(all_refused(&plan), Some("no"));
    }

    #[test]
    fn what_may_not_be_scaled_goes_all_the_same_and_what_may_not_be_deleted_stays() {
        let mut plan = sample::plan();
        let mut findings = Findings::default();
        let scale = Write::Scale(Scale { from: 3, to: 0 });
        findings.refuse(&plan.objects[1], scale, "no");
        findings.refuse(&plan.objects[0], Write::Delete, "never");
        findings.warn(&[]);
        let (refused, note) =
            (&plan.objects[0].uid.clone(), "deleted without scaling down, which the server would refuse: no");
        assert_eq!(findings.refused[refused], "the server would refuse: never");
        findings.put_into(&mut plan);
        assert_eq!(plan.objects[1].notes, [note]);
        assert_eq!(plan.warnings, ["the server would refuse to delete 1 object: it stays, with all that it needs"]);
    }
}
