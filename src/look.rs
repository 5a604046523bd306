//! The first look: what the server serves, what is in the namespace, and the plan that follows.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use crate::{
    cluster::{Catalog, Cluster, Failure, NamespaceState, Patience, connection::Connection},
    error::Fatal,
    inventory::{Detail, Inventory, Kind, Workload, is_word},
    near, output,
    plan::{
        Allowed, Aside, Choices, Guard, Place, Plan, Question, Reason, Selection, Target, Unseen, app_of, helm_releases,
    },
    settings::{Settings, Subject, Typed, UsageError},
};

/// What was seen before anything was decided.
pub(crate) struct Seen {
    pub(crate) catalog: Catalog,
    pub(crate) inventory: Inventory,
    pub(crate) question: Question,
    pub(crate) plan: Plan,
    pub(crate) guards: Vec<Guard>,
    /// Commands that may have been meant, where nothing was found.
    pub(crate) near: Vec<String>,
    /// When the look at the namespace began: nothing in it is older.
    pub(crate) at: Instant,
}

/// Namespace, catalog and inventory: what every command begins with.
pub(crate) struct Surroundings {
    pub(crate) catalog: Catalog,
    pub(crate) inventory: Inventory,
    pub(crate) unseen: Vec<Unseen>,
    pub(crate) place: Place,
    pub(crate) at: Instant,
}

/// Looks around, changing nothing.
pub(crate) async fn surroundings(cluster: &Cluster, connection: &Connection) -> Result<Surroundings, Fatal> {
    let namespace = cluster.namespace();
    let (catalog, user, state) = tokio::join!(cluster.catalog(), cluster.who_am_i(), cluster.namespace_state());
    let fatal = |failure: Failure| Fatal::of(failure, namespace);
    let catalog = catalog.map_err(fatal)?;
    match state.map_err(fatal)? {
        NamespaceState::Active | NamespaceState::Unknown => {}
        NamespaceState::Missing => {
            let (namespace, place) = (namespace.to_owned(), connection.server.clone());
            return Err(Fatal::NoNamespace { namespace, place });
        }
        NamespaceState::Terminating => return Err(Fatal::NamespaceTerminating { namespace: namespace.to_owned() }),
    }
    let at = Instant::now();
    let (inventory, unseen) = cluster.inventory(&catalog, Patience::PLAN, &[]).await.map_err(fatal)?;
    let place = Place {
        namespace: namespace.to_owned(),
        context: connection.context.clone(),
        server: connection.server.clone(),
        user: user.unwrap_or_default(),
    };
    Ok(Surroundings { catalog, inventory, unseen, place, at })
}

/// Looks around and plans.
pub(crate) async fn look(cluster: &Cluster, settings: &Settings, connection: &Connection) -> anyhow::Result<Seen> {
    let Surroundings { catalog, mut inventory, unseen, place, at } = surroundings(cluster, connection).await?;
    let question = question(settings, &catalog)?;
    let choices = choices(settings, &catalog)?;
    check_named((&catalog, &inventory, &unseen), &question, &choices, &place.namespace)?;
    let selection = Selection::of(&inventory, &question);
    learn_scales(cluster, &mut inventory, &selection).await;
    let mut plan = Plan::draft(&inventory, &selection, &question, &choices, place, unseen);
    plan.cluster_scoped = cluster_scoped(cluster, &catalog.cluster_kinds, &selection).await;
    plan.warnings.extend(warnings(&inventory, &question, &selection, &plan, &choices));
    let guards = Guard::of(&inventory, &question, &selection, &plan, &settings.allowed);
    let near = if plan.objects.is_empty() { near::commands(&inventory, &question) } else { Vec::new() };
    Ok(Seen { catalog, inventory, question, plan, guards, near, at })
}

/// Objects named on the command line have to be there, as far as was seen: that the one asked about is not is an answer,
/// that one to be kept is not, a mistake.
fn check_named(
    (catalog, inventory, unseen): (&Catalog, &Inventory, &[Unseen]),
    question: &Question,
    choices: &Choices,
    namespace: &str,
) -> anyhow::Result<()> {
    let asked = match &question.target {
        Target::Around { group, kind, name } => Some((group, kind, name)),
        _ => None,
    };
    let excluded = choices.exclude.iter().map(|(group, kind, name)| (group, kind, name));
    for (is_excluded, (group, kind, name)) in
        excluded.map(|named| (true, named)).chain(asked.map(|named| (false, named)))
    {
        let exists = inventory.objects().iter().any(|object| object.kind.is(group, kind) && object.name == *name);
        let (title, namespace) = (format!("{kind}/{name}"), namespace.to_owned());
        if !exists && inventory.is_unseen(group, kind) {
            let served = catalog.kinds.iter().find(|served| served.kind.is(group, kind));
            let resource = served.map(|served| served.kind.resource());
            let blind = unseen.iter().find(|unseen| Some(&unseen.resource) == resource.as_ref());
            let words = blind.map_or_else(|| "it cannot be listed".to_owned(), |unseen| unseen.message.clone());
            return Err(Fatal::Unseen { title, namespace, words }.into());
        }
        if !exists && is_excluded {
            return Err(UsageError::NothingToExclude(title, namespace).into());
        }
    }
    Ok(())
}

impl Seen {
    /// The same look with one of several instances chosen.
    pub(crate) fn narrowed_to(self, settings: &Settings, instance: String) -> Self {
        let question = Question { instance: Some(instance), ..self.question.clone() };
        let choices = choices(settings, &self.catalog).unwrap_or_default();
        let allowed = Allowed { all_instances: true, ..settings.allowed.clone() };
        self.again(question, &choices, &allowed)
    }

    /// The same look where the server would refuse to delete something, which stays.
    pub(crate) fn without(self, settings: &Settings, refused: BTreeMap<String, String>) -> Self {
        let choices = Choices { refused, ..choices(settings, &self.catalog).unwrap_or_default() };
        let guards = self.guards.clone();
        let question = self.question.clone();
        Self { guards, ..self.again(question, &choices, &settings.allowed) }
    }

    fn again(self, question: Question, choices: &Choices, allowed: &Allowed) -> Self {
        let selection = Selection::of(&self.inventory, &question);
        let Plan { place, unseen, cluster_scoped, .. } = self.plan;
        let mut plan = Plan::draft(&self.inventory, &selection, &question, choices, place, unseen);
        plan.cluster_scoped = cluster_scoped;
        plan.warnings.extend(warnings(&self.inventory, &question, &selection, &plan, choices));
        let guards = Guard::of(&self.inventory, &question, &selection, &plan, allowed);
        Self { question, plan, guards, ..self }
    }
}

fn question(settings: &Settings, catalog: &Catalog) -> Result<Question, UsageError> {
    let (app, target) = match &settings.subject {
        Subject::Named { app, keys } => (app.clone(), Target::Named { value: app.clone(), keys: keys.clone() }),
        Subject::Matching { text, selector } => (format!("-l {text}"), Target::Matching(selector.clone())),
        Subject::Around(typed) => {
            let (group, kind, name) = resolve(typed, catalog)?;
            (format!("{}/{}", typed.kind, typed.name), Target::Around { group, kind, name })
        }
        Subject::Orphans => ("orphans".to_owned(), Target::Orphans),
    };
    let (instance, include_related) = (settings.instance.clone(), settings.include_related);
    Ok(Question { app, target, instance, include_related })
}

fn choices(settings: &Settings, catalog: &Catalog) -> Result<Choices, UsageError> {
    let exclude = settings.exclude.iter().map(|typed| resolve(typed, catalog)).collect::<Result<_, _>>()?;
    Ok(Choices {
        delete_data: settings.delete_data,
        no_scale_down: settings.no_scale_down,
        exclude,
        refused: BTreeMap::new(),
    })
}

fn resolve(typed: &Typed, catalog: &Catalog) -> Result<(String, String, String), UsageError> {
    let kind = catalog.find(&typed.kind).ok_or_else(|| UsageError::UnknownType(typed.kind.clone()))?;
    Ok((kind.group.clone(), kind.kind.clone(), typed.name.clone()))
}

/// Of custom resources only metadata was listed: their replica counts are asked for one by one.
async fn learn_scales(cluster: &Cluster, inventory: &mut Inventory, selection: &Selection) {
    for &index in selection.members.keys() {
        let object = &inventory.objects()[index];
        if !object.kind.scalable || !matches!(object.detail, Detail::None) {
            continue;
        }
        match cluster.scale(&object.kind.clone(), &object.name.clone()).await {
            Ok(replicas) => {
                let detail = Detail::Workload(Workload { replicas: Some(replicas), ..Workload::default() });
                inventory.set_detail(index, detail);
            }
            Err(failure) => tracing::info!(object = %object.title(), %failure, "its scale cannot be read"),
        }
    }
}

/// Objects of the cluster itself that carry the label by which members were found.
async fn cluster_scoped(cluster: &Cluster, kinds: &[Arc<Kind>], selection: &Selection) -> Vec<Aside> {
    let mut labels: Vec<(&String, &String)> = selection
        .members
        .values()
        .flatten()
        .filter_map(|reason| match reason {
            Reason::Label { key, value } | Reason::OrphanLabel { key, value } => Some((key, value)),
            _ => None,
        })
        .collect();
    labels.sort();
    labels.dedup();
    let mut found: Vec<Aside> = Vec::new();
    for (key, value) in labels {
        for object in cluster.cluster_objects(kinds, key, value).await {
            if found.iter().all(|known| known.uid != object.uid) {
                let why = format!("label {key}={value}");
                found.push(Aside { kind: object.kind, name: object.name, uid: object.uid, why });
            }
        }
    }
    found.sort_by(|a, b| (&a.kind.kind, &a.name).cmp(&(&b.kind.kind, &b.name)));
    found
}

/// A release's name may come from an annotation, which may hold anything.
fn of_release(release: &str, namespace: &str) -> String {
    let command =
        if is_word(release) { format!("helm uninstall {release} -n {namespace}") } else { "helm uninstall".to_owned() };
    format!("part of Helm release {}: `{command}` runs its hooks, this does not", output::brief(release))
}

fn warnings(
    inventory: &Inventory,
    question: &Question,
    selection: &Selection,
    plan: &Plan,
    choices: &Choices,
) -> Vec<String> {
    let mut warnings: Vec<String> =
        helm_releases(inventory, plan).into_iter().map(|release| of_release(&release, &plan.place.namespace)).collect();
    for (group, kind, name) in &choices.exclude {
        let is_planned = plan.objects.iter().any(|object| object.kind.is(group, kind) && object.name == *name);
        if !is_planned {
            warnings.push(format!("--exclude {kind}/{name}: the plan has no such object"));
        }
    }
    // Whoever types a selector has chosen; what he may not have seen is told.
    if matches!(question.target, Target::Matching(_)) {
        let mut apps: Vec<String> = selection
            .members
            .iter()
            .filter(|(_, reasons)| reasons.contains(&Reason::Matches))
            .filter_map(|(&index, _)| app_of(&inventory.objects()[index].labels))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        apps.sort();
        apps.dedup();
        if apps.len() > 1 {
            warnings.push(format!("the selector picks objects of {} applications: {}", apps.len(), apps.join(", ")));
        }
    }
    if selection.is_blind_to_pods && !plan.orphans {
        warnings.push(
            "pods, or what makes them, could not all be read: whether others use what is labelled is not known"
                .to_owned(),
        );
    }
    warnings
}
