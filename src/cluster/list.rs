//! Lists: everything in the namespace, page by page, all kinds at once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream};

use super::{
    Catalog, Cluster, Failure, Patience,
    answer::{kind_of, metadata, nonsense},
    catalog::Served,
    request::Call,
    wire::{Page, Reading},
};
use crate::{
    inventory::{Detail, Inventory, Kind, Object},
    plan::{Blindness, Unseen},
};

/// Lists in flight at once. They share one connection; the server's fairness queues decide how fast they go.
const LISTS_AT_ONCE: usize = 128;
/// Objects a page: enough that few round trips are needed, few enough that a page is parsed in little memory.
const PAGE: usize = 500;

/// Where a list has more, it is none that a namespace can hold, but one made to have no end: etcd itself holds 8 GiB at
/// most.
const MOST_OBJECTS: usize = 500_000;
const MOST_PAGES: usize = 2 * MOST_OBJECTS / PAGE;

/// A list as of one moment.
#[derive(Debug, Default)]
pub struct Listing {
    pub objects: Vec<Object>,
    /// Where a watch goes on from.
    pub resource_version: String,
}

impl Cluster {
    /// Lists every kind of the catalog in the namespace. A kind that can't be listed is unseen, never empty; for one
    /// that is known to be so, nobody waits long.
    pub async fn inventory(
        &self,
        catalog: &Catalog,
        patience: Patience,
        known: &[Unseen],
    ) -> Result<(Inventory, Vec<Unseen>), Failure> {
        let patience_with = |served: &Served| {
            let is_known = known.iter().any(|unseen| unseen.resource == served.kind.resource());
            if is_known { Patience::PLAN } else { patience }
        };
        let mut lists = stream::iter(&catalog.kinds)
            .map(|served| async move { (served, self.list_served(served, patience_with(served)).await) })
            .buffered(LISTS_AT_ONCE);
        let mut objects = Vec::new();
        let mut unseen = catalog.unseen.clone();
        let mut listed = HashSet::new();
        let mut versions = HashMap::new();
        let mut blind = HashSet::new();
        let mut refusal = None;
        while let Some((served, list)) = lists.next().await {
            match list {
                Ok(list) => {
                    listed.insert((served.kind.group.clone(), served.kind.kind.clone()));
                    versions.insert(served.kind.clone(), list.resource_version);
                    objects.extend(list.objects);
                }
                // The kind went away between discovery and list: there are no objects of it.
                Err(failure) if failure.is_not_found() => {}
                Err(failure @ Failure::Api { code: 401, .. }) => return Err(failure),
                Err(failure) => {
                    blind.insert((served.kind.group.clone(), served.kind.kind.clone()));
                    let why = if failure.is_forbidden() { Blindness::Forbidden } else { Blindness::Unavailable };
                    unseen.push(Unseen { resource: served.kind.resource(), why, message: failure.to_string() });
                    refusal.get_or_insert(failure);
                }
            }
        }
        match refusal {
            Some(failure) if listed.is_empty() => Err(failure),
            _ => {
                let inventory = Inventory::new(&self.namespace, objects, listed);
                let inventory = inventory.map_err(|stray| Failure::Nonsense(stray.to_string()))?;
                Ok((inventory.without(blind).with_versions(versions), unseen))
            }
        }
    }

    /// At the kind's best version; where that one can't answer (a conversion webhook is down), at its others.
    async fn list_served(&self, served: &Served, patience: Patience) -> Result<Listing, Failure> {
        let first = match self.list(&served.kind, patience).await {
            // The kind went away between discovery and list: there are no objects of it. Provided that it is the API
            // server who says so, and not something in its place that knows no path at all.
            Err(failure) if failure.is_unserved() => {
                let core = self.ask(&Call::get("/api".to_owned()), patience, kind_of).await;
                return if core.is_ok() { Ok(Listing::default()) } else { Err(failure) };
            }
            Err(failure) if failure.is_passing() => failure,
            answer => return answer,
        };
        for other in &served.others {
            if let Ok(list) = self.list(other, patience).await {
                return Ok(list);
            }
        }
        Err(first)
    }

    /// All objects of one kind. A list that expires between two pages (410) begins again, in one piece.
    pub async fn list(&self, kind: &Arc<Kind>, patience: Patience) -> Result<Listing, Failure> {
        self.list_as(kind, Reading::of(kind), patience).await
    }

    /// The same with no more than metadata: who owns what.
    pub async fn owners(&self, kind: &Arc<Kind>, patience: Patience) -> Result<Listing, Failure> {
        self.list_as(kind, Reading::Metadata, patience).await
    }

    pub(super) async fn list_as(
        &self,
        kind: &Arc<Kind>,
        reading: Reading,
        patience: Patience,
    ) -> Result<Listing, Failure> {
        match self.list_pages(kind, reading, Some(PAGE), patience).await {
            Err(failure) if failure.is_expired() => self.list_pages(kind, reading, None, patience).await,
            answer => answer,
        }
    }

    async fn list_pages(
        &self,
        kind: &Arc<Kind>,
        reading: Reading,
        limit: Option<usize>,
        patience: Patience,
    ) -> Result<Listing, Failure> {
        let path = self.collection(kind);
        let mut listing = Listing::default();
        let mut known = HashSet::new();
        let mut next = String::new();
        let mut pages = 0;
        loop {
            let mut query = Vec::new();
            query.extend(limit.map(|limit| format!("limit={limit}")));
            query.extend((!next.is_empty()).then(|| format!("continue={}", escaped(&next))));
            let call = Call::get(with_query(&path, &query)).accept(reading.accept_list());
            let read = |bytes: &[u8]| reading.page(kind, bytes).map_err(|error| nonsense(kind, &error));
            let page: Page = self.ask(&call, patience, read).await?;
            if page.objects.iter().any(|object| !object.is_addressable()) {
                return Err(odd(kind, "an object has a name that none can have"));
            }
            for mut object in page.objects {
                share(&mut known, &mut object.labels);
                if let (Detail::Pod(pod), Some(Detail::Pod(last))) =
                    (&mut object.detail, listing.objects.last().map(|last| &last.detail))
                {
                    pod.share_with(last);
                }
                listing.objects.push(object);
            }
            pages += 1;
            if listing.objects.len() > MOST_OBJECTS || pages > MOST_PAGES || (!next.is_empty() && next == page.next) {
                return Err(odd(kind, "its list has no end"));
            }
            listing.resource_version = page.resource_version;
            next = page.next;
            if next.is_empty() {
                return Ok(listing);
            }
        }
    }

    /// Objects of the cluster itself that carry a label. What may not be listed is left out: it is not ours to touch
    /// anyway, and a user of one namespace seldom may.
    pub async fn cluster_objects(&self, kinds: &[Arc<Kind>], key: &str, value: &str) -> Vec<Object> {
        let selector = escaped(&format!("{key}={value}"));
        let lists = kinds.iter().map(|kind| {
            let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
            let path = format!("{root}/{}/{}?labelSelector={selector}&limit={PAGE}", kind.version, kind.plural);
            async move {
                let call = Call::get(path).accept(Reading::Metadata.accept_list());
                let read = |bytes: &[u8]| Reading::Metadata.page(kind, bytes).map_err(|error| nonsense(kind, &error));
                self.ask(&call, Patience::PLAN, read).await.ok()
            }
        });
        let pages = futures_util::future::join_all(lists).await;
        pages.into_iter().flatten().flat_map(|page| page.objects).collect()
    }

    /// One object's metadata; none where there is no object of that name.
    pub async fn get(&self, kind: &Arc<Kind>, name: &str) -> Result<Option<Object>, Failure> {
        let call = Call::get(self.item(kind, name)).accept(Reading::Metadata.accept_object());
        match self.ask(&call, Patience::RUN, |bytes| metadata(kind, bytes)).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The path of a kind's objects in the namespace.
    pub(super) fn collection(&self, kind: &Kind) -> String {
        let Kind { group, version, plural, .. } = kind;
        let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        format!("{root}/{version}/namespaces/{}/{plural}", self.namespace)
    }

    /// The path of one object. Names may hold what a path may not (`system:node`).
    pub(super) fn item(&self, kind: &Kind, name: &str) -> String {
        format!("{}/{}", self.collection(kind), escaped(name))
    }
}

/// One map for all objects with the same labels: a map of its own for each is the larger part of a lean object.
fn share(known: &mut HashSet<Arc<Labels>>, labels: &mut Arc<Labels>) {
    match known.get(labels) {
        Some(same) => *labels = same.clone(),
        None => {
            known.insert(labels.clone());
        }
    }
}

type Labels = BTreeMap<String, String>;

pub(super) fn with_query(path: &str, query: &[String]) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// Percent-encoded but for what RFC 3986 calls unreserved.
pub(super) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn odd(kind: &Kind, what: &str) -> Failure {
    Failure::Nonsense(format!("{}: {what}", kind.resource()))
}
