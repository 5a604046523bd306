//! The namespace's applications, one a line.

use std::collections::BTreeMap;

use serde::Serialize;

use unicode_width::UnicodeWidthStr as _;

use super::{
    Look, escape,
    plan::unseen,
    wrap::{brief, prose},
};
use crate::plan::{Application, Unseen};

/// What is listed.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    pub namespace: &'a str,
    pub applications: &'a [Application],
    pub unseen: &'a [Unseen],
}

/// What the line of objects without an application is called.
const NONE: &str = "(none)";

/// The table, and what could not be looked through.
#[must_use]
pub fn render(listing: &Listing<'_>, look: &Look) -> String {
    let mut text = if listing.applications.is_empty() {
        prose(&format!("No applications in namespace \"{}\".", escape::line(listing.namespace)), look.width) + "\n"
    } else {
        let heads = ["NAME", "LABEL", "OBJECTS", "PODS", "CPU", "MEMORY", "QUOTA", "ORPHANS", "MANAGED BY"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(listing.applications.iter().map(row));
        columns(&rows)
    };
    for line in unseen(listing.unseen) {
        text.push_str(&prose(&line, look.width));
        text.push('\n');
    }
    text
}

/// The cells under each other, three blanks apart, as kubectl prints them.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

fn row(application: &Application) -> Vec<String> {
    let request = |resource: &str| application.requests.get(resource).cloned().unwrap_or_else(|| "0".to_owned());
    let orphans = if application.orphans == 0 { String::new() } else { application.orphans.to_string() };
    let cells = vec![
        if application.name.is_empty() { NONE.to_owned() } else { application.name.clone() },
        application.key.clone(),
        application.objects.to_string(),
        application.pods.to_string(),
        request("cpu"),
        request("memory"),
        largest_share(application),
        orphans,
        application.managed_by.join(", "),
    ];
    cells.iter().map(|cell| brief(cell)).collect()
}

/// The share that leaves least to others: of the resource that it holds the greatest part of.
fn largest_share(application: &Application) -> String {
    let part = |share: &crate::plan::Share| {
        let amount = crate::inventory::Quantity::parse(&share.amount)?;
        let hard = crate::inventory::Quantity::parse(&share.hard)?;
        amount.percent_of(hard)
    };
    let largest =
        application.quota.iter().filter_map(|share| Some((part(share)?, share))).max_by_key(|(part, _)| *part);
    largest.map(|(part, share)| format!("{part}% of {}", share.resource)).unwrap_or_default()
}

/// One name a line, for other programs.
#[must_use]
pub fn names(listing: &Listing<'_>) -> String {
    let named = listing.applications.iter().filter(|application| !application.name.is_empty());
    named.fold(String::new(), |names, application| names + &escape::line(&application.name) + "\n")
}

/// The document of kind `ApplicationList`.
#[must_use]
pub fn document<'a>(listing: &Listing<'a>) -> impl Serialize + use<'a> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Document<'a> {
        api_version: &'static str,
        kind: &'static str,
        namespace: &'a str,
        items: Vec<Item<'a>>,
        unseen: Vec<Blind<'a>>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Item<'a> {
        app: &'a str,
        label_key: &'a str,
        objects: usize,
        pods: usize,
        requests: &'a BTreeMap<String, String>,
        quota: Vec<Part<'a>>,
        orphans: usize,
        managed_by: &'a [String],
    }
    #[derive(Serialize)]
    struct Part<'a> {
        quota: &'a str,
        resource: &'a str,
        amount: &'a str,
        hard: &'a str,
    }
    #[derive(Serialize)]
    struct Blind<'a> {
        resource: &'a str,
        why: &'static str,
        message: &'a str,
    }
    let item = |application: &'a Application| Item {
        app: &application.name,
        label_key: &application.key,
        objects: application.objects,
        pods: application.pods,
        requests: &application.requests,
        quota: application
            .quota
            .iter()
            .map(|share| Part {
                quota: &share.quota,
                resource: &share.resource,
                amount: &share.amount,
                hard: &share.hard,
            })
            .collect(),
        orphans: application.orphans,
        managed_by: &application.managed_by,
    };
    let blind =
        |unseen: &'a Unseen| Blind { resource: &unseen.resource, why: unseen.why.name(), message: &unseen.message };
    Document {
        api_version: super::document::API_VERSION,
        kind: "ApplicationList",
        namespace: listing.namespace,
        items: listing.applications.iter().map(item).collect(),
        unseen: listing.unseen.iter().map(blind).collect(),
    }
}
