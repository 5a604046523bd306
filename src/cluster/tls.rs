//! TLS by rustls and ring, with what Go checks in a certificate.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kube::client::ConfigExt as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::connection::{Identity, Trust};

/// Why no TLS connection can even be tried.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TlsError {
    /// The authorities' file holds no certificate.
    #[error("certificate-authority holds no PEM certificate; check the cluster's entry in the kubeconfig")]
    NoAuthority,

    /// The machine's own authorities cannot be had.
    #[error(
        "the system's certificate authorities cannot be loaded: {reason}; name one with --certificate-authority FILE"
    )]
    NoSystemAuthorities { reason: String },

    /// The client certificate is none.
    #[error("client-certificate holds no PEM certificate ({origin})")]
    NoCertificate { origin: String },

    /// The client key is none.
    #[error("client-key holds no PEM private key, or an encrypted one ({origin})")]
    NoKey { origin: String },

    /// The key is of a kind that the TLS library does not know.
    #[error("client-key cannot be used: RSA, ECDSA P-256, P-384 and Ed25519 keys can, P-521 cannot ({origin})")]
    UnsupportedKey { origin: String },

    /// Key and certificate are of different pairs.
    #[error("client-key does not belong to client-certificate ({origin})")]
    KeyMismatch { origin: String },

    /// The name to expect is none.
    #[error("tls-server-name is no host name and no IP address")]
    NotAServerName,
}

/// A TLS configuration that speaks no protocol in particular.
pub(super) fn client_config(trust: &Trust, certificate: Arc<ClientCertificate>) -> Result<ClientConfig, TlsError> {
    // Whoever builds a configuration without naming a provider panics where none is installed.
    let _ = ring::default_provider().install_default();
    let mut config = match trust {
        Trust::Authorities(pem) => {
            let verifier = Verifier::new(pem)?;
            let config = ClientConfig::builder().dangerous().with_custom_certificate_verifier(Arc::new(verifier));
            config.with_no_client_auth()
        }
        Trust::System | Trust::Anyone => {
            let mut config = kube::Config::new(http::Uri::from_static("https://localhost"));
            config.accept_invalid_certs = *trust == Trust::Anyone;
            let reason = |error: kube::Error| TlsError::NoSystemAuthorities { reason: error.to_string() };
            config.rustls_client_config().map_err(reason)?
        }
    };
    config.client_auth_cert_resolver = certificate;
    // A resumed session would go on with the certificate of its first connection.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Reads the name to expect in a certificate.
pub(super) fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::NotAServerName)
}

/// The client certificate that new connections present.
pub(super) struct ClientCertificate {
    current: RwLock<Option<Arc<CertifiedKey>>>,
    /// How many certificates there have been after the first.
    changes: AtomicU64,
}

impl ClientCertificate {
    pub(super) fn new(identity: Option<&Identity>) -> Result<Self, TlsError> {
        Ok(Self { current: RwLock::new(certified(identity)?), changes: AtomicU64::new(0) })
    }

    /// Presents another certificate from now on.
    pub(super) fn replace(&self, identity: Option<&Identity>) -> Result<(), TlsError> {
        let fresh = certified(identity)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let chain = |certified: &Option<Arc<CertifiedKey>>| certified.as_ref().map(|certified| certified.cert.clone());
        if chain(&fresh) != chain(&current) {
            *current = fresh;
            self.changes.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Grows with every change: connections made before it are still those of the certificate before.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientCertificate")
    }
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.current()
    }

    fn has_certs(&self) -> bool {
        self.current().is_some()
    }
}

/// Reads a certificate and its key.
fn certified(identity: Option<&Identity>) -> Result<Option<Arc<CertifiedKey>>, TlsError> {
    let Some(identity) = identity else { return Ok(None) };
    let origin = || identity.origin.clone();
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&identity.certificate).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { origin: origin() });
    }
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose().as_bytes());
    let key = key.map_err(|_| TlsError::NoKey { origin: origin() })?;
    let key = ring::sign::any_supported_type(&key).map_err(|_| TlsError::UnsupportedKey { origin: origin() })?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        // A certificate that rustls cannot read is left for the server to judge.
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            Err(TlsError::KeyMismatch { origin: origin() })
        }
        _ => Ok(Some(Arc::new(certified))),
    }
}

/// Checks the server's certificate against the cluster's authorities. As in Go, a certificate that is itself among
/// the authorities is trusted, which webpki on its own refuses: self-signed servers are set up like that.
#[derive(Debug)]
struct Verifier {
    authorities: Vec<CertificateDer<'static>>,
    webpki: Arc<WebPkiServerVerifier>,
}

impl Verifier {
    fn new(pem: &[u8]) -> Result<Self, TlsError> {
        let authorities: Vec<_> = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect();
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(authorities.iter().cloned());
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
        Ok(Self { authorities, webpki: webpki.map_err(|_| TlsError::NoAuthority)? })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // webpki has looked at the dates before it says either.
            Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if self.authorities.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}
