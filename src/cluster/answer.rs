//! What an answer must look like to be an API server's: something on the way may say 200, or 404, to anything.

use std::sync::Arc;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Failure,
    wire::{Bare, Item as _},
};
use crate::inventory::{Kind, Object};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Typed {
    kind: String,
}

/// The kind that an answer says it is of.
pub(super) fn kind_of(bytes: &[u8]) -> Result<String, Failure> {
    match serde_json::from_slice::<Typed>(bytes) {
        Ok(typed) if !typed.kind.is_empty() => Ok(typed.kind),
        _ => Err(Failure::Nonsense("it is of no kind".to_owned())),
    }
}

/// That something was written: the object, or a `Status`.
pub(super) fn written(bytes: &[u8]) -> Result<(), Failure> {
    kind_of(bytes).map(drop)
}

/// An answer whose kind ends so: `Node`, or `List` where a server may send either of two sorts.
pub(super) fn read<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T, Failure> {
    if !kind_of(bytes)?.ends_with(kind) {
        return Err(Failure::Nonsense(format!("it is no {kind}")));
    }
    serde_json::from_slice(bytes).map_err(|_| Failure::Nonsense(format!("{kind}: it cannot be read")))
}

/// An object's metadata, with a uid.
pub(super) fn metadata(kind: &Arc<Kind>, bytes: &[u8]) -> Result<Object, Failure> {
    let bare: Bare = serde_json::from_slice(bytes).map_err(|error| nonsense(kind, &error))?;
    let object = bare.into_object(kind);
    if object.uid.is_empty() { Err(without_uid(kind)) } else { Ok(object) }
}

/// A whole object, which has a uid.
pub(super) fn object(kind: &Arc<Kind>, bytes: &[u8]) -> Result<Value, Failure> {
    let object: Value = serde_json::from_slice(bytes).map_err(|error| nonsense(kind, &error))?;
    if object["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()) {
        Ok(object)
    } else {
        Err(without_uid(kind))
    }
}

fn without_uid(kind: &Kind) -> Failure {
    Failure::Nonsense(format!("{}: it has no uid", kind.resource()))
}

pub(super) fn nonsense(kind: &Kind, error: &serde_json::Error) -> Failure {
    // Where the parse failed is told, what it stumbled on is not: it may be anything.
    let at = format!("line {}, column {}", error.line(), error.column());
    Failure::Nonsense(format!("{}: {}", kind.resource(), if error.line() == 0 { "it is no list" } else { at.as_str() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_no_kind_is_no_api_servers_answer() {
        for bytes in ["", "<html></html>", "null", "{}", "[]", r#"{"status":"ok"}"#, r#"{"kind":""}"#, "{\"kind\":\"P"]
        {
            assert!(matches!(written(bytes.as_bytes()), Err(Failure::Nonsense(_))), "{bytes}");
        }
        assert_eq!(kind_of(br#"{"kind":"Status"}"#), Ok("Status".to_owned()));
    }
}
