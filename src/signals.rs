//! SIGINT, SIGTERM and SIGHUP: the first asks to stop, a second one leaves at once.

use tokio::sync::watch;

use crate::{exit::Exit, output::stream};

/// Listens until the task is ended. Begun before the first request: a signal must never end a run half-way unheard.
pub(crate) async fn listen(stop: watch::Sender<bool>) {
    // One registration for all signals to come: none between two of them is lost.
    let Ok(mut signals) = Signals::new() else { return std::future::pending().await };
    signals.next().await;
    let _ = stop.send(true);
    signals.next().await;
    stream::to_stderr("\nleft at once: what was under way may be half done; run it again to go on\n");
    #[expect(clippy::disallowed_methods, reason = "the user asked twice to leave at once")]
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// The terminal has gone: nobody reads on, but what was changed is put back all the same.
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    const fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
