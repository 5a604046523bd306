//! Which kubeconfig files are read, and how they become one. Source: client-go `clientcmd.ClientConfigLoadingRules`.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::KubeconfigError;
use crate::cluster::environment::Environment;

/// One named context, cluster or user, unread: what is wrong inside matters only if it is used.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) fields: Map<String, Value>,
    /// The file it is in; relative paths in it start from that file's folder.
    pub(super) file: PathBuf,
    /// Whether the file has another one of that name.
    pub(super) twice: bool,
}

/// All files' entries; of one name, the first file's.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) contexts: Vec<Entry>,
    pub(super) clusters: Vec<Entry>,
    pub(super) users: Vec<Entry>,
    pub(super) current_context: Option<String>,
    /// The first file whose `current-context` is no text: YAML takes an unquoted `y` or `1` for something else.
    pub(super) odd_current_context: Option<PathBuf>,
    /// The files that were read.
    pub(super) files: Vec<PathBuf>,
    /// The files that would have been read, had they existed.
    pub(super) missing: Vec<PathBuf>,
    /// Whether somebody said which files to read, by flag or variable.
    pub(super) chosen: bool,
}

impl Merged {
    /// Whether nothing in the files says anything about any cluster.
    pub(super) fn is_empty(&self) -> bool {
        self.contexts.is_empty()
            && self.clusters.is_empty()
            && self.current_context.is_none()
            && self.odd_current_context.is_none()
    }

    fn add(&mut self, file: &Path, document: &Map<String, Value>) {
        add_entries(&mut self.contexts, document, "contexts", "context", file);
        add_entries(&mut self.clusters, document, "clusters", "cluster", file);
        add_entries(&mut self.users, document, "users", "user", file);
        if self.current_context.is_none() {
            match document.get("current-context") {
                None | Some(Value::Null) => {}
                Some(Value::String(name)) => self.current_context = Some(name.clone()).filter(|name| !name.is_empty()),
                Some(_) => self.odd_current_context = self.odd_current_context.take().or(Some(file.to_owned())),
            }
        }
        self.files.push(file.to_owned());
    }
}

/// Reads the file of `--kubeconfig`; else the files of KUBECONFIG, missing ones skipped; else `~/.kube/config`.
pub(super) fn read(explicit: Option<&Path>, environment: &Environment) -> Result<Merged, KubeconfigError> {
    let mut merged = Merged::default();
    if let Some(path) = explicit {
        merged.chosen = true;
        let Some(document) = read_file(path)? else {
            return Err(KubeconfigError::Missing { path: path.to_owned(), named_by: "--kubeconfig" });
        };
        merged.add(&absolute(path), &document);
        return Ok(merged);
    }
    let paths: Vec<PathBuf> = if let Some(list) = environment.variable("KUBECONFIG") {
        let mut seen = BTreeSet::new();
        let named = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty());
        named.filter(|path| seen.insert(path.clone())).collect()
    } else {
        environment.home.iter().map(|home| home.join(".kube").join("config")).collect()
    };
    merged.chosen = environment.variable("KUBECONFIG").is_some() && !paths.is_empty();
    for path in paths {
        match read_file(&path)? {
            Some(document) => merged.add(&absolute(&path), &document),
            None => merged.missing.push(path),
        }
    }
    Ok(merged)
}

/// What one file of these bytes holds.
pub(super) fn of_bytes(path: &Path, bytes: &[u8]) -> Result<Merged, KubeconfigError> {
    let mut merged = Merged { chosen: true, ..Merged::default() };
    let document = parse(bytes).map_err(|line| KubeconfigError::NotYaml { path: path.to_owned(), line })?;
    merged.add(path, &document);
    Ok(merged)
}

/// A file's first document, which is all that kubectl reads; none if there is no such file.
fn read_file(path: &Path) -> Result<Option<Map<String, Value>>, KubeconfigError> {
    let bytes = match super::bytes_of(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let reason = super::reason(&error);
            return Err(KubeconfigError::Unreadable { what: "kubeconfig", path: path.to_owned(), reason });
        }
    };
    parse(&bytes).map(Some).map_err(|line| KubeconfigError::NotYaml { path: path.to_owned(), line })
}

/// YAML or JSON to a mapping; the error is the line it breaks at, never the parser's words, which quote the file.
fn parse(bytes: &[u8]) -> Result<Map<String, Value>, Option<u64>> {
    let text = decode(bytes).ok_or(None)?;
    match read_documents(&mut text.as_bytes()).next() {
        None | Some(Ok(Value::Null)) => Ok(Map::new()),
        Some(Ok(Value::Object(document))) => Ok(document),
        Some(Ok(_)) => Err(None),
        Some(Err(error)) => Err(error.location().map(|location| location.line())),
    }
}

/// All documents of a file, up to the first broken one; none if it is no text.
pub(super) fn documents(bytes: &[u8]) -> Option<Vec<Value>> {
    let text = decode(bytes)?;
    Some(read_documents(&mut text.as_bytes()).map_while(Result::ok).collect())
}

fn read_documents<'a>(bytes: &'a mut &[u8]) -> impl Iterator<Item = Result<Value, serde_saphyr::Error>> + 'a {
    let options = serde_saphyr::options! {
        budget: budget(),
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 50_000 },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    serde_saphyr::read_with_options(bytes, options)
}

/// Room for thousands of clusters, and none for a file whose aliases unfold without end, or that is nested so deep that
/// reading it would use up the stack.
fn budget() -> Option<serde_saphyr::Budget> {
    serde_saphyr::budget! {
        max_reader_input_bytes: None,
        max_events: 1_000_000,
        max_nodes: 500_000,
        max_recorded_anchor_events: 100_000,
        max_depth: 64,
        max_total_scalar_bytes: 2 * super::LARGEST_FILE,
    }
}

/// Text by its byte order mark, as Go's YAML reader does it: some editors and shells write UTF-16.
fn decode(bytes: &[u8]) -> Option<String> {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

/// Adds a list's entries, except those whose name an earlier file has used: none of its fields are mixed in.
fn add_entries(entries: &mut Vec<Entry>, document: &Map<String, Value>, list: &str, field: &str, file: &Path) {
    let earlier = entries.len();
    let Some(Value::Array(items)) = document.get(list) else { return };
    for item in items {
        let Some(name) = item.get("name").and_then(Value::as_str) else { continue };
        if entries[..earlier].iter().any(|entry| entry.name == name) {
            continue;
        }
        if let Some(other) = entries[earlier..].iter_mut().find(|entry| entry.name == name) {
            other.twice = true;
            continue;
        }
        let fields = item.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        entries.push(Entry { name: name.to_owned(), fields, file: file.to_owned(), twice: false });
    }
}

/// From the root; the working folder is part of what a relative KUBECONFIG means.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
