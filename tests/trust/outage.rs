//! The control plane's own parts killed and stopped while the program is in one phase after the other, on control
//! planes that send their clients elsewhere and that lack some of their controllers. Never is clean what is not.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use control_plane::{Component, ControlPlane};

use crate::{
    crew::Failures,
    judge::Case,
    launch::Launched,
    proxy::log::Log,
    series::{Series, is_long},
    site::{Site, title},
};

/// What happens to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    /// Killed, and started anew after a moment.
    Restarted,
    /// Killed until the run has ended.
    Dead,
    /// Stopped, and let go on after a moment.
    Paused,
    /// Stopped until the run has ended.
    Silent,
}

/// How long a passing outage lasts.
const MOMENT: Duration = Duration::from_millis(1200);

/// What controllers take to look again after one.
const AWAKE: Duration = Duration::from_millis(1500);

/// For a run that is given twelve seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Where the run is when it says so.
const PHASES: [(&str, &str); 5] = [
    ("plan", "/api"),
    ("preflight", "dryRun=All"),
    ("drain", "/scale 200"),
    ("waves", "from here on nothing can be put back"),
    ("verify", "deleting ConfigMap/"),
];

const COMPONENTS: [Component; 3] = [Component::ApiServer, Component::Etcd, Component::ControllerManager];
const OUTAGES: [Outage; 4] = [Outage::Restarted, Outage::Dead, Outage::Paused, Outage::Silent];

/// What is tried in the quick form: one of each sort, as the phase's number.
const QUICK: [(Component, Outage, usize); 3] = [
    (Component::Etcd, Outage::Paused, 2),
    (Component::ControllerManager, Outage::Silent, 3),
    (Component::ApiServer, Outage::Silent, 4),
];

#[derive(Clone, Copy, Debug)]
struct Trial {
    component: Component,
    outage: Outage,
    phase: (&'static str, &'static str),
}

fn trials(series: &Series) -> Vec<Trial> {
    if !is_long() {
        return QUICK.map(|(component, outage, phase)| Trial { component, outage, phase: PHASES[phase] }).to_vec();
    }
    let mut trials = Vec::new();
    for component in COMPONENTS {
        for outage in OUTAGES {
            trials.extend(PHASES.map(|phase| Trial { component, outage, phase }));
        }
    }
    // Where there is no time for all, some of each sort.
    series.random(0).shuffle(&mut trials);
    trials.truncate(series.cases / 2);
    trials
}

/// One of full strength, or one that lacks the garbage collector and the quota controller.
fn start(full: bool) -> ControlPlane {
    let builder = ControlPlane::builder().nodes(1).flag(Component::ApiServer, "--goaway-chance=0.02");
    // A node whose heartbeats the outage has kept away is not to be given up: that changes its pods.
    let builder = builder.flag(Component::ControllerManager, "--node-monitor-grace-period=1h");
    let without = "--controllers=*,-garbage-collector-controller,-resourcequota-controller";
    let builder = if full { builder } else { builder.flag(Component::ControllerManager, without) };
    builder.start().unwrap()
}

/// What came of all trials.
#[derive(Debug, Default)]
struct Figures {
    exits: BTreeMap<i32, usize>,
    /// Applications of which something came back after the second run, or during it.
    anew: usize,
}

#[test]
fn each_part_of_the_control_plane_fails_in_each_phase() {
    let series = Series::new("control plane, each part failing in each phase", QUICK.len(), 120);
    let trials = trials(&series);
    let (figures, failures) = (Mutex::new(Figures::default()), Failures::default());
    // In the long form the trials are made on both sorts, and by two of each: most of an outage is waiting.
    let queues: Vec<(bool, AtomicUsize)> =
        [true, false].into_iter().take(if is_long() { 2 } else { 1 }).map(|full| (full, AtomicUsize::new(0))).collect();
    std::thread::scope(|scope| {
        for (full, next) in queues.iter().cycle().take(if is_long() { 4 } else { 1 }) {
            let (series, trials, figures, failures) = (&series, &trials, &figures, &failures);
            scope.spawn(move || {
                // Ended with the process: the sites hold on to it.
                let plane: &'static ControlPlane = Box::leak(Box::new(start(*full)));
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !series.is_over()) {
                    // Controllers that sleep through the end of one application must not take the next for it.
                    let site = Site::new(plane, "outage");
                    let faults = fail(&site, trial, figures);
                    if !faults.is_empty() {
                        failures.add(&format!("{trial:?}, {full}"), &faults);
                    }
                    site.leave();
                }
            });
        }
    });
    let Figures { exits, anew } = figures.into_inner().unwrap();
    let runs: usize = exits.values().sum();
    let exits: Vec<String> = exits.into_iter().map(|(code, runs)| format!("{code}: {runs}")).collect();
    series.report(format!("{runs} runs; exits {}; made anew by controllers afterwards: {anew}", exits.join(", ")));
    failures.none();
}

/// One outage in one phase: what went wrong.
fn fail(site: &Site, trial: &Trial, figures: &Mutex<Figures>) -> Vec<String> {
    let plane = site.world.plane;
    let before = site.deploy();
    let timeout = if is_long() { "12s" } else { "4s" };
    let arguments = ["app", "demo", "--yes", "-o", "json", "-v=6", "--timeout", timeout, "--request-timeout=2s"];
    let mut launched = Launched::start(&site.world, plane.kubeconfig(), &arguments);
    // One that is through before it gets there has nothing to fear.
    let reached = launched.says_while_it_runs(trial.phase.1);
    match trial.outage {
        _ if !reached => {}
        Outage::Restarted | Outage::Dead => plane.kill(trial.component).unwrap(),
        Outage::Paused | Outage::Silent => plane.pause(trial.component).unwrap(),
    }
    if matches!(trial.outage, Outage::Restarted | Outage::Paused) {
        std::thread::sleep(MOMENT);
        recover(plane, trial.component);
    }
    let run = launched.ends_within(LIMIT);
    // What a controller that lies still will do when it wakes is not in the run's hands.
    let seen = (trial.component == Component::ControllerManager).then(|| site.objects());
    recover(plane, trial.component);
    let after = seen.unwrap_or_else(|| site.objects());
    let mut faults = match &run {
        None => vec![format!("it had not ended after {LIMIT:?}")],
        Some(run) => Case { site, before: &before, after: &after, run, log: &Log::default() }.faults(),
    };
    if !reached {
        faults.push("it ended before that".to_owned());
    }
    // A controller that has not seen yet what has gone makes it anew, even after the run: the next one finds it.
    let mut tries = 0;
    let (second, after) = loop {
        let again = Launched::start(&site.world, plane.kubeconfig(), &["app", "demo", "--yes", "-o", "json"]);
        let again = again.ends_within(LIMIT);
        tries += 1;
        std::thread::sleep(AWAKE);
        let after = site.objects();
        let done = again.as_ref().is_some_and(|run| run.code == 0) && site.application(&after).is_empty();
        if done || tries == 10 {
            break (again, after);
        }
    };
    faults.extend(site.harm(&after));
    let left: Vec<String> = site.application(&after).values().map(title).collect();
    if second.as_ref().is_none_or(|second| second.code != 0) || !left.is_empty() {
        faults.push(format!("the second run leaves {left:?}: {second:?}"));
    }
    if !faults.is_empty() {
        faults.push(format!("{run:?}"));
    }
    let mut figures = figures.lock().unwrap();
    *figures.exits.entry(run.map_or(-1, |run| run.code)).or_default() += 1;
    figures.anew += usize::from(tries > 1);
    faults
}

/// Starts it or lets it go on, and waits until the API server answers again.
fn recover(plane: &ControlPlane, component: Component) {
    plane.resume(component).unwrap();
    plane.start_component(component).unwrap();
    let ready = || plane.kubectl(&["get", "--raw", "/readyz"]).success().then_some(());
    plane.wait_for("the API server to be ready", Duration::from_secs(60), ready).unwrap();
}
