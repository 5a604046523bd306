//! SIGINT and SIGTERM: the first asks the run to stop, a second one leaves at once.

use tokio::sync::watch;

use crate::{exit::Exit, output::stream};

/// Listens until the task is ended.
pub(crate) async fn listen(stop: watch::Sender<bool>) {
    if next().await.is_err() {
        return std::future::pending().await;
    }
    stream::to_stderr("\nstopping: nothing new is begun (again to leave at once)\n");
    let _ = stop.send(true);
    if next().await.is_ok() {
        #[expect(clippy::disallowed_methods, reason = "the user asked twice to leave at once")]
        std::process::exit(i32::from(Exit::Interrupted.code()));
    }
}

#[cfg(unix)]
async fn next() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn next() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
