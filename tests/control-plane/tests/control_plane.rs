//! What a control plane can do, on one that all these tests share.

use std::time::Duration;

use control_plane::{ControlPlane, Error};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const A_WHILE: Duration = Duration::from_secs(30);

/// A Deployment of some pods with a small request each.
fn deployment(name: &str, replicas: u32) -> String {
    format!(
        r#"
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {name}, labels: {{ app: {name} }} }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: {name} }} }}
  template:
    metadata: {{ labels: {{ app: {name} }} }}
    spec:
      containers:
      - name: main
        image: example.invalid/none
        resources: {{ requests: {{ cpu: 100m, memory: 64Mi }} }}
"#
    )
}

fn pods_in_phase(control_plane: &ControlPlane, namespace: &str, phase: &str) -> Result<usize, Error> {
    let pods = control_plane.get(namespace, "pods")?;
    let pods = pods["items"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(pods.iter().filter(|pod| pod["status"]["phase"] == phase).count())
}

#[test]
fn a_deployments_pods_run_on_fake_nodes() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("pods-run")?;
    control_plane.apply_in("pods-run", &deployment("web", 3))?;
    control_plane.wait_for("three pods to run", A_WHILE, || {
        (pods_in_phase(control_plane, "pods-run", "Running").ok()? == 3).then_some(())
    })?;
    Ok(())
}
