//! What each request proves its sender with, kept fresh for as long as the program runs.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};

use super::connection::{Connection, Credential};
use super::exec::{Plugin, PluginError};
use super::secret::Secret;
use super::tls::{ClientCertificate, TlsError};

/// How long a token that was read from a file is used before the file is read again.
/// Source: client-go `transport.NewCachedFileTokenSource`.
const FILE_PERIOD: Duration = Duration::from_mins(1);

/// How long before its end a plugin's credential is replaced, unless it lives so briefly that a quarter is less.
const MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// The shortest time between two runs of a plugin that are not asked for by the server: one whose clock is wrong
/// may hand out what has ended already.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// Why a request cannot be signed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CredentialError {
    /// The plugin handed out nothing.
    #[error(transparent)]
    Plugin(#[from] PluginError),

    /// The client certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] TlsError),

    /// The token, user name or password holds what an HTTP header cannot carry.
    #[error(
        "the {what} holds characters that no HTTP header can carry, such as a line break; check where it comes from"
    )]
    NotAHeader { what: &'static str },
}

/// Signs requests, and presents the client certificate while connecting.
#[derive(Debug)]
pub(super) struct Signer {
    source: Source,
    certificate: Arc<ClientCertificate>,
}

#[derive(Debug)]
enum Source {
    Fixed(Option<HeaderValue>),
    File { path: PathBuf, state: Mutex<(Option<HeaderValue>, Instant)> },
    Plugin { plugin: Arc<Plugin>, state: tokio::sync::Mutex<State> },
}

/// What the plugin last handed out.
#[derive(Debug)]
struct State {
    header: Option<HeaderValue>,
    issued: Timestamp,
    expires: Option<Timestamp>,
    /// How many times the plugin has run.
    runs: u64,
}

/// A request's signature, and what is needed to tell whether there is a newer one.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) header: Option<HeaderValue>,
    runs: u64,
}

impl Signer {
    /// Prepares to sign; runs the plugin, where there is one, once.
    pub(super) async fn new(connection: &Connection) -> Result<Self, CredentialError> {
        let certificate = Arc::new(ClientCertificate::new(connection.identity.as_ref())?);
        let source = match &connection.credential {
            Credential::None => Source::Fixed(None),
            Credential::Basic { username, password } => {
                let pair = STANDARD.encode(format!("{username}:{}", password.expose()));
                Source::Fixed(Some(header("user name or password", "Basic", &pair)?))
            }
            Credential::Token(token) => Source::Fixed(Some(bearer(token.expose())?)),
            Credential::TokenFile { path, fallback } => {
                let fallback = fallback.as_ref().map(|token| bearer(token.expose())).transpose()?;
                let state = Mutex::new((read_token(path).or(fallback), Instant::now()));
                Source::File { path: path.clone(), state }
            }
            Credential::Plugin(plugin) => {
                let plugin = Arc::new(Plugin::clone(plugin));
                let state = issue(&plugin, &certificate, 1).await?;
                Source::Plugin { plugin, state: tokio::sync::Mutex::new(state) }
            }
        };
        Ok(Self { source, certificate })
    }

    /// The certificate to present; it changes when the plugin hands out another one.
    pub(super) fn certificate(&self) -> Arc<ClientCertificate> {
        Arc::clone(&self.certificate)
    }

    /// The signature for a request that is sent now.
    pub(super) async fn sign(&self) -> Result<Signature, CredentialError> {
        match &self.source {
            Source::Fixed(header) => Ok(Signature { header: header.clone(), runs: 0 }),
            Source::File { path, state } => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.1.elapsed() >= FILE_PERIOD {
                    reread(path, &mut state);
                }
                Ok(Signature { header: state.0.clone(), runs: 0 })
            }
            Source::Plugin { plugin, state } => {
                let mut state = state.lock().await;
                let now = Timestamp::now();
                if state.is_ending(now) {
                    match issue(plugin, &self.certificate, state.runs + 1).await {
                        Ok(fresh) => *state = fresh,
                        // Not over yet: the next request may have more luck.
                        Err(_) if state.expires.is_some_and(|expires| now < expires) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(Signature { header: state.header.clone(), runs: state.runs })
            }
        }
    }

    /// After the server has refused a signature: gets a fresh one, if it can be had. Of many requests refused at
    /// once, the first runs the plugin, and the others take what it got.
    pub(super) async fn renew(&self, refused: &Signature) -> Result<Option<Signature>, CredentialError> {
        match &self.source {
            Source::Fixed(_) => Ok(None),
            Source::File { path, state } => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                reread(path, &mut state);
                let header = state.0.clone();
                Ok((header != refused.header).then_some(Signature { header, runs: 0 }))
            }
            Source::Plugin { plugin, state } => {
                let mut state = state.lock().await;
                if state.runs == refused.runs {
                    *state = issue(plugin, &self.certificate, state.runs + 1).await?;
                }
                Ok(Some(Signature { header: state.header.clone(), runs: state.runs }))
            }
        }
    }
}

impl State {
    fn is_ending(&self, now: Timestamp) -> bool {
        let Some(expires) = self.expires else { return false };
        let margin = (expires.duration_since(self.issued) / 4).min(MARGIN);
        now.duration_since(self.issued) >= PAUSE && expires.duration_since(now) <= margin
    }
}

/// Runs the plugin on a thread that may block.
async fn issue(plugin: &Arc<Plugin>, certificate: &ClientCertificate, runs: u64) -> Result<State, CredentialError> {
    let started = Arc::clone(plugin);
    let issued = match tokio::task::spawn_blocking(move || started.run()).await {
        Ok(issued) => issued?,
        Err(ended) => std::panic::resume_unwind(ended.into_panic()),
    };
    if issued.identity.is_some() {
        certificate.replace(issued.identity.as_ref())?;
    }
    let header = issued.token.as_ref().map(Secret::expose).map(bearer).transpose()?;
    Ok(State { header, issued: Timestamp::now(), expires: issued.expires, runs })
}

const LONGEST_TOKEN: u64 = 1 << 20;

/// Reads the file again; while it cannot be read, the last token is used: some remove it once it has been read.
fn reread(path: &PathBuf, state: &mut (Option<HeaderValue>, Instant)) {
    *state = (read_token(path).or_else(|| state.0.take()), Instant::now());
}

/// A file's token, without the line break that most end in.
fn read_token(path: &PathBuf) -> Option<HeaderValue> {
    let mut token = String::new();
    // What is longer is no token, and no header either.
    std::fs::File::open(path).ok()?.take(LONGEST_TOKEN).read_to_string(&mut token).ok()?;
    Some(token.trim()).filter(|token| !token.is_empty()).and_then(|token| bearer(token).ok())
}

fn bearer(token: &str) -> Result<HeaderValue, CredentialError> {
    header("token", "Bearer", token.trim())
}

fn header(what: &'static str, scheme: &str, value: &str) -> Result<HeaderValue, CredentialError> {
    let mut header =
        HeaderValue::try_from(format!("{scheme} {value}")).map_err(|_| CredentialError::NotAHeader { what })?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a credential issued at 0 s, living for `life` seconds, is replaced at `now` seconds.
    fn is_replaced(life: i64, now: i64) -> bool {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        State { header: None, issued: at(0), expires: Some(at(life)), runs: 1 }.is_ending(at(now))
    }

    #[test]
    fn a_credential_is_replaced_shortly_before_its_end() {
        assert!(!is_replaced(3600, 3569));
        assert!(is_replaced(3600, 3570));
        // One that lives for half a minute is used for most of it.
        assert!(!is_replaced(30, 22));
        assert!(is_replaced(30, 23));
    }

    #[test]
    fn a_plugin_with_a_wrong_clock_is_not_run_for_every_request() {
        assert!(!is_replaced(-60, 4));
        assert!(is_replaced(-60, 5));
    }

    #[test]
    fn a_credential_without_an_end_is_kept() {
        let state = State { header: None, issued: Timestamp::UNIX_EPOCH, expires: None, runs: 1 };
        assert!(!state.is_ending(Timestamp::now()));
    }

    #[test]
    fn a_line_break_after_a_token_is_dropped_and_one_inside_is_an_error() {
        assert_eq!(bearer("t\n").unwrap(), "Bearer t");
        let error = bearer("can\nary").unwrap_err().to_string();
        assert_eq!(
            error,
            "the token holds characters that no HTTP header can carry, such as a line break; check where it comes from"
        );
        assert!(!format!("{:?}", bearer("canary").unwrap()).contains("canary"));
    }
}
