//! Credentials and impersonation.

use super::*;

#[test]
fn a_context_without_user_connects_without_credentials() {
    let desk = Desk::with(&config(PLAIN, "{token: t}").replace(", user: u,", ","));
    assert!(matches!(desk.ok("").credential, Credential::None));
    assert_eq!(token(&desk.ok("--user u")), "t");
}

#[test]
fn a_token_flag_replaces_every_credential_of_the_kubeconfig() {
    let desk = Desk::with(&config(PLAIN, "{token: t, tokenFile: none}"));
    assert_eq!(token(&desk.ok("--token flag")), "flag");
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, command: login}}";
    assert_eq!(token(&Desk::with(&config(PLAIN, exec)).ok("--token flag")), "flag");
    let desk = Desk::with(&config(PLAIN, "{client-certificate-data: Y2E=, client-key-data: a2V5}")).file("pem", "pem");
    let connection = desk.ok("--token flag");
    assert_eq!((token(&connection), connection.identity.is_none()), ("flag", true));
    let connection = desk.ok("--token flag --client-certificate $/pem --client-key $/pem");
    assert_eq!((token(&connection), connection.identity.is_some()), ("flag", true));
    assert_eq!(desk.ok("--token=").identity.unwrap().key, Secret::new("key"));
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
fn no_secret_is_debugged() {
    let desk = Desk::with(&config(
        "{server: 'https://h', proxy-url: 'http://jane:c4n4ry@p:1'}",
        "{token: c4n4ry, client-certificate-data: Y2E=, client-key-data: YzRuNHJ5}",
    ));
    let connection = desk.ok("");
    assert_eq!(token(&connection), CANARY);
    assert_eq!(connection.identity.as_ref().unwrap().key.expose(), CANARY);
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, args: [c4n4ry], \
                env: [{name: NAME, value: c4n4ry}]}}";
    let plugin = Desk::with(&config(PLAIN, exec)).ok("");
    let basic = Desk::with(&config(PLAIN, "{username: jane, password: c4n4ry}")).ok("");
    let shown = format!("{connection:?} {plugin:?} {basic:?}");
    assert!(!shown.contains(CANARY), "{shown}");
}
