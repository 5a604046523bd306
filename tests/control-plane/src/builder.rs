//! What a control plane should be like, before it is started.

use crate::audit::AuditLevel;
use crate::component::Component;
use crate::control_plane::ControlPlane;
use crate::error::Error;
use crate::nodes::NodeSize;
use crate::release::Release;
use crate::stages::Stages;

/// Describes a control plane; made by [`ControlPlane::builder`].
#[derive(Debug, Clone)]
#[must_use = "nothing is started before `start`"]
pub struct Builder {
    pub(crate) nodes: usize,
    pub(crate) node_size: NodeSize,
    pub(crate) users: Vec<(String, Vec<String>)>,
    pub(crate) stages: Stages,
    pub(crate) audit: Option<AuditLevel>,
    pub(crate) release: Release,
    flags: Vec<(Component, Vec<String>)>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            nodes: 3,
            node_size: NodeSize { cpu: "32".to_owned(), memory: "256Gi".to_owned(), pods: 1000 },
            users: Vec::new(),
            stages: Stages::default(),
            audit: None,
            release: Release::Current,
            flags: Component::ALL.map(|component| (component, Vec::new())).to_vec(),
        }
    }

    /// How many fake nodes there are, `node-0` and so on; 3 unless given. An existing cluster keeps its own.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// What each node offers, as Kubernetes quantities; 32 cores, 256Gi and 1000 pods unless given.
    pub fn node_size(mut self, cpu: &str, memory: &str, pods: u32) -> Self {
        self.node_size = NodeSize { cpu: cpu.to_owned(), memory: memory.to_owned(), pods };
        self
    }

    /// Gives a component one more flag, `--name=value`. It takes the place of a flag that the component
    /// would be given otherwise; of two given here the component itself decides, and mostly lets the
    /// later one win.
    pub fn flag(mut self, component: Component, flag: &str) -> Self {
        for (_, flags) in self.flags.iter_mut().filter(|(of, _)| *of == component) {
            flags.push(flag.to_owned());
        }
        self
    }

    /// The Kubernetes release of API server, controllers and scheduler; the current one unless given. An older one is
    /// built the first time, which takes another nine minutes. kubectl stays the current one.
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Adds a user with a random token, in any number of groups. No role is bound to them: see
    /// [`ControlPlane::user_with_role`].
    pub fn user(mut self, name: &str, groups: &[&str]) -> Self {
        self.users.push((name.to_owned(), groups.iter().map(ToString::to_string).collect()));
        self
    }

    /// Whether the pods of Jobs succeed as soon as they run; true unless given. With false they run
    /// until they are deleted.
    pub fn jobs_complete(mut self, complete: bool) -> Self {
        if !complete {
            self.stages.leave_out("pod-complete");
        }
        self
    }

    /// Leaves out one of kwok's stages: `node-initialize`, `node-heartbeat`, `pod-ready`,
    /// `pod-complete`, `pod-delete`.
    pub fn without_stage(mut self, name: &str) -> Self {
        self.stages.leave_out(name);
        self
    }

    /// Adds stages of kwok's, as YAML. One with the name of a stage of kwok's own takes its place: a
    /// `pod-delete` with a delay makes pods that stop slowly.
    pub fn stage(mut self, yaml: &str) -> Self {
        self.stages.add(yaml);
        self
    }

    /// Makes the API server write an audit log, read by [`ControlPlane::audit_events`]: every request,
    /// with the body of every delete and of the writes that no controller made.
    pub fn audit_log(mut self) -> Self {
        self.audit = self.audit.or(Some(AuditLevel::Requests));
        self
    }

    /// The same with the bodies of all requests and of all answers; megabytes within a minute.
    pub fn audit_log_with_bodies(mut self) -> Self {
        self.audit = Some(AuditLevel::Everything);
        self
    }

    /// Starts it: the programs are built if this is the first time, and the call returns when every node
    /// is ready. With [`KUBECONFIG_VARIABLE`](crate::KUBECONFIG_VARIABLE) set, that cluster is used instead.
    ///
    /// # Errors
    /// When the programs cannot be built, when a component ends or does not answer, and for what an
    /// existing cluster cannot give. Nothing is left behind then.
    pub fn start(self) -> Result<ControlPlane, Error> {
        ControlPlane::start(&self)
    }

    pub(crate) fn flags_of(&self, component: Component) -> &[String] {
        let found = self.flags.iter().find(|(of, _)| *of == component);
        found.map_or(&[], |(_, flags)| flags.as_slice())
    }

    /// What was asked for that only a control plane of our own can give.
    pub(crate) fn needs_own(&self) -> Option<&'static str> {
        if self.release != Release::Current {
            Some("another Kubernetes release")
        } else if self.flags.iter().any(|(_, flags)| !flags.is_empty()) {
            Some("a flag of a component's own")
        } else if !self.users.is_empty() {
            Some("a user with a token")
        } else if self.audit.is_some() {
            Some("an audit log")
        } else if !self.stages.are_kwoks_own() {
            Some("a change to kwok's stages")
        } else {
            None
        }
    }
}
