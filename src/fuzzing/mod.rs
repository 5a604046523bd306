//! What the fuzzers under fuzz/ drive, and an ordinary test repeats over their corpora: for whatever bytes, nothing
//! panics and what is promised holds. Not part of the library's interface.

mod sample;

use std::sync::Arc;

use unicode_width::UnicodeWidthStr as _;

use crate::{
    cli::Output,
    cluster::{environment::Environment, flags::ConnectionFlags, fuzzed, kubeconfig, timeout},
    inventory::{Inventory, Kind, LabelSelector, Object, Quantity, Selector},
    output::{self, Look, escape},
    plan::{self, Allowed, Choices, Guard, Place, Plan, Question, Selection, Target},
};

/// A target: its name, which is that of its binary and of its corpus, and what it does with some bytes.
pub type Fuzzed = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Fuzzed; 6] = [
    ("kubeconfig", kubeconfig),
    ("discovery", discovery),
    ("lists", lists),
    ("selectors", selectors),
    ("quantities", quantities),
    ("tables", tables),
];

/// A kubeconfig: a connection, or an error in one harmless line.
pub fn kubeconfig(data: &[u8]) {
    match kubeconfig::of_bytes(data, &ConnectionFlags::default(), &Environment::default()) {
        Ok(connection) => {
            assert!(matches!(connection.url.scheme_str(), Some("http" | "https")), "{connection:?}");
            assert!(!connection.server.contains('@'), "an address is shown without its user");
            assert!(!connection.namespace.is_empty() && !connection.namespace.contains(['/', '.', '%']));
        }
        Err(error) => harmless(&escape::line(&error.to_string())),
    }
}

/// Discovery, aggregated and plain: whatever is served can be named in a path and found again.
pub fn discovery(data: &[u8]) {
    let Some(catalog) = fuzzed::catalog(data) else { return };
    let addressed = catalog.kinds.iter().flat_map(|served| std::iter::once(&served.kind).chain(&served.others));
    for kind in addressed.chain(&catalog.cluster_kinds) {
        for part in [&kind.group, &kind.version, &kind.plural] {
            assert!(!part.contains(['/', '?', '#', '%', ' ']) && part != "." && part != "..", "{kind:?}");
        }
        assert!(!kind.version.is_empty() && !kind.plural.is_empty(), "{kind:?}");
    }
    // A plural is a DNS label: what has a dot in it is taken for one with a group.
    for served in catalog.kinds.iter().filter(|served| !served.kind.plural.contains('.')) {
        let typed = if served.kind.group.is_empty() {
            served.kind.plural.clone()
        } else {
            format!("{}.{}", served.kind.plural, served.kind.group)
        };
        assert!(catalog.find(&typed).is_some(), "{typed}");
    }
}

/// Kinds of which lists are read, one of each shape.
const LISTED: [(&str, &str, &str); 16] = [
    ("", "Secret", "secrets"),
    ("", "Pod", "pods"),
    ("apps", "Deployment", "deployments"),
    ("apps", "ReplicaSet", "replicasets"),
    ("apps", "StatefulSet", "statefulsets"),
    ("batch", "CronJob", "cronjobs"),
    ("", "PodTemplate", "podtemplates"),
    ("", "Service", "services"),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("", "ResourceQuota", "resourcequotas"),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("networking.k8s.io", "Ingress", "ingresses"),
    ("", "ServiceAccount", "serviceaccounts"),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
    ("", "ReplicationController", "replicationcontrollers"),
];

/// One list after the other, each behind a byte that says of which kind, with a zero byte between them: all of it
/// becomes a plan, which is shown.
pub fn lists(data: &[u8]) {
    let mut objects: Vec<Object> = Vec::new();
    for list in data.split(|byte| *byte == 0).take(8) {
        let Some((which, list)) = list.split_first() else { continue };
        let (group, kind, plural) = LISTED[usize::from(*which) % LISTED.len()];
        let kind = Arc::new(Kind {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            watchable: true,
            scalable: group == "apps",
        });
        objects.extend(fuzzed::list(&kind, list));
    }
    objects.truncate(64);
    for object in &mut objects {
        "ns".clone_into(&mut object.namespace);
    }
    let listed = LISTED.iter().map(|(group, kind, _)| ((*group).to_owned(), (*kind).to_owned())).collect();
    let Ok(inventory) = Inventory::new("ns", objects, listed) else { return };
    let applications = plan::applications(&inventory);
    let listing = output::list::Listing { namespace: "ns", applications: &applications, unseen: &[] };
    let look = Look { width: Some(80), ..Look::default() };
    output::list::render(&listing, &look).lines().for_each(harmless);
    let orphans = Question::about("orphans", Target::Orphans);
    for question in [Question { include_related: true, ..Question::named("demo") }, orphans] {
        let selection = Selection::of(&inventory, &question);
        let plan = Plan::draft(&inventory, &selection, &question, &Choices::default(), Place::default(), Vec::new());
        for object in plan.going() {
            assert!(!object.uid.is_empty(), "nothing is deleted without its uid: {object:?}");
        }
        for guard in Guard::of(&inventory, &question, &selection, &plan, &Allowed::default()) {
            harmless(&output::guards::sentence(&guard, "demo"));
        }
        shown(&plan, &look);
    }
}

/// A plan in every form: no line that a terminal would obey.
fn shown(plan: &Plan, look: &Look) {
    output::plan::render(plan, look).lines().for_each(harmless);
    output::names::render(plan).lines().for_each(harmless);
    let json = output::json::plan(plan).unwrap_or_default();
    json.lines().for_each(harmless);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
}

/// Selectors, as typed and as in a spec: what was read, written down and read again is the same.
pub fn selectors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Selector::parse(&text) {
        Ok(selector) => {
            let written = selector.to_string();
            assert_eq!(Selector::parse(&written).as_ref(), Ok(&selector), "{text:?} as {written:?}");
            assert!(!selector.is_empty() && !selector.matches(&std::collections::BTreeMap::new()), "{text:?}");
        }
        Err(error) => harmless(&escape::line(&error.to_string())),
    }
    if let Ok(selector) = serde_json::from_slice::<LabelSelector>(data).map(Selector::from) {
        let labels = selector.keys().map(|key| (key.to_owned(), "x".to_owned())).collect();
        let _ = selector.matches(&labels);
    }
}

/// Quantities and durations: what was read, written down and read again is the same, and sums do not overflow.
pub fn quantities(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_once('\n').unwrap_or((&text, ""));
    if let Some(quantity) = Quantity::parse(one) {
        let written = quantity.to_string();
        assert_eq!(Quantity::parse(&written), Some(quantity), "{one:?} as {written:?}");
        for like in ["1Gi", "1"] {
            let written = quantity.display_like(like);
            assert_eq!(Quantity::parse(&written), Some(quantity), "{one:?} like {like} as {written:?}");
        }
        if let Some(other) = Quantity::parse(other) {
            let sum = quantity + other;
            assert!(quantity.is_zero() || other.is_zero() || sum >= quantity, "{one} + {other}");
            let rest = quantity.saturating_sub(other);
            assert!(rest >= Quantity::ZERO, "{one} - {other}");
            let _ = quantity.percent_of(other);
        }
    }
    if let Ok(Some(duration)) = timeout::parse(one) {
        assert!(!duration.is_zero());
    }
    fuzzed::overdue(one, other.parse().ok());
}

/// Any text anywhere in a plan, at any width: every line is harmless, and fits unless it holds a name.
pub fn tables(data: &[u8]) {
    let Some((width, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let line = escape::line(&text);
    harmless(&line);
    assert_eq!(escape::line(&line), line, "escaping twice changes nothing");
    let width = usize::from(*width);
    wrapped(&line, width.max(2));
    let plan = sample::plan(text.split('\u{1}'));
    let look = Look { width: Some(width).filter(|width| *width > 0), unicode: true, ..Look::default() };
    for look in [look, Look { wide: true, ..look }, Look { color: true, width: None, ..look }] {
        let shown = output::plan::render(&plan, &look);
        let plain = without_colours(&shown);
        plain.lines().for_each(harmless);
        assert!(look.color || plain == shown, "colour where none was asked for");
    }
    aligned(&output::plan::render(&plan, &Look { unicode: true, ..Look::default() }));
    shown(&plan, &look);
    told(plan, text.split('\u{1}'), &look);
}

/// Everything else that is said of a purge.
fn told<'a>(plan: Plan, texts: impl Iterator<Item = &'a str> + Clone, look: &Look) {
    for guard in sample::guards(texts.clone()) {
        harmless(&output::guards::sentence(&guard, &plan.app));
    }
    let near: Vec<String> = texts.clone().take(2).map(str::to_owned).collect();
    for question in sample::questions(texts.clone()) {
        output::nothing::render(&plan, &question, &near).lines().for_each(harmless);
    }
    let applications = sample::applications(texts.clone());
    let listing =
        output::list::Listing { namespace: &plan.place.namespace, applications: &applications, unseen: &plan.unseen };
    output::list::render(&listing, look).lines().for_each(harmless);
    output::list::names(&listing).lines().for_each(harmless);
    for format in [Output::Json, Output::Yaml] {
        let document = output::document(format, &output::list::document(&listing)).unwrap_or_default();
        document.lines().for_each(harmless);
    }
    for report in sample::reports(plan, texts) {
        output::report::render(&report, look).lines().for_each(harmless);
        for format in [Output::Json, Output::Yaml] {
            let document = output::document(format, &output::ReportDocument::new(&report)).unwrap_or_default();
            document.lines().for_each(harmless);
        }
    }
}

/// Broken into lines, a text fits them, and nothing but blanks is lost.
fn wrapped(text: &str, width: usize) {
    let lines = output::wrap(text, width);
    for line in &lines {
        assert!(line.width() <= width, "{line:?} in {width} columns");
    }
    assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""), "in {width} columns");
}

/// In a table of full width each cell begins under its heading.
fn aligned(plan: &str) {
    let Some(table) = plan.split("\n\n").find(|part| part.starts_with("ACTION")) else { return };
    let Some((header, rows)) = table.split_once('\n') else { return };
    let Some(kind) = header.find("KIND") else { return };
    for row in rows.lines() {
        let mut column = 0;
        let mut before = ' ';
        for character in row.chars() {
            if column == kind {
                // The cell itself may be empty, or begin with a blank.
                assert!(before == ' ', "{row:?} under {header:?}");
                break;
            }
            column += character.to_string().width();
            before = character;
        }
    }
}

/// The text without the sequences that `style` writes.
fn without_colours(text: &str) -> String {
    ["[31m", "[32m", "[33m", "[2m", "[0m"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(&format!("\u{1b}{code}"), ""))
}

/// A line that a terminal shows as it is.
fn harmless(line: &str) {
    assert!(!line.contains(escape::is_harmful), "{line:?}");
}
