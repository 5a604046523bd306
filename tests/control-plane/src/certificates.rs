//! A certificate authority of the control plane's own, and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::Error;

/// A certificate with its private key, both PEM.
#[derive(Clone)]
pub struct CertifiedKey {
    /// The certificate, signed by the control plane's authority.
    pub certificate_pem: String,
    /// Its private key, PKCS #8.
    pub key_pem: String,
}

/// Signs the API server's certificate and those of clients. Its key never leaves this process.
///
/// The certificate that kube-apiserver would make by itself is its own authority, which rustls
/// refuses (`CaUsedAsEndEntity`).
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = named("throwaway control plane", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A serving certificate for addresses and host names.
    pub(crate) fn server(&self, names: &[&str]) -> Result<CertifiedKey, Error> {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client certificate: the API server reads the user from CN and the group from O.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Result<CertifiedKey, Error> {
        self.sign(named(user, group), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Result<CertifiedKey, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(CertifiedKey { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

/// A key pair for signing service account tokens: (private, public), both PEM.
pub(crate) fn signing_key() -> Result<(String, String), Error> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn named(common_name: &str, organization: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params
}
