//! Several kubeconfigs at once, read by us and by the real kubectl.

use control_plane::ControlPlane;
use kubectl_purge::cluster::{connection::Credential, environment::Environment, flags::ConnectionFlags, kubeconfig};
use serde_json::Value;

/// The files that the cases are put together from.
const FILES: [(&str, &str); 7] = [
    (
        "first",
        "current-context: ''\n\
         clusters: [{name: shared, cluster: {server: 'https://first', tls-server-name: name}}]\n\
         users: [{name: shared, user: {token: first}}]\n",
    ),
    (
        "second",
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters: [{name: shared, cluster: {server: 'https://second', proxy-url: 'http://proxy'}}]\n\
         contexts:\n\
         - {name: here, context: {cluster: shared, user: shared, namespace: web}}\n\
         - {name: bare, context: {cluster: shared}}\n\
         - {name: blank, context: {cluster: shared, namespace: ''}}\n",
    ),
    (
        "third",
        "current-context: bare\n\
         clusters: [{name: third, cluster: {server: 'https://third/prefix', insecure-skip-tls-verify: yes}}]\n\
         contexts:\n\
         - {name: here, context: {cluster: third}}\n\
         - {name: there, context: {cluster: third, user: file}}\n\
         users: [{name: file, user: {tokenFile: sub/../token}}]\n\
         ---\ncurrent-context: other\n",
    ),
    (
        "json",
        r#"{"current-context":"x","clusters":[{"name":"c","cluster":{"server":"https://json"}}],
            "contexts":[{"name":"x","context":{"cluster":"c","namespace":"n-1"}}]}"#,
    ),
    ("empty", ""),
    ("twice", "current-context: gone\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: shared}}]\n"),
    (
        "anchors",
        "current-context: x\n\
         clusters: [{name: a, cluster: &a {server: 'https://anchor'}}, {name: b, cluster: {<<: *a, tls-server-name: t}}]\n\
         contexts: [{name: x, context: {cluster: b}}]\n",
    ),
];

/// Lists of files, a context or none.
const CASES: [(&str, &str); 15] = [
    ("first:second:third", ""),
    ("second:first", ""),
    ("third:second:first", ""),
    ("third:second:first", "here"),
    ("second:third", "there"),
    (":none:second:first:", ""),
    ("second", "bare"),
    ("second", "blank"),
    ("json", ""),
    ("json:second:first", "here"),
    ("empty:second:first", ""),
    ("second:empty", "bare"),
    ("twice:second", ""),
    ("first:twice", ""),
    ("anchors", ""),
];

#[test]
fn lists_of_kubeconfigs_mean_to_us_what_they_mean_to_kubectl() {
    let plane = ControlPlane::shared();
    let folder = plane.dir().join("kubeconfigs");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("token"), "from-file").unwrap();
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).unwrap();
    }
    for (list, context) in CASES {
        let named = |name: &str| if name.is_empty() { String::new() } else { folder.join(name).display().to_string() };
        let list = list.split(':').map(named).collect::<Vec<_>>().join(":");
        let mut kubectl = plane.kubectl_command();
        kubectl.env("KUBECONFIG", &list).args(["config", "view", "--minify", "--raw", "-o", "json"]);
        kubectl.args(["--context", context]);
        let answer = kubectl.output().unwrap();
        assert!(answer.status.success(), "{list} {context}: {}", String::from_utf8_lossy(&answer.stderr));
        let view: Value = serde_json::from_slice(&answer.stdout).unwrap();

        let mut environment = Environment::default();
        environment.variables.insert("KUBECONFIG".into(), list.clone().into());
        let flags = ConnectionFlags { context: Some(context.to_owned()), ..ConnectionFlags::default() };
        let connection = kubeconfig::resolve(&flags, &environment).unwrap();

        let case = format!("{list} {context}");
        let cluster = &view["clusters"][0]["cluster"];
        let user = &view["users"][0]["user"];
        let namespace = view["contexts"][0]["context"]["namespace"].as_str().filter(|name| !name.is_empty());
        assert_eq!(connection.context, view["current-context"].as_str().unwrap(), "{case}");
        assert_eq!(connection.server, cluster["server"].as_str().unwrap(), "{case}");
        assert_eq!(connection.namespace, namespace.unwrap_or("default"), "{case}");
        assert_eq!(connection.server_name.as_deref(), cluster["tls-server-name"].as_str(), "{case}");
        assert_eq!(connection.proxy.is_some(), cluster["proxy-url"].is_string(), "{case}");
        let insecure = connection.trust == kubectl_purge::cluster::connection::Trust::Anyone;
        assert_eq!(insecure, cluster["insecure-skip-tls-verify"].as_bool().unwrap_or(false), "{case}");
        match &connection.credential {
            Credential::None => assert!(user["token"].is_null() && user["tokenFile"].is_null(), "{case}"),
            Credential::Token(token) => assert_eq!(token.expose(), user["token"].as_str().unwrap(), "{case}"),
            Credential::TokenFile { path, .. } => {
                assert_eq!(std::fs::read_to_string(path).unwrap(), "from-file", "{case}");
                assert_eq!(user["tokenFile"], "sub/../token", "{case}");
            }
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn what_kubectl_refuses_we_refuse() {
    let plane = ControlPlane::shared();
    let folder = plane.dir().join("refused-kubeconfigs");
    std::fs::create_dir_all(&folder).unwrap();
    let cluster = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n";
    let here = "current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n";
    let user = |user: &str| format!("{cluster}{here}users: [{{name: u, user: {user}}}]\n");
    let exec = |fields: &str| user(&format!("{{exec: {{apiVersion: client.authentication.k8s.io/{fields}}}}}"));
    let cases = [
        ("no YAML", "a: [".to_owned(), ""),
        ("no mapping", "text".to_owned(), ""),
        ("context that is not there", user("{}"), "--context=gone"),
        ("current context that is not there", format!("{cluster}current-context: gone\n"), ""),
        ("user that is not there", user("{}"), "--user=gone"),
        ("cluster that is not there", user("{}"), "--cluster=gone"),
        ("same name twice", format!("{}{}", user("{}"), "clusters: [{name: c}, {name: c}]\n"), ""),
        ("token and password", user("{token: t, username: u}"), ""),
        (
            "certificate twice",
            user("{client-certificate: /etc/hosts, client-certificate-data: YQ==, client-key-data: YQ==}"),
            "",
        ),
        ("certificate without key", user("{client-certificate-data: YQ==}"), ""),
        ("certificate that is not there", user("{client-certificate: gone, client-key: gone}"), ""),
        ("token file that is not there", user("{tokenFile: gone}"), ""),
        ("base64 that is none", user("{client-certificate-data: '!', client-key-data: YQ==}"), ""),
        ("token that is a number", user("{token: 7}"), ""),
        ("old plugin version", exec("v1alpha1, command: 'true', interactiveMode: Never"), ""),
        ("plugin without mode", exec("v1, command: 'true'"), ""),
        ("plugin with an odd mode", exec("v1, command: 'true', interactiveMode: Sometimes"), ""),
        ("plugin without command", exec("v1, interactiveMode: Never"), ""),
        ("plugin that needs a terminal", exec("v1, command: 'true', interactiveMode: Always"), ""),
        (
            "plugin and provider",
            user(
                "{exec: {apiVersion: client.authentication.k8s.io/v1, command: 'true', interactiveMode: Never}, auth-provider: {name: oidc}}",
            ),
            "",
        ),
        ("provider of old", user("{auth-provider: {name: gcp}}"), ""),
        ("group without user", user("{token: t}"), "--as-group=g"),
        ("address of another scheme", user("{token: t}"), "--server=ftp://host"),
        ("address with a path and no scheme", user("{token: t}"), "--server=host/path"),
        ("timeout that is none", user("{token: t}"), "--request-timeout=soon"),
        (
            "proxy of another kind",
            user("{token: t}").replace("'https://127.0.0.1:1'", "'https://127.0.0.1:1', proxy-url: 'ftp://p'"),
            "",
        ),
        ("authority that is not there", user("{token: t}"), "--certificate-authority=/gone"),
        (
            "authority and no check",
            user("{token: t}").replace(
                "'https://127.0.0.1:1'",
                "'https://127.0.0.1:1', insecure-skip-tls-verify: true, certificate-authority-data: YQ==",
            ),
            "",
        ),
    ];
    for (number, (what, text, flag)) in cases.iter().enumerate() {
        let path = folder.join(number.to_string());
        std::fs::write(&path, text).unwrap();
        let flags: Vec<&str> = Some(*flag).filter(|flag| !flag.is_empty()).into_iter().collect();
        let kubectl = plane.kubectl_with(&path, &[&["get", "--raw", "/version"], &flags[..]].concat());
        assert!(!kubectl.success() && !kubectl.stderr.contains("connection refused"), "{what}: {}", kubectl.stderr);
        let refused = crate::harness::try_resolve(&path, &flags, &[]);
        assert!(refused.is_err(), "{what}: kubectl says {}", kubectl.stderr);
    }
}
