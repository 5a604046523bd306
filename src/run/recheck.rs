//! Between the plan and the answer time goes by: what somebody else has come to own since then is left to him.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Instant,
};

use futures_util::future::join_all;

use super::{Event, delete::REPLACED, runner::Runner};
use crate::{
    cluster::{Change, Listing, Patience},
    inventory::{Inventory, Kind},
    plan::{Question, changed},
};

/// Why the rest of a plan is left alone when part of it is another's now, or may be.
const STALE: &str = "somebody has changed part of the application since the plan, or may have; look at it again";

impl Runner<'_> {
    /// Looks at the planned objects' metadata once more, before the first change. One that a controller outside of the
    /// plan has adopted, that has been marked to be kept or labelled otherwise stays, and all below it: with an
    /// unchanged uid, no precondition would save it. Says whether the plan still holds: where somebody has deployed
    /// anew what it is of, he needs the rest of it too.
    pub(super) async fn recheck(&mut self, inventory: &Inventory, question: &Question) -> bool {
        let plan = self.plan;
        let known: HashSet<String> = plan.going().map(|object| object.uid.clone()).collect();
        let kinds: BTreeMap<String, &Arc<Kind>> =
            plan.going().map(|object| (object.kind.resource(), &object.kind)).collect();
        let cluster = self.cluster;
        let lists = kinds.into_values().map(|kind| async move { (kind, cluster.owners(kind, Patience::RUN).await) });
        for (kind, list) in join_all(lists).await {
            let objects = match list {
                Ok(Listing { objects, resource_version }) => {
                    self.since.insert(kind.clone(), resource_version);
                    objects
                }
                // Who owns what now is not known, and nothing has been changed yet.
                Err(failure) => {
                    let why = format!("who owns it now could not be read: {failure}");
                    for object in plan.going().filter(|object| object.kind == *kind) {
                        self.held.insert(object.uid.clone(), why.clone());
                        self.troubles.insert(object.uid.clone(), vec![why.clone()]);
                    }
                    continue;
                }
            };
            for object in &objects {
                let Some(planned) = self.object(&object.uid).filter(|planned| planned.goes()) else { continue };
                if let Some(why) = changed(planned, object, inventory, question, &known) {
                    self.hold(planned, why);
                }
            }
            let names: HashSet<String> = objects.iter().map(|object| object.name.clone()).collect();
            for uid in self.tracker.see(kind, Change::Snapshot(objects), Instant::now()) {
                if let Some(object) = self.object(&uid).filter(|object| names.contains(&object.name)) {
                    self.tell(Event::Trouble { title: object.title(), message: REPLACED.to_owned() });
                }
            }
        }
        if self.held.is_empty() {
            return true;
        }
        self.hold_all();
        false
    }

    /// Leaves everything of a plan alone that does not hold any more.
    pub(super) fn hold_all(&mut self) {
        for object in self.plan.going() {
            self.held.entry(object.uid.clone()).or_insert_with(|| STALE.to_owned());
            self.troubles.entry(object.uid.clone()).or_insert_with(|| vec![STALE.to_owned()]);
        }
        self.tell(Event::Trouble { title: String::new(), message: format!("nothing is changed: {STALE}") });
    }

    /// Whether scaling has met what the plan does not know: an object made anew, or adopted.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale
    }
}
