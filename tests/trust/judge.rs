//! What a run may say, given what the API server holds after it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    harness::Run,
    proxy::log::Log,
    site::{Objects, Site, title},
};

/// Everything that is known of a run when it has ended.
pub struct Case<'a> {
    pub site: &'a Site,
    /// The application before the run.
    pub before: &'a Objects,
    /// Everything in the namespace after it.
    pub after: &'a Objects,
    pub run: &'a Run,
    /// What went through the proxy, where there was one.
    pub log: &'a Log,
}

impl Case<'_> {
    /// What is wrong with it, in sentences; nothing where it may be trusted.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.site.harm(self.after);
        let Run { stdout, stderr, code, .. } = self.run;
        if stderr.contains("panicked at") || stdout.contains("panicked at") || *code == 101 || *code == 134 {
            faults.push("it panicked".to_owned());
        }
        faults.extend(self.writes());
        let left = self.site.application(self.after);
        let report: Option<Value> = serde_json::from_str(stdout).ok();
        if *code == 0 {
            faults.extend(left.values().map(|object| format!("exit 0, and {} is there", title(object))));
            let proven = report.as_ref().is_some_and(|report| report["verified"] == true);
            if !proven {
                faults.push("exit 0 without a second look".to_owned());
            }
        }
        if matches!(code, 1 | 3) && self.log.0.iter().any(super::proxy::log::Entry::has_written) {
            faults.push(format!("exit {code} promises that nothing was changed"));
        }
        if matches!(code, 1 | 3) && self.before.keys().any(|uid| !self.after.contains_key(uid)) {
            faults.push(format!("exit {code}, and something of the application has gone"));
        }
        match report.filter(|report| report["kind"] == "Report") {
            Some(report) => faults.extend(against(&report, &left)),
            // An error, or a plan that was refused.
            None if matches!(code, 1 | 3) => {
                if !stderr.contains("error: ") {
                    faults.push(format!("exit {code} without an error"));
                }
            }
            None if [130, 137].contains(code) => {}
            None => faults.push(format!("exit {code} without a report")),
        }
        faults
    }

    fn writes(&self) -> Vec<String> {
        let mut faults: Vec<String> =
            self.log.careless_deletes().into_iter().map(|delete| format!("a careless delete: {delete}")).collect();
        for entry in self.log.0.iter().filter(|entry| entry.call.is_write() && entry.call.method != http::Method::POST)
        {
            match entry.uid() {
                None => faults.push(format!("a write without a uid: {} {}", entry.call.method, entry.call.uri)),
                Some(uid) if self.site.is_bystander(&uid) => {
                    faults.push(format!("a write to the bystander: {} {}", entry.call.method, entry.call.uri));
                }
                Some(uid) if !self.before.contains_key(&uid) => {
                    faults.push(format!("a write to what no plan held: {} {}", entry.call.method, entry.call.uri));
                }
                Some(_) => {}
            }
        }
        faults
    }
}

/// What a report says, held against what is left.
fn against(report: &Value, left: &Objects) -> Vec<String> {
    let mut faults = Vec::new();
    let array = |key: &str| report[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let results: BTreeMap<&str, &str> = array("objects")
        .iter()
        .filter_map(|object| Some((object["uid"].as_str()?, object["result"].as_str()?)))
        .collect();
    // Where not everything was seen, the run says so, and no more than it does know.
    let partial = array("unseen").iter().any(|unseen| unseen["why"] == "unavailable") && report["exit"] != 0
        || report["verified"] == false;
    for (uid, object) in left {
        let title = title(object);
        let is_new = || array("newcomers").iter().any(|new| new["title"] == title.as_str());
        let is_anew = || array("objects").iter().any(|object| object["recreatedUid"] == uid.as_str());
        match results.get(uid.as_str()) {
            Some(&"gone") => faults.push(format!("{title} is called gone, and is there")),
            Some(_) => {}
            None if partial || is_new() || is_anew() => {}
            None => faults.push(format!("{title} is there, and not named")),
        }
    }
    faults
}
