//! The API server asked directly, past every proxy and without a process for each question.

use bytes::Bytes;
use control_plane::{ADMIN, ControlPlane};
use http::{HeaderMap, Method};
use serde_json::Value;

use super::{
    call::Call,
    runtime,
    wire::{Upstream, read},
};

/// A connection as the admin.
pub struct Api {
    upstream: Upstream,
    headers: HeaderMap,
}

impl Api {
    pub fn of(plane: &ControlPlane) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", plane.token(ADMIN).unwrap()).parse().unwrap());
        headers.insert("content-type", http::HeaderValue::from_static("application/json"));
        Self { upstream: Upstream::new(plane), headers }
    }

    /// Code and answer of one request.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let call = Call { method, uri: path.parse().unwrap(), headers: self.headers.clone(), body };
        let mut tries = 0;
        let answer = loop {
            match self.upstream.send(&call).await {
                Ok(answer) => break answer,
                // The connection was that of a server that has been started anew, or that sends its clients elsewhere.
                Err(error) if tries == 20 => panic!("{path}: {error}"),
                Err(_) => tries += 1,
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        };
        let code = answer.status().as_u16();
        let body = read(answer.into_body()).await.unwrap();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// The items of these lists, all asked for at once.
    pub fn lists(&self, paths: &[String]) -> Vec<Vec<Value>> {
        let lists = paths.iter().map(|path| async move {
            let (code, answer) = self.call(Method::GET, path, None).await;
            assert_eq!(code, 200, "{path}: {answer}");
            answer["items"].as_array().cloned().unwrap_or_default()
        });
        runtime().block_on(futures_util::future::join_all(lists))
    }

    /// Makes objects, one after the other; the path of each is that of its kind.
    pub fn create(&self, objects: &[(String, Value)]) {
        runtime().block_on(async {
            for (path, object) in objects {
                let (code, answer) = self.call(Method::POST, path, Some(object)).await;
                assert_eq!(code, 201, "{path}: {answer}");
            }
        });
    }
}
