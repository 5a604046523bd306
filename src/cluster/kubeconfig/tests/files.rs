//! Which files and which of their entries count, and which namespace is meant.

use super::*;

#[test]
fn of_several_files_the_first_to_name_something_wins_and_nothing_is_mixed() {
    let desk = Desk::new()
        .file("a", "current-context: ''\nclusters: [{name: c, cluster: {server: 'https://a'}}]")
        .file(
            "b",
            "current-context: x\n\
             clusters: [{name: c, cluster: {server: 'https://b', tls-server-name: b}}]\n\
             contexts: [{name: x, context: {cluster: c}}]",
        )
        .file("c", "current-context: z\ncontexts: [{name: x}, {name: z, context: {cluster: c, namespace: web}}]")
        .set("KUBECONFIG", ":$/a:$/none:$/b:$/c:");
    let connection = desk.ok("");
    assert_eq!((connection.context.as_str(), connection.server.as_str()), ("x", "https://a"));
    assert_eq!(connection.server_name, None);
    assert_eq!(desk.ok("--context z").namespace, "web");
}

#[test]
fn an_explicit_file_is_the_only_one_and_has_to_exist() {
    let desk = Desk::with(&config(PLAIN, "{}")).file("other", config("{server: 'https://other'}", "{}"));
    assert_eq!(desk.ok("--kubeconfig $/other").server, "https://other");
    assert_eq!(desk.error("--kubeconfig $/typo"), "kubeconfig $/typo does not exist; check --kubeconfig");
    assert_eq!(desk.ok("--kubeconfig=").server, "https://api:6443");
}

#[test]
fn without_kubeconfig_variable_the_home_folder_is_looked_in() {
    let desk = Desk::new().file("home/.kube/config", config(PLAIN, "{}"));
    assert_eq!(desk.ok("").server, "https://api:6443");
    assert_eq!(desk.set("KUBECONFIG", "").ok("").server, "https://api:6443");
}

#[test]
fn no_kubeconfig_at_all_says_what_to_type() {
    assert_eq!(
        Desk::new().error(""),
        "no kubeconfig found (looked for $/home/.kube/config); name one with --kubeconfig FILE or KUBECONFIG=FILE, \
         or a server with --server URL"
    );
    assert_eq!(
        Desk::with("").error(""),
        "no kubeconfig found (looked for $KUBECONFIG, ~/.kube/config); name one with --kubeconfig FILE or \
         KUBECONFIG=FILE, or a server with --server URL"
    );
}

#[test]
fn a_typo_in_the_path_never_leads_to_another_cluster() {
    let desk = Desk::new().in_pod().set("KUBECONFIG", "$/typo");
    assert_eq!(desk.error(""), "kubeconfig $/typo does not exist; check KUBECONFIG");
    assert_eq!(desk.error("--kubeconfig $/typo"), "kubeconfig $/typo does not exist; check --kubeconfig");
    assert_eq!(desk.error("--context prod"), "context \"prod\" does not exist; contexts here: none");
}

#[test]
fn a_broken_kubeconfig_never_leads_to_another_cluster() {
    let desk = Desk::with(&format!("a: [\nusers: {CANARY}\n")).in_pod();
    let error = desk.error("");
    assert!(error.starts_with("kubeconfig $/config is not valid YAML"), "{error}");
    assert!(error.ends_with("`kubectl config view --kubeconfig=$/config` says more"), "{error}");
    let error = Desk::with(CANARY).in_pod().error("");
    assert!(error.starts_with("kubeconfig $/config is not valid YAML"), "{error}");
    let desk = Desk::with(&config(PLAIN, "{}").replace("current-context: here", "")).in_pod();
    assert_eq!(desk.error(""), "no current context is set in $/config; choose one with --context: here");
    assert_eq!(Desk::new().in_pod().set("KUBECONFIG", "$").error(""), "kubeconfig $ cannot be read: it is a folder");
}

#[test]
fn in_a_pod_without_kubeconfig_its_service_account_is_used() {
    for desk in [Desk::new().in_pod(), Desk::with("").in_pod()] {
        let connection = desk.ok("");
        assert_eq!((connection.context.as_str(), connection.server.as_str()), ("in-cluster", "https://10.96.0.1:443"));
        assert_eq!(connection.namespace, "pod-ns");
        assert_eq!(connection.trust, Trust::Authorities(b"pod-ca".to_vec()));
        assert!(matches!(&connection.credential, Credential::TokenFile { path, .. } if path.ends_with("sa/token")));
        assert_eq!(token(&desk.ok("--token t")), "t");
        assert_eq!(desk.ok("-n web").namespace, "web");
    }
    let desk = Desk::new().in_pod().set("KUBERNETES_SERVICE_HOST", "fd00::1");
    assert_eq!(desk.ok("").server, "https://[fd00::1]:443");
    let desk = Desk::new().in_pod().set("KUBERNETES_SERVICE_PORT", "");
    assert!(desk.error("").starts_with("no kubeconfig found"));
}

#[test]
fn a_servers_address_alone_is_enough_and_is_not_taken_for_the_pods() {
    let connection = Desk::new().in_pod().ok("--server https://elsewhere --token t");
    assert_eq!((connection.context.as_str(), connection.server.as_str()), ("", "https://elsewhere"));
    assert_eq!((token(&connection), &connection.trust), ("t", &Trust::System));
    assert_eq!(Desk::new().set("KUBERNETES_MASTER", "https://m").ok("").server, "https://m");
}

#[test]
fn debug_variables_of_the_client_library_mean_nothing() {
    let desk = Desk::with(&config(PLAIN, "{}"))
        .set("KUBE_RS_DEBUG_OVERRIDE_URL", "https://evil")
        .set("KUBE_RS_DEBUG_IMPERSONATE_USER", "root");
    let connection = desk.ok("");
    assert_eq!(connection.server, "https://api:6443");
    assert!(connection.impersonation.is_empty());
}

#[test]
fn what_is_odd_elsewhere_in_the_file_does_not_matter() {
    let odd = "\
current-context: good
contexts:
- name: no-cluster
- {name: good, context: {cluster: good, user: good}}
- name: twice
- name: twice
- nameless: true
- 7
clusters:
- {name: bad, cluster: {server: [1], certificate-authority-data: '!'}}
- {name: good, cluster: {server: 'https://good', unheard-of: {a: b}}}
- {name: bad2, cluster: 7}
users:
- {name: bad, user: {token: 7, exec: no}}
- {name: good, user: {token: t}}
preferences: 7
unheard-of: [a]
";
    let desk = Desk::with(odd);
    assert_eq!(token(&desk.ok("")), "t");
    assert_eq!(
        desk.error("--context twice"),
        "context \"twice\" is there twice in $/config; remove or rename one of them"
    );
    assert_eq!(
        desk.error("--context no-cluster"),
        "context \"no-cluster\" in $/config: cluster is missing; name one with --cluster or --server"
    );
    assert_eq!(desk.error("--cluster bad"), "cluster \"bad\" in $/config: server must be text; put it in quotes");
    assert_eq!(desk.error("--cluster bad2"), "cluster \"bad2\" in $/config: server is missing");
    assert_eq!(desk.error("--user bad"), "user \"bad\" in $/config: token must be text; put it in quotes");
    assert_eq!(Desk::with("clusters: 7\nusers: x\n").error(""), Desk::with("").error(""));
}

#[test]
fn only_the_first_document_counts_and_the_last_of_two_equal_keys_as_in_kubectl() {
    let desk = Desk::with(&format!("{}---\ncurrent-context: other\n", config(PLAIN, "{}")));
    assert_eq!(desk.ok("").context, "here");
    let desk = Desk::with(&config(PLAIN, "{}").replace("current-context: here", "current-context: y"));
    assert_eq!(desk.error(""), "kubeconfig $/config: current-context must be text; put it in quotes");
    assert_eq!(desk.ok("--context here").context, "here");
    let desk = Desk::with(&format!("current-context: nope\n{}", config(PLAIN, "{}")));
    assert_eq!(desk.ok("").context, "here");
}

#[test]
fn json_byte_order_marks_and_anchors_are_read() {
    let json = r#"{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],
                   "clusters":[{"name":"c","cluster":{"server":"https://json"}}]}"#;
    assert_eq!(Desk::with(json).ok("").server, "https://json");
    let wide = |read: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        let units = json.encode_utf16().flat_map(read);
        mark.into_iter().chain(units).collect::<Vec<u8>>()
    };
    let marked = [b"\xEF\xBB\xBF".as_slice(), json.as_bytes()].concat();
    let texts = [marked, wide(u16::to_le_bytes, [0xFF, 0xFE]), wide(u16::to_be_bytes, [0xFE, 0xFF])];
    for text in texts {
        let desk = Desk::new().file("config", text).set("KUBECONFIG", "$/config");
        assert_eq!(desk.ok("").server, "https://json");
    }
    let anchored = config("&c {server: 'https://anchor'}", "{}").replace("users:", "more: *c\nusers:");
    assert_eq!(Desk::with(&anchored).ok("").server, "https://anchor");
}

#[test]
fn what_does_not_exist_is_named_along_with_what_does() {
    let desk = Desk::with(&config(PLAIN, "{}"));
    assert_eq!(desk.error("--context prdo"), "context \"prdo\" does not exist; contexts here: here");
    assert_eq!(desk.error("--cluster prdo"), "cluster \"prdo\" does not exist; clusters here: c");
    assert_eq!(desk.error("--user prdo"), "user \"prdo\" does not exist; users here: u");
    let desk = Desk::with("current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]");
    assert_eq!(
        desk.error(""),
        "cluster \"c\" does not exist (context \"here\" in $/config refers to it); clusters here: none"
    );
    assert!(desk.error("--server https://h").starts_with("user \"u\" does not exist (context \"here\" in $/config"));
    let dangling = Desk::with(&config(PLAIN, "{}").replace("current-context: here", "current-context: gone"));
    assert_eq!(dangling.error(""), "context \"gone\" does not exist; contexts here: here");
    assert_eq!(dangling.ok("--context here").context, "here");
    let many: Vec<_> = (0..30).map(|number| format!("{{name: c{number}}}")).collect();
    let error = Desk::with(&format!("contexts: [{}]", many.join(", "))).error("--context x");
    assert!(error.ends_with("c18, c19 and 10 more"), "{error}");
}

#[test]
fn relative_paths_start_from_their_own_file() {
    let desk = Desk::new()
        .file("one/config", config("{server: 'https://h', certificate-authority: ca}", "{}"))
        .file("one/ca", "authority")
        .file("two/config", config(PLAIN, "{tokenFile: sub/../tok}").replace("here", "there"))
        .file("two/tok", "t\n")
        .set("KUBECONFIG", "$/one/config:$/two/config");
    assert_eq!(desk.ok("").trust, Trust::Authorities(b"authority".to_vec()));
    let connection = desk.ok("--kubeconfig $/two/config");
    assert!(matches!(&connection.credential, Credential::TokenFile { path, .. } if fs::read(path).unwrap() == b"t\n"));
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./bin/login}}";
    let desk = Desk::with(&config(PLAIN, exec));
    let Credential::Plugin(plugin) = desk.ok("").credential else { panic!("no plugin") };
    assert_eq!(Path::new(&plugin.command), desk.folder.join("./bin/login"));
    let Credential::Plugin(plugin) = Desk::with(&config(PLAIN, &exec.replace("./bin/", ""))).ok("").credential else {
        panic!("no plugin")
    };
    assert_eq!(plugin.command, "login");
}

#[test]
fn the_namespace_is_the_flags_the_contexts_the_pods_or_default() {
    let with = |namespace: &str| Desk::with(&config(PLAIN, "{}").replace("namespace: web", namespace));
    let cases = [
        ("namespace: web", "", "web"),
        ("namespace: web", "-n shop", "shop"),
        ("namespace: web", "-n=", "web"),
        ("namespace: web", "-n _", "web"),
        ("namespace: ''", "", "default"),
        ("namespace: ' '", "", "default"),
        ("namespace: null", "", "default"),
        ("x: y", "", "default"),
        ("x: y", "-n=", "default"),
        ("x: y", "-n kube-system", "kube-system"),
    ];
    for (namespace, arguments, expected) in cases {
        assert_eq!(with(namespace).ok(arguments).namespace, expected, "{namespace} {arguments}");
    }
    // As kubectl: a kubeconfig that says nothing of a namespace leaves it to the pod.
    assert_eq!(with("x: y").in_pod().ok("").namespace, "pod-ns");
    assert_eq!(with("x: y").in_pod().set("POD_NAMESPACE", "downward").ok("").namespace, "downward");
    assert_eq!(with("namespace: web").in_pod().ok("").namespace, "web");
}

#[test]
fn what_is_no_namespaces_name_is_refused_before_any_request() {
    let rule = "lower case letters, digits and dashes, at most 63, a letter or digit first and last";
    let desk = Desk::with(&config(PLAIN, "{}"));
    let long = "a".repeat(64);
    for name in ["Web", "a.b", "-a", "a-", "a/b", "*", "é", long.as_str()] {
        let arguments = format!("--namespace={name}");
        assert_eq!(desk.error(&arguments), format!("--namespace \"{name}\" is no namespace's name: {rule}"));
        assert!(desk.resolve(&arguments).unwrap_err().is_usage());
        assert!(Desk::new().resolve(&arguments).unwrap_err().is_usage());
    }
    let desk = Desk::with(&config(PLAIN, "{}").replace("namespace: web", "namespace: a/b"));
    assert_eq!(
        desk.error(""),
        format!("context \"here\" in $/config: namespace \"a/b\" is no namespace's name: {rule}")
    );
}
