//! The faults, and which requests each can befall.

use std::time::Duration;

/// What `Retry-After` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetryAfter {
    Zero,
    One,
    Hour,
    /// More seconds than there are.
    Endless,
    Rubbish,
}

impl RetryAfter {
    pub const fn header(self) -> &'static str {
        match self {
            Self::Zero => "0",
            Self::One => "1",
            Self::Hour => "3600",
            Self::Endless => "18446744073709551615",
            Self::Rubbish => "soon",
        }
    }
}

/// One way in which a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Handed on late.
    Delay,
    /// The stream is reset, and the server never hears of it.
    ResetBefore,
    /// The server has done it, and the stream is reset.
    ResetAfter,
    /// The stream is refused: it may be sent again.
    Refused,
    /// The connection is closed, and the server never hears of it.
    CutBefore,
    /// The server has done it, and the connection is closed.
    CutAfter,
    /// Never answered, and not handed on.
    Stall,
    /// Handed on, and never answered.
    StallAfter,
    /// The whole connection is dead without having been closed.
    Frozen,
    /// Half of the answer, then a reset.
    CutBody,
    /// Half of the answer, then its end.
    ShortBody,
    /// 429 with `Retry-After`.
    TooMany(RetryAfter),
    /// An error of the server's, with a `Status`.
    Status(u16),
    /// An error of a gateway's, with a page of HTML.
    Page(u16),
    /// The server has done it, and the gateway says that it did not answer.
    LateGateway,
    /// Somebody else has been faster; the server never hears of it.
    Conflict,
    /// Too old: a list, or a watch at its beginning.
    Expired,
    /// 200 with a page of HTML.
    Html,
    /// 200 with JSON that is nobody's.
    ElseJson,
    /// 200 with nothing.
    Empty,
    /// The right answer, declared as something else.
    ContentType,
    /// What a trial of a delete carries is dropped on the way, as some do whose clients' DELETEs never carry anything.
    BodyDropped,
    /// The server wants its clients elsewhere: what is under way is answered.
    Goaway,
    /// The connection is ended with an error, whatever is under way.
    GoawayNow,
    /// The events of a watch that tell of an end are left out.
    EventsLost,
    /// Each event comes twice.
    EventsDoubled,
    /// Two and two events change places.
    EventsReordered,
    /// A watch ends with 410 in the place of its first event.
    EventsExpired,
    /// A watch breaks off within its first event.
    EventsCut,
}

/// An answer of the proxy's own.
#[derive(Clone, Debug)]
pub struct Answer {
    pub code: u16,
    pub content_type: &'static str,
    pub retry_after: Option<&'static str>,
    pub body: String,
}

/// How late [`Fault::Delay`] is.
pub const LATE: Duration = Duration::from_millis(700);

impl Fault {
    /// Every kind of fault.
    pub const ALL: [Self; 39] = [
        Self::Delay,
        Self::ResetBefore,
        Self::ResetAfter,
        Self::Refused,
        Self::CutBefore,
        Self::CutAfter,
        Self::Stall,
        Self::StallAfter,
        Self::Frozen,
        Self::CutBody,
        Self::ShortBody,
        Self::TooMany(RetryAfter::Zero),
        Self::TooMany(RetryAfter::One),
        Self::TooMany(RetryAfter::Hour),
        Self::TooMany(RetryAfter::Endless),
        Self::TooMany(RetryAfter::Rubbish),
        Self::Status(500),
        Self::Status(502),
        Self::Status(503),
        Self::Status(504),
        Self::Page(404),
        Self::Page(500),
        Self::Page(502),
        Self::Page(503),
        Self::LateGateway,
        Self::Conflict,
        Self::Expired,
        Self::Html,
        Self::ElseJson,
        Self::Empty,
        Self::ContentType,
        Self::BodyDropped,
        Self::Goaway,
        Self::GoawayNow,
        Self::EventsLost,
        Self::EventsDoubled,
        Self::EventsReordered,
        Self::EventsExpired,
        Self::EventsCut,
    ];

    /// Whether the fault makes sense for a request of this title.
    pub fn befalls(self, title: &str) -> bool {
        let is_watch = title.starts_with("watch ");
        let is_list = title.starts_with("list ") || title.starts_with("page ");
        match self {
            Self::EventsLost | Self::EventsDoubled | Self::EventsReordered | Self::EventsExpired | Self::EventsCut => {
                is_watch
            }
            Self::Expired => is_watch || is_list,
            Self::Conflict => !is_watch && !is_list && !title.starts_with("discover "),
            Self::BodyDropped => title.starts_with("try delete "),
            // A watch has no end to be cut off.
            Self::CutBody | Self::ShortBody | Self::ResetAfter | Self::CutAfter | Self::LateGateway => !is_watch,
            _ => true,
        }
    }

    /// A name of one word for figures.
    pub fn name(self) -> String {
        match self {
            Self::TooMany(after) => format!("429-{after:?}").to_lowercase(),
            Self::Status(code) => code.to_string(),
            Self::Page(code) => format!("{code}-page"),
            other => {
                let mut name = String::new();
                for letter in format!("{other:?}").chars() {
                    if letter.is_uppercase() && !name.is_empty() {
                        name.push('-');
                    }
                    name.extend(letter.to_lowercase());
                }
                name
            }
        }
    }

    /// What is done to the events of a watch.
    pub fn is_of_events(self) -> bool {
        matches!(
            self,
            Self::EventsLost | Self::EventsDoubled | Self::EventsReordered | Self::EventsExpired | Self::EventsCut
        )
    }

    /// The answer that is given in the server's place; none where the fault is of another sort.
    pub fn answer(self) -> Option<Answer> {
        let status = |code: u16, reason: &str| {
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"a fault of the proxy's","reason":"{reason}","code":{code}}}"#
            )
        };
        let json = |code: u16, body: String| Answer { code, content_type: "application/json", retry_after: None, body };
        let page = |code: u16| Answer {
            code,
            content_type: "text/html; charset=utf-8",
            retry_after: None,
            body: "<!doctype html>\n<html><body><h1>Please log in</h1></body></html>\n".to_owned(),
        };
        Some(match self {
            Self::TooMany(after) => {
                let retry_after = Some(after.header());
                Answer { retry_after, ..json(429, status(429, "TooManyRequests")) }
            }
            Self::Status(code) => json(code, status(code, "InternalError")),
            Self::Conflict => json(409, status(409, "Conflict")),
            Self::Expired => json(410, status(410, "Expired")),
            Self::Page(code) => page(code),
            Self::Html => page(200),
            Self::ElseJson => json(200, r#"{"status":"ok"}"#.to_owned()),
            Self::Empty => json(200, String::new()),
            _ => return None,
        })
    }
}
