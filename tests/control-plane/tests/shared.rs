//! What a control plane can do, on one that all these tests share.

use std::env;
use std::error::Error as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use control_plane::{ADMIN, Component, ControlPlane, Error, KUBECONFIG_VARIABLE, Rule};
use serde_json::Value;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const A_WHILE: Duration = Duration::from_secs(30);

/// A Deployment of some pods with a small request each.
fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "
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
"
    )
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn three_nodes_are_ready_and_may_be_used() -> Outcome {
    let nodes = ControlPlane::shared().get("default", "nodes")?;
    for name in ["node-0", "node-1", "node-2"] {
        let node = items(&nodes).iter().find(|node| node["metadata"]["name"] == name).ok_or(name)?;
        let conditions = node["status"]["conditions"].as_array().ok_or(name)?;
        assert!(conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True"));
        assert_eq!(node["spec"].get("taints"), None, "{name}");
        assert_eq!(node["status"]["allocatable"]["pods"], "10k");
    }
    Ok(())
}

#[test]
fn the_server_calls_itself_by_its_version() -> Outcome {
    let version = ControlPlane::shared().kubectl(&["version", "-o", "json"]).json()?;
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(version[side]["gitVersion"], "v1.37.2", "{side}");
        assert_eq!((&version[side]["major"], &version[side]["minor"]), (&"1".into(), &"37".into()), "{side}");
    }
    Ok(())
}

#[test]
fn pods_of_a_deployment_run_on_fake_nodes() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("pods-run")?;
    control_plane.apply_in("pods-run", &deployment("web", 3))?;
    control_plane.wait_for("three pods to run", A_WHILE, || {
        let pods = control_plane.get("pods-run", "pods").ok()?;
        (items(&pods).iter().filter(|pod| pod["status"]["phase"] == "Running").count() == 3).then_some(())
    })?;
    Ok(())
}

#[test]
fn pods_of_a_job_succeed() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("jobs")?;
    control_plane.kubectl(&["create", "job", "once", "-n", "jobs", "--image", "example.invalid/none"]).ok()?;
    control_plane.kubectl(&["wait", "job/once", "-n", "jobs", "--for=condition=Complete", "--timeout=30s"]).ok()?;
    Ok(())
}

#[test]
fn a_pod_on_a_dead_node_is_never_stopped() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("dead-node")?;
    control_plane.add_dead_node("dead")?;
    let pod = "
apiVersion: v1
kind: Pod
metadata: { name: stuck }
spec: { nodeName: dead, containers: [{ name: main, image: example.invalid/none }] }
";
    control_plane.apply_in("dead-node", pod)?;
    control_plane.kubectl(&["delete", "pod/stuck", "-n", "dead-node", "--wait=false"]).ok()?;
    std::thread::sleep(Duration::from_secs(2));
    let stuck = control_plane.get("dead-node", "pod/stuck")?;
    assert!(stuck["metadata"]["deletionTimestamp"].is_string());
    // Without a taint the scheduler would put other tests' pods there.
    let node = control_plane.get("dead-node", "node/dead")?;
    assert!(node["spec"]["taints"].as_array().is_some_and(|taints| !taints.is_empty()));
    Ok(())
}

#[test]
fn a_node_can_be_added() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.add_node("another")?;
    let again = control_plane.add_node("another").unwrap_err();
    assert!(matches!(&again, Error::Kubectl { stderr, .. } if stderr.contains("already exists")), "{again}");
    Ok(())
}

#[test]
fn a_quota_is_in_force_when_the_helper_returns() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("quota")?;
    control_plane.quota("quota", &[("requests.cpu", "1000m"), ("pods", "4")])?;
    let quota = control_plane.get("quota", "resourcequota/quota")?;
    assert_eq!(quota["status"]["hard"]["requests.cpu"], "1");
    assert_eq!(quota["status"]["used"]["pods"], "0");
    Ok(())
}

#[test]
fn a_user_may_do_what_the_role_says_and_nothing_else() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("poor-user")?;
    let rules = [Rule::new(&["", "apps"], &["pods", "deployments/scale"], &["get", "list"])];
    let jane = control_plane.user_with_role("jane", "poor-user", &rules)?;
    let jane = |arguments: &[&str]| control_plane.kubectl_with(&jane, arguments);
    assert_eq!(jane(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]).ok()?, "jane");
    jane(&["get", "pods", "-n", "poor-user"]).ok()?;
    for (what, namespace) in [("secrets", "poor-user"), ("pods", "default")] {
        let refused = jane(&["get", what, "-n", namespace]);
        assert_eq!(refused.code, Some(1), "{what}");
        assert!(refused.stderr.contains("(Forbidden)"), "{}", refused.stderr);
    }

    let only_one = [Rule::new(&[""], &["secrets"], &["get"]).named(&["mine"])];
    control_plane.user_with_role("jane", "poor-user", &only_one)?;
    assert!(jane(&["get", "secret/mine", "-n", "poor-user"]).stderr.contains("(NotFound)"));
    assert!(jane(&["get", "secret/other", "-n", "poor-user"]).stderr.contains("(Forbidden)"));
    Ok(())
}

#[test]
fn a_user_can_have_a_role_in_the_whole_cluster() -> Outcome {
    let control_plane = ControlPlane::shared();
    let bob = control_plane.user_with_cluster_role("bob", &[Rule::new(&[""], &["pods"], &["list"])])?;
    control_plane.kubectl_with(&bob, &["get", "pods", "--all-namespaces"]).ok()?;
    assert!(!control_plane.kubectl_with(&bob, &["get", "nodes"]).success());
    Ok(())
}

#[test]
fn the_group_of_a_client_certificate_counts() -> Outcome {
    let control_plane = ControlPlane::shared();
    let pair = control_plane.client_certificate("root", Some("system:masters"))?;
    let mut kubeconfig = control_plane.kubeconfig_of(ADMIN)?;
    kubeconfig.credential = Some(control_plane::Credential::Certificate(pair));
    let path = control_plane.dir().join("root.kubeconfig");
    kubeconfig.write(&path)?;
    control_plane.kubectl_with(&path, &["get", "secrets", "--all-namespaces"]).ok()?;
    Ok(())
}

#[test]
fn an_unknown_token_is_nobodys() -> Outcome {
    let control_plane = ControlPlane::shared();
    let path = control_plane.write_kubeconfig("stranger", "0123456789", Some("default"))?;
    let refused = control_plane.kubectl_with(&path, &["get", "pods"]);
    assert!(refused.stderr.contains("Unauthorized") || refused.stderr.contains("must be logged in"), "{refused:?}");
    Ok(())
}

#[test]
fn what_holds_secrets_is_its_owners_only() -> Outcome {
    let control_plane = ControlPlane::shared();
    let mode = |path| Ok::<_, std::io::Error>(std::fs::metadata(path)?.permissions().mode() & 0o777);
    assert_eq!(mode(control_plane.dir())?, 0o700);
    assert_eq!(mode(control_plane.kubeconfig())?, 0o600);
    Ok(())
}

#[test]
fn a_failed_kubectl_says_what_it_was() {
    let error = ControlPlane::shared().kubectl(&["get", "pods/none", "-n", "default"]).ok().unwrap_err();
    assert_eq!(
        error.to_string(),
        "kubectl get pods/none -n default failed (1): Error from server (NotFound): pods \"none\" not found"
    );
    assert!(error.source().is_none());
}

#[test]
fn an_undeclared_user_has_no_token() {
    let error = ControlPlane::shared().token("nobody").unwrap_err();
    assert_eq!(error.to_string(), "no user \"nobody\" was declared with Builder::user; declared are: admin");
}

#[test]
fn waiting_in_vain_ends() {
    let control_plane = ControlPlane::shared();
    let error = control_plane.wait_for("nothing", Duration::from_millis(200), || None::<()>).unwrap_err();
    assert_eq!(error.to_string(), "waited 0.2 s for nothing, in vain");
}

#[test]
fn a_named_cluster_is_used_in_the_place_of_our_own() -> Outcome {
    let control_plane = ControlPlane::shared();
    control_plane.create_namespace("existing")?;
    let child = Command::new(env::current_exe()?)
        .args(["--exact", "on_a_named_cluster", "--ignored", "--nocapture"])
        .env(KUBECONFIG_VARIABLE, control_plane.kubeconfig())
        .env("KUBECONFIG", "/nonexistent")
        .output()?;
    assert!(
        child.status.success(),
        "{}{}",
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr)
    );
    // It is still there after its user has gone.
    control_plane.get("existing", "serviceaccount/jane")?;
    Ok(())
}

#[test]
#[ignore = "run by a_named_cluster_is_used_in_the_place_of_our_own, in a process of its own"]
fn on_a_named_cluster() -> Outcome {
    let cluster = ControlPlane::builder().start()?;
    cluster.get("existing", "serviceaccount/default")?;
    let jane = cluster.user_with_role("jane", "existing", &[Rule::new(&[""], &["pods"], &["list"])])?;
    cluster.kubectl_with(&jane, &["get", "pods", "-n", "existing"]).ok()?;
    assert!(!cluster.kubectl_with(&jane, &["get", "secrets", "-n", "existing"]).success());

    let error = cluster.stop(Component::ApiServer).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "stopping a component needs a control plane of our own, and {KUBECONFIG_VARIABLE} names an existing \
             cluster: unset it to run this"
        )
    );
    let flagged = ControlPlane::builder().flag(Component::ApiServer, "--v=1").start();
    assert!(matches!(flagged, Err(Error::NeedsOwn { .. })));
    Ok(())
}
