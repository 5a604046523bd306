//! How much a server may answer, and for how long: more than any API server has to say, and no more than a machine can
//! hold or a person wait for.
//!
//! Counted after decompression, so that a small answer cannot unfold into a large one.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Frame, SizeHint};
use tower::{BoxError, Layer, Service};

use super::transport::is_watch;

/// One answer. Lists come in pages of 500 objects, of 1.5 MiB each at the most and of some ten KiB in practice; where a
/// list cannot be had in pages it comes in one piece.
const ANSWER: usize = 256 << 20;
/// All answers that are being received at one time: lists are asked for many at once.
const ALL_ANSWERS: usize = 512 << 20;
/// One event of a watch, which is one object on one line.
const EVENT: usize = 16 << 20;

/// One answer, from its head to its end: who sends a byte now and then would never be silent, and never done.
const LONGEST: Duration = Duration::from_secs(300);

/// The server had more to say than it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TooLarge {
    Answer(usize),
    AllAnswers(usize),
    Event(usize),
    Long(Duration),
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(limit) => write!(f, "it is larger than {} MiB", limit >> 20),
            Self::AllAnswers(limit) => write!(f, "the answers at one time are larger than {} MiB", limit >> 20),
            Self::Event(limit) => write!(f, "an event of the watch is larger than {} MiB", limit >> 20),
            Self::Long(limit) => write!(f, "it takes longer than {} s", limit.as_secs()),
        }
    }
}

impl Error for TooLarge {}

impl TooLarge {
    /// Where that is why an answer could not be read.
    pub(super) fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

/// Bounds the answers of the service below it, all by the same measure.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    limits: Limits,
    receiving: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    answer: usize,
    all: usize,
    event: usize,
    time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            limits: Limits { answer: ANSWER, all: ALL_ANSWERS, event: EVENT, time: LONGEST },
            receiving: Arc::default(),
        }
    }
}

impl<S> Layer<S> for Bounds {
    type Service = Bounding<S>;

    fn layer(&self, inner: S) -> Bounding<S> {
        Bounding { inner, bounds: self.clone() }
    }
}

/// A service whose answers are bounded.
#[derive(Clone, Debug)]
pub(super) struct Bounding<S> {
    inner: S,
    bounds: Bounds,
}

impl<S, A, B> Service<Request<A>> for Bounding<S>
where
    S: Service<Request<A>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<Bounded<B>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let is_watch = is_watch(request.uri());
        let bounds = self.bounds.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            // A watch that is refused is answered like any other request.
            let by_line = is_watch && answer.status().is_success();
            Ok(answer.map(|body| Bounded { body, bounds, by_line, received: 0, begun: Instant::now(), failed: false }))
        })
    }
}

/// An answer's body, up to the limit.
#[derive(Debug)]
pub(super) struct Bounded<B> {
    body: B,
    bounds: Bounds,
    by_line: bool,
    /// Bytes so far, of the line or of all.
    received: usize,
    begun: Instant,
    failed: bool,
}

impl<B> Bounded<B> {
    fn take(&mut self, data: &Bytes) -> Result<(), TooLarge> {
        let Limits { answer, all, event, time } = self.bounds.limits;
        if self.by_line {
            for (number, part) in data.split(|byte| *byte == b'\n').enumerate() {
                self.received = if number == 0 { self.received + part.len() } else { part.len() };
                if self.received > event {
                    return Err(TooLarge::Event(event));
                }
            }
            return Ok(());
        }
        self.received += data.len();
        let receiving = self.bounds.receiving.fetch_add(data.len(), Ordering::Relaxed) + data.len();
        if self.received > answer {
            Err(TooLarge::Answer(answer))
        } else if receiving > all {
            Err(TooLarge::AllAnswers(all))
        } else if self.begun.elapsed() > time {
            Err(TooLarge::Long(time))
        } else {
            Ok(())
        }
    }
}

impl<B> Drop for Bounded<B> {
    fn drop(&mut self) {
        if !self.by_line {
            self.bounds.receiving.fetch_sub(self.received, Ordering::Relaxed);
        }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for Bounded<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else { return Poll::Ready(None) };
        let frame = frame.map_err(Into::into)?;
        if let Some(data) = frame.data_ref()
            && let Err(error) = self.take(data)
        {
            self.failed = true;
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.failed || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full, StreamBody};

    use super::*;

    const LIMITS: Limits = Limits { answer: 10, all: 15, event: 4, time: LONGEST };

    fn bounds() -> Bounds {
        Bounds { limits: LIMITS, receiving: Arc::default() }
    }

    fn body(
        bounds: &Bounds,
        by_line: bool,
        parts: &[&'static str],
    ) -> Bounded<impl Body<Data = Bytes, Error = BoxError>> {
        let frames: Vec<_> =
            parts.iter().map(|part| Ok::<_, BoxError>(Frame::data(Bytes::from_static(part.as_bytes())))).collect();
        let body = StreamBody::new(futures_util::stream::iter(frames));
        Bounded { body, bounds: bounds.clone(), by_line, received: 0, begun: Instant::now(), failed: false }
    }

    async fn read(bounds: &Bounds, by_line: bool, parts: &[&'static str]) -> Result<usize, String> {
        let collected = body(bounds, by_line, parts).collect().await;
        collected.map(|all| all.to_bytes().len()).map_err(|error| TooLarge::of(&*error).unwrap().to_string())
    }

    #[tokio::test]
    async fn an_answer_ends_where_it_is_too_large() {
        let bounds = bounds();
        assert_eq!(read(&bounds, false, &["12345", "67890"]).await, Ok(10));
        let error = read(&bounds, false, &["12345", "678901"]).await.unwrap_err();
        assert_eq!(error, "it is larger than 0 MiB");
        // What was received is given back, whatever came of it.
        assert_eq!(bounds.receiving.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn many_answers_at_one_time_end_where_they_are_too_large_together() {
        let bounds = bounds();
        let mut first = body(&bounds, false, &["1234567890"]);
        first.frame().await.unwrap().unwrap();
        assert_eq!(read(&bounds, false, &["12345"]).await, Ok(5));
        assert!(read(&bounds, false, &["123456"]).await.unwrap_err().starts_with("the answers at one time"));
        drop(first);
        assert_eq!(read(&bounds, false, &["123456"]).await, Ok(6));
    }

    #[tokio::test]
    async fn a_watch_has_no_end_but_each_of_its_events_has() {
        let bounds = bounds();
        assert_eq!(read(&bounds, true, &["1234\n12", "34\n", "1234\n\n1"]).await, Ok(17));
        assert!(read(&bounds, true, &["1234\n123", "45\n"]).await.unwrap_err().starts_with("an event of the watch"));
        assert!(read(&bounds, true, &["1\n23456\n"]).await.is_err());
    }

    #[tokio::test]
    async fn an_answer_that_trickles_in_has_an_end_too() {
        let bounds = Bounds { limits: Limits { time: Duration::ZERO, ..LIMITS }, receiving: Arc::default() };
        assert_eq!(read(&bounds, false, &["1"]).await, Err("it takes longer than 0 s".to_owned()));
        assert_eq!(read(&bounds, true, &["1"]).await, Ok(1), "a watch lasts");
    }

    #[tokio::test]
    async fn the_layer_bounds_what_passes_it() {
        let service = tower::service_fn(|_: Request<()>| async {
            Ok::<_, BoxError>(Response::new(Full::new(Bytes::from_static(b"12345678901"))))
        });
        for (path, is_watched) in [("/api/v1/pods?watch=1", true), ("/api/v1/pods?limit=1", false)] {
            let mut service = bounds().layer(service);
            let answer = service.call(Request::get(path).body(()).unwrap()).await.unwrap();
            let error = answer.into_body().collect().await.unwrap_err();
            let what = if is_watched { "an event of the watch" } else { "it is larger" };
            assert!(error.to_string().starts_with(what), "{error}");
        }
    }

    #[test]
    fn the_limits_leave_room_for_the_largest_honest_answers() {
        let Limits { answer, all, event, .. } = Bounds::default().limits;
        // etcd takes requests of 1.5 MiB, and so no larger objects; a page of 500 pods is some 10 MiB.
        assert!(event >= 8 * 1_572_864 && answer >= 10 * 10_485_760 && all >= answer);
    }
}
