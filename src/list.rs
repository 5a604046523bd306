//! `purge list`: the namespace's applications.

use anyhow::Result;

use crate::{
    cli::{List, ListOutput, Output},
    cluster::{Cluster, connection::Connection, transport},
    exit::Exit,
    look::surroundings,
    output::{self, Look, stream},
    plan::{Blindness, applications},
};

/// Looks around and prints what is there.
pub(crate) async fn list(flags: &List, connection: &Connection) -> Result<Exit> {
    let client = transport::connect(connection).await?;
    let cluster = Cluster::new(client, &connection.namespace, connection.request_timeout);
    let around = surroundings(&cluster, connection).await?;
    let listing = output::list::Listing {
        namespace: &around.place.namespace,
        applications: &applications(&around.inventory),
        unseen: &around.unseen,
    };
    let text = match flags.output {
        ListOutput::Table => output::list::render(&listing, &Look::of_stdout(flags.color, false)),
        ListOutput::Name => output::list::names(&listing),
        ListOutput::Json => output::document(Output::Json, &output::list::document(&listing))?,
        ListOutput::Yaml => output::document(Output::Yaml, &output::list::document(&listing))?,
    };
    stream::print(&text);
    let is_blind = around.unseen.iter().any(|unseen| unseen.why == Blindness::Unavailable);
    Ok(if is_blind { Exit::Unproven } else { Exit::Done })
}
