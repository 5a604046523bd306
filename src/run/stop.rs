//! The wish to stop: set by a signal, looked at between one step and the next.

use tokio::sync::watch;

/// Whether the run has been asked to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<bool>,
}

impl Stop {
    /// A wish that can be made with the sender.
    #[must_use]
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, asked) = watch::channel(false);
        (sender, Self { asked })
    }

    /// Whether it has been made.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Ends when it is made; never, where nobody can make it any more.
    pub async fn asked(&self) {
        let mut asked = self.asked.clone();
        if asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
