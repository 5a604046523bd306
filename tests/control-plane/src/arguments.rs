//! The command line of each component.

use std::path::Path;

use crate::component::Component;

/// What the command lines depend on.
pub(crate) struct Layout<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) port: u16,
    /// Whether the API server writes an audit log.
    pub(crate) audited: bool,
}

impl Layout<'_> {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The sockets on which only this folder's owner can reach etcd, which asks nobody who they are.
    pub(crate) fn etcd_socket(&self) -> String {
        self.file(ETCD_SOCKET)
    }
}

/// Names of files in the folder.
pub(crate) const ETCD_SOCKET: &str = "etcd.sock";
pub(crate) const CA: &str = "ca.crt";
pub(crate) const SERVER_CERTIFICATE: &str = "server.crt";
pub(crate) const SERVER_KEY: &str = "server.key";
pub(crate) const SIGNING_KEY: &str = "service-account.key";
pub(crate) const VERIFYING_KEY: &str = "service-account.pub";
pub(crate) const TOKENS: &str = "tokens.csv";
pub(crate) const AUDIT_POLICY: &str = "audit-policy.json";
pub(crate) const AUDIT_LOG: &str = "audit.log";
pub(crate) const STAGES: &str = "kwok-stages.yaml";

/// Where a component's kubeconfig lies in the folder.
pub(crate) fn kubeconfig_file(component: Component) -> String {
    format!("{component}.kubeconfig")
}

/// Our arguments, with those of the caller in the place of ours of the same name, or added.
pub(crate) fn arguments(component: Component, layout: &Layout<'_>, extra: &[String]) -> Vec<String> {
    let name = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
    let replaced: Vec<_> = extra.iter().map(|argument| name(argument)).collect();
    let own = own_arguments(component, layout);
    own.into_iter().filter(|argument| !replaced.contains(&name(argument))).chain(extra.iter().cloned()).collect()
}

fn own_arguments(component: Component, layout: &Layout<'_>) -> Vec<String> {
    let file = |name| layout.file(name);
    let kubeconfig = layout.file(&kubeconfig_file(component));
    let mut arguments = match component {
        Component::Etcd => {
            let (client, peer) = (format!("unix://{}", layout.etcd_socket()), format!("unix://{}", file("peer.sock")));
            vec![
                "--name=etcd".to_owned(),
                format!("--data-dir={}", file("etcd")),
                // Nothing here outlives the machine.
                "--unsafe-no-fsync".to_owned(),
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=etcd={peer}"),
                "--log-level=warn".to_owned(),
            ]
        }
        Component::ApiServer => vec![
            format!("--etcd-servers=unix://{}", layout.etcd_socket()),
            "--bind-address=127.0.0.1".to_owned(),
            // By itself it would look for an interface that is not loopback, and fail without one.
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--secure-port={}", layout.port),
            "--permit-port-sharing=true".to_owned(),
            format!("--cert-dir={}", file("apiserver")),
            format!("--tls-cert-file={}", file(SERVER_CERTIFICATE)),
            format!("--tls-private-key-file={}", file(SERVER_KEY)),
            format!("--client-ca-file={}", file(CA)),
            format!("--token-auth-file={}", file(TOKENS)),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file(VERIFYING_KEY)),
            format!("--service-account-signing-key-file={}", file(SIGNING_KEY)),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        ],
        Component::ControllerManager => vec![
            format!("--kubeconfig={kubeconfig}"),
            "--use-service-account-credentials=true".to_owned(),
            format!("--service-account-private-key-file={}", file(SIGNING_KEY)),
            format!("--root-ca-file={}", file(CA)),
            "--leader-elect=false".to_owned(),
            // Nobody asks it anything; a port less to find.
            "--secure-port=0".to_owned(),
        ],
        Component::Scheduler => {
            vec![format!("--kubeconfig={kubeconfig}"), "--leader-elect=false".to_owned(), "--secure-port=0".to_owned()]
        }
        Component::Kwok => vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--config={}", file(STAGES)),
            "--manage-all-nodes=false".to_owned(),
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake".to_owned(),
            // Enough addresses for a thousand pods on one node.
            "--cidr=10.64.0.1/16".to_owned(),
            "--node-ip=127.0.0.1".to_owned(),
        ],
    };
    if component == Component::ApiServer && layout.audited {
        arguments.push(format!("--audit-policy-file={}", file(AUDIT_POLICY)));
        arguments.push(format!("--audit-log-path={}", file(AUDIT_LOG)));
        // In megabytes: never rotated within a test, so that one file holds it all.
        arguments.push("--audit-log-maxsize=100000".to_owned());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_the_callers_takes_the_place_of_ours() {
        let layout = Layout { folder: Path::new("/x"), port: 1, audited: false };
        let extra = ["--leader-elect=true".to_owned(), "--controllers=*,-job-controller".to_owned()];
        let arguments = arguments(Component::ControllerManager, &layout, &extra);
        assert_eq!(arguments.iter().filter(|argument| argument.starts_with("--leader-elect")).count(), 1);
        assert!(arguments.ends_with(&extra));
    }
}
