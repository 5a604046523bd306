//! Requests to the API server without a kubectl for each: worlds of many objects are made and compared fast.

use futures_util::{StreamExt as _, stream};
use http::{Method, Request};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::Runtime;

use control_plane::{ADMIN, ControlPlane};

/// Requests in flight at once.
const AT_ONCE: usize = 16;

/// A client that speaks as the user who may do everything.
pub struct Api {
    runtime: Runtime,
    client: Client,
}

impl Api {
    pub fn of(plane: &ControlPlane) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut config = Config::new(plane.server().parse().unwrap());
        // A throwaway server on the loopback.
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(plane.token(ADMIN).unwrap().to_owned().into());
        let client = runtime.block_on(async { Client::try_from(config).unwrap() });
        Self { runtime, client }
    }

    /// One request; the error's text with the status where it is refused.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, String> {
        self.runtime.block_on(ask(&self.client, method, path, body))
    }

    /// Makes all of these, in no certain order, each at its path; gives what the server made of each, in their order.
    pub fn create(&self, objects: &[(String, Value)]) -> Vec<Value> {
        let requests = objects.iter().map(|(path, object)| async move {
            ask(&self.client, Method::POST, path, Some(object)).await.unwrap_or_else(|error| {
                panic!("{error}\n{object:#}");
            })
        });
        self.runtime.block_on(stream::iter(requests).buffered(AT_ONCE).collect())
    }

    /// Gives the status that was asked for to each of these that was made.
    pub fn finish(&self, asked: &[(String, Value)], made: &[Value]) {
        let due = asked.iter().zip(made).filter(|((_, asked), _)| asked["status"].is_object());
        let requests = due.map(|((path, asked), made)| async move {
            let path = format!("{path}/{}/status", made["metadata"]["name"].as_str().unwrap());
            let mut object = made.clone();
            object["status"] = asked["status"].clone();
            ask(&self.client, Method::PUT, &path, Some(&object)).await.unwrap();
        });
        self.runtime.block_on(stream::iter(requests).buffered(AT_ONCE).collect::<Vec<()>>());
    }

    /// Everything that these paths list, in their order.
    pub fn lists(&self, paths: &[String]) -> Vec<Vec<Value>> {
        let requests = paths.iter().map(|path| async move {
            let mut list = ask(&self.client, Method::GET, path, None).await.unwrap();
            match list["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            }
        });
        self.runtime.block_on(stream::iter(requests).buffered(AT_ONCE).collect())
    }
}

async fn ask(client: &Client, method: Method, path: &str, body: Option<&Value>) -> Result<Value, String> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = body.map(|body| serde_json::to_vec(body).unwrap()).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header("content-type", kind).body(body).unwrap();
    client.request::<Value>(request).await.map_err(|error| format!("{path}: {error}"))
}
