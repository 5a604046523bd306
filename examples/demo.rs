//! The main job for real, on a throwaway control plane: a full quota, a purge, a released quota.
//!
//! `cargo run --example demo` asks before it deletes; `cargo run --example demo -- --yes` does not.

#![allow(clippy::print_stdout, reason = "a demonstration speaks to its reader")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use control_plane::ControlPlane;

const NAMESPACE: &str = "shop";

/// Three pods of 500m and 512Mi each, to fill one half of the quota.
fn deployment(name: &str, app: &str, track: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {name}, labels: {{ app: {app} }} }}
spec:
  replicas: 3
  selector: {{ matchLabels: {{ app: {app}, track: {track} }} }}
  template:
    metadata: {{ labels: {{ app: {app}, track: {track} }} }}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [ {{ name: main, image: demo, resources: {{ requests: {{ cpu: 500m, memory: 512Mi }} }} }} ]
"
    )
}

const BESIDES: &str = "
apiVersion: v1
kind: PodTemplate
metadata: { name: podtemplate-demo, labels: { app: demo } }
template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }
---
apiVersion: v1
kind: Service
metadata: { name: service-demo }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!(
        "A throwaway control plane: etcd, API server, controllers, scheduler, fake nodes. Nothing else is touched."
    );
    let program = build_program()?;
    let plane = ControlPlane::builder().start()?;
    plant(&plane)?;

    heading("An application, what is left of its older Deployment, and another one that cannot start");
    show(&plane, &["get", "deployments,replicasets,pods,services,podtemplates"])?;
    heading("The quota is full");
    show(&plane, &["describe", "resourcequota", "quota"])?;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    heading(&format!("kubectl purge app demo -n {NAMESPACE} {}", arguments.join(" ")));
    let mut purge = plane.kubectl_command();
    purge.args(["purge", "app", "demo", "-n", NAMESPACE]).args(&arguments);
    purge.env("PATH", path_with(&program)).envs(terminal_variables()).stdin(std::process::Stdio::inherit());
    let status = purge.status()?;

    if status.success() {
        plane.wait_for("the other application to start", Duration::from_secs(60), || {
            let running = plane.kubectl(&["get", "pods", "-n", NAMESPACE, "--field-selector=status.phase=Running"]);
            (running.ok().ok()?.lines().count() == 4).then_some(())
        })?;
        heading("What is left: the other application, which has started");
        show(&plane, &["get", "deployments,replicasets,pods,services,podtemplates"])?;
        heading("The quota");
        show(&plane, &["describe", "resourcequota", "quota"])?;
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// An example is built without the program that it shows.
fn build_program() -> Result<PathBuf, Box<dyn Error>> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--bin", "kubectl-purge", "--manifest-path"]);
    build.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    if !build.status()?.success() {
        return Err("the program could not be built".into());
    }
    // Beside the folder that this example lies in.
    let example = std::env::current_exe()?;
    let folder = example.parent().and_then(Path::parent).ok_or("no folder for the program")?;
    Ok(folder.join("kubectl-purge"))
}

fn plant(plane: &ControlPlane) -> Result<(), Box<dyn Error>> {
    plane.create_namespace(NAMESPACE)?;
    plane.quota(NAMESPACE, &[("requests.cpu", "3"), ("requests.memory", "3Gi")])?;
    plane.apply_in(NAMESPACE, &deployment("deployment-old", "demo", "old"))?;
    plane.apply_in(NAMESPACE, &deployment("deployment-demo", "demo", "new"))?;
    plane.apply_in(NAMESPACE, BESIDES)?;
    plane.wait_for("six running pods", Duration::from_secs(60), || {
        let running = plane.kubectl(&["get", "pods", "-n", NAMESPACE, "--field-selector=status.phase=Running"]);
        (running.ok().ok()?.lines().count() == 7).then_some(())
    })?;
    // As an API client deletes that knows no better: the ReplicaSet and its pods stay, and nobody sees them.
    plane.kubectl(&["delete", "deployment", "deployment-old", "-n", NAMESPACE, "--cascade=orphan"]).ok()?;
    plane.apply_in(NAMESPACE, &deployment("other", "other", "new"))?;
    Ok(())
}

fn path_with(program: &Path) -> std::ffi::OsString {
    let own = program.parent().map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap_or(path)
}

/// What the program needs to know of the terminal.
fn terminal_variables() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = ["TERM", "LANG", "LC_ALL", "COLUMNS", "NO_COLOR"];
    names.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

fn show(plane: &ControlPlane, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = plane.kubectl(&[arguments, &["-n", NAMESPACE]].concat()).ok()?;
    println!("{}", output.trim_end());
    Ok(())
}

fn heading(text: &str) {
    println!("\n=== {}\n", text.trim_end());
}
