//! One purge from beginning to end: look, plan, decide, run, report.

use anyhow::Result;
use tokio::sync::mpsc;

use crate::{
    cli::Output,
    cluster::{Cluster, connection::Connection, transport},
    confirm::{self, Answer, Decision, Terminals},
    exit::Exit,
    look::{Seen, look},
    output::{self, Look, Progress, stream},
    plan::{Guard, Plan},
    report::{Outcome, Report},
    run::{self, Mission, Stop, is_unproven},
    settings::Settings,
    signals,
};

/// Purges, and says how it ended.
pub(crate) async fn purge(settings: &Settings, connection: &Connection) -> Result<Exit> {
    let client = transport::connect(connection).await?;
    let cluster = Cluster::new(client, &connection.namespace, connection.request_timeout);
    let mut seen = look(&cluster, settings, connection).await?;
    if !settings.dry_run && !settings.yes && Terminals::read().can_ask() {
        seen = match choose_instance(settings, seen).await {
            Ok(seen) => seen,
            Err(exit) => return Ok(exit),
        };
    }
    let plan = &seen.plan;
    if plan.is_empty() || settings.dry_run || !seen.guards.is_empty() {
        return Ok(show_only(settings, &seen));
    }
    match decide(settings, plan).await {
        Answer::Yes => {}
        Answer::No => return Ok(Exit::Refused),
        Answer::Interrupted => return Ok(Exit::Interrupted),
    }
    let report = execute(settings, &cluster, seen).await;
    show_report(settings, &report);
    Ok(report.exit)
}

/// Asks which of several instances is meant.
async fn choose_instance(settings: &Settings, seen: Seen) -> Result<Seen, Exit> {
    let instances = seen.guards.iter().find_map(|guard| match guard {
        Guard::Ambiguous { instances } => Some(instances.clone()),
        _ => None,
    });
    let Some(instances) = instances else { return Ok(seen) };
    let app = seen.plan.app.clone();
    let question = confirm::Choice { app, instances };
    let chosen = tokio::task::spawn_blocking(move || confirm::choose(&question)).await;
    match chosen.unwrap_or(confirm::Chosen::None) {
        confirm::Chosen::Instance(instance) => Ok(seen.narrowed_to(settings, instance)),
        confirm::Chosen::None => {
            stream::to_stderr("Nothing was changed.\n");
            Err(Exit::Refused)
        }
        confirm::Chosen::Interrupted => {
            stream::to_stderr("Nothing was changed.\n");
            Err(Exit::Interrupted)
        }
    }
}

/// A plan that nothing follows from: nothing to do, a dry run, or a guard in the way.
fn show_only(settings: &Settings, seen: &Seen) -> Exit {
    let plan = &seen.plan;
    let refused = !plan.objects.is_empty() && !seen.guards.is_empty();
    let exit = match (refused, is_unproven(plan, &settings.limits)) {
        (true, _) => Exit::Refused,
        (false, true) => Exit::Unproven,
        (false, false) => Exit::Done,
    };
    let run_without_work = !settings.dry_run && !refused;
    let is_table = matches!(settings.output, Output::Table | Output::Wide);
    if is_table && plan.objects.is_empty() {
        print(&output::nothing::render(plan, &seen.question, &seen.near));
    } else if run_without_work && !is_table {
        print_document(output::document(settings.output, &output::ReportDocument::new(&untouched(plan.clone(), exit))));
    } else {
        show_plan(settings, plan);
    }
    if refused {
        for guard in &seen.guards {
            stream::to_stderr(&format!("error: {}\n", output::guards::sentence(guard, &plan.app)));
        }
    }
    exit
}

/// The plan on stdout, in whatever format was asked for.
fn show_plan(settings: &Settings, plan: &Plan) {
    match settings.output {
        Output::Table | Output::Wide => print(&output::plan::render(plan, &stdout_look(settings))),
        Output::Name => print(&output::names::render(plan)),
        Output::Json | Output::Yaml => {
            print_document(output::document(settings.output, &output::PlanDocument::new(plan)));
        }
    }
}

fn stdout_look(settings: &Settings) -> Look {
    Look::of_stdout(settings.color, settings.output == Output::Wide)
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
        took: std::time::Duration::ZERO,
        exit,
        plan,
    }
}

/// Shows the plan and asks, where somebody can answer.
async fn decide(settings: &Settings, plan: &Plan) -> Answer {
    let decision = confirm::decide(Terminals::read(), settings.yes);
    let is_table = matches!(settings.output, Output::Table | Output::Wide);
    match decision {
        // One document on stdout: the report, or for want of a run the plan.
        Decision::Go if !is_table => {}
        Decision::Ask if !is_table => {
            stream::to_stderr(&output::plan::render(plan, &Look::of_stderr(settings.color, false)));
        }
        _ => show_plan(settings, plan),
    }
    match decision {
        Decision::Go => Answer::Yes,
        Decision::Refuse => {
            stream::to_stderr(
                "error: nobody can be asked here: stdin and stderr are not both a terminal; \
                 nothing was changed (--yes goes on without asking)\n",
            );
            Answer::No
        }
        Decision::Ask => {
            let takes_data = plan.going().any(|object| object.kind.is("", "PersistentVolumeClaim"));
            let question = if takes_data {
                confirm::Question::Name { app: plan.app.clone() }
            } else {
                confirm::Question::YesNo { subject: plan.subject() }
            };
            let answer = tokio::task::spawn_blocking(move || confirm::ask(&question)).await.unwrap_or(Answer::No);
            if answer != Answer::Yes {
                stream::to_stderr("Nothing was changed.\n");
                if !is_table {
                    show_plan(settings, plan);
                }
            }
            answer
        }
    }
}

/// Carries the plan out while the progress is shown and signals are heard.
async fn execute(settings: &Settings, cluster: &Cluster, seen: Seen) -> Report {
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut progress = Progress::of_stderr(settings.color);
    let progress = tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            progress.tell(&event);
        }
        progress.end();
    });
    let (asker, stop) = Stop::new();
    let listener = tokio::spawn(signals::listen(asker));
    let mission = Mission {
        cluster,
        catalog: &seen.catalog,
        question: &seen.question,
        inventory: &seen.inventory,
        limits: &settings.limits,
        events: sender,
        stop,
    };
    let report = run::run(mission, seen.plan).await;
    // The last event is shown before the report is.
    let _ = progress.await;
    listener.abort();
    report
}

fn show_report(settings: &Settings, report: &Report) {
    match settings.output {
        Output::Json | Output::Yaml => {
            print_document(output::document(settings.output, &output::ReportDocument::new(report)));
        }
        _ => print(&output::report::render(report, &stdout_look(settings))),
    }
}

/// A reader of ours that has gone away is no reason to stop.
fn print(text: &str) {
    let _ = stream::to_stdout(text);
}

fn print_document(document: Result<String>) {
    match document {
        Ok(document) => print(&document),
        Err(error) => stream::to_stderr(&format!("error: {error:#}\n")),
    }
}
