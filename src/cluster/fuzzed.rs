//! What of this folder the fuzzers drive: the reading of answers, without a server.

use std::sync::Arc;

use super::{
    Catalog,
    catalog::of_answers,
    wire::{self, Reading},
};
use crate::inventory::{Kind, Object};

/// The catalog of a discovery document: aggregated, or the list of one group version.
pub(crate) fn catalog(answer: &[u8]) -> Option<Catalog> {
    of_answers(answer)
}

/// The objects of a list; none where it is none.
pub(crate) fn list(kind: &Arc<Kind>, answer: &[u8]) -> Vec<Object> {
    // Read both ways, as it would be where the server does not know how to send metadata alone.
    let bare = Reading::Metadata.page(kind, answer);
    let whole = Reading::of(kind).page(kind, answer);
    whole.or(bare).map(|page| page.objects).unwrap_or_default()
}

/// Reads when a deletion is due.
pub(crate) fn overdue(due: &str, grace: Option<i64>) -> bool {
    wire::is_over(due, grace)
}
