//! What is in the namespace: every object once, its owners and what it refers to. Pure.

mod detail;
#[allow(clippy::module_inception)]
mod inventory;
mod kind;
pub mod label;
mod object;
mod quantity;
mod selector;
mod word;

pub use detail::{
    Binding, Claim, ClaimPolicy, Detail, Pod, Quota, QuotaScope, References, Route, Scaler, Service, Workload,
};
pub use inventory::{Controller, Inventory, Stray};
pub use kind::Kind;
pub(crate) use kind::is_path_name;
pub use object::{Object, OwnerRef};
pub use quantity::Quantity;
pub use selector::{LabelSelector, Selector, SelectorError};
pub(crate) use word::is_word;
