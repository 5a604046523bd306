//! The network between the program and the API server: every fault at every request, then several at random. Each run
//! ends in time, and says truly what came of it; a second one finishes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    allowance::Allowance,
    crew::{Failures, clean_run, each, plane, straight},
    harness::Run,
    judge::Case,
    launch::Launched,
    proxy::{
        Proxy,
        fault::{Fault, RetryAfter},
        log::{Entry, Log},
        script::{Rule, Script, When},
    },
    series::{Series, is_long},
    site::Site,
};

/// What the run is given as its `--timeout`, in seconds.
const TIMEOUTS: [u64; 2] = [5, 20];

/// For each request of a run that nothing befalls.
const BREATH: Duration = Duration::from_secs(20);
/// One run in so many has the program's own patience with requests.
const PATIENT: usize = 5;

/// How a run is disturbed.
#[derive(Clone, Debug)]
struct Trouble {
    rules: Vec<Rule>,
    page: Option<usize>,
    /// Without a `--request-timeout` silence is waited for much longer.
    hasty: bool,
}

impl Trouble {
    fn allowance(&self) -> Allowance {
        Allowance {
            timeout: Duration::from_secs(TIMEOUTS[usize::from(is_long())]),
            request_timeout: self.hasty.then_some(Duration::from_secs(1)),
            pages: self.page.is_some(),
        }
    }
}

/// What a series comes to.
#[derive(Default)]
struct Figures {
    faults: BTreeMap<Fault, usize>,
    /// By exit code: runs, and those of them after which nothing was left.
    exits: BTreeMap<i32, (usize, usize)>,
    /// Faults that struck, each with its place.
    struck: BTreeSet<(String, Fault)>,
    longest: Duration,
    /// The largest part that one took of what it might have.
    closest: f64,
    /// Runs with the program's own patience.
    patient: usize,
    requests: usize,
}

impl Figures {
    fn text(&self) -> String {
        let runs: usize = self.exits.values().map(|(runs, _)| runs).sum();
        let faults: usize = self.faults.values().sum();
        let kinds: Vec<String> = self.faults.iter().map(|(fault, count)| format!("{} {count}", fault.name())).collect();
        let exits: Vec<String> =
            self.exits.iter().map(|(code, (runs, clean))| format!("{code}: {runs} ({clean} clean)")).collect();
        format!(
            "{runs} runs ({} without --request-timeout), {} requests, {faults} faults; exits {}; longest run {:.1?}, \
             closest to its bound {:.0}%; {}",
            self.patient,
            self.requests,
            exits.join(", "),
            self.longest,
            100.0 * self.closest,
            kinds.join(", ")
        )
    }
}

fn purge(site: &Site, kubeconfig: &std::path::Path, allowed: &Allowance) -> Option<Run> {
    let timeouts = allowed.flags();
    let arguments: Vec<&str> =
        ["app", "demo", "--yes", "-o", "json"].into_iter().chain(timeouts.iter().map(String::as_str)).collect();
    Launched::start(&site.world, kubeconfig, &arguments).ends_within(allowed.most())
}

/// One case: the application made, purged through the proxy, judged, and purged again without it. Whether nothing is
/// left of it.
fn case(site: &Site, trouble: &Trouble, figures: &Mutex<Figures>, failures: &Failures) -> bool {
    let before = site.deploy();
    let script = Script { rules: trouble.rules.clone(), page: trouble.page, ..Script::default() };
    let proxy = Proxy::start(site.world.plane, script);
    let (begun, allowed) = (Instant::now(), trouble.allowance());
    let run = purge(site, &proxy.kubeconfig, &allowed);
    let log = proxy.log();
    drop(proxy);
    let after = site.objects();
    let mut faults = Vec::new();
    match &run {
        None => faults.push(format!("it had not ended after {:?}", allowed.most())),
        Some(run) => {
            faults.extend(Case { site, before: &before, after: &after, run, log: &log }.faults());
            let most = allowed.of(begun, &log);
            if run.took > most {
                faults.push(format!("it took {:.1?}, and after what befell it {most:.1?} at most", run.took));
            }
        }
    }
    let mut told = run.as_ref().map(|run| format!("{run:?}")).unwrap_or_default();
    // Nothing befalls this one; a machine that is short of breath with so many at work is to be no fault of it.
    match purge(site, straight(&site.world), &Allowance { request_timeout: Some(BREATH), ..allowed }) {
        None => faults.push("the second run had not ended".to_owned()),
        Some(second) => {
            let after = site.objects();
            faults.extend(site.harm(&after));
            if second.code != 0 || !site.application(&after).is_empty() {
                let left: Vec<String> = site.application(&after).values().map(crate::site::title).collect();
                faults.push(format!("the second run exits {} and leaves {left:?}", second.code));
                told = format!("{told}\nsecond: {second:?}");
            }
        }
    }
    if !faults.is_empty() {
        failures.add(&format!("{trouble:?}\n{told}\n{}", log.text()), &faults);
    }
    let left = !site.application(&after).is_empty();
    count(&mut figures.lock().unwrap(), run.as_ref(), &log, !left);
    let took = run.map_or(allowed.most(), |run| run.took);
    let mut figures = figures.lock().unwrap();
    figures.patient += usize::from(!trouble.hasty);
    figures.closest = figures.closest.max(took.as_secs_f64() / allowed.of(begun, &log).as_secs_f64());
    figures.longest = figures.longest.max(took);
    faults.is_empty()
}

fn count(figures: &mut Figures, run: Option<&Run>, log: &Log, clean: bool) {
    for (fault, times) in log.faults() {
        *figures.faults.entry(fault).or_default() += times;
    }
    figures.struck.extend(log.0.iter().filter_map(|entry| Some((entry.key.clone(), entry.fault?))));
    let exit = figures.exits.entry(run.map_or(-1, |run| run.code)).or_default();
    exit.0 += 1;
    exit.1 += usize::from(clean);
    figures.requests += log.0.len();
}

/// Kinds of which the application has objects: a fault there changes the course of the run.
const ITS_OWN: [&str; 8] = [
    "pods",
    "services",
    "endpoints",
    "configmaps",
    "deployments",
    "replicasets",
    "endpointslices",
    "horizontalpodautoscalers",
];

/// Lists of what the application has nothing of: they stand side by side, and faults in several do not hide each
/// other.
fn is_aside(key: &str) -> bool {
    let resource = key.split(' ').nth(1).unwrap_or_default();
    key.starts_with("list ") && !ITS_OWN.contains(&resource)
}

/// Requests that there are only where lists come in pages of one object.
const PAGES: [&str; 4] = ["page pods #1", "page pods #3", "page replicasets #2", "page services #1"];

/// Every fault at every request, in as few runs as that takes.
fn troubles(pairs: &[(String, Fault)], together: usize) -> Vec<Trouble> {
    let trouble = |group: &[&(String, Fault)]| Trouble {
        rules: group.iter().map(|(key, fault)| Rule { when: When::Key(key.clone()), fault: *fault }).collect(),
        page: group.iter().any(|(key, _)| key.starts_with("page ")).then_some(1),
        hasty: true,
    };
    let mut troubles = Vec::new();
    for fault in Fault::ALL {
        let (aside, alone): (Vec<_>, Vec<_>) =
            pairs.iter().filter(|(_, of)| *of == fault).partition(|(key, _)| is_aside(key));
        troubles.extend(aside.chunks(together).map(trouble));
        troubles.extend(alone.chunks(1).map(trouble));
    }
    troubles
}

/// Some with the program's own patience.
fn some_patiently(troubles: &mut [Trouble]) {
    for trouble in troubles.iter_mut().step_by(PATIENT) {
        trouble.hasty = false;
    }
}

#[test]
fn every_fault_at_every_request() {
    let series = Series::new("network, every fault at every request", 12, usize::MAX);
    let keys: Vec<&str> = clean_run().0.iter().map(|entry| entry.key.as_str()).chain(PAGES).collect();
    let mut pairs: Vec<(String, Fault)> = Vec::new();
    for fault in Fault::ALL {
        let befallen = keys.iter().filter(|key| fault.befalls(key.rsplit_once(" #").map_or(*key, |(title, _)| title)));
        pairs.extend(befallen.map(|key| ((*key).to_owned(), fault)));
    }
    let mut cases = troubles(&pairs, 10);
    // Some of all, where there is no time for more.
    series.random(0).shuffle(&mut cases);
    cases.truncate(series.cases);
    some_patiently(&mut cases);
    let (figures, failures) = (Mutex::default(), Failures::default());
    each((&series, "every"), &cases, &failures, |site, trouble| case(site, trouble, &figures, &failures));
    if series.cases == usize::MAX {
        // What was hidden by another fault, or did not come, once more by itself.
        let struck = figures.lock().unwrap().struck.clone();
        let missed: Vec<_> = pairs.iter().filter(|pair| !struck.contains(*pair)).cloned().collect();
        let again = troubles(&missed, 1);
        each((&series, "again"), &again, &failures, |site, trouble| case(site, trouble, &figures, &failures));
    }
    let figures = figures.into_inner().unwrap();
    let covered = pairs.iter().filter(|pair| figures.struck.contains(*pair)).count();
    series.report(format!("{covered} of {} places; {}", pairs.len(), figures.text()));
    failures.none();
}

#[test]
fn a_trial_stays_one_where_what_a_delete_carries_is_dropped_on_the_way() {
    let site = Site::new(plane(), "dropped");
    let before = site.deploy();
    let rule = Rule { when: When::Since(0), fault: Fault::BodyDropped };
    let proxy = Proxy::start(site.world.plane, Script { rules: vec![rule], ..Script::default() });
    let arguments = ["app", "demo", "--dry-run=server", "-o", "json"];
    let run = Launched::start(&site.world, &proxy.kubeconfig, &arguments).ends_within(Duration::from_secs(60));
    let log = proxy.log();
    assert!(log.faults()[&Fault::BodyDropped] > 4, "{}", log.text());
    let run = run.unwrap().exits(0);
    assert_eq!(site.application(&site.objects()), before, "{run:?}");
    site.leave();
}

/// What is known by a tie alone would be lost with what ties it: the next run would find nothing, and say so.
#[test]
fn nothing_is_begun_where_the_servers_own_kinds_do_not_answer() {
    let site = Site::new(plane(), "unanswered");
    let before = site.deploy();
    for resource in ["pods", "services"] {
        let rule = Rule { when: When::Key(format!("list {resource} #1")), fault: Fault::TooMany(RetryAfter::Endless) };
        let proxy = Proxy::start(site.world.plane, Script { rules: vec![rule], ..Script::default() });
        let allowed = Trouble { rules: Vec::new(), page: None, hasty: false }.allowance();
        let run = purge(&site, &proxy.kubeconfig, &allowed).unwrap().exits(3);
        assert_eq!(site.application(&site.objects()), before, "{run:?}");
        run.complains(&format!("{resource} could not be listed")).complains("--ignore-unavailable");
    }
    site.leave();
}

/// From each turn of the run on nothing goes right any more: most of all the second look, by which it says what it says.
#[test]
fn every_fault_for_good() {
    let series = Series::new("network, every fault for good", 6, usize::MAX);
    let clean = &clean_run().0;
    let first = |what: &dyn Fn(&Entry) -> bool| clean.iter().position(what).unwrap();
    let last = clean.iter().rposition(Entry::has_written).unwrap();
    let turns = [
        0,
        first(&|entry| entry.call.is_trial()),
        first(&Entry::has_written),
        first(&|entry| entry.has_written() && entry.key.starts_with("delete ")),
        last,
        last + 1,
    ];
    let mut cases: Vec<Trouble> = turns
        .into_iter()
        .flat_map(|turn| Fault::ALL.map(|fault| (turn, fault)))
        .map(|(turn, fault)| Trouble {
            rules: vec![Rule { when: When::Since(turn), fault }],
            page: (turn % 2 == 0).then_some(1),
            hasty: true,
        })
        .collect();
    series.random(0).shuffle(&mut cases);
    cases.truncate(series.cases);
    some_patiently(&mut cases);
    let (figures, failures) = (Mutex::default(), Failures::default());
    each((&series, "lasting"), &cases, &failures, |site, trouble| case(site, trouble, &figures, &failures));
    series.report(figures.into_inner().unwrap().text());
    failures.none();
}

#[test]
fn several_faults_at_random() {
    let series = Series::new("network, several faults at random", 6, 500);
    let requests = clean_run().0.len();
    let mut cases: Vec<Trouble> = series.cases().map(|case| at_random(&mut series.random(case), requests)).collect();
    some_patiently(&mut cases);
    let (figures, failures) = (Mutex::default(), Failures::default());
    each((&series, "random"), &cases, &failures, |site, trouble| case(site, trouble, &figures, &failures));
    series.report(figures.into_inner().unwrap().text());
    failures.none();
}

fn at_random(random: &mut fastrand::Rng, requests: usize) -> Trouble {
    let fault = |random: &mut fastrand::Rng| Fault::ALL[random.usize(..Fault::ALL.len())];
    let mut rules: Vec<Rule> = (0..random.usize(1..=5))
        .map(|_| Rule { when: When::Index(random.usize(..requests + 20)), fault: fault(random) })
        .collect();
    if random.u8(..10) < 6 {
        let when = When::Storm(random.usize(..requests), random.usize(5..80));
        rules.push(Rule { when, fault: fault(random) });
    }
    Trouble { rules, page: (random.u8(..4) == 0).then_some(1), hasty: true }
}
