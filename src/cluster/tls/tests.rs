//! Certificates and keys as people have them.

use std::time::Duration;

use rustls::client::danger::ServerCertVerifier as _;

use super::*;
use crate::cluster::secret::Secret;

/// A self-signed certificate for 127.0.0.1 and leaf.example that calls itself an authority, as openssl makes them
/// unless told otherwise, valid from December 2026; and its key, made for this test, in openssl's older notation.
const LEAF: &str = "\
-----BEGIN CERTIFICATE-----
MIIBlDCCATqgAwIBAgIUH+pgmX9e+zwkT/4fb1VnLIdnbZ4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjEyMDEwMzM0MTdaGA8yMTI2MTEwNzAzMzQx
N1owDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCfU
HzqAbPdQN2jfDCs1Jj3Gvcga0aDp8ylZ/6eId/tbhmlT09H1O7RkGuvCEh8M8ro2
iPfMsyMuoaWKZ3ZbTEGjcjBwMB0GA1UdDgQWBBQ4Lg7xKGrPwxjfkAfZBts+Iw2L
8TAfBgNVHSMEGDAWgBQ4Lg7xKGrPwxjfkAfZBts+Iw2L8TAPBgNVHRMBAf8EBTAD
AQH/MB0GA1UdEQQWMBSHBH8AAAGCDGxlYWYuZXhhbXBsZTAKBggqhkjOPQQDAgNI
ADBFAiEAoU1nV2EZ8htm7ntOnpPPPRxn8imPGTY89T2klWgUJi0CIE0zQ1ZRNKu7
rh3WGUwBtcYIU8QpfPCy+QyvHpibJiI1
-----END CERTIFICATE-----
";
const LEAF_KEY: &str = "\
-----BEGIN EC PARAMETERS-----
BggqhkjOPQMBBw==
-----END EC PARAMETERS-----
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIDbFeMH4/rYCEQ04yZDI0v1hgSYzq2vqMWrPShvIfnEToAoGCCqGSM49
AwEHoUQDQgAEJ9QfOoBs91A3aN8MKzUmPca9yBrRoOnzKVn/p4h3+1uGaVPT0fU7
tGQa68ISHwzyujaI98yzIy6hpYpndltMQQ==
-----END EC PRIVATE KEY-----
";

/// A key of a kind that ring cannot use, made for this test.
const P521_KEY: &str = "\
-----BEGIN EC PRIVATE KEY-----
MIHcAgEBBEIBS3T0cKleyR9HP7R+CQxVDLMe4UkqrnUxac4T6YBfqtB2uVbilAO0
vN1mY9FSXJX4G7HK21eWSh5wqHeWpVitijWgBwYFK4EEACOhgYkDgYYABAFUrkxy
T/YCTSCanXR1JF3XJKmh1viwKPcMXQlVZhKKHiLBS7YUR/z55NXrx5owxJIPRP8p
V/osFdlGU5FF1I+xGwAxu76A+XkAlXu61NWoMOMp6oWS1SNC7iB/nS4Sb87u//2H
vbgMRMEmRLAojnVnekm3cQJ0YnKH5sxcuPICALUISw==
-----END EC PRIVATE KEY-----
";

fn presented(certificate: &str, key: &str) -> Result<ClientCertificate, String> {
    let certificate = certificate.as_bytes().to_vec();
    let identity = Identity { certificate, key: Secret::new(key), origin: "user \"jane\"".to_owned() };
    ClientCertificate::new(Some(&identity)).map_err(|error| error.to_string())
}

fn refused(certificate: &str, key: &str) -> String {
    presented(certificate, key).unwrap_err()
}

#[test]
fn an_older_key_with_its_parameters_in_front_is_read() {
    assert!(presented(LEAF, LEAF_KEY).unwrap().has_certs());
    assert!(presented(LEAF, &format!("{LEAF}{LEAF_KEY}")).unwrap().has_certs());
}

#[test]
fn keys_that_cannot_be_used_are_told_apart() {
    assert_eq!(
        refused(LEAF, P521_KEY),
        "client-key cannot be used: RSA, ECDSA P-256, P-384 and Ed25519 keys can, P-521 cannot (user \"jane\")"
    );
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    assert_eq!(refused(LEAF, &other), "client-key does not belong to client-certificate (user \"jane\")");
    let encrypted = LEAF_KEY.replace("EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for key in ["", "canary", &encrypted] {
        assert_eq!(refused(LEAF, key), "client-key holds no PEM private key, or an encrypted one (user \"jane\")");
    }
    assert_eq!(refused("canary", LEAF_KEY), "client-certificate holds no PEM certificate (user \"jane\")");
}

/// What a client that trusts some authorities makes of a server that presents the leaf, some days into 2026.
fn verified(authorities: &str, name: &str, days: u64) -> Result<(), rustls::Error> {
    let verifier = Verifier::new(authorities.as_bytes()).unwrap();
    let leaf = CertificateDer::from_pem_slice(LEAF.as_bytes()).unwrap();
    let new_year = Duration::from_secs(1_767_225_600);
    let now = UnixTime::since_unix_epoch(new_year + Duration::from_hours(24 * days));
    verifier.verify_server_cert(&leaf, &[], &server_name(name).unwrap(), &[], now).map(drop)
}

#[test]
fn a_certificate_that_is_its_own_authority_is_trusted_as_in_go() {
    assert_eq!(verified(LEAF, "leaf.example", 400), Ok(()));
    assert_eq!(verified(LEAF, "127.0.0.1", 400), Ok(()));
}

#[test]
fn but_only_for_its_own_names_and_in_its_own_time() {
    let is = |result: Result<(), rustls::Error>, expected: fn(&CertificateError) -> bool| match result {
        Err(rustls::Error::InvalidCertificate(error)) => assert!(expected(&error), "{error:?}"),
        other => panic!("{other:?}"),
    };
    is(verified(LEAF, "other.example", 400), |error| matches!(error, CertificateError::NotValidForNameContext { .. }));
    is(verified(LEAF, "leaf.example", 0), |error| matches!(error, CertificateError::NotValidYetContext { .. }));
    is(verified(LEAF, "leaf.example", 110 * 366), |error| matches!(error, CertificateError::ExpiredContext { .. }));
    let stranger = rcgen::generate_simple_self_signed(vec!["leaf.example".to_owned()]).unwrap().cert.pem();
    is(verified(&stranger, "leaf.example", 400), |_| true);
}

#[test]
fn what_is_no_certificate_among_the_authorities_is_passed_over() {
    let bundle = format!("a comment\n{LEAF_KEY}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n{LEAF}");
    assert_eq!(verified(&bundle, "leaf.example", 400), Ok(()));
    let error = Verifier::new(b"canary").unwrap_err();
    assert_eq!(
        error.to_string(),
        "certificate-authority holds no PEM certificate; check the cluster's entry in the kubeconfig"
    );
}

#[test]
fn a_configuration_is_made_for_every_kind_of_trust() {
    let certificate = || Arc::new(ClientCertificate::new(None).unwrap());
    for trust in [Trust::Anyone, Trust::Authorities(LEAF.as_bytes().to_vec())] {
        client_config(&trust, certificate()).unwrap();
    }
}
