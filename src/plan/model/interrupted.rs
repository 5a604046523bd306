//! A purge that ends anywhere, over random worlds: whatever of its plan is still there, the same question finds again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fastrand::Rng;

use super::{evidence, number, over_seeds, plan, world};
use crate::{
    inventory::{Detail, Object, OwnerRef, Scaler, Selector},
    plan::{Order, Plan, PlanObject, Precaution, Question, Restore, Target, Wave, rows},
};

/// What happened, how often.
type Figures = BTreeMap<&'static str, u64>;

/// What the cluster holds while a purge goes on.
struct Cluster {
    objects: Vec<Object>,
    deleted: BTreeSet<String>,
    /// What a finalizer holds for good.
    stuck: BTreeSet<String>,
    drained: u64,
}

impl Cluster {
    fn find(&self, uid: &str) -> Option<&Object> {
        self.objects.iter().find(|object| object.uid == uid)
    }

    fn delete(&mut self, uid: &str) {
        if self.stuck.contains(uid) {
            let object = self.objects.iter_mut().find(|object| object.uid == uid);
            object.unwrap().deletion = Some("2026-01-01T00:00:00Z".to_owned());
        } else {
            let service = self.find(uid).filter(|object| object.kind.kind == "Service");
            self.deleted.extend(service.map(|service| format!("Service {}", service.name)));
            self.objects.retain(|object| object.uid != uid);
            self.deleted.insert(uid.to_owned());
        }
    }

    /// The garbage collector, and the controller of Endpoints: all at once.
    fn collect(&mut self) {
        while let Some(uid) = self.objects.iter().find(|object| self.is_left_behind(object)).map(|it| it.uid.clone()) {
            self.delete(&uid);
        }
    }

    fn is_left_behind(&self, object: &Object) -> bool {
        object.deletion.is_none() && self.has_lost_its_owners(object, false)
    }

    /// Whether the cluster takes it away without being asked; or will, when what owns it and is on its way has gone.
    fn has_lost_its_owners(&self, object: &Object, sooner_or_later: bool) -> bool {
        let goes = |owner: &Object| {
            sooner_or_later && owner.deletion.is_some() && self.has_lost_its_owners(owner, sooner_or_later)
        };
        let goes = |uid: &String| self.find(uid).is_none_or(goes);
        object.owners.iter().any(|owner| self.deleted.contains(&owner.uid))
            && object.owners.iter().all(|owner| goes(&owner.uid))
            || object.kind.kind == "Endpoints" && self.serves_what_was_deleted(object)
    }

    fn serves_what_was_deleted(&self, endpoints: &Object) -> bool {
        let lives = |object: &&Object| object.kind.kind == "Service" && object.name == endpoints.name;
        self.objects.iter().find(lives).is_none() && self.deleted.contains(&format!("Service {}", endpoints.name))
    }

    /// Every workload to 0, and its pods away.
    fn drain(&mut self, plan: &Plan) {
        let by_uid: BTreeMap<&str, &PlanObject> = plan.going().map(|object| (object.uid.as_str(), object)).collect();
        for scaled in plan.going().filter(|object| rests(object)) {
            let object = self.objects.iter_mut().find(|object| object.uid == scaled.uid).unwrap();
            let Detail::Workload(workload) = &mut object.detail else { panic!("{}", scaled.title()) };
            let mut note = scaled.restore.clone().unwrap_or_default();
            note.pods.extend(scaled.pods_to_note.iter().cloned());
            if scaled.scale.is_some() {
                note.replicas = workload.replicas.replace(0);
            } else {
                workload.suspended = true;
                note.paused = true;
            }
            object.annotations.insert(Restore::ANNOTATION.to_owned(), note.to_annotation());
        }
        for pod in plan.going().filter(|object| object.kind.kind == "Pod" && !object.terminating) {
            let (mut above, mut seen) = (pod.owners.clone(), BTreeSet::new());
            while let Some(owner) = above.pop().filter(|owner| seen.insert(owner.clone())) {
                let owner = by_uid[owner.as_str()];
                if rests(owner) {
                    self.delete(&pod.uid);
                    self.drained += 1;
                    break;
                }
                above.extend(owner.owners.clone());
            }
        }
    }
}

fn rests(object: &PlanObject) -> bool {
    object.scale.is_some() || object.precaution == Some(Precaution::Suspend)
}

/// One purge, ended after each of its steps in turn.
struct Story<'a> {
    question: &'a Question,
    plan: &'a Plan,
    order: Order<'a>,
    cluster: Cluster,
    /// What a pod uses that nothing scales down: it has to go after the pod, by whatever it is known.
    needed: BTreeSet<String>,
    figures: Figures,
    faults: Vec<String>,
}

impl<'a> Story<'a> {
    /// Looks again, as the next run would: all of the plan that is there and not on its way anyhow is planned anew.
    fn look(&mut self, when: &'static str) {
        let (_, again) = plan(&self.cluster.objects, self.question);
        let found: BTreeSet<&str> = again.going().map(|object| object.uid.as_str()).collect();
        // What has lost its owner and is held by a finalizer is the garbage collector's, and nobody can find it.
        let left_behind = self.cluster.objects.iter().filter(|object| object.deletion.is_some());
        if left_behind.into_iter().any(|object| self.cluster.has_lost_its_owners(object, true)) {
            *self.figures.entry("left behind").or_default() += 1;
            return;
        }
        let is_missed = |uid: &String| self.is_there(uid) && !found.contains(uid.as_str());
        if self.needed.iter().any(is_missed) {
            *self.figures.entry("missed, needed").or_default() += 1;
            return;
        }
        for object in self.plan.going().filter(|object| !found.contains(object.uid.as_str())) {
            let Some(now) = self.cluster.find(&object.uid).filter(|now| !self.cluster.has_lost_its_owners(now, true))
            else {
                continue;
            };
            let fault = format!("{when}: {} {} {:?}", object.uid, object.title(), object.reasons);
            let kind = if now.deletion.is_some() { "missed, stuck" } else { "missed" };
            *self.figures.entry(kind).or_default() += 1;
            *self.figures.entry(evidence(&object.reasons[0])).or_default() += 1;
            self.faults.push(fault);
        }
    }

    fn is_there(&self, uid: &str) -> bool {
        self.cluster.find(uid).is_some()
    }

    /// Whether a living pod of the application keeps what it uses.
    fn is_used(&self, object: &PlanObject, by: impl Fn(&Object) -> bool) -> bool {
        let users = self.plan.going().filter(|pod| pod.uses.contains(&object.uid));
        users.filter_map(|pod| self.cluster.find(&pod.uid)).any(by)
    }

    fn is_due(&self, object: &PlanObject) -> bool {
        let Some(now) = self.cluster.find(&object.uid) else { return false };
        let is_going = |uid: &str| self.cluster.find(uid).is_none_or(|object| object.deletion.is_some());
        let binds = |known: &PlanObject| !self.is_used(known, |pod| pod.deletion.is_none());
        now.deletion.is_none()
            && !self.is_used(object, |_| true)
            && self.order.holder(object, &|uid| !self.is_there(uid), &is_going, &binds).is_none()
    }

    fn delete_in_turn(&mut self, objects: &[&PlanObject], rng: &mut Rng) {
        for mut row in rows(objects) {
            rng.shuffle(&mut row);
            let due: Vec<&PlanObject> = row.into_iter().filter(|object| self.is_due(object)).collect();
            for object in due {
                if self.is_there(&object.uid) {
                    self.cluster.delete(&object.uid);
                    self.cluster.collect();
                    self.look("while it deletes");
                }
            }
        }
    }

    fn go(&mut self, rng: &mut Rng) {
        self.cluster.drain(self.plan);
        let living = self.plan.going().filter(|pod| self.is_there(&pod.uid));
        self.needed = living.flat_map(|pod| pod.uses.clone()).collect();
        *self.figures.entry("drained").or_default() += self.cluster.drained;
        self.look("when it has drained");
        for wave in Wave::ALL {
            let objects: Vec<&PlanObject> = self.plan.going().filter(|object| object.wave == wave).collect();
            self.delete_in_turn(&objects, rng);
        }
        loop {
            let left: Vec<&PlanObject> = self.plan.going().filter(|object| self.is_due(object)).collect();
            if left.is_empty() {
                return;
            }
            self.delete_in_turn(&left, rng);
        }
    }
}

/// Ties more of a world than chance does, and takes the labels off what is tied.
fn tie(rng: &mut Rng, objects: &mut [Object]) {
    let workloads: Vec<Object> =
        objects.iter().filter(|object| matches!(object.detail, Detail::Workload(_))).cloned().collect();
    for index in 0..objects.len() {
        if workloads.is_empty() || rng.bool() {
            continue;
        }
        let workload = &workloads[rng.usize(..workloads.len())];
        let Detail::Workload(detail) = &workload.detail else { continue };
        let template = &detail.template_labels;
        let owner = OwnerRef {
            uid: workload.uid.clone(),
            group: workload.kind.group.clone(),
            kind: workload.kind.kind.clone(),
            name: workload.name.clone(),
            controller: true,
        };
        let object = &mut objects[index];
        match &mut object.detail {
            Detail::Service(service) => service.selector = template.clone(),
            Detail::Selecting(selector) => *selector = Selector::from_map(template),
            Detail::Scaler(scaler) => *scaler = Scaler { group: owner.group, kind: owner.kind, name: owner.name },
            Detail::Pod(_) => {
                object.labels = template.clone().into();
                object.owners = vec![owner];
                continue;
            }
            Detail::Workload(_) => {
                if rng.bool() {
                    object.owners.clear();
                }
                continue;
            }
            _ => {}
        }
        if rng.bool() {
            object.owners.clear();
            Arc::make_mut(&mut object.labels).retain(|key, _| key.contains("service-name"));
        }
    }
    // What owns itself, over however many others, no garbage collector takes, and no cluster has.
    let numbers: BTreeMap<String, usize> =
        objects.iter().enumerate().map(|(number, object)| (object.uid.clone(), number)).collect();
    for (number, object) in objects.iter_mut().enumerate() {
        object.owners.retain(|owner| {
            let owns = ["Deployment", "ReplicaSet", "StatefulSet", "Job", "Pod", "Database"].contains(&&*owner.kind);
            numbers.get(&owner.uid).is_none_or(|&owner| owns && owner < number)
        });
    }
}

fn examine(seed: u64) -> Vec<&'static str> {
    let mut rng = Rng::with_seed(seed);
    let mut objects = world::world(&mut rng);
    let question = world::question(&mut rng);
    for object in &mut objects {
        if ["Deployment", "ReplicaSet", "StatefulSet"].contains(&object.kind.kind.as_str()) {
            Arc::make_mut(&mut object.kind).scalable = true;
        }
    }
    let mut names = BTreeSet::new();
    objects.retain(|object| names.insert(object.title()));
    tie(&mut rng, &mut objects);
    let (_, mut first) = plan(&objects, &question);
    if std::env::var_os("PURGE_MODEL_BASELINE").is_some() {
        for object in &mut first.objects {
            if !object.known_by.is_empty() {
                object.known_by.clear();
                object.wave = Wave::of(&object.kind);
            }
        }
    }
    // That its own object has gone by itself the user is told.
    if let Target::Around { kind, .. } = &question.target
        && kind == "Pod"
    {
        return Vec::new();
    }
    let stuck: BTreeSet<String> = if rng.bool() {
        BTreeSet::new()
    } else {
        objects.iter().filter(|_| rng.u8(..8) == 0).map(|object| object.uid.clone()).collect()
    };
    let cluster = Cluster { objects: objects.clone(), deleted: BTreeSet::new(), stuck: stuck.clone(), drained: 0 };
    let mut story = Story {
        question: &question,
        plan: &first,
        order: Order::of(&first),
        cluster,
        needed: BTreeSet::new(),
        figures: Figures::new(),
        faults: Vec::new(),
    };
    story.go(&mut rng);
    let context = || format!("PURGE_MODEL_SEED={seed} PURGE_MODEL_CASES=1 {question:?}");
    if stuck.is_empty() {
        let left: Vec<String> =
            first.going().filter(|object| story.is_there(&object.uid)).map(PlanObject::title).collect();
        assert!(left.is_empty(), "{left:?} never go: {} {objects:#?}", context());
    }
    if std::env::var_os("PURGE_MODEL_TELL").is_some() && !story.faults.is_empty() {
        eprintln!("{} stuck {stuck:?} {:#?}", context(), story.faults);
        for object in &objects {
            let owners: Vec<_> = object.owners.iter().map(|it| (&it.uid, it.controller)).collect();
            let planned = first.objects.iter().find(|it| it.uid == object.uid);
            let planned =
                planned.map(|it| (it.action.name(), it.wave.name(), &it.known_by, it.scale.is_some(), &it.reasons));
            let detail = match &object.detail {
                Detail::None => String::new(),
                detail => format!("{detail:?}"),
            };
            eprintln!("  {} {} {:?} {owners:?} {detail} {planned:?}", object.uid, object.title(), object.labels);
        }
    }
    let ties = first.going().filter(|object| !object.known_by.is_empty()).map(|_| "known by a tie");
    let bad = (!story.faults.is_empty()).then_some("bad worlds");
    let figures = story.figures.iter().flat_map(|(&what, &count)| std::iter::repeat_n(what, count as usize));
    ties.chain(bad).chain(figures).collect()
}

#[test]
fn whatever_is_left_of_a_plan_is_planned_again() {
    let figures = over_seeds(number("PURGE_MODEL_SEED", 1), number("PURGE_MODEL_CASES", 3_000), examine);
    eprintln!("{figures:?}");
}
