//! What is left when all waves are through: what is still on its way gets the rest of the time, and what waited for it
//! goes then.

use super::{
    Phase,
    runner::{Bound, Runner, Waited},
};
use crate::plan::{PlanObject, rows};

impl Runner<'_> {
    pub(super) async fn remains(&mut self) -> Waited {
        let (left, free) = (self.on_their_way(), self.free());
        if left.is_empty() && free.is_empty() {
            return Waited::Gone;
        }
        let all = left.iter().chain(&free).map(|object| object.uid.clone()).collect();
        let begun = self.begin(Phase::Remains, all);
        let waited = self.wait_and_delete().await;
        self.end(Phase::Remains, begun);
        waited
    }

    async fn wait_and_delete(&mut self) -> Waited {
        loop {
            if self.delete_put_off().await == Waited::Stopped {
                return Waited::Stopped;
            }
            let left = self.on_their_way();
            if left.is_empty() {
                return Waited::Gone;
            }
            // First what something else waits for: it would have no time left.
            let awaited: Vec<&PlanObject> = left.iter().copied().filter(|object| self.is_awaited(object)).collect();
            let is_all = awaited.is_empty();
            let uids: Vec<String> =
                if is_all { left } else { awaited }.into_iter().map(|object| object.uid.clone()).collect();
            let waited = self.wait(Phase::Remains, &uids, Bound { until: self.deadline, stall: None }).await;
            match waited {
                Waited::Gone if !is_all => {}
                Waited::Stopped | Waited::Gone => return waited,
                Waited::TimedOut | Waited::Stalled => {
                    // Of several some may have gone.
                    return if self.delete_put_off().await == Waited::Stopped { Waited::Stopped } else { waited };
                }
            }
        }
    }

    fn on_their_way(&self) -> Vec<&'_ PlanObject> {
        let left = |object: &&PlanObject| self.tracker.is_going(&object.uid) && !self.tracker.is_gone(&object.uid);
        self.plan.going().filter(left).collect()
    }

    fn is_awaited(&self, object: &PlanObject) -> bool {
        let holds = !object.known_by.is_empty() || object.uses.iter().any(|uid| self.put_off.contains(uid));
        holds && !self.put_off.is_empty()
    }

    /// What was put off and need not wait any more.
    fn free(&self) -> Vec<&'_ PlanObject> {
        let there = self.put_off.iter().filter(|uid| !self.tracker.is_going(uid)).filter_map(|uid| self.object(uid));
        there.filter(|object| self.why_put_off(object).is_none()).collect()
    }

    async fn delete_put_off(&mut self) -> Waited {
        loop {
            let free: Vec<String> = self.free().into_iter().map(|object| object.uid.clone()).collect();
            let free: Vec<&PlanObject> = free.iter().filter_map(|uid| self.object(uid)).collect();
            if free.is_empty() {
                return Waited::Gone;
            }
            for object in &free {
                self.put_off.remove(&object.uid);
                self.troubles.remove(&object.uid);
            }
            for row in rows(&free) {
                let bound = Bound { until: self.deadline, stall: Some(self.stall()) };
                if self.delete_and_wait(Phase::Remains, &row, bound).await == Waited::Stopped {
                    return Waited::Stopped;
                }
            }
        }
    }
}
