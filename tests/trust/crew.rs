//! Many cases at once: most of a run is waiting.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use control_plane::{Component, ControlPlane};

use crate::{
    harness::World,
    launch::Launched,
    proxy::{Proxy, log::Log, script::Script},
    series::{Series, is_long},
    site::Site,
};

/// After so many faults a series has said enough.
const ENOUGH: usize = 20;

/// The control plane of the series. The long form has one of its own whose controllers are in no way held back: the
/// series would wait for them and not for the program.
pub fn plane() -> &'static ControlPlane {
    static OWN: OnceLock<ControlPlane> = OnceLock::new();
    if !is_long() {
        return ControlPlane::shared();
    }
    OWN.get_or_init(|| {
        let builder = ControlPlane::builder().node_size("1000", "8Ti", 10_000);
        let builder = [Component::ControllerManager, Component::Scheduler]
            .into_iter()
            .fold(builder, |builder, of| builder.flag(of, "--kube-api-qps=500").flag(of, "--kube-api-burst=1000"));
        builder.start().unwrap()
    })
}

/// The requests of a run that nothing disturbs, made once for all series.
pub fn clean_run() -> &'static Log {
    static CLEAN: OnceLock<Log> = OnceLock::new();
    CLEAN.get_or_init(|| {
        let site = Site::new(plane(), "clean");
        site.deploy();
        let proxy = Proxy::start(site.world.plane, Script::default());
        let arguments = ["app", "demo", "--yes", "-o", "json"];
        let run = Launched::start(&site.world, &proxy.kubeconfig, &arguments).ends_within(Duration::from_secs(60));
        let run = run.unwrap().exits(0);
        assert_eq!(site.application(&site.objects()).len(), 0, "{run:?}");
        site.leave();
        proxy.log()
    })
}

/// What went wrong in which case.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Vec<String>>);

impl Failures {
    pub fn add(&self, case: &str, faults: &[String]) {
        let text = format!("{case}\n  {}", faults.join("\n  "));
        tell(&format!("FAILED {text}"));
        self.0.lock().unwrap().push(text);
    }

    fn are_enough(&self) -> bool {
        self.0.lock().unwrap().len() >= ENOUGH
    }

    /// Fails if there is any.
    #[track_caller]
    pub fn none(self) {
        let failures = self.0.into_inner().unwrap();
        assert!(failures.is_empty(), "{} cases failed; the first: {}", failures.len(), failures[0]);
    }
}

/// At once, and past the capture of `cargo test`: a long form may run for half an hour yet.
fn tell(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("trust: {text}\n").as_bytes());
}

/// Does the cases by so many hands, each with a site of its own; with a new one, where `act` says that it did not leave
/// the old one as it was.
pub fn each<T: Sync>(
    (series, story): (&Series, &str),
    cases: &[T],
    failures: &Failures,
    act: impl Fn(&Site, &T) -> bool + Sync,
) {
    // Most of a run is waiting.
    let hands = if is_long() { 12 } else { 6 };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for hand in 0..hands.min(cases.len()) {
            let (next, act) = (&next, &act);
            scope.spawn(move || {
                let mut site = Site::new(plane(), &format!("{story}-{hand}"));
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    if number > 0 && number % 100 == 0 {
                        tell(&format!("{story}: {number} of {}", cases.len()));
                    }
                    if failures.are_enough() || series.is_over() {
                        break;
                    }
                    if !act(&site, case) {
                        site.leave();
                        site = Site::new(plane(), &format!("{story}-{hand}"));
                    }
                }
                site.leave();
            });
        }
    });
}

/// A kubeconfig straight to the server.
pub fn straight(world: &World) -> &std::path::Path {
    world.plane.kubeconfig()
}
