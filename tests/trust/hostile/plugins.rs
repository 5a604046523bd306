//! Credential plugins that say what they should not, without end, or what is secret.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use super::{
    check::{harmless, silent_about},
    setup::{Folder, purge},
    texts::text,
};
use crate::series::Series;

const CANARY: &str = "canary-9a21bb";

fn user(command: &Path) -> Value {
    json!({ "exec": { "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": command } })
}

fn cluster() -> Value {
    json!({ "server": "https://127.0.0.1:1" })
}

#[test]
fn what_a_plugin_says_on_stderr_is_passed_on_harmless_and_what_it_answers_never_is() {
    let series = Series::new("hostile plugins", 8, 400);
    for case in series.cases() {
        let mut random = series.random(case);
        let folder = Folder::new();
        let words: String = text(&mut random).chars().filter(|character| *character != '\0').collect();
        let words = folder.file("words", format!("log in: {words}"));
        // Every way in which an answer can be wrong, each with something secret in it.
        let answer = match case % 6 {
            0 => CANARY.to_owned(),
            1 => json!({ "kind": "ExecCredential", "apiVersion": CANARY, "status": { "token": CANARY } }).to_string(),
            2 => json!({ "kind": CANARY, "status": CANARY }).to_string(),
            3 => format!(
                "kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus: {{token: \"{CANARY}\", expirationTimestamp: {CANARY}}}"
            ),
            4 => json!({ "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                         "status": { "clientCertificateData": CANARY, "clientKeyData": CANARY } })
            .to_string(),
            _ => json!({ "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                         "status": { "token": format!("{CANARY}\n{CANARY}") } })
            .to_string(),
        };
        let answer = folder.file("answer", answer);
        let script = format!("cat {} >&2; cat {}; exit {}", words.display(), answer.display(), case % 2);
        let kubeconfig = folder.kubeconfig(&cluster(), &user(&folder.script("plugin", &script)));
        let run = purge(&kubeconfig, &["list", "-v", "10"]).exits(1).complains("log in: ").complains("error: ");
        harmless(&run, false);
        silent_about(&run, &[CANARY]);
    }
    series.report(format!("{} plugins", series.cases));
}

#[test]
fn a_hint_on_where_to_get_a_plugin_is_one_harmless_line() {
    let folder = Folder::new();
    let mut user = user(Path::new("no-such-plugin-\u{1b}[31m"));
    user["exec"]["installHint"] = "get it\u{1b}]52;c;eA==\u{7}\nerror: forged".into();
    let run = purge(&folder.kubeconfig(&cluster(), &user), &["list"]).exits(1);
    harmless(&run, false);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.complains("is not installed").complains("get it\\u{1b}]52;c;eA==\\u{7} error: forged");
}

#[test]
fn a_plugin_that_never_ends_its_answer_is_ended() {
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(&cluster(), &user(&folder.script("plugin", "exec cat /dev/zero")));
    let run = purge(&kubeconfig, &["list"]).exits(1).complains("wrote more than 1 MiB, which is no ExecCredential");
    assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
}

#[test]
fn a_plugin_that_never_stops_talking_is_not_repeated_for_ever() {
    let folder = Folder::new();
    let script = "yes 'log in, log in, log in' | head -c 20000000 >&2; exit 1";
    let kubeconfig = folder.kubeconfig(&cluster(), &user(&folder.script("plugin", script)));
    let run = purge(&kubeconfig, &["list"]).exits(1).complains("(what it says goes on, and is not shown)");
    assert!(run.stderr.len() < 600_000, "{} bytes", run.stderr.len());
}

/// What it has started may hold its stderr open: that is no reason to wait.
#[test]
fn what_a_plugin_leaves_running_holds_nothing_up() {
    let folder = Folder::new();
    let script = "sleep 20 >/dev/null & echo gone >&2; exit 1";
    let kubeconfig = folder.kubeconfig(&cluster(), &user(&folder.script("plugin", script)));
    let run = purge(&kubeconfig, &["list"]).exits(1);
    assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
}
