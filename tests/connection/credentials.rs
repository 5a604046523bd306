//! As whom the server knows us, next to whom it knows kubectl with the same kubeconfig and flags.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use control_plane::{ADMIN, ControlPlane};
use serde_json::{Value, json};

use crate::harness::{self, who_am_i};

/// Asserts that the server knows us as it knows kubectl; returns the name.
async fn same_as_kubectl(plane: &ControlPlane, kubeconfig: &Path, flags: &[&str]) -> String {
    let ours = who_am_i(&harness::client(kubeconfig, flags).await).await.unwrap();
    let arguments = [&["auth", "whoami", "-o", "json"], flags].concat();
    let kubectls = plane.kubectl_with(kubeconfig, &arguments).json().unwrap()["status"]["userInfo"].clone();
    // A certificate's credential id is of no concern, and so is the order of keys.
    assert_eq!(ours, kubectls, "{flags:?}");
    ours["username"].as_str().unwrap().to_owned()
}

/// A user of the control plane's, by certificate.
fn certificate(plane: &ControlPlane, user: &str) -> Value {
    let pair = plane.client_certificate(user, Some("tests")).unwrap();
    std::fs::write(plane.dir().join(format!("{user}.crt")), pair.certificate_pem).unwrap();
    std::fs::write(plane.dir().join(format!("{user}.key")), pair.key_pem).unwrap();
    json!({ "client-certificate": format!("{user}.crt"), "client-key": format!("{user}.key") })
}

#[tokio::test]
async fn every_credential_makes_us_the_same_user_as_kubectl() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let token = plane.token(ADMIN).unwrap();
    let file = |name: &str, user: &Value| harness::kubeconfig(plane, name, &cluster, user);

    let by_token = file("by-token", &json!({ "token": token }));
    assert_eq!(same_as_kubectl(plane, &by_token, &[]).await, ADMIN);

    std::fs::write(plane.dir().join("token-file"), format!("{token}\n")).unwrap();
    let by_file = file("by-file", &json!({ "tokenFile": "token-file" }));
    assert_eq!(same_as_kubectl(plane, &by_file, &[]).await, ADMIN);

    // Of both, the file's token counts; where there is no file, the other.
    let both = file("both", &json!({ "token": "stale", "tokenFile": "token-file" }));
    assert_eq!(same_as_kubectl(plane, &both, &[]).await, ADMIN);
    let both = file("neither", &json!({ "token": token, "tokenFile": "no-such-file" }));
    assert_eq!(same_as_kubectl(plane, &both, &[]).await, ADMIN);

    let by_certificate = file("by-certificate", &certificate(plane, "cert-user"));
    assert_eq!(same_as_kubectl(plane, &by_certificate, &[]).await, "cert-user");
    // kubectl goes on presenting the certificate, which the server prefers: the token's holder is never asked about.
    let ours = who_am_i(&harness::client(&by_certificate, &["--token", token]).await).await.unwrap();
    assert_eq!(ours["username"], ADMIN);

    let acting = ["--as=jane", "--as-group=a", "--as-group=b c", "--as-uid=7", "--as-user-extra=example.org/k%y=v"];
    assert_eq!(same_as_kubectl(plane, &by_token, &acting).await, "jane");
    let acting = json!({ "token": token, "as": "joe", "as-groups": ["g"], "as-user-extra": { "Key": ["a", "b"] } });
    assert_eq!(same_as_kubectl(plane, &file("acting", &acting), &[]).await, "joe");

    let server = ["--server", plane.server(), "--certificate-authority"];
    let authority = plane.dir().join("test-ca.crt").display().to_string();
    let nobody = file("nobody", &json!({}));
    let flags = [&server[..], &[&authority, "--token", token]].concat();
    assert_eq!(same_as_kubectl(plane, &nobody, &flags).await, ADMIN);
}

/// A plugin that counts its runs, and a user who authenticates by it.
struct Plugin {
    runs: PathBuf,
    user: Value,
}

impl Plugin {
    fn new(plane: &ControlPlane, name: &str, script: &str) -> Self {
        let path = plane.dir().join(format!("{name}-plugin"));
        let runs = plane.dir().join(format!("{name}-runs"));
        let text = format!("#!/bin/sh\necho run >> '{}'\n{script}\n", runs.display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "IfAvailable",
            "command": format!("./{name}-plugin"), "args": null, "provideClusterInfo": true,
        });
        Self { runs, user: json!({ "exec": exec }) }
    }

    /// A plugin that hands out a status, given as JSON with shell variables.
    fn issuing(plane: &ControlPlane, name: &str, setup: &str, status: &str) -> Self {
        let answer =
            format!(r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{status}}}"#);
        Self::new(plane, name, &format!("{setup}\ncat <<END\n{answer}\nEND"))
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(&self.runs).map_or(0, |runs| runs.lines().count())
    }
}

#[tokio::test]
async fn a_plugins_token_is_asked_for_once() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let status = format!(r#"{{"token":"{}"}}"#, plane.token(ADMIN).unwrap());
    // It reads all of its stdin, which must not be ours.
    let setup = r#"cat > /dev/null
        case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*'"server":'* | *'"server":'*'"interactive":false'*) ;; *) exit 9 ;; esac"#;
    let plugin = Plugin::issuing(plane, "once", setup, &status);
    let kubeconfig = harness::kubeconfig(plane, "once", &cluster, &plugin.user);
    let client = harness::client(&kubeconfig, &[]).await;
    for answer in futures_util::future::join_all((0..16).map(|_| who_am_i(&client))).await {
        assert_eq!(answer.unwrap()["username"], ADMIN);
    }
    assert_eq!(plugin.runs(), 1);
}

#[tokio::test]
async fn a_plugins_certificate_is_presented() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let pair = plane.client_certificate("plugin-user", None).unwrap();
    let escaped = |pem: &str| pem.replace('\n', "\\n");
    let status = format!(
        r#"{{"clientCertificateData":"{}","clientKeyData":"{}"}}"#,
        escaped(&pair.certificate_pem),
        escaped(&pair.key_pem)
    );
    let plugin = Plugin::issuing(plane, "certificate", "", &status);
    let kubeconfig = harness::kubeconfig(plane, "plugin-certificate", &cluster, &plugin.user);
    assert_eq!(same_as_kubectl(plane, &kubeconfig, &[]).await, "plugin-user");
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_renewed_once_for_all_requests() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let runs = plane.dir().join("refused-runs");
    let token = plane.token(ADMIN).unwrap();
    let setup = format!("T={token}; [ $(grep -c run '{}') -gt 1 ] || T=stale", runs.display());
    let plugin = Plugin::issuing(plane, "refused", &setup, r#"{"token":"$T"}"#);
    let kubeconfig = harness::kubeconfig(plane, "refused", &cluster, &plugin.user);
    let client = harness::client(&kubeconfig, &[]).await;
    for answer in futures_util::future::join_all((0..16).map(|_| who_am_i(&client))).await {
        assert_eq!(answer.unwrap()["username"], ADMIN);
    }
    assert_eq!(plugin.runs(), 2);
}

#[tokio::test]
async fn a_token_that_is_about_to_end_is_renewed_before_it_is_refused() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let setup = "E=$(date -u -d '+8 seconds' +%Y-%m-%dT%H:%M:%SZ)";
    let status = format!(r#"{{"token":"{}","expirationTimestamp":"$E"}}"#, plane.token(ADMIN).unwrap());
    let plugin = Plugin::issuing(plane, "ending", setup, &status);
    let kubeconfig = harness::kubeconfig(plane, "ending", &cluster, &plugin.user);
    let client = harness::client(&kubeconfig, &[]).await;
    who_am_i(&client).await.unwrap();
    assert_eq!(plugin.runs(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    who_am_i(&client).await.unwrap();
    who_am_i(&client).await.unwrap();
    assert_eq!(plugin.runs(), 2);
}

#[tokio::test]
async fn a_plugins_next_certificate_is_presented_on_a_connection_of_its_own() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let issue = |user: &str| {
        let pair = plane.client_certificate(user, None).unwrap();
        let escaped = |pem: &str| pem.replace('\n', "\\n");
        format!("C='{}'; K='{}'", escaped(&pair.certificate_pem), escaped(&pair.key_pem))
    };
    let runs = plane.dir().join("next-runs");
    let setup = format!(
        "E=$(date -u -d '+8 seconds' +%Y-%m-%dT%H:%M:%SZ)\n\
         if [ $(grep -c run '{}') = 1 ]; then {}; else {}; fi",
        runs.display(),
        issue("first-user"),
        issue("second-user")
    );
    let status = r#"{"clientCertificateData":"$C","clientKeyData":"$K","expirationTimestamp":"$E"}"#;
    let plugin = Plugin::issuing(plane, "next", &setup, status);
    let kubeconfig = harness::kubeconfig(plane, "next", &cluster, &plugin.user);
    let client = harness::client(&kubeconfig, &[]).await;
    assert_eq!(who_am_i(&client).await.unwrap()["username"], "first-user");
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    assert_eq!(who_am_i(&client).await.unwrap()["username"], "second-user");
}

#[tokio::test]
async fn what_is_wrong_with_a_plugin_is_said_without_what_it_wrote() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let place = |name: &str| format!("(user \"me\" in {}/{name}.kubeconfig)", plane.dir().display());
    let command = |name: &str| plane.dir().join(format!("{name}-plugin")).display().to_string();
    let cases = [
        ("fails", "echo canary; exit 7", "failed with exit code 7; log in again, or run it by hand to see why"),
        ("text", "echo canary", "wrote something that is no ExecCredential"),
        (
            "old",
            "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"canary\"}'",
            "answered in another apiVersion than the kubeconfig asks for",
        ),
    ];
    for (name, script, problem) in cases {
        let plugin = Plugin::new(plane, name, script);
        let kubeconfig = harness::kubeconfig(plane, name, &cluster, &plugin.user);
        let expected = format!("credential plugin {} {problem} {}", command(name), place(name));
        assert_eq!(harness::refusal(&kubeconfig, &[]).await, expected);
    }
    let cases = [
        ("empty", "{}", "answered with neither a token nor a client certificate"),
        ("half", r#"{"clientKeyData":"canary"}"#, "answered with a client certificate or its key, and needs both"),
        (
            "time",
            r#"{"token":"canary","expirationTimestamp":"soon"}"#,
            "answered with an expirationTimestamp that is no time",
        ),
    ];
    for (name, status, problem) in cases {
        let plugin = Plugin::issuing(plane, name, "", status);
        let kubeconfig = harness::kubeconfig(plane, name, &cluster, &plugin.user);
        let expected = format!("credential plugin {} {problem} {}", command(name), place(name));
        assert_eq!(harness::refusal(&kubeconfig, &[]).await, expected);
    }
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "no-such-plugin",
        "installHint": "get it with\n\u{1b}[1m  brew install it\n",
    });
    let kubeconfig = harness::kubeconfig(plane, "missing", &cluster, &json!({ "exec": exec }));
    assert_eq!(
        harness::refusal(&kubeconfig, &[]).await,
        format!(
            "credential plugin no-such-plugin is not installed, or not in PATH {}; get it with \u{1b}[1m brew install it",
            place("missing")
        )
    );
}

#[tokio::test]
async fn a_token_file_is_read_again_when_the_server_refuses_its_token() {
    let plane = ControlPlane::shared();
    let cluster = harness::cluster(plane, plane.server());
    let file = plane.dir().join("rotated");
    std::fs::write(&file, "stale\n").unwrap();
    let kubeconfig = harness::kubeconfig(plane, "rotated", &cluster, &json!({ "tokenFile": "rotated" }));
    let client = harness::client(&kubeconfig, &[]).await;
    who_am_i(&client).await.unwrap_err();
    std::fs::write(&file, plane.token(ADMIN).unwrap()).unwrap();
    assert_eq!(who_am_i(&client).await.unwrap()["username"], ADMIN);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(who_am_i(&client).await.unwrap()["username"], ADMIN);
}
