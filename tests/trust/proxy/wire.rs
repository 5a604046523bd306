//! TLS and HTTP/2 on both sides of the proxy.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use control_plane::ControlPlane;
use h2::{RecvStream, client::SendRequest};
use http::{HeaderMap, Request, Response};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{net::TcpStream, sync::Mutex};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::call::Call;

/// Why something did not come about: told nobody, since the proxy only hangs up then.
pub type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The proxy's own certificate is signed by the control plane's authority.
pub fn acceptor(plane: &ControlPlane) -> TlsAcceptor {
    let pair = plane.server_certificate(&["127.0.0.1"]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(pair.certificate_pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Reads a body whole.
pub async fn read(mut body: RecvStream) -> Result<Bytes, Broken> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// The real API server over one connection, opened when it is first needed and again when it has broken.
pub struct Upstream {
    address: String,
    connector: TlsConnector,
    open: Mutex<Option<SendRequest<Bytes>>>,
}

impl Upstream {
    pub fn new(plane: &ControlPlane) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(plane.ca_pem().as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let address = plane.server().rsplit('/').next().unwrap().to_owned();
        Self { address, connector: TlsConnector::from(Arc::new(config)), open: Mutex::new(None) }
    }

    /// Sends a request on; the answer's body is still to be read.
    pub async fn send(&self, call: &Call) -> Result<Response<RecvStream>, Broken> {
        let path = call.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(&call.method).uri(format!("https://{}{path}", self.address));
        if let Some(headers) = request.headers_mut() {
            headers.clone_from(&sent_on(&call.headers));
        }
        let mut ready = self.ready().await?;
        let ends = call.body.is_empty();
        let (answer, mut stream) = ready.send_request(request.body(())?, ends)?;
        if !ends {
            stream.send_data(call.body.clone(), true)?;
        }
        Ok(answer.await?)
    }

    /// The connection, when it takes another stream.
    async fn ready(&self) -> Result<SendRequest<Bytes>, Broken> {
        let known = self.open.lock().await.clone();
        if let Some(known) = known
            && let Ok(ready) = known.ready().await
        {
            return Ok(ready);
        }
        let mut open = self.open.lock().await;
        let tcp = TcpStream::connect(&self.address).await?;
        tcp.set_nodelay(true)?;
        let host = self.address.rsplit_once(':').map_or(self.address.as_str(), |(host, _)| host);
        let tls = self.connector.connect(ServerName::try_from(host.to_owned())?, tcp).await?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(4 << 20).initial_connection_window_size(32 << 20);
        let (sender, connection) = builder.handshake(tls).await?;
        tokio::spawn(connection);
        *open = Some(sender.clone());
        drop(open);
        Ok(sender.ready().await?)
    }
}

/// What belongs to one connection stays on it, and nothing is compressed: bodies are cut and rewritten here.
fn sent_on(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in ["host", "connection", "accept-encoding", "content-length"] {
        headers.remove(name);
    }
    headers
}
