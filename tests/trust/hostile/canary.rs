//! What is secret stays so: in every form of output, at every level of telling, in errors, and on the disk.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    check::{harmless, silent_about},
    server::{Answer, Asked, Server},
    setup::{Folder, certificate, purge},
    world::NAMESPACE,
};

/// In a Secret's data, in its last-applied annotation, in a token, in a key.
const DATA: &str = "canary-data-31d0";
const APPLIED: &str = "canary-applied-8b55";
const TOKEN: &str = "canary-token-e2a7";
const KEY: &str = "canary-key-90fc";

fn packed(text: &str) -> String {
    STANDARD.encode(text).trim_end_matches('=').to_owned()
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "secret", "namespace": NAMESPACE, "uid": "u1", "resourceVersion": "1", "labels": { "app": "demo" },
                      "annotations": { "kubectl.kubernetes.io/last-applied-configuration": format!("{{\"stringData\":\"{APPLIED}\"}}") },
                      "managedFields": [{ "manager": APPLIED, "fieldsV1": { "f:data": { format!("f:{APPLIED}"): {} } } }] },
        "data": { "password": STANDARD.encode(DATA) },
    })
}

/// A server that sends whole Secrets even to who asks for metadata alone, and to every try of a delete.
fn cluster(asked: &Asked, gone: bool) -> Answer {
    let resource = |plural: &str, kind: &str| json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": "Namespaced", "verbs": ["list", "delete"] });
    let path = asked.path.split('?').next().unwrap();
    let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    match (asked.method.as_str(), path) {
        (_, "/api") => {
            Answer::json(json!({ "kind": "APIGroupDiscoveryList", "items": [{ "metadata": { "name": "" }, "versions": [
            { "version": "v1", "resources": [resource("secrets", "Secret"), resource("pods", "Pod")] }] }] }))
        }
        (_, "/apis") => Answer::json(json!({ "kind": "APIGroupDiscoveryList", "items": [] })),
        ("GET", path) if path == secrets => {
            let items = if gone { json!([]) } else { json!([secret()]) };
            Answer::json(json!({ "kind": "SecretList", "metadata": { "resourceVersion": "1" }, "items": items }))
        }
        ("GET", path) if path.ends_with("/pods") => {
            Answer::json(json!({ "kind": "PodList", "metadata": {}, "items": [] }))
        }
        ("GET", path) if path == format!("/api/v1/namespaces/{NAMESPACE}") => {
            Answer::json(json!({ "kind": "Namespace", "status": { "phase": "Active" } }))
        }
        (_, path) if path.starts_with(&secrets) => Answer::json(secret()),
        _ => Answer::of(
            404,
            json!({ "kind": "Status", "reason": "NotFound", "message": "not found", "code": 404 })
                .to_string()
                .into_bytes(),
        )
        .header("Set-Cookie", format!("session={TOKEN}")),
    }
}

/// Every way to run it, with a token in the kubeconfig and one by flag.
#[test]
fn nothing_secret_is_said_in_any_form_at_any_level() {
    let (config, authority) = certificate(&["127.0.0.1"]);
    let server =
        Server::tls(config, |asked| cluster(asked, asked.method == "GET" && asked.header("x-never").is_some()));
    let folder = Folder::new();
    let cluster = json!({ "server": server.url, "certificate-authority-data": STANDARD.encode(authority) });
    let kubeconfig = folder.kubeconfig(&cluster, &json!({ "token": TOKEN }));
    let by_flag = format!("--token={TOKEN}");
    let mut runs = 0;
    for format in ["table", "wide", "json", "yaml", "name"] {
        for command in [
            &["app", "demo", "--dry-run"][..],
            &["app", "demo", "--yes", "--timeout=1s"],
            &["list"],
            &["orphans", "--dry-run=server"],
        ] {
            if command[0] == "list" && format == "wide" || command.contains(&"--yes") && format == "name" {
                continue;
            }
            let run = purge(&kubeconfig, &[command, &["-o", format, "-v", "10", &by_flag]].concat());
            assert!(matches!(run.code, 0 | 4), "{run:?}");
            assert!(run.stderr.contains("authorization: <masked>"), "{run:?}");
            harmless(&run, false);
            silent_about(&run, &[DATA, APPLIED, TOKEN, &packed(DATA), &packed(TOKEN)]);
            runs += 1;
        }
    }
    assert_eq!(runs, 18);
    assert!(server.asked().iter().any(|asked| asked.header("authorization") == Some(&format!("Bearer {TOKEN}"))));
}

/// Only where a backup is asked for is anything written, and then the Secret alone holds what is in it.
#[test]
fn a_secret_is_on_the_disk_only_in_the_backup_that_was_asked_for() {
    let (config, authority) = certificate(&["127.0.0.1"]);
    let server = Server::tls(config, |asked| cluster(asked, false));
    let folder = Folder::new();
    let trusted = json!({ "server": server.url, "certificate-authority-data": STANDARD.encode(authority) });
    let kubeconfig = folder.kubeconfig(&trusted, &json!({ "token": TOKEN }));
    let home = folder.0.join("home");
    fs::create_dir(&home).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = super::setup::command(&kubeconfig, arguments);
        command.env("HOME", &home).env("TMPDIR", &home).env("XDG_CACHE_HOME", &home).current_dir(&home);
        crate::harness::Run::of(command)
    };
    run(&["app", "demo", "--yes", "--timeout=1s", "-v", "10"]).exits(4);
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "something was written that nobody asked for");

    let run =
        run(&["app", "demo", "--yes", "--timeout=1s", "--backup", "saved"]).exits(4).complains("saved 1 manifest");
    silent_about(&run, &[DATA, APPLIED, TOKEN, &packed(DATA)]);
    let files: Vec<_> = fs::read_dir(home.join("saved")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((files.len(), fs::read_dir(&home).unwrap().count()), (1, 1));
    let saved = fs::read_to_string(&files[0]).unwrap();
    assert!(saved.contains(&packed(DATA)), "what is to be brought back: {saved}");
    assert!(!saved.contains(APPLIED) && !saved.contains(TOKEN), "{saved}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files[0]), mode(&home.join("saved"))), (0o600, 0o700));
    }
}

#[test]
fn a_key_or_token_that_cannot_be_used_is_not_told_in_the_error() {
    let folder = Folder::new();
    let cluster = json!({ "server": "https://127.0.0.1:1", "insecure-skip-tls-verify": true });
    let pem = |kind: &str| STANDARD.encode(format!("-----BEGIN {kind}-----\n{KEY}\n-----END {kind}-----\n{KEY}\n"));
    let users = [
        json!({ "client-certificate-data": pem("CERTIFICATE"), "client-key-data": pem("PRIVATE KEY") }),
        json!({ "client-certificate-data": STANDARD.encode(KEY), "client-key-data": STANDARD.encode(KEY) }),
        json!({ "client-certificate-data": pem("CERTIFICATE") }),
        json!({ "client-certificate-data": KEY, "client-key-data": KEY }),
        json!({ "token": format!("{TOKEN}\n{TOKEN}") }),
        json!({ "token": [TOKEN] }),
        json!({ "username": "me", "password": { "is": TOKEN } }),
        json!({ "username": "me", "password": TOKEN, "token": TOKEN }),
        json!({ "auth-provider": { "name": "gcp", "config": { "access-token": TOKEN } } }),
        json!({ "exec": { "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "no-such-plugin",
                          "args": [TOKEN], "env": [{ "name": "PASSWORD", "value": TOKEN }] } }),
    ];
    for user in users {
        let run = purge(&folder.kubeconfig(&cluster, &user), &["list", "-v", "10"]).exits(1).complains("error: ");
        silent_about(&run, &[KEY, TOKEN, &packed(KEY), &packed(TOKEN)]);
    }
}

#[test]
fn a_credential_goes_to_no_server_that_the_server_names() {
    let (config, authority) = certificate(&["127.0.0.1"]);
    let other = Server::tls(config.clone(), |asked| cluster(asked, false));
    let elsewhere = other.url.clone();
    for status in [301, 302, 303, 307, 308] {
        let location = elsewhere.clone();
        let server = Server::tls(config.clone(), move |asked| {
            Answer::of(status, Vec::new()).header("Location", format!("{location}{}", asked.path))
        });
        let folder = Folder::new();
        let trusted = json!({ "server": server.url, "certificate-authority-data": STANDARD.encode(&authority) });
        let run = purge(&folder.kubeconfig(&trusted, &json!({ "token": TOKEN })), &["app", "demo", "--yes"]);
        run.exits(1).complains("error: ");
        assert!(!server.asked().is_empty());
    }
    assert_eq!(other.asked().len(), 0);
}
