//! Credential plugins, and what came before them.

use super::*;

#[test]
fn a_plugin_may_ask_only_on_a_terminal() {
    let exec = |version: &str, mode: &str| {
        config(PLAIN, &format!("{{exec: {{apiVersion: client.authentication.k8s.io/{version}, command: x, {mode}}}}}"))
    };
    let interactive = |desk: Desk| match desk.ok("").credential {
        Credential::Plugin(plugin) => plugin.interactive,
        other => panic!("{other:?}"),
    };
    assert!(!interactive(Desk::with(&exec("v1", "interactiveMode: IfAvailable"))));
    assert!(interactive(Desk::with(&exec("v1", "interactiveMode: IfAvailable")).on_a_terminal()));
    assert!(interactive(Desk::with(&exec("v1beta1", "args: null, env: null")).on_a_terminal()));
    assert!(!interactive(Desk::with(&exec("v1", "interactiveMode: Never")).on_a_terminal()));
    assert!(interactive(Desk::with(&exec("v1", "interactiveMode: Always")).on_a_terminal()));
    let place = "user \"u\" in $/config: exec";
    for (version, mode, problem) in [
        (
            "v1",
            "interactiveMode: Always",
            "interactiveMode is Always, and stdin is no terminal; run this on a terminal, or log in without one",
        ),
        ("v1", "args: []", "interactiveMode must be Never, IfAvailable or Always"),
        (
            "v1alpha1",
            "args: []",
            "apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
        ),
        ("v1beta1", "args: c4n4ry", "args must be a list of texts"),
        ("v1beta1", "env: [{value: c4n4ry}]", "env must be a list of names and values, all text"),
    ] {
        assert_eq!(Desk::with(&exec(version, mode)).error(""), format!("{place}: {problem}"));
    }
    assert_eq!(Desk::with(&config(PLAIN, "{exec: {args: []}}")).error(""), format!("{place}: command is missing"));
    assert_eq!(
        Desk::with(&config(PLAIN, "{exec: c4n4ry}")).error(""),
        "user \"u\" in $/config: exec must be a mapping"
    );
}

#[test]
fn a_plugin_is_told_of_the_cluster_only_if_it_asks() {
    let cluster = "{server: 'https://h', tls-server-name: name, certificate-authority-data: Y2E=, extensions: \
                   [{name: client.authentication.k8s.io/exec, extension: {audience: me}}]}";
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: x, \
                provideClusterInfo: true, args: [a], env: [{name: NAME, value: v}]}}";
    let Credential::Plugin(plugin) = Desk::with(&config(cluster, exec)).ok("").credential else { panic!("no plugin") };
    assert_eq!(
        plugin.cluster,
        Some(serde_json::json!({
            "server": "https://h", "tls-server-name": "name", "certificate-authority-data": "Y2E=",
            "config": { "audience": "me" },
        }))
    );
    assert_eq!(
        (plugin.arguments, plugin.variables),
        (vec!["a".to_owned()], vec![("NAME".to_owned(), Secret::new("v"))])
    );
    let exec = exec.replace("provideClusterInfo: true", "provideClusterInfo: false");
    let Credential::Plugin(plugin) = Desk::with(&config(cluster, &exec)).ok("").credential else { panic!("no plugin") };
    assert_eq!(plugin.cluster, None);
}

#[test]
fn old_auth_providers_are_refused_but_for_the_token_that_oidc_left() {
    let provider = |yaml: &str| Desk::with(&config(PLAIN, &format!("{{auth-provider: {yaml}}}")));
    assert_eq!(token(&provider("{name: oidc, config: {id-token: t}}").ok("")), "t");
    assert_eq!(
        provider("{name: gcp, config: {access-token: c4n4ry}}").error(""),
        "user \"u\" in $/config: auth-provider is of a kind that kubectl has dropped; use an exec credential plugin \
         instead"
    );
}

#[test]
fn kuberc_says_which_plugins_may_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let exec = |command: &str| {
        let fields = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never";
        config(PLAIN, &format!("{{exec: {{{fields}, command: {command}}}}}"))
    };
    let desk = |kuberc: &str, command: &str| {
        let preference =
            format!("apiVersion: other/v1\n---\napiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n{kuberc}");
        let desk = Desk::with(&exec(command)).file("home/.kube/kuberc", preference).file("bin/login", "");
        fs::set_permissions(desk.folder.join("bin/login"), fs::Permissions::from_mode(0o700)).unwrap();
        desk.set("PATH", "/nowhere:$/bin")
    };
    let command = |desk: &Desk| match desk.ok("").credential {
        Credential::Plugin(plugin) => PathBuf::from(plugin.command),
        other => panic!("{other:?}"),
    };
    for kuberc in ["", "credentialPluginPolicy: ''", "credentialPluginPolicy: AllowAll"] {
        assert_eq!(command(&desk(kuberc, "login")), Path::new("login"));
    }
    let listed = |entry: &str| format!("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{{{entry}}}]");
    for (entry, plugin) in [("command: login", "login"), ("name: login", "login"), ("command: login", "./bin/login")] {
        let desk = desk(&listed(entry), plugin);
        assert_eq!(command(&desk), desk.folder.join("bin/login"));
    }
    let place = "user \"u\" in $/config: exec: command";
    let refusal = "is not allowed by credentialPluginPolicy in $/home/.kube/kuberc";
    assert_eq!(desk("credentialPluginPolicy: DenyAll", "login").error(""), format!("{place} login {refusal}"));
    assert_eq!(desk(&listed("command: other"), "login").error(""), format!("{place} login {refusal}"));
    assert_eq!(desk(&listed("command: login"), "other").error(""), format!("{place} other {refusal}"));
    for (kuberc, problem) in [
        ("credentialPluginPolicy: Perhaps", "credentialPluginPolicy must be AllowAll, DenyAll or Allowlist"),
        (
            "credentialPluginPolicy: Allowlist",
            "credentialPluginAllowlist is missing or empty, and credentialPluginPolicy is Allowlist",
        ),
        (
            "credentialPluginAllowlist: [{command: login}]",
            "credentialPluginAllowlist is set, and credentialPluginPolicy is not Allowlist",
        ),
        (&listed("x: y"), "credentialPluginAllowlist has an entry without a command"),
    ] {
        assert_eq!(desk(kuberc, "login").error(""), format!("kuberc $/home/.kube/kuberc: {problem}"));
    }
    let denied = desk("credentialPluginPolicy: DenyAll", "login");
    assert_eq!(token(&denied.ok("--token t")), "t");
    assert_eq!(command(&denied.set("KUBERC", "off")), Path::new("login"));
    let named = desk("", "login").file("rc", "").set("KUBERC", "$/none");
    assert_eq!(named.error(""), "kuberc $/none cannot be read: no such file");
    assert!(named.resolve("--kuberc $/rc").is_ok());
}
