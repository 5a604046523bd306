//! How many deletes are under way at once: as many as the server does at the same speed as few, and never more than 32.
//!
//! A server whose processors are busy does not answer more deletes for being sent more at once; it only keeps them
//! waiting, and with them everybody else's requests. So the time of each answer is held against the shortest one for
//! its kind (a webhook may take its own time for some), as TCP Vegas does with packets: what is beyond it was waiting.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::inventory::Kind;

/// Never more, however fast the server is.
pub const MOST: usize = 32;
/// Never fewer, however slow it is.
const LEAST: usize = 8;
/// To begin with.
const FIRST: usize = 16;
/// With fewer than so many of our requests waiting on the server, it can do with more.
const FEW_WAIT: f64 = 4.0;
/// With more, with fewer.
const MANY_WAIT: f64 = 8.0;
/// The weight of one answer in what is taken for the present time of answers.
const WEIGHT: f64 = 0.1;

/// Hands out turns; all clones of it share one limit.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    turns: Arc<Semaphore>,
    rule: Arc<Mutex<Rule>>,
}

/// The leave to send one delete. The next one may go when this is dropped. The default is nobody's turn.
#[derive(Debug, Default)]
pub struct Turn(Option<Taken>);

#[derive(Debug)]
struct Taken {
    permit: Option<OwnedSemaphorePermit>,
    pace: Pace,
    begun: Instant,
}

impl Default for Pace {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(FIRST)), rule: Arc::default() }
    }
}

impl Pace {
    /// Waits for a turn; who asked first has it first.
    pub(super) async fn turn(&self) -> Turn {
        // The semaphore is never closed.
        let permit = self.turns.clone().acquire_owned().await.ok();
        Turn(Some(Taken { permit, pace: self.clone(), begun: Instant::now() }))
    }

    fn rule(&self) -> MutexGuard<'_, Rule> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The server has answered. A turn that is dropped without that teaches nothing.
    pub(super) fn answered(self, kind: &Arc<Kind>) {
        if let Self(Some(taken)) = self {
            taken.pace.rule().learn(kind, taken.begun.elapsed(), &taken.pace.turns);
        }
    }

    /// The server has said that it is in trouble, or asked for patience.
    pub(super) fn refused(self) {
        if let Self(Some(taken)) = self {
            taken.pace.rule().back_off(&taken.pace.turns);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut rule = self.pace.rule();
        if let Some(permit) = self.permit.take_if(|_| rule.surplus > 0) {
            rule.surplus -= 1;
            permit.forget();
        }
    }
}

/// The rule, without the waiting.
#[derive(Debug)]
struct Rule {
    limit: usize,
    /// Turns that are out beyond the limit; they are not handed out again.
    surplus: usize,
    /// Seconds of the quickest answer of each kind.
    quickest: HashMap<Arc<Kind>, f64>,
    /// How many times longer than that answers take at present.
    slowdown: f64,
    /// Answers since the limit was last lowered.
    since: usize,
}

impl Default for Rule {
    fn default() -> Self {
        Self { limit: FIRST, surplus: 0, quickest: HashMap::new(), slowdown: 1.0, since: 0 }
    }
}

impl Rule {
    fn learn(&mut self, kind: &Arc<Kind>, took: Duration, turns: &Semaphore) {
        let took = took.as_secs_f64().max(f64::EPSILON);
        let quickest = self.quickest.entry(kind.clone()).or_insert(took);
        *quickest = quickest.min(took);
        self.slowdown = WEIGHT.mul_add(took / *quickest - self.slowdown, self.slowdown);
        self.since += 1;
        #[allow(clippy::cast_precision_loss, reason = "at most 32")]
        let waiting = self.limit as f64 * (1.0 - 1.0 / self.slowdown);
        if waiting < FEW_WAIT && self.limit < MOST {
            self.limit += 1;
            if self.surplus > 0 {
                self.surplus -= 1;
            } else {
                turns.add_permits(1);
            }
        } else if waiting > MANY_WAIT && self.limit > LEAST && self.since >= self.limit / 2 {
            self.lower(self.limit - 1, turns);
        }
    }

    fn back_off(&mut self, turns: &Semaphore) {
        // Requests that were sent together fail together: that is one piece of news.
        if self.since > 0 {
            self.lower((self.limit / 2).max(LEAST), turns);
        }
    }

    fn lower(&mut self, to: usize, turns: &Semaphore) {
        let fewer = self.limit.saturating_sub(to);
        self.surplus += fewer - turns.forget_permits(fewer);
        self.limit = to;
        self.since = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap};

    use super::*;

    fn kind(name: &str) -> Arc<Kind> {
        Arc::new(Kind {
            group: String::new(),
            version: "v1".into(),
            kind: name.into(),
            plural: name.to_lowercase(),
            watchable: true,
            scalable: false,
        })
    }

    /// Keeps a server busy with so many requests, one of which needs `work` of one of its `hands`, each after and before
    /// half a `trip`. Says how long all took, and the limit after each answer.
    fn serve(requests: usize, hands: usize, work: u64, trip: u64) -> (u64, Vec<usize>) {
        let (turns, mut rule) = (Semaphore::new(FIRST), Rule::default());
        let mut free: BinaryHeap<Reverse<u64>> = (0..hands).map(|_| Reverse(0)).collect();
        // When an answer comes, and when it was asked for.
        let mut under_way: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
        let (mut now, mut sent, mut limits) = (0, 0, Vec::new());
        loop {
            while under_way.len() < rule.limit && sent < requests {
                let Reverse(idle) = free.pop().unwrap();
                let done = idle.max(now + trip / 2) + work;
                free.push(Reverse(done));
                under_way.push(Reverse((done + trip / 2, now)));
                sent += 1;
            }
            let Some(Reverse((at, asked))) = under_way.pop() else { break };
            now = at;
            rule.learn(&kind("Pod"), Duration::from_micros(at - asked), &turns);
            assert!((LEAST..=MOST).contains(&rule.limit));
            limits.push(rule.limit);
        }
        (now, limits)
    }

    #[test]
    fn a_busy_server_is_sent_few_at_once_and_is_done_as_soon() {
        let (took, limits) = serve(1000, 2, 2000, 200);
        let settled = &limits[limits.len() / 2..];
        assert!(settled.iter().all(|limit| (LEAST..=12).contains(limit)), "{settled:?}");
        assert!(took < 1000 * 2000 / 2 + 20_000, "{took}");
    }

    #[test]
    fn a_server_far_away_with_many_hands_is_sent_many() {
        let (_, limits) = serve(1000, 64, 2000, 50_000);
        assert_eq!(limits.last(), Some(&MOST));
        // At once, too: every answer so far was a quick one.
        assert_eq!(limits[MOST - FIRST], MOST);
    }

    #[test]
    fn a_server_in_trouble_is_sent_half_and_more_again_when_it_is_well() {
        let (turns, mut rule) = (Semaphore::new(FIRST), Rule::default());
        for _ in 0..100 {
            rule.learn(&kind("Pod"), Duration::from_millis(5), &turns);
        }
        assert_eq!((rule.limit, turns.available_permits()), (MOST, MOST));
        rule.back_off(&turns);
        rule.back_off(&turns);
        assert_eq!((rule.limit, turns.available_permits()), (MOST / 2, MOST / 2));
        for _ in 0..100 {
            rule.learn(&kind("Pod"), Duration::from_millis(5), &turns);
        }
        assert_eq!(rule.limit, MOST);
    }

    #[test]
    fn what_takes_long_for_one_kind_alone_is_no_sign_of_waiting() {
        let (turns, mut rule) = (Semaphore::new(FIRST), Rule::default());
        let (quick, slow) = (kind("ConfigMap"), kind("Pod"));
        for _ in 0..100 {
            rule.learn(&quick, Duration::from_millis(5), &turns);
            rule.learn(&slow, Duration::from_secs(1), &turns);
        }
        assert_eq!(rule.limit, MOST);
    }

    #[tokio::test]
    async fn no_more_turns_are_out_than_the_limit_allows() {
        let pace = Pace::default();
        let mut out = Vec::new();
        for _ in 0..FIRST {
            out.push(pace.turn().await);
        }
        assert_eq!(pace.turns.available_permits(), 0);
        pace.rule.lock().unwrap().since = 1;
        // Half of them are too many now: those that come back are not handed out again.
        out.pop().unwrap().refused();
        while out.len() > FIRST / 2 {
            out.pop();
            assert_eq!(pace.turns.available_permits(), 0);
        }
        out.pop();
        assert_eq!(pace.turns.available_permits(), 1);
        drop(out);
        assert_eq!(pace.turns.available_permits(), FIRST / 2);
    }
}
