//! What the documentation shows is what the program does.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use kubectl_purge::help;

use crate::harness::{PROGRAM, Run, World};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The code blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => open = Some((language.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// What a page shows under `$ COMMAND`.
fn shown(page: &str, command: &str) -> String {
    let first = format!("$ {command}\n");
    let blocks = blocks(page);
    let found = blocks.iter().find_map(|(_, text)| text.strip_prefix(&first));
    found.unwrap_or_else(|| panic!("no {first:?}")).to_owned()
}

const PAGES: [&str; 6] = [
    "README.md",
    "docs/how-it-decides.md",
    "docs/order.md",
    "docs/recipes.md",
    "docs/troubleshooting.md",
    ".github/CONTRIBUTING.md",
];

#[test]
fn the_help_that_readme_shows_is_the_help() {
    let mut command = Command::new(PROGRAM);
    command.args(["app", "-h"]).env_remove("COLUMNS");
    let help = Run::of(command).exits(0).stdout;
    assert_eq!(shown(&page("README.md"), "kubectl purge app -h"), help);
}

/// Every line of a code block that is one of our commands can be parsed.
#[test]
fn every_command_in_the_documentation_can_be_typed() {
    let mut count = 0;
    for name in PAGES {
        for (_, text) in blocks(&page(name)) {
            for line in text.replace("\\\n", " ").lines() {
                let Some(start) = line.find("kubectl purge ") else { continue };
                let before = &line[..start];
                // Output that talks of a command is no command.
                if !before.chars().all(|character| " $!&|;(=\"".contains(character) || before.ends_with("if ! ")) {
                    continue;
                }
                let line = line.replace("$(jq -r .digest plan.json)", "DIGEST");
                let command = line[start..].split([';', '|', '>', '#', ')']).next().unwrap();
                let command = command
                    .split("&&")
                    .next()
                    .unwrap()
                    .replace(['"', '\''], "")
                    .replace("kubectl purge", "kubectl-purge");
                let parsed = help::command().try_get_matches_from(command.split_whitespace());
                let is_understood = parsed.as_ref().map_or_else(|error| !error.use_stderr(), |_| true);
                assert!(is_understood, "{name}: {line}\n{}", parsed.unwrap_err());
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} commands found");
}

#[test]
fn every_link_between_the_pages_leads_somewhere() {
    for name in PAGES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).parent().unwrap().to_owned();
        for link in page(name).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            assert!(file.is_empty() || link.contains("://") || folder.join(file).exists(), "{name}: {link}");
        }
    }
}

/// A full quota: the application, what is left of its older Deployment, a Service without label.
fn session(name: &str) -> World {
    let world = World::new(name);
    world.quota(&[("requests.cpu", "3"), ("requests.memory", "3Gi")]);
    for (name, track) in [("deployment-demo", "new"), ("deployment-old", "old")] {
        world.apply(&format!(
            "
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {name}, labels: {{ app: demo }} }}
spec:
  replicas: 3
  selector: {{ matchLabels: {{ app: demo, track: {track} }} }}
  template:
    metadata: {{ labels: {{ app: demo, track: {track} }} }}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [ {{ name: main, image: demo, resources: {{ requests: {{ cpu: 500m, memory: 512Mi }} }} }} ]
"
        ));
    }
    world.apply(
        "
apiVersion: v1
kind: PodTemplate
metadata: { name: podtemplate-demo, labels: { app: demo } }
template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }
---
apiVersion: v1
kind: Service
metadata: { name: service-demo }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
",
    );
    world.until_running("app=demo", 6);
    world.kubectl(&["delete", "deployment", "deployment-old", "--cascade=orphan"]);
    world.until("a full quota", || (world.used("requests.cpu") == "3").then_some(()));
    world
}

/// A line without what differs from run to run: generated names, ports, times, the width of columns.
fn essence(line: &str, namespace: &str) -> String {
    let words = line.replace(namespace, "shop");
    let words = words.split_whitespace().map(|word| {
        if word.starts_with("https://") {
            return "https://…".to_owned();
        }
        let is_time = |word: &str| {
            let number = word.trim_matches(['(', ')', '.', ',']).strip_suffix('s');
            number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.'))
        };
        if is_time(word) {
            return "#s".to_owned();
        }
        for base in ["deployment-demo-", "deployment-old-", "service-demo-"] {
            if let Some(start) = word.find(base) {
                return format!("{}#", &word[..start + base.len()]);
            }
        }
        word.to_owned()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// KUBECTL_PURGE_RECORD=1 prints the session, to be pasted.
#[test]
fn the_session_that_readme_shows_is_what_happens() {
    let world = session("session");
    let mut command = Command::new(PROGRAM);
    command.args(["app", "demo", "-n", &world.namespace, "--yes"]).env("KUBECONFIG", world.plane.kubeconfig());
    command.env("LC_ALL", "C.UTF-8");
    let run = Run::of(command).exits(0);
    // On a terminal both are one text: the plan, the progress, the result.
    let (plan, result) = run.stdout.split_at(run.stdout.find("Purged application").unwrap());
    let happened = format!("{plan}{}{result}", run.stderr);
    if std::env::var_os("KUBECTL_PURGE_RECORD").is_some() {
        println!("{}", happened.replace(&world.namespace, "shop"));
    }
    // The garbage collector may be faster than we are.
    let is_race = |line: &String| line.starts_with("deleting ReplicaSet/deployment-demo");
    let lines = |text: &str| -> BTreeSet<String> {
        text.lines().map(|line| essence(line, &world.namespace)).filter(|line| !is_race(line)).collect()
    };
    let (shown, happened) =
        (lines(&shown(&page("README.md"), "kubectl purge app demo -n shop --yes")), lines(&happened));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>().join("\n");
    assert_eq!(
        shown,
        happened,
        "only shown:\n{}\nonly happened:\n{}",
        only(&shown, &happened),
        only(&happened, &shown)
    );
}

const ALL_KINDS: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: data, labels: { app: demo } }
spec:
  replicas: 1
  serviceName: web
  selector: { matchLabels: { app: demo, part: data } }
  persistentVolumeClaimRetentionPolicy: { whenScaled: Delete, whenDeleted: Delete }
  template: { metadata: { labels: { app: demo, part: data } }, spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo } ] } }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, labels: { app: demo } }
spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } } }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web } }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: web }
spec: { minAvailable: 0, selector: { matchLabels: { app: demo } } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, labels: { app: demo } }
---
apiVersion: v1
kind: Secret
metadata: { name: secret, labels: { app: demo } }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: demo, labels: { app: demo } }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: disk, labels: { app: demo } }
spec: { accessModes: [ ReadWriteOnce ], storageClassName: none, resources: { requests: { storage: 1Gi } } }
";

/// A user with exactly the documented Role meets no refusal in the namespace, and leaves nothing.
#[test]
fn the_role_that_readme_shows_is_enough() {
    let world = World::new("role");
    let readme = page("README.md");
    let role = blocks(&readme).into_iter().find(|(_, text)| text.contains("kind: Role\n")).unwrap().1;
    world.apply(&role);
    world.kubectl(&["create", "rolebinding", "purge", "--role=purge", "--user=jane"]);
    world.quota(&[("requests.cpu", "3")]);
    world.deployment("web", "demo", 1);
    world.apply(ALL_KINDS);
    world.until_running("part!=data,app=demo", 1);
    let backup = world.plane.dir().join("role-backup");
    let folder = backup.to_str().unwrap();
    let arguments = ["app", "demo", "--yes", "--delete-data", "--as", "jane", "--backup", folder, "--strict", "-v6"];
    let run = world.purge(&arguments).exits(0).says("Purged application \"demo\"");
    let own = format!("/namespaces/{}", world.namespace);
    let refused: Vec<&str> = run.stderr.lines().filter(|line| line.contains(" 403 ") && line.contains(&own)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let all = "deployments,statefulsets,cronjobs,hpa,services,ingresses,pdb,configmaps,secrets,pvc,pods,replicasets";
    assert_eq!(world.names(all), ["configmap/kube-root-ca.crt"]);
}
