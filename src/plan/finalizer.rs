//! Finalizers that are widely met: whose they are, and what stays behind when one is taken away by force.

/// What is known of a finalizer.
struct Known {
    /// A part of the finalizer's name.
    part: &'static str,
    /// Who clears it.
    who: &'static str,
    /// What may be left behind without that.
    leak: &'static str,
}

const KNOWN: [Known; 11] = [
    Known {
        part: "service.kubernetes.io/load-balancer-cleanup",
        who: "the cloud's service controller",
        leak: "the load balancer stays, and is paid for",
    },
    Known { part: "elbv2.k8s.aws", who: "the AWS load balancer controller", leak: "load balancers and rules stay" },
    Known { part: "ingress.k8s.aws", who: "the AWS load balancer controller", leak: "load balancers and rules stay" },
    Known { part: "networking.gke.io", who: "the GKE ingress controller", leak: "load balancers and rules stay" },
    Known { part: "keda.sh", who: "the KEDA operator", leak: "its HorizontalPodAutoscaler may stay" },
    Known { part: "argocd.argoproj.io", who: "Argo CD", leak: "what the application deployed stays" },
    Known { part: "fluxcd.io", who: "Flux", leak: "what it deployed stays" },
    Known { part: "crossplane.io", who: "Crossplane", leak: "the cloud's resource stays, and is paid for" },
    Known { part: "kubernetes.io/pvc-protection", who: "the claim protection controller", leak: "" },
    Known { part: "batch.kubernetes.io/job-tracking", who: "the Job controller", leak: "nothing but the Job's count" },
    Known {
        part: "foregroundDeletion",
        who: "the garbage collector",
        leak: "what the object owns may stay without an owner",
    },
];

fn known(finalizer: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| finalizer.contains(known.part))
}

/// Who is to clear it.
#[must_use]
pub fn controller_of(finalizer: &str) -> &'static str {
    known(finalizer).map_or("its controller", |known| known.who)
}

/// What may stay behind when it is taken away.
#[must_use]
pub fn leak_of(finalizer: &str) -> &'static str {
    known(finalizer).map_or("what its controller was to clean up stays", |known| known.leak)
}

/// Whether it may be taken away at all: this one keeps a volume from being deleted under a pod that writes to it, and
/// goes by itself with the pod.
#[must_use]
pub fn is_removable(finalizer: &str) -> bool {
    finalizer != "kubernetes.io/pvc-protection"
}
