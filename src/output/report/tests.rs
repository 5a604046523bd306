//! The closing lines, word for word.

use super::*;
use crate::{
    output::sample,
    report::{Newcomer, PutBack},
};

const PLAIN: Look = Look { width: None, color: false, unicode: true, wide: false };

fn shown(change: impl FnOnce(&mut Report)) -> String {
    let mut report = sample::report();
    change(&mut report);
    render(&report, &PLAIN)
}

fn cpu(after: &str, released: bool, seconds: f64) -> QuotaChange {
    QuotaChange {
        quota: "quota".into(),
        resource: "requests.cpu".into(),
        charged: "3".into(),
        before: "3".into(),
        after: after.into(),
        released,
        seconds,
    }
}

#[test]
fn a_purge_that_is_complete_says_so_in_one_line() {
    assert_eq!(
        shown(|_| ()),
        "Purged application \"demo\" from namespace \"xxx\": 8 objects gone, 1 kept, verified in 2.1s.\n"
    );
    assert_eq!(
        shown(|report| {
            report.plan.objects.truncate(1);
            report.outcomes.truncate(1);
        }),
        "Purged application \"demo\" from namespace \"xxx\": 1 object gone, verified in 2.1s.\n"
    );
}

#[test]
fn a_released_quota_has_its_line() {
    let text = shown(|report| report.quota = vec![cpu("0", true, 0.4)]);
    assert_eq!(text.lines().nth(1), Some("quota \"quota\": requests.cpu 3 → 0 (released 3 in 0.4s)"));
    let report = Report { quota: vec![cpu("0", true, 0.4)], ..sample::report() };
    assert!(render(&report, &Look { unicode: false, ..PLAIN }).contains("requests.cpu 3 -> 0 "));
}

#[test]
fn what_could_not_be_read_is_never_called_gone() {
    assert_eq!(
        shown(|report| report.plan.unseen = sample::unseen()),
        "Purged application \"demo\" from namespace \"xxx\": 8 objects gone, 1 kept, verified in 2.1s, except what \
         could not be read: secrets (forbidden), configmaps (forbidden), metrics.k8s.io/v1beta1 (unavailable).\n"
    );
}

#[test]
fn without_a_second_look_nothing_is_verified() {
    assert_eq!(
        shown(|report| {
            report.verified = false;
            report.verify_error = Some("connection refused".into());
        }),
        "Not verified: application \"demo\" in namespace \"xxx\": 8 objects seen to go in 2.1s, 1 kept, but looking \
         again failed: connection refused.\n"
    );
}

#[test]
fn what_is_left_is_named_with_what_holds_it_and_what_to_do() {
    let text = shown(|report| {
        report.exit = Exit::Incomplete;
        report.took = Duration::from_mins(5);
        report.outcomes[4] = Outcome::Left {
            finalizers: vec!["example.com/hold".into(), "example.com/other".into()],
            blocked_by: vec!["finalizer example.com/hold is not removed".into(), "node dead1 does not answer".into()],
        };
        report.outcomes[2] = Outcome::Recreated { uid: "1234".into(), by: Some("kube-controller-manager".into()) };
        report.newcomers =
            vec![Newcomer { name: "late".into(), uid: "5678".into(), by: Some("argocd".into()), ..sample::newcomer() }];
        report.quota = vec![cpu("1", false, 30.0)];
    });
    assert_eq!(
        text,
        "\
Incomplete: application \"demo\" in namespace \"xxx\": 6 of 8 objects gone, 1 kept, 1 left, 1 came back, 1 new, \
quota not released, after 5m.
Left:
  Pod/deployment-demo-54c9846b78-a
    finalizer example.com/hold is not removed
    node dead1 does not answer
    finalizer example.com/other
Came back:
  ReplicaSet/deployment-demo-54c9846b78
    made by kube-controller-manager, new uid 1234
New since the plan:
  Pod/late
    label app=demo, made by argocd, uid 5678
quota \"quota\" still counts requests.cpu 1: pods are left
To see what is there:
  kubectl get replicasets.apps/deployment-demo-54c9846b78 pods/deployment-demo-54c9846b78-a pods/late -n xxx \
--context prod-eu -o yaml
To go on once nothing holds it:
  kubectl purge app demo -n xxx --context prod-eu
"
    );
}

#[test]
fn a_quota_that_did_not_move_is_said_as_just_that() {
    assert_eq!(
        shown(|report| {
            report.exit = Exit::Incomplete;
            report.quota = vec![cpu("3", false, 30.0)];
        }),
        "\
Incomplete: application \"demo\" in namespace \"xxx\": 8 of 8 objects gone, 1 kept, quota not released, after 2.1s.
pods are gone but quota \"quota\" still counts requests.cpu 3 after 30s
To see what the quota counts:
  kubectl describe resourcequota quota -n xxx --context prod-eu
"
    );
}

#[test]
fn an_incomplete_purge_still_says_what_was_not_seen() {
    let text = shown(|report| {
        report.plan.unseen = sample::unseen();
        report.outcomes[0] = Outcome::Left { finalizers: Vec::new(), blocked_by: Vec::new() };
        report.verified = false;
        report.verify_error = Some("timed out".into());
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1..6],
        [
            "not verified: looking again failed: timed out",
            "not checked (forbidden): secrets, configmaps",
            "not checked (unavailable): metrics.k8s.io/v1beta1: 503 Service Unavailable",
            "Left:",
            "  PodTemplate/podtemplate-demo",
        ]
    );
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    assert_eq!(
        shown(|report| {
            report.exit = Exit::Interrupted;
            report.verified = false;
            for outcome in &mut report.outcomes[2..8] {
                *outcome = Outcome::Left { finalizers: Vec::new(), blocked_by: Vec::new() };
            }
        }),
        "\
Interrupted: application \"demo\" in namespace \"xxx\": 2 of 8 objects gone after 2.1s.
Left:
  ReplicaSet/deployment-demo-54c9846b78
  ReplicaSet/deployment-demo-3344900030
  Pod/deployment-demo-54c9846b78-a
  Pod/deployment-demo-54c9846b78-b
  Pod/deployment-demo-54c9846b78-c
  Service/service-demo
To go on:
  kubectl purge app demo -n xxx --context prod-eu
"
    );
}

#[test]
fn resources_that_pods_are_charged_for_are_told_from_others() {
    for resource in ["requests.cpu", "limits.memory", "cpu", "pods", "count/pods", "requests.nvidia.com/gpu"] {
        assert!(counts_pods(resource), "{resource}");
    }
    for resource in ["count/configmaps", "services.loadbalancers", "requests.storage", "secrets"] {
        assert!(!counts_pods(resource), "{resource}");
    }
    let gold = "gold.storageclass.storage.k8s.io/requests.storage";
    assert!(!counts_pods(gold));
}

#[test]
fn text_from_the_cluster_is_escaped_and_the_headline_is_coloured() {
    let mut report = sample::report();
    report.outcomes[0] =
        Outcome::Left { finalizers: vec!["x\u{1b}[2J".into()], blocked_by: vec!["a\u{202e}\nb".into()] };
    report.plan.objects[0].name = "evil\r".into();
    let text = render(&report, &PLAIN);
    assert!(!text.contains(|character| character != '\n' && escape::is_harmful(character)), "{text:?}");
    let colored = render(&sample::report(), &Look { color: true, ..PLAIN });
    assert!(colored.starts_with("\u{1b}[32mPurged\u{1b}[0m application "), "{colored:?}");
}

#[test]
fn at_40_columns_sentences_wrap_and_names_do_not() {
    let mut report = sample::report();
    report.outcomes[3] = Outcome::Left {
        finalizers: Vec::new(),
        blocked_by: vec!["the node dead1 has not answered for five minutes now".into()],
    };
    let text = render(&report, &Look { width: Some(40), ..PLAIN });
    assert!(
        text.contains("\n  ReplicaSet/deployment-demo-3344900030\n    the node dead1 has not answered\n      for five"),
        "{text}"
    );
    let mut sentences = text.lines().filter(|line| !line.contains("kubectl"));
    assert!(sentences.all(|line| line.chars().count() <= 40), "{text}");
}

#[test]
fn an_interrupted_drain_says_that_everything_is_put_back() {
    let put_back = |error: Option<&str>| PutBack {
        title: "Deployment/demo".into(),
        resource: "deployments.apps/demo".into(),
        replicas: Some(3),
        error: error.map(Into::into),
    };
    let text = |put_back| {
        shown(|report| {
            report.exit = Exit::Interrupted;
            report.put_back = Some(put_back);
        })
    };
    assert_eq!(
        text(vec![put_back(None)]),
        "\
Interrupted: application \"demo\" in namespace \"xxx\": nothing was deleted, and what was paused or scaled down is \
put back.
To go on:
  kubectl purge app demo -n xxx --context prod-eu
"
    );
    assert_eq!(
        text(vec![put_back(Some("timed out"))]),
        "\
Interrupted: application \"demo\" in namespace \"xxx\": nothing was deleted, but not everything could be put back.
Not put back:
  Deployment/demo
    timed out
To put it back by hand:
  kubectl scale deployments.apps/demo --replicas=3 -n xxx --context prod-eu
To go on:
  kubectl purge app demo -n xxx --context prod-eu
"
    );
    assert!(
        text(Vec::new()).starts_with("Interrupted: application \"demo\" in namespace \"xxx\": nothing was changed.")
    );
}
