//! One purge of an application from beginning to end: look, plan, decide, run, report.

use anyhow::{Context as _, Result};

use crate::{
    backup,
    cli::Output,
    cluster::{Catalog, Cluster, NamespaceState, Patience, connection::Connection, transport},
    confirm::{self, Answer, Decision, Terminals},
    error::Fatal,
    exit::Exit,
    inventory::{Detail, Inventory, Workload},
    output::{self, Look, Progress, stream},
    plan::{self, Place, Plan, Selection},
    report::{Outcome, Report},
    run::{self, Event, Mission, Stop, is_unproven},
    settings::Settings,
    signals,
};

/// Purges, and says how it ended.
pub(crate) fn purge(settings: &Settings, connection: &Connection) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    let exit = runtime.block_on(async {
        let (asker, stop) = Stop::new();
        let listener = tokio::spawn(signals::listen(asker));
        let exit = story(settings, connection, &stop).await;
        listener.abort();
        exit
    });
    // Watches may still be open: nothing of them is wanted any more.
    runtime.shutdown_background();
    exit
}

async fn story(settings: &Settings, connection: &Connection, stop: &Stop) -> Result<Exit> {
    let seeing = async {
        let client = transport::connect(connection).await?;
        let cluster = Cluster::new(client, &connection.namespace, connection.request_timeout);
        let mut seen = look(&cluster, settings, connection).await?;
        try_out(&cluster, settings, &mut seen.plan).await;
        anyhow::Ok((cluster, seen))
    };
    let (cluster, seen) = tokio::select! {
        seen = seeing => seen?,
        () = stop.asked() => return Ok(Exit::Interrupted),
    };
    let plan = &seen.plan;

    if settings.dry_run || plan.is_empty() {
        return Ok(show_only(settings, plan));
    }
    match decide(settings, plan, stop).await? {
        Answer::Yes => {}
        Answer::No => return Ok(Exit::Refused),
        Answer::Interrupted => return Ok(Exit::Interrupted),
    }
    if let Some(folder) = &settings.backup {
        let count = tokio::select! {
            count = backup::save(&cluster, plan, folder) => count.map_err(Fatal::from)?,
            () = stop.asked() => return Ok(Exit::Interrupted),
        };
        stream::to_stderr(&output::backup_saved(count, folder));
    }
    let report = execute(settings, &cluster, seen, stop).await;
    show_report(settings, &report);
    Ok(report.exit)
}

/// What is known only by asking the server about the plan, and what the flags put at risk.
async fn try_out(cluster: &Cluster, settings: &Settings, plan: &mut Plan) {
    run::find_wakers(cluster, plan).await;
    if settings.preflight {
        run::preflight(cluster, plan).await;
    }
    plan.warnings.extend(run::cautions(plan, &settings.limits));
    plan.warnings.extend(cluster.warnings().take());
}

/// What was seen before anything was decided.
struct Seen {
    catalog: Catalog,
    inventory: Inventory,
    plan: Plan,
}

async fn look(cluster: &Cluster, settings: &Settings, connection: &Connection) -> Result<Seen, Fatal> {
    let namespace = cluster.namespace();
    let (catalog, user, state) = tokio::join!(cluster.catalog(), cluster.who_am_i(), cluster.namespace_state());
    let fatal = |failure| Fatal::of(failure, namespace);
    let catalog = catalog.map_err(fatal)?;
    match state.map_err(fatal)? {
        NamespaceState::Active | NamespaceState::Unknown => {}
        NamespaceState::Missing => {
            let (namespace, place) = (namespace.to_owned(), connection.server.clone());
            return Err(Fatal::NoNamespace { namespace, place });
        }
        NamespaceState::Terminating => return Err(Fatal::NamespaceTerminating { namespace: namespace.to_owned() }),
    }
    let (mut inventory, unseen) = cluster.inventory(&catalog, Patience::PLAN).await.map_err(fatal)?;
    let selection = Selection::of(&inventory, &settings.question);
    learn_scales(cluster, &mut inventory, &selection).await;
    let place = Place {
        namespace: namespace.to_owned(),
        context: connection.context.clone(),
        server: connection.server.clone(),
        user: user.unwrap_or_default(),
    };
    let plan = Plan::draft(&inventory, &selection, &settings.question, &settings.choices, place, unseen);
    Ok(Seen { catalog, inventory, plan })
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

/// A plan that nothing follows from: a dry run, or nothing to do.
fn show_only(settings: &Settings, plan: &Plan) -> Exit {
    let exit = if differs(settings, plan).is_some() {
        Exit::Refused
    } else if plan.going().any(|object| object.refusal.is_some()) {
        Exit::Incomplete
    } else if is_unproven(plan, &settings.limits) {
        Exit::Unproven
    } else {
        Exit::Done
    };
    match settings.output {
        Output::Table if plan.objects.is_empty() => print(&output::nothing::render(plan, &settings.question)),
        Output::Table => print(&output::plan::render(plan, &Look::of_stdout(settings.color, false))),
        Output::Json if settings.dry_run => print_json(output::json::plan(plan)),
        Output::Json => print_json(output::json::report(&untouched(plan.clone(), exit))),
    }
    if let Some(error) = differs(settings, plan) {
        stream::to_stderr(&error);
    }
    exit
}

/// What to say where the plan is not the one that was agreed to. That nothing is left of it is no such case.
fn differs(settings: &Settings, plan: &Plan) -> Option<String> {
    let expected = settings.expect_digest.as_ref().filter(|_| !plan.is_empty())?;
    let digest = plan::digest(plan);
    (digest != *expected).then(|| {
        format!("error: this is not the plan that was agreed to: its digest is {digest}; nothing was changed\n")
    })
}

/// The report of a run that had nothing to do.
fn untouched(plan: Plan, exit: Exit) -> Report {
    Report {
        outcomes: plan.objects.iter().map(|_| Outcome::Kept).collect(),
        newcomers: Vec::new(),
        quota: Vec::new(),
        phases: Vec::new(),
        verified: true,
        verify_error: None,
        put_back: None,
        took: std::time::Duration::ZERO,
        exit,
        plan,
    }
}

/// Shows the plan and asks, where somebody can answer.
async fn decide(settings: &Settings, plan: &Plan, stop: &Stop) -> Result<Answer, Fatal> {
    let hopeless = run::all_refused(plan);
    let refused = hopeless.is_some() || differs(settings, plan).is_some();
    let decision = if refused { Decision::Refuse } else { confirm::decide(Terminals::read(), settings.yes) };
    match (settings.output, decision) {
        (Output::Table, _) => print(&output::plan::render(plan, &Look::of_stdout(settings.color, false))),
        // One document on stdout: the report, or for want of a run the plan.
        (Output::Json, Decision::Refuse) => print_json(output::json::plan(plan)),
        (Output::Json, Decision::Ask) => {
            stream::to_stderr(&output::plan::render(plan, &Look::of_stderr(settings.color, false)));
        }
        (Output::Json, Decision::Go) => {}
    }
    if let Some(words) = hopeless {
        return Err(Fatal::AllRefused { namespace: plan.place.namespace.clone(), words: words.to_owned() });
    }
    if let Some(error) = differs(settings, plan) {
        stream::to_stderr(&error);
        return Ok(Answer::No);
    }
    match decision {
        Decision::Go => Ok(Answer::Yes),
        Decision::Refuse => {
            stream::to_stderr(
                "error: nobody can be asked here: stdin and stderr are not both a terminal; \
                 nothing was changed (--yes goes on without asking)\n",
            );
            Ok(Answer::No)
        }
        Decision::Ask => {
            let question = question(settings, plan);
            let terminal = confirm::Saved::of_stdin();
            let answer = tokio::select! {
                answer = tokio::task::spawn_blocking(move || confirm::ask(&question)) => answer.unwrap_or(Answer::No),
                () = stop.asked() => {
                    terminal.restore();
                    stream::to_stderr("\n");
                    Answer::Interrupted
                }
            };
            if answer != Answer::Yes {
                stream::to_stderr("Nothing was changed.\n");
                if settings.output == Output::Json {
                    print_json(output::json::plan(plan));
                }
            }
            Ok(answer)
        }
    }
}

/// What is asked: the application's name to be typed, where more is lost than what can be made anew.
fn question(settings: &Settings, plan: &Plan) -> confirm::Question {
    let app = plan.app.clone();
    let data = plan.going().any(|object| object.kind.is("", "PersistentVolumeClaim"));
    if settings.limits.remove_finalizers && plan.going().any(|object| !object.finalizers.is_empty()) {
        confirm::Question::Finalizers { app }
    } else if data {
        confirm::Question::Name { app }
    } else {
        confirm::Question::YesNo { app }
    }
}

/// Carries the plan out while the progress is shown and signals are heard.
async fn execute(settings: &Settings, cluster: &Cluster, seen: Seen, stop: &Stop) -> Report {
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let mut progress = Progress::of_stderr(settings.color);
    let progress = tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            progress.tell(&event);
        }
        progress.end();
    });
    let (asked, teller) = (stop.clone(), sender.clone());
    let notice = tokio::spawn(async move {
        asked.asked().await;
        let _ = teller.send(Event::Stopping);
    });
    let mission = Mission {
        cluster,
        catalog: &seen.catalog,
        question: &settings.question,
        inventory: &seen.inventory,
        limits: &settings.limits,
        events: sender,
        stop: stop.clone(),
    };
    let report = run::run(mission, seen.plan).await;
    notice.abort();
    let _ = notice.await;
    // The last event is shown before the report is.
    let _ = progress.await;
    report
}

fn show_report(settings: &Settings, report: &Report) {
    match settings.output {
        Output::Table => print(&output::report::render(report, &Look::of_stdout(settings.color, false))),
        Output::Json => print_json(output::json::report(report)),
    }
}

/// A reader of ours that has gone away is no reason to stop.
fn print(text: &str) {
    let _ = stream::to_stdout(text);
}

fn print_json(document: serde_json::Result<String>) {
    match document {
        Ok(document) => print(&document),
        Err(error) => stream::to_stderr(&format!("error: {error}\n")),
    }
}
