//! When the server was out of reach: its controllers lost it too, and act for a while on what they saw last.
//!
//! Source: client-go's reflector (`k8s.io/client-go/tools/cache`). It looks again after 0.8 s, and after each failure up
//! to twice as long as before, at most every 30 s: once the server is back, that takes up to twice the time that it was
//! away.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

/// A connection that broke and was made anew at once: the moment before each second look is enough for that.
const BRIEF: Duration = Duration::from_secs(1);
/// For a controller to list everything anew and to act on it, however short the outage.
const SHORTEST: Duration = Duration::from_secs(5);
/// No controller waits longer before it looks again.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The outages of one connection.
#[derive(Debug, Default)]
pub struct Outages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When it last answered.
    heard: Option<Instant>,
    /// Since when nothing has been heard of the server.
    lost: Option<Instant>,
    /// When the controllers will have looked again after what is over.
    settled: Option<Instant>,
}

impl Outages {
    /// A connection failed, or an answer has not come since then. That is no sign for the time in which others came: one
    /// webhook may be slow.
    pub(super) fn lost(&self, since: Instant) {
        if let Ok(mut state) = self.0.lock() {
            let since = state.heard.map_or(since, |heard| heard.max(since));
            state.lost.get_or_insert(since);
        }
    }

    /// The server answered, whatever it said.
    pub(super) fn answered(&self, now: Instant) {
        let Ok(mut state) = self.0.lock() else { return };
        state.heard = state.heard.max(Some(now));
        if let Some(lost) = state.lost.take() {
            let away = now.saturating_duration_since(lost);
            let settled = (away >= BRIEF).then(|| now + (away * 2).clamp(SHORTEST, LONGEST));
            state.settled = state.settled.max(settled);
        }
    }

    /// When the controllers will have looked again, if that is still to come; not known before the server is back.
    #[must_use]
    pub fn settled(&self, now: Instant) -> Option<Instant> {
        self.0.lock().ok()?.settled.filter(|settled| *settled > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_given_twice_the_time_that_the_server_was_away() {
        let (outages, begun) = (Outages::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        outages.answered(at(0));
        assert_eq!(outages.settled(at(0)), None);
        outages.lost(at(10));
        outages.lost(at(12));
        assert_eq!(outages.settled(at(13)), None, "it is away yet");
        outages.answered(at(14));
        outages.answered(at(15));
        assert_eq!(outages.settled(at(15)), Some(at(22)));
        assert_eq!(outages.settled(at(22)), None, "that is over");
        // One that was soon over needs nothing, a short one enough for a list, and none more than controllers wait.
        outages.lost(at(25));
        outages.answered(at(25));
        assert_eq!(outages.settled(at(25)), None);
        outages.lost(at(30));
        outages.answered(at(31));
        assert_eq!(outages.settled(at(31)), Some(at(36)));
        outages.lost(at(40));
        outages.answered(at(100));
        assert_eq!(outages.settled(at(101)), Some(at(130)));
        // A short one after it does not shorten it.
        outages.lost(at(110));
        outages.answered(at(111));
        assert_eq!(outages.settled(at(111)), Some(at(130)));
        // Others were answered while one waited in vain.
        outages.answered(at(140));
        outages.lost(at(60));
        outages.answered(at(140));
        assert_eq!(outages.settled(at(140)), None);
    }
}
