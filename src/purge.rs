//! One purge from beginning to end: look, plan, decide, run, report.

use std::{io::IsTerminal as _, time::Duration};

use anyhow::Result;
use tokio::sync::mpsc;

use crate::{
    backup,
    cli::Output,
    cluster::{Cluster, connection::Connection, transport},
    confirm::{self, Answer, Decision, Terminals},
    error::Fatal,
    exit::Exit,
    look::{Seen, look},
    output::{self, Look, Progress, stream},
    plan::{self, Guard, Plan},
    report::Report,
    run::{self, Event, Mission, Stop, is_unproven},
    settings::Settings,
    signals,
};

/// A look that is no older, and that nobody has thought about, is not repeated before the first change: the second one
/// would be as old by then. What happens in this time meets the preconditions of the writes.
const FRESH: Duration = Duration::from_secs(1);

/// Purges, and says how it ended.
pub(crate) async fn purge(settings: &Settings, connection: &Connection) -> Result<Exit> {
    let (asker, stop) = Stop::new();
    let listener = tokio::spawn(signals::listen(asker));
    let exit = story(settings, connection, &stop).await;
    listener.abort();
    exit
}

async fn story(settings: &Settings, connection: &Connection, stop: &Stop) -> Result<Exit> {
    let looking = async {
        let client = transport::connect(connection).await?;
        let cluster = Cluster::new(client, &connection.namespace, connection.request_timeout);
        let seen = look(&cluster, settings, connection).await?;
        anyhow::Ok((cluster, seen))
    };
    let (cluster, mut seen) = tokio::select! {
        looked = looking => looked?,
        () = stop.asked() => return Ok(Exit::Interrupted),
    };
    if !settings.dry_run && !settings.yes && Terminals::read().can_ask() {
        seen = match choose_instance(settings, seen, stop).await {
            Ok(seen) => seen,
            Err(exit) => return Ok(exit),
        };
    }
    if settings.restore && !settings.dry_run {
        let report = execute(settings, &cluster, seen, stop).await;
        show_report(settings, &report);
        return Ok(report.exit);
    }
    let seen = tokio::select! {
        seen = try_out(&cluster, settings, seen) => seen,
        () = stop.asked() => return Ok(Exit::Interrupted),
    };
    let plan = &seen.plan;
    let hopeless = run::all_refused(plan);
    if plan.is_empty() || settings.dry_run || !seen.guards.is_empty() {
        let exit = show_only(settings, &seen);
        return match hopeless.filter(|_| !settings.dry_run && seen.guards.is_empty()) {
            Some(words) => {
                Err(Fatal::AllRefused { namespace: plan.place.namespace.clone(), words: words.to_owned() }.into())
            }
            None => Ok(exit),
        };
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
async fn try_out(cluster: &Cluster, settings: &Settings, mut seen: Seen) -> Seen {
    run::find_wakers(cluster, &mut seen.plan).await;
    if settings.preflight && (seen.guards.is_empty() || settings.dry_run) {
        let mut findings = run::preflight(cluster, &seen.plan, &seen.inventory).await;
        if !findings.refused.is_empty() {
            seen = seen.without(settings, std::mem::take(&mut findings.refused));
            run::find_wakers(cluster, &mut seen.plan).await;
        }
        findings.put_into(&mut seen.plan);
    }
    seen.plan.warnings.extend(run::cautions(&seen.plan, &settings.limits));
    seen.plan.warnings.extend(cluster.warnings().take());
    seen
}

/// Asks on the terminal, until somebody answers or a signal comes.
async fn on_terminal<T: Send + 'static>(
    stop: &Stop,
    otherwise: T,
    interrupted: T,
    ask: impl FnOnce() -> T + Send + 'static,
) -> T {
    let terminal = confirm::Saved::of_stdin();
    tokio::select! {
        answer = tokio::task::spawn_blocking(ask) => answer.unwrap_or(otherwise),
        () = stop.asked() => {
            terminal.restore();
            stream::to_stderr("\n");
            interrupted
        }
    }
}

/// Asks which of several instances is meant.
async fn choose_instance(settings: &Settings, seen: Seen, stop: &Stop) -> Result<Seen, Exit> {
    let instances = seen.guards.iter().find_map(|guard| match guard {
        Guard::Ambiguous { instances } => Some(instances.clone()),
        _ => None,
    });
    let Some(instances) = instances else { return Ok(seen) };
    let app = seen.plan.app.clone();
    let question = confirm::Choice { app, instances };
    let (none, interrupted) = (confirm::Chosen::None, confirm::Chosen::Interrupted);
    match on_terminal(stop, none, interrupted, move || confirm::choose(&question)).await {
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
    let differs = differs(settings, plan);
    let exit = if refused || differs.is_some() {
        Exit::Refused
    } else if plan.objects.iter().any(|object| object.refusal.is_some()) {
        Exit::Incomplete
    } else if is_unproven(plan, &settings.limits) {
        Exit::Unproven
    } else {
        Exit::Done
    };
    let run_without_work = !settings.dry_run && !refused;
    let is_table = matches!(settings.output, Output::Table | Output::Wide);
    if is_table && plan.objects.is_empty() {
        stream::print(&output::nothing::render(plan, &seen.question, &seen.near));
    } else if run_without_work && !is_table {
        print_document(output::document(
            settings.output,
            &output::ReportDocument::new(&Report::untouched(plan.clone(), exit)),
        ));
    } else {
        show_plan(settings, plan);
    }
    if refused {
        for guard in &seen.guards {
            stream::to_stderr(&format!("error: {}\n", output::guards::sentence(guard, &plan.app)));
        }
    }
    if let Some(error) = differs {
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

/// The plan on stdout, in whatever format was asked for.
fn show_plan(settings: &Settings, plan: &Plan) {
    match settings.output {
        Output::Table | Output::Wide => stream::print(&output::plan::render(plan, &stdout_look(settings))),
        Output::Name => stream::print(&output::names::render(plan)),
        Output::Json | Output::Yaml => {
            print_document(output::document(settings.output, &output::PlanDocument::new(plan)));
        }
    }
}

fn stdout_look(settings: &Settings) -> Look {
    Look::of_stdout(settings.color, settings.output == Output::Wide)
}

/// Shows the plan and asks, where somebody can answer.
async fn decide(settings: &Settings, plan: &Plan, stop: &Stop) -> Result<Answer, Fatal> {
    let differs = differs(settings, plan);
    let decision = if differs.is_some() { Decision::Refuse } else { confirm::decide(Terminals::read(), settings.yes) };
    let is_table = matches!(settings.output, Output::Table | Output::Wide);
    match decision {
        // One document on stdout: the report, or for want of a run the plan.
        Decision::Go if !is_table => {}
        // What is asked about has to be seen, wherever stdout goes.
        Decision::Ask if !is_table || !std::io::stdout().is_terminal() => {
            stream::to_stderr(&output::plan::render(plan, &Look::of_stderr(settings.color, false)));
            if is_table {
                show_plan(settings, plan);
            }
        }
        _ => show_plan(settings, plan),
    }
    if let Some(error) = differs {
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
            let ask = move || confirm::ask(&question);
            let answer = on_terminal(stop, Answer::No, Answer::Interrupted, ask).await;
            if answer != Answer::Yes {
                stream::to_stderr("Nothing was changed.\n");
                if !is_table {
                    show_plan(settings, plan);
                }
            }
            Ok(answer)
        }
    }
}

/// What is asked: the application's name to be typed, where more is lost than what can be made anew.
fn question(settings: &Settings, plan: &Plan) -> confirm::Question {
    let app = plan.app.clone();
    if settings.limits.remove_finalizers && plan.going().any(|object| !object.finalizers.is_empty()) {
        confirm::Question::Finalizers { app }
    } else if plan.going().any(|object| object.kind.is("", "PersistentVolumeClaim")) {
        confirm::Question::Name { app }
    } else {
        confirm::Question::YesNo { subject: plan.subject() }
    }
}

/// Carries the plan out while the progress is shown and signals are heard.
async fn execute(settings: &Settings, cluster: &Cluster, seen: Seen, stop: &Stop) -> Report {
    let (sender, mut events) = mpsc::unbounded_channel();
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
        question: &seen.question,
        inventory: &seen.inventory,
        look_again: !settings.yes || seen.at.elapsed() > FRESH,
        limits: &settings.limits,
        events: sender,
        stop: stop.clone(),
    };
    let report =
        if settings.restore { run::restore(mission, seen.plan).await } else { run::run(mission, seen.plan).await };
    notice.abort();
    let _ = notice.await;
    // The last event is shown before the report is.
    let _ = progress.await;
    report
}

fn show_report(settings: &Settings, report: &Report) {
    match settings.output {
        Output::Json | Output::Yaml => {
            print_document(output::document(settings.output, &output::ReportDocument::new(report)));
        }
        _ => stream::print(&output::report::render(report, &stdout_look(settings))),
    }
}

fn print_document(document: Result<String>) {
    match document {
        Ok(document) => stream::print(&document),
        Err(error) => stream::to_stderr(&format!("error: {}\n", output::escape::line(&format!("{error:#}")))),
    }
}
