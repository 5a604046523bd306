//! Components taken down and up, flags, users and the audit log, on a control plane beside another.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use control_plane::{Component, ControlPlane, Error, Kubeconfig};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const A_WHILE: Duration = Duration::from_secs(30);

/// Pods that take two seconds to stop.
const SLOW_END: &str = "
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-delete
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
    - { key: .metadata.deletionTimestamp, operator: Exists }
  delay: { durationMilliseconds: 2000 }
  next: { delete: true }
";

/// One with everything that can be asked for. Its users take turns: some stop its components.
fn special() -> (&'static ControlPlane, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    static SPECIAL: OnceLock<ControlPlane> = OnceLock::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let start = || {
        ControlPlane::builder()
            .nodes(1)
            .node_size("2", "2Gi", 5)
            .user("jane", &["developers", "testers"])
            .jobs_complete(false)
            .audit_log()
            .stage(SLOW_END)
            .flag(Component::ControllerManager, "--controllers=*,-garbage-collector-controller")
            .start()
            .unwrap_or_else(|error| panic!("{error}"))
    };
    (SPECIAL.get_or_init(start), turn)
}

fn fails(control_plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = control_plane.kubectl(arguments);
    assert!(!output.success(), "{output:?}");
    output.stderr
}

#[test]
fn two_at_once_know_nothing_of_each_other() -> Outcome {
    let (one, _turn) = special();
    let other = ControlPlane::builder().nodes(0).start()?;
    assert_ne!((one.server(), one.dir()), (other.server(), other.dir()));
    other.kubectl(&["create", "namespace", "only-there"]).ok()?;
    assert!(fails(one, &["get", "namespace/only-there"]).contains("(NotFound)"));

    let mut wrong = one.kubeconfig_of("jane")?;
    wrong.endpoint = other.kubeconfig_of("admin")?.endpoint;
    let path = one.dir().join("wrong.kubeconfig");
    wrong.write(&path)?;
    assert!(one.kubectl_with(&path, &["get", "pods"]).stderr.contains("logged in"));

    let (folder, server) = (other.dir().to_owned(), other.server().to_owned());
    drop(other);
    assert!(!folder.exists());
    assert!(std::net::TcpStream::connect(server.trim_start_matches("https://")).is_err());
    one.kubectl(&["get", "--raw", "/readyz"]).ok()?;
    Ok(())
}

#[test]
fn a_stopped_api_server_comes_back_at_its_address_with_its_data() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.create_namespace("kept")?;
    for take_down in [ControlPlane::stop, ControlPlane::kill] {
        take_down(control_plane, Component::ApiServer)?;
        assert_eq!(control_plane.process_id(Component::ApiServer)?, None);
        assert!(fails(control_plane, &["get", "--raw", "/readyz"]).contains("refused"));
        control_plane.start_component(Component::ApiServer)?;
        control_plane.kubectl(&["get", "namespace/kept"]).ok()?;
    }
    // A second start changes nothing.
    let id = control_plane.process_id(Component::ApiServer)?;
    control_plane.start_component(Component::ApiServer)?;
    assert!(id.is_some() && id == control_plane.process_id(Component::ApiServer)?);
    Ok(())
}

#[test]
fn a_restarted_store_keeps_its_data() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.create_namespace("stored")?;
    control_plane.restart(Component::Etcd)?;
    control_plane.wait_for("the API server to find its store again", A_WHILE, || {
        control_plane.kubectl(&["get", "namespace/stored"]).success().then_some(())
    })?;
    Ok(())
}

#[test]
fn a_paused_controller_manager_does_nothing() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.pause(Component::ControllerManager)?;
    control_plane.kubectl(&["create", "namespace", "paused"]).ok()?;
    let account = || control_plane.get("paused", "serviceaccount/default").ok();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(account(), None);
    control_plane.resume(Component::ControllerManager)?;
    control_plane.wait_for("the controllers to go on", A_WHILE, account)?;
    Ok(())
}

#[test]
fn a_paused_component_can_be_stopped() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.pause(Component::Scheduler)?;
    let began = Instant::now();
    control_plane.restart(Component::Scheduler)?;
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    Ok(())
}

#[test]
fn a_job_runs_on_where_that_was_asked_for() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.create_namespace("running-job")?;
    control_plane.kubectl(&["create", "job", "long", "-n", "running-job", "--image", "example.invalid/none"]).ok()?;
    let running = "--for=jsonpath={.status.ready}=1";
    control_plane.kubectl(&["wait", "job/long", "-n", "running-job", running, "--timeout=30s"]).ok()?;
    std::thread::sleep(Duration::from_secs(1));
    let job = control_plane.get("running-job", "job/long")?;
    assert_eq!(job["status"].get("succeeded"), None);
    Ok(())
}

#[test]
fn a_stage_of_the_callers_own_slows_the_end_of_pods() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.create_namespace("slow")?;
    control_plane.kubectl(&["run", "slow", "-n", "slow", "--image", "example.invalid/none"]).ok()?;
    control_plane.kubectl(&["wait", "pod/slow", "-n", "slow", "--for=condition=Ready", "--timeout=30s"]).ok()?;
    let began = Instant::now();
    control_plane.kubectl(&["delete", "pod/slow", "-n", "slow", "--timeout=30s"]).ok()?;
    assert!(began.elapsed() >= Duration::from_millis(1900), "{:?}", began.elapsed());
    Ok(())
}

#[test]
fn a_flag_reaches_its_component() -> Outcome {
    let (control_plane, _turn) = special();
    let log = control_plane.log(Component::ControllerManager)?;
    let disabled = |line: &str| line.contains("disabled") && line.contains("garbage-collector-controller");
    assert!(log.lines().any(disabled));
    Ok(())
}

#[test]
fn the_node_is_of_the_size_asked_for() -> Outcome {
    let (control_plane, _turn) = special();
    let node = control_plane.get("default", "node/node-0")?;
    let allocatable = &node["status"]["allocatable"];
    assert_eq!(
        (&allocatable["cpu"], &allocatable["memory"], &allocatable["pods"]),
        (&"2".into(), &"2Gi".into(), &"5".into())
    );
    Ok(())
}

#[test]
fn a_declared_user_is_known_by_token_with_groups() -> Outcome {
    let (control_plane, _turn) = special();
    let jane = control_plane.kubeconfig_for("jane")?;
    let who = control_plane.kubectl_with(&jane, &["auth", "whoami", "-o", "json"]).json()?;
    assert_eq!(who["status"]["userInfo"]["username"], "jane");
    assert_eq!(
        who["status"]["userInfo"]["groups"],
        serde_json::json!(["developers", "testers", "system:authenticated"])
    );
    let Kubeconfig { namespace, .. } = control_plane.kubeconfig_of("jane")?;
    assert_eq!(namespace, None);
    Ok(())
}

#[test]
fn the_audit_log_shows_what_every_delete_insisted_on() -> Outcome {
    let (control_plane, _turn) = special();
    control_plane.create_namespace("audited")?;
    for name in ["by-uid", "by-name"] {
        control_plane.kubectl(&["create", "configmap", name, "-n", "audited"]).ok()?;
    }
    let object = control_plane.get("audited", "configmap/by-uid")?;
    let uid = object["metadata"]["uid"].as_str().ok_or("a uid")?;
    let options = format!(r#"{{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{{"uid":"{uid}"}}}}"#);
    let path = "/api/v1/namespaces/audited/configmaps/by-uid";
    control_plane.kubectl_with_input(&["delete", "--raw", path, "-f", "-"], &options).ok()?;
    control_plane.kubectl(&["delete", "configmap/by-name", "-n", "audited"]).ok()?;

    let events = control_plane.audit_events()?;
    let mut deletes: Vec<_> = events
        .iter()
        .filter(|event| (event.verb(), event.namespace(), event.user()) == ("delete", "audited", "admin"))
        .map(|event| (event.resource(), event.name(), event.uid_precondition(), event.status()))
        .collect();
    deletes.sort_unstable();
    assert_eq!(deletes, [("configmaps", "by-name", None, Some(200)), ("configmaps", "by-uid", Some(uid), Some(200))]);
    assert!(events.iter().any(|event| event.verb() == "watch" && event.stage() == "ResponseStarted"));
    assert!(events.iter().all(|event| !event.uri().contains("marker")));
    Ok(())
}

#[test]
fn a_component_that_dies_is_named_with_the_end_of_its_log() {
    let error = ControlPlane::builder().flag(Component::ApiServer, "--no-such-flag=1").start().err().expect("no start");
    assert!(matches!(error, Error::Died { component: Component::ApiServer, .. }), "{error}");
    let message = error.to_string();
    assert!(message.starts_with("kube-apiserver ended by itself (exit status: 1); the end of its log:\n"), "{message}");
    assert!(message.contains("unknown flag: --no-such-flag"), "{message}");
}
