//! What is in the namespace: every object once, its owners and what it refers to. Pure.

mod detail;
mod kind;
mod object;
mod quantity;
mod selector;

pub use detail::{Claim, Detail, Pod, Quota, QuotaScope, References, Service, Workload};
pub use kind::Kind;
pub use object::{Object, OwnerRef};
pub use quantity::Quantity;
pub use selector::{LabelSelector, Selector};
