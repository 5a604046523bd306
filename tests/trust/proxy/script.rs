//! Which requests of a run go wrong, and how; and where somebody wants to be called.

use std::{
    collections::BTreeMap,
    sync::{Mutex, mpsc},
};

use super::fault::Fault;

/// When a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The request of this number, counted from 0 in the order of arrival.
    Index(usize),
    /// This many requests from that number on.
    Storm(usize, usize),
    /// All requests from that number on.
    Since(usize),
    /// The request of this key: its title, and which of that title it is.
    Key(String),
}

/// A fault at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub when: When,
    pub fault: Fault,
}

/// Before the server hears of a request, or when it has answered and the answer is not yet handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Arrived,
    Answered,
}

/// Calls a listener at one request, and goes on when the listener says so.
pub struct Bell {
    pub index: usize,
    pub moment: Moment,
    /// Told how many writes the server has been asked for before; the sender in it lets the request go on, and says
    /// whether it does at all.
    pub ring: Mutex<Option<mpsc::Sender<tokio::sync::oneshot::Sender<bool>>>>,
}

/// What is to happen to a run.
#[derive(Default)]
pub struct Script {
    pub rules: Vec<Rule>,
    /// Objects a page of a list, whatever the client asks for.
    pub page: Option<usize>,
    pub bell: Option<Bell>,
}

impl Script {
    /// The fault of a request, if it has one.
    pub fn fault(&self, index: usize, key: &str, title: &str) -> Option<Fault> {
        let strikes = |rule: &&Rule| match &rule.when {
            When::Index(at) => *at == index,
            When::Storm(from, count) => (*from..from + count).contains(&index),
            When::Since(from) => index >= *from,
            When::Key(at) => at == key,
        };
        self.rules.iter().filter(strikes).map(|rule| rule.fault).find(|fault| fault.befalls(title))
    }
}

/// Which of its title a request is.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<String, usize>);

impl Counts {
    pub fn key(&mut self, title: &str) -> String {
        let count = self.0.entry(title.to_owned()).or_default();
        *count += 1;
        format!("{title} #{count}")
    }
}
