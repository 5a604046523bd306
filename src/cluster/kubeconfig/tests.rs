//! Kubeconfigs and flags, and what follows from them. Where a test says "as kubectl", kubectl was asked.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Parser as _;

use super::*;
use crate::cluster::connection::{Credential, Trust};
use crate::cluster::secret::Secret;

/// What must not appear in any message.
const CANARY: &str = "c4n4ry";

/// A folder with kubeconfigs, and an environment that knows nothing but them.
struct Desk {
    folder: PathBuf,
    environment: Environment,
}

impl Desk {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kubectl-purge-desk-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let environment = Environment { home: Some(folder.join("home")), ..Environment::default() };
        Self { folder, environment }
    }

    /// A desk with one kubeconfig, named by KUBECONFIG.
    fn with(kubeconfig: &str) -> Self {
        Self::new().file("config", kubeconfig).set("KUBECONFIG", "$/config")
    }

    /// Writes a file; `$` in it stands for the folder.
    fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        let value = value.replace('$', &self.folder.display().to_string());
        self.environment.variables.insert(name.into(), OsString::from(value));
        self
    }

    /// As if this process ran in a pod of namespace `pod-ns`.
    fn in_pod(mut self) -> Self {
        self.environment.service_account = self.folder.join("sa");
        self.file("sa/token", "pod-token\n")
            .file("sa/namespace", "pod-ns\n")
            .file("sa/ca.crt", "pod-ca")
            .set("KUBERNETES_SERVICE_HOST", "10.96.0.1")
            .set("KUBERNETES_SERVICE_PORT", "443")
    }

    fn on_a_terminal(mut self) -> Self {
        self.environment.stdin_is_terminal = true;
        self
    }

    fn resolve(&self, arguments: &str) -> Result<Connection, KubeconfigError> {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            connection: ConnectionFlags,
        }
        let folder = self.folder.display().to_string();
        let words = arguments.split(' ').filter(|word| !word.is_empty());
        let words = words.map(|word| word.replace('$', &folder).replace('_', " "));
        let command = Command::try_parse_from(std::iter::once("purge".to_owned()).chain(words)).unwrap();
        resolve(&command.connection, &self.environment)
    }

    fn ok(&self, arguments: &str) -> Connection {
        self.resolve(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"))
    }

    /// The error's words, with `$` for the folder.
    fn error(&self, arguments: &str) -> String {
        let error = self.resolve(arguments).expect_err(arguments);
        let debugged = format!("{error} {error:?}");
        assert!(!debugged.contains(CANARY), "{debugged}");
        error.to_string().replace(&self.folder.display().to_string(), "$")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A kubeconfig with one context `here`, whose cluster and user are given as YAML flow mappings.
fn config(cluster: &str, user: &str) -> String {
    format!(
        "current-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u, namespace: web}}}}]\n\
         clusters: [{{name: c, cluster: {cluster}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    )
}

const PLAIN: &str = "{server: 'https://api:6443'}";

fn token(connection: &Connection) -> &str {
    match &connection.credential {
        Credential::Token(token) => token.expose(),
        other => panic!("{other:?}"),
    }
}

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
fn a_context_without_user_connects_without_credentials() {
    let desk = Desk::with(&config(PLAIN, "{token: t}").replace(", user: u,", ","));
    assert!(matches!(desk.ok("").credential, Credential::None));
    assert_eq!(token(&desk.ok("--user u")), "t");
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
fn files_that_are_named_and_cannot_be_read_are_errors() {
    let desk = Desk::with(&config("{server: 'https://h', certificate-authority: none}", "{}"));
    let missing = "names $/none, which cannot be read: no such file";
    assert_eq!(desk.error(""), format!("cluster \"c\" in $/config: certificate-authority {missing}"));
    assert_eq!(desk.error("--certificate-authority $/none"), format!("--certificate-authority {missing}"));
    let desk = Desk::with(&config(PLAIN, "{tokenFile: none}"));
    assert_eq!(desk.error(""), format!("user \"u\" in $/config: tokenFile {missing}"));
    assert!(matches!(Desk::with(&config(PLAIN, "{tokenFile: none, token: t}")).ok("").credential,
        Credential::TokenFile { fallback: Some(token), .. } if token == Secret::new("t")));
}

#[test]
fn server_flag_drops_the_name_that_belongs_to_the_kubeconfigs_server() {
    let desk =
        Desk::with(&config("{server: 'https://h', tls-server-name: name, proxy-url: 'http://p:1'}", "{token: t}"));
    assert_eq!(desk.ok("").server_name.as_deref(), Some("name"));
    let connection = desk.ok("--server https://other");
    assert_eq!((connection.server.as_str(), connection.server_name.as_deref()), ("https://other", None));
    assert_eq!((connection.proxy.unwrap().to_string().as_str(), connection.context.as_str()), ("http://p:1", "here"));
    assert_eq!(desk.ok("-s https://other --tls-server-name x").server_name.as_deref(), Some("x"));
    assert_eq!(desk.ok("--server=").server, "https://h");
    assert_eq!(desk.error("--server ftp://h"), "--server is no API server's address; it looks like https://HOST:PORT");
    assert!(desk.resolve("--server ftp://h").unwrap_err().is_usage());
}

#[test]
fn flags_of_trust_replace_all_that_the_kubeconfig_says_of_it() {
    let desk = Desk::with(&config("{server: 'https://h', certificate-authority-data: Y2E=}", "{}")).file("ca", "flag");
    assert_eq!(desk.ok("").trust, Trust::Authorities(b"ca".to_vec()));
    assert_eq!(desk.ok("--insecure-skip-tls-verify").trust, Trust::Anyone);
    assert_eq!(desk.ok("--insecure-skip-tls-verify=false").trust, Trust::Authorities(b"ca".to_vec()));
    assert_eq!(desk.ok("--certificate-authority $/ca").trust, Trust::Authorities(b"flag".to_vec()));
    assert_eq!(
        desk.error("--certificate-authority $/ca --insecure-skip-tls-verify"),
        "--certificate-authority and --insecure-skip-tls-verify exclude each other; leave one out"
    );
    let lax = Desk::with(&config("{server: 'https://h', insecure-skip-tls-verify: yes}", "{}")).file("ca", "flag");
    assert_eq!(lax.ok("").trust, Trust::Anyone);
    assert_eq!(lax.ok("--certificate-authority $/ca").trust, Trust::Authorities(b"flag".to_vec()));
    let both = "{server: 'https://h', insecure-skip-tls-verify: true, certificate-authority-data: Y2E=}";
    assert_eq!(
        Desk::with(&config(both, "{}")).error(""),
        "cluster \"c\" in $/config: insecure-skip-tls-verify and certificate-authority exclude each other; remove one \
         of them"
    );
    let twice = "{server: 'https://h', certificate-authority: ca, certificate-authority-data: Y2E=}";
    assert_eq!(
        Desk::with(&config(twice, "{}")).error(""),
        "cluster \"c\" in $/config: certificate-authority and certificate-authority-data are both set; keep one"
    );
}

#[test]
fn a_token_flag_replaces_tokens_and_spares_the_plugin_but_not_the_client_certificate() {
    let desk = Desk::with(&config(PLAIN, "{token: t, tokenFile: none}"));
    assert_eq!(token(&desk.ok("--token flag")), "flag");
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, command: login}}";
    assert_eq!(token(&Desk::with(&config(PLAIN, exec)).ok("--token flag")), "flag");
    let desk = Desk::with(&config(PLAIN, "{client-certificate-data: Y2E=, client-key-data: a2V5}"));
    let connection = desk.ok("--token flag");
    assert_eq!(token(&connection), "flag");
    assert_eq!(connection.identity.unwrap().key, Secret::new("key"));
}

#[test]
fn two_ways_to_authenticate_at_once_are_refused_as_in_kubectl() {
    let desk = Desk::with(&config(PLAIN, "{username: jane, password: c4n4ry}"));
    assert!(matches!(desk.ok("").credential, Credential::Basic { username, .. } if username == "jane"));
    let both = "user \"u\" in $/config: token and a user name or password are both set; keep one";
    assert_eq!(desk.error("--token c4n4ry"), both);
    assert_eq!(Desk::with(&config(PLAIN, "{token: c4n4ry}")).error("--username x"), both);
}

#[test]
fn a_client_certificate_needs_its_key() {
    let desk = Desk::with(&config(PLAIN, "{client-certificate-data: Y2E=}")).file("pem", "flag");
    assert_eq!(desk.error(""), "user \"u\" in $/config: client-key is missing; a client certificate needs its key");
    let identity = desk.ok("--client-certificate $/pem --client-key $/pem").identity.unwrap();
    assert_eq!((identity.certificate.as_slice(), identity.key.expose()), (b"flag".as_slice(), "flag"));
    assert!(Desk::with(&config(PLAIN, "{client-key-data: a2V5}")).ok("").identity.is_none());
    let desk = Desk::with(&config(PLAIN, "{client-certificate-data: '-c4n4ry-', client-key-data: a2V5}"));
    assert_eq!(desk.error(""), "user \"u\" in $/config: client-certificate-data is not valid base64");
}

#[test]
fn credentials_are_never_sent_in_the_clear() {
    let desk = Desk::with(&config("{server: 'http://h:8001'}", "{token: t, as: jane}"));
    let connection = desk.ok("");
    assert!(matches!(connection.credential, Credential::None));
    assert_eq!(connection.impersonation.len(), 1);
    assert!(matches!(desk.ok("-s localhost:8001 --token t").credential, Credential::None));
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
    }
    let desk = Desk::with(&config(PLAIN, "{}").replace("namespace: web", "namespace: a/b"));
    assert_eq!(
        desk.error(""),
        format!("context \"here\" in $/config: namespace \"a/b\" is no namespace's name: {rule}")
    );
}

#[test]
fn somebody_to_act_as_becomes_headers() {
    let headers = |connection: Connection| {
        let pairs = connection.impersonation.iter();
        let pairs = pairs.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        pairs.collect::<Vec<_>>().join("\n")
    };
    let desk = Desk::with(&config(
        PLAIN,
        "{as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {'example.org/x y': [p, q]}}",
    ));
    assert_eq!(
        headers(desk.ok("")),
        "impersonate-user: jane\nimpersonate-uid: 7\nimpersonate-group: a\nimpersonate-group: b\n\
         impersonate-extra-example.org%2fx%20y: p\nimpersonate-extra-example.org%2fx%20y: q"
    );
    assert_eq!(
        headers(desk.ok("--as joe --as-group c --as-uid 8 --as-user-extra k=v=w")),
        "impersonate-user: joe\nimpersonate-uid: 8\nimpersonate-group: c\nimpersonate-extra-k: v=w"
    );
    let desk = Desk::with(&config(PLAIN, "{}"));
    assert_eq!(
        desk.error("--as-group a"),
        "user \"u\" in $/config: as is missing: a group, uid or extra to act as needs a user to act as (--as)"
    );
    assert_eq!(desk.error("--as a --as-user-extra k"), "--as-user-extra must be KEY=VALUE");
}

#[test]
fn the_kubeconfigs_proxy_comes_before_the_environments() {
    let environment = |desk: Desk| desk.set("HTTPS_PROXY", "http://env:1").set("NO_PROXY", "h");
    let proxy =
        |cluster: &str| environment(Desk::with(&config(cluster, "{}"))).ok("").proxy.map(|proxy| proxy.to_string());
    assert_eq!(proxy("{server: 'https://h', proxy-url: 'socks5://p:1'}").as_deref(), Some("socks5://p:1"));
    assert_eq!(proxy("{server: 'https://h'}"), None);
    assert_eq!(proxy("{server: 'https://other'}").as_deref(), Some("http://env:1"));
    let problem = "is no proxy's address; it is http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT";
    let desk = Desk::with(&config("{server: 'https://h', proxy-url: 'ftp://c4n4ry'}", "{}"));
    assert_eq!(desk.error(""), format!("cluster \"c\" in $/config: proxy-url {problem}"));
    let desk = Desk::with(&config(PLAIN, "{}")).set("https_proxy", "ftp://c4n4ry");
    assert_eq!(desk.error(""), format!("environment: https_proxy {problem}"));
}

#[test]
fn timeouts_and_compression_are_kubectls() {
    let desk = Desk::with(&config("{server: 'https://h', disable-compression: true}", "{}"));
    assert!(desk.ok("--disable-compression=false").disable_compression);
    assert!(Desk::with(&config(PLAIN, "{}")).ok("--disable-compression").disable_compression);
    assert_eq!(desk.ok("--request-timeout 0").request_timeout, None);
    assert_eq!(desk.ok("--request-timeout 5").request_timeout.unwrap().as_secs(), 5);
    assert_eq!(
        desk.error("--request-timeout soon"),
        "--request-timeout: a timeout is a number of seconds, or a number and a unit, as in 30s, 2m or 1h"
    );
}

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
fn no_secret_is_debugged() {
    let desk = Desk::with(&config(
        "{server: 'https://h', proxy-url: 'http://jane:c4n4ry@p:1'}",
        "{token: c4n4ry, client-certificate-data: Y2E=, client-key-data: YzRuNHJ5}",
    ));
    let connection = desk.ok("--token c4n4ry-too");
    assert_eq!(token(&connection), "c4n4ry-too");
    assert_eq!(connection.identity.as_ref().unwrap().key.expose(), CANARY);
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, args: [c4n4ry], \
                env: [{name: NAME, value: c4n4ry}]}}";
    let plugin = Desk::with(&config(PLAIN, exec)).ok("");
    let basic = Desk::with(&config(PLAIN, "{username: jane, password: c4n4ry}")).ok("");
    let shown = format!("{connection:?} {plugin:?} {basic:?}");
    assert!(!shown.contains(CANARY), "{shown}");
}
