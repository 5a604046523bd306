//! The plan and the report as documents: a contract with scripts, so the names and their order live here alone.

use serde::Serialize;

use crate::{
    plan::{self, Aside, Frees, Plan, PlanObject, Unseen},
    report::{Newcomer, Outcome, PhaseTime, PutBack, QuotaChange, Report},
};

pub(super) const API_VERSION: &str = "kubectl-purge/v1";

/// A document of kind `Plan`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanDocument<'plan> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    fields: Fields<'plan>,
}

/// A document of kind `Report`: the plan's fields and what became of them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportDocument<'report> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    fields: Fields<'report>,
    newcomers: Vec<NewcomerFields<'report>>,
    quota: Vec<QuotaFields<'report>>,
    phases: Vec<PhaseFields>,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_error: Option<&'report str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    put_back: Option<Vec<PutBackFields<'report>>>,
    seconds: f64,
    exit: u8,
}

/// What plan and report have in common.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'plan> {
    app: &'plan str,
    namespace: &'plan str,
    context: &'plan str,
    server: &'plan str,
    digest: String,
    objects: Vec<ObjectFields<'plan>>,
    related: Vec<RelatedFields<'plan>>,
    suspected: Vec<RelatedFields<'plan>>,
    cluster_scoped: Vec<RelatedFields<'plan>>,
    unseen: Vec<UnseenFields<'plan>>,
    frees: Vec<FreesFields<'plan>>,
    warnings: &'plan [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectFields<'plan> {
    api_version: String,
    kind: &'plan str,
    name: &'plan str,
    uid: &'plan str,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<ScaleFields>,
    phase: &'static str,
    reasons: Vec<String>,
    notes: &'plan [String],
    #[serde(flatten)]
    outcome: Option<OutcomeFields<'plan>>,
}

#[derive(Debug, Serialize)]
struct ScaleFields {
    from: i64,
    to: i64,
}

/// Beside an object of a report.
#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum OutcomeFields<'report> {
    Gone,
    Kept,
    Left { finalizers: &'report [String], blocked_by: &'report [String] },
    Lost,
    Recreated { recreated_uid: &'report str, recreated_by: Option<&'report str> },
}

/// Something near the application that the plan does not take.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedFields<'plan> {
    api_version: String,
    kind: &'plan str,
    name: &'plan str,
    uid: &'plan str,
    reasons: Vec<String>,
}

#[derive(Debug, Serialize)]
struct UnseenFields<'plan> {
    resource: &'plan str,
    why: &'static str,
    message: &'plan str,
}

#[derive(Debug, Serialize)]
struct FreesFields<'plan> {
    quota: &'plan str,
    resource: &'plan str,
    amount: &'plan str,
    used: &'plan str,
    hard: &'plan str,
}

#[derive(Debug, Serialize)]
struct NewcomerFields<'report> {
    title: String,
    uid: &'report str,
    why: &'report str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'report str>,
}

#[derive(Debug, Serialize)]
struct QuotaFields<'report> {
    quota: &'report str,
    resource: &'report str,
    charged: &'report str,
    before: &'report str,
    after: &'report str,
    released: bool,
    seconds: f64,
}

/// What an interrupted run has put back, or why it could not.
#[derive(Debug, Serialize)]
struct PutBackFields<'report> {
    title: &'report str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'report str>,
}

#[derive(Debug, Serialize)]
struct PhaseFields {
    name: &'static str,
    seconds: f64,
}

impl<'plan> PlanDocument<'plan> {
    #[must_use]
    pub fn new(plan: &'plan Plan) -> Self {
        let objects = plan.objects.iter().map(|object| ObjectFields::new(object, None)).collect();
        Self { api_version: API_VERSION, kind: "Plan", fields: Fields::new(plan, objects) }
    }
}

impl<'report> ReportDocument<'report> {
    #[must_use]
    pub fn new(report: &'report Report) -> Self {
        let mut outcomes = report.outcomes.iter();
        let objects = report.plan.objects.iter().map(|object| ObjectFields::new(object, outcomes.next())).collect();
        Self {
            api_version: API_VERSION,
            kind: "Report",
            fields: Fields::new(&report.plan, objects),
            newcomers: report.newcomers.iter().map(NewcomerFields::from).collect(),
            quota: report.quota.iter().map(QuotaFields::from).collect(),
            phases: report.phases.iter().map(PhaseFields::from).collect(),
            verified: report.verified,
            verify_error: report.verify_error.as_deref(),
            put_back: report.put_back.as_ref().map(|all| all.iter().map(PutBackFields::from).collect()),
            seconds: millis(report.took.as_secs_f64()),
            exit: report.exit.code(),
        }
    }
}

/// Seconds to a thousandth: more digits would be noise.
fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

impl<'plan> Fields<'plan> {
    fn new(plan: &'plan Plan, objects: Vec<ObjectFields<'plan>>) -> Self {
        Self {
            app: &plan.app,
            namespace: &plan.place.namespace,
            context: &plan.place.context,
            server: &plan.place.server,
            digest: plan::digest(plan),
            objects,
            related: plan.related.iter().map(RelatedFields::from).collect(),
            suspected: plan.suspected.iter().map(RelatedFields::from).collect(),
            cluster_scoped: plan.cluster_scoped.iter().map(RelatedFields::from).collect(),
            unseen: plan.unseen.iter().map(UnseenFields::from).collect(),
            frees: plan.frees.iter().map(FreesFields::from).collect(),
            warnings: &plan.warnings,
        }
    }
}

impl<'plan> From<&'plan Aside> for RelatedFields<'plan> {
    fn from(object: &'plan Aside) -> Self {
        Self {
            api_version: object.kind.api_version(),
            kind: &object.kind.kind,
            name: &object.name,
            uid: &object.uid,
            reasons: vec![object.why.clone()],
        }
    }
}

impl<'plan> ObjectFields<'plan> {
    fn new(object: &'plan PlanObject, outcome: Option<&'plan Outcome>) -> Self {
        Self {
            api_version: object.kind.api_version(),
            kind: &object.kind.kind,
            name: &object.name,
            uid: &object.uid,
            action: object.action.name(),
            scale: object.scale.map(|scale| ScaleFields { from: scale.from, to: scale.to }),
            phase: object.wave.name(),
            reasons: object.reasons.iter().map(ToString::to_string).collect(),
            notes: &object.notes,
            outcome: outcome.map(OutcomeFields::from),
        }
    }
}

impl<'report> From<&'report Outcome> for OutcomeFields<'report> {
    fn from(outcome: &'report Outcome) -> Self {
        match outcome {
            Outcome::Gone => Self::Gone,
            Outcome::Kept => Self::Kept,
            Outcome::Left { finalizers, blocked_by } => Self::Left { finalizers, blocked_by },
            Outcome::Lost => Self::Lost,
            Outcome::Recreated { uid, by } => Self::Recreated { recreated_uid: uid, recreated_by: by.as_deref() },
        }
    }
}

impl<'plan> From<&'plan Unseen> for UnseenFields<'plan> {
    fn from(unseen: &'plan Unseen) -> Self {
        Self { resource: &unseen.resource, why: unseen.why.name(), message: &unseen.message }
    }
}

impl<'plan> From<&'plan Frees> for FreesFields<'plan> {
    fn from(frees: &'plan Frees) -> Self {
        let Frees { quota, resource, amount, used, hard } = frees;
        Self { quota, resource, amount, used, hard }
    }
}

impl<'report> From<&'report Newcomer> for NewcomerFields<'report> {
    fn from(newcomer: &'report Newcomer) -> Self {
        let Newcomer { uid, why, by, .. } = newcomer;
        Self { title: newcomer.title(), uid, why, by: by.as_deref() }
    }
}

impl<'report> From<&'report QuotaChange> for QuotaFields<'report> {
    fn from(change: &'report QuotaChange) -> Self {
        let QuotaChange { quota, resource, charged, before, after, released, seconds } = change;
        Self { quota, resource, charged, before, after, released: *released, seconds: millis(*seconds) }
    }
}

impl<'report> From<&'report PutBack> for PutBackFields<'report> {
    fn from(put_back: &'report PutBack) -> Self {
        let PutBack { title, replicas, error, .. } = put_back;
        Self { title, replicas: *replicas, error: error.as_deref() }
    }
}

impl From<&PhaseTime> for PhaseFields {
    fn from(phase: &PhaseTime) -> Self {
        Self { name: phase.name, seconds: millis(phase.took.as_secs_f64()) }
    }
}
