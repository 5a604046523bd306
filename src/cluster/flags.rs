//! kubectl's connection flags, with kubectl's names and meanings.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::secret::Secret;

/// The heading under which `--help` lists them.
pub const HEADING: &str = "Connection flags (kubectl's own)";

/// How to reach which cluster, as whom: every connection flag of `kubectl options`. An empty value counts as not
/// given, as in kubectl. What they mean together is [`resolve`](super::kubeconfig::resolve)'s to say.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct ConnectionFlags {
    /// The namespace; by default that of the context
    #[arg(short, long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,

    /// The kubeconfig's context to use
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,

    /// The kubeconfig file; by default those of $KUBECONFIG, else ~/.kube/config
    #[arg(long, global = true, value_name = "FILE", value_parser = path())]
    pub kubeconfig: Option<PathBuf>,

    /// The kubeconfig's cluster to use
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub cluster: Option<String>,

    /// The kubeconfig's user to use
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub user: Option<String>,

    /// The address of the API server
    #[arg(short, long, global = true, value_name = "URL", hide_short_help = true)]
    pub server: Option<String>,

    /// The proxy to go through: http://, https:// or socks5://
    #[arg(long, global = true, value_name = "URL", hide_short_help = true)]
    pub proxy_url: Option<String>,

    /// Bearer token to authenticate with, in place of what the kubeconfig has
    #[arg(long, global = true, value_name = "TOKEN", hide_short_help = true)]
    pub token: Option<Secret>,

    /// User name for basic authentication; API servers since Kubernetes 1.19 take none
    #[arg(long, global = true, value_name = "NAME", hide = true)]
    pub username: Option<String>,

    /// Password for basic authentication
    #[arg(long, global = true, value_name = "PASSWORD", hide = true)]
    pub password: Option<Secret>,

    /// The user to act as: a user's name, or system:serviceaccount:NAMESPACE:NAME
    #[arg(long = "as", global = true, value_name = "USER", hide_short_help = true)]
    pub impersonate: Option<String>,

    /// A group to act as a member of; may be repeated
    #[arg(long, global = true, value_name = "GROUP", hide_short_help = true)]
    pub as_group: Vec<String>,

    /// The uid to act as
    #[arg(long, global = true, value_name = "UID", hide_short_help = true)]
    pub as_uid: Option<String>,

    /// A further attribute of the user to act as; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE", hide_short_help = true)]
    pub as_user_extra: Vec<String>,

    /// File of the certificate authority that the server's certificate is checked against
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, value_parser = path())]
    pub certificate_authority: Option<PathBuf>,

    /// File of a client certificate
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, value_parser = path())]
    pub client_certificate: Option<PathBuf>,

    /// File of the client certificate's key
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, value_parser = path())]
    pub client_key: Option<PathBuf>,

    /// Do not check the server's certificate: anyone in between can read and change everything
    #[arg(long, global = true, value_name = "BOOL", hide_short_help = true, value_parser = go_bool)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_skip_tls_verify: Option<bool>,

    /// The name to expect in the server's certificate, where it is not the URL's host
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub tls_server_name: Option<String>,

    /// How long a single request may take, as in 30s or 2m; 0 is as long as it takes
    #[arg(long, global = true, value_name = "TIME", hide_short_help = true)]
    pub request_timeout: Option<String>,

    /// Do not ask the server to compress its answers
    #[arg(long, global = true, value_name = "BOOL", hide_short_help = true, value_parser = go_bool)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub disable_compression: Option<bool>,

    /// File of kubectl's own preferences, which say what credential plugins may be run
    #[arg(long, global = true, value_name = "FILE", hide = true, value_parser = path())]
    pub kuberc: Option<PathBuf>,

    /// Taken for kubectl's sake; nothing is cached
    #[arg(long, global = true, value_name = "DIR", hide = true, value_parser = path())]
    pub cache_dir: Option<PathBuf>,
}

/// A path, or nothing at all, which clap's own parser refuses and kubectl takes for not given.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Reads a boolean as Go's flags do. Source: Go `strconv.ParseBool`.
fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Command {
        #[command(flatten)]
        connection: ConnectionFlags,
    }

    fn parse(arguments: &str) -> ConnectionFlags {
        let words = std::iter::once("purge").chain(arguments.split_whitespace());
        Command::try_parse_from(words).unwrap().connection
    }

    #[test]
    fn every_connection_flag_of_kubectl_is_taken() {
        let flags = parse(
            "--kubeconfig k --context x --cluster c --user u -n web -s https://h --token t --as jane --as-group a \
             --as-group b --as-uid 7 --as-user-extra k=v --certificate-authority ca --client-certificate cc \
             --client-key ck --insecure-skip-tls-verify --tls-server-name n --request-timeout 5s \
             --disable-compression=false --cache-dir /tmp --username joe --password p --proxy-url http://p --kuberc rc",
        );
        assert_eq!(flags.as_group, ["a", "b"]);
        assert_eq!(flags.namespace.as_deref(), Some("web"));
        assert_eq!(flags.server.as_deref(), Some("https://h"));
        assert_eq!(flags.insecure_skip_tls_verify, Some(true));
        assert_eq!(flags.disable_compression, Some(false));
    }

    #[test]
    fn booleans_take_a_value_only_after_an_equals_sign_as_in_go() {
        assert_eq!(parse("--insecure-skip-tls-verify=F").insecure_skip_tls_verify, Some(false));
        assert!(Command::try_parse_from(["purge", "--insecure-skip-tls-verify", "false"]).is_err());
        assert!(Command::try_parse_from(["purge", "--insecure-skip-tls-verify=maybe"]).is_err());
    }

    #[test]
    fn neither_token_nor_password_is_debugged() {
        let shown = format!("{:?}", parse("--token canary --password canary"));
        assert!(!shown.contains("canary"), "{shown}");
    }
}
