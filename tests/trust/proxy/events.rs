//! The events of a watch, a line each, on their way through the proxy.

use bytes::{Bytes, BytesMut};

use super::fault::Fault;

/// Cuts a stream of bytes into lines and does to them what the fault says.
#[derive(Debug, Default)]
pub struct Events {
    fault: Option<Fault>,
    rest: BytesMut,
    held: Option<Bytes>,
}

/// What to hand on, and whether the stream goes on after it.
pub struct Passed {
    pub bytes: Bytes,
    pub goes_on: bool,
}

const EXPIRED: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}
"#;

impl Events {
    pub fn new(fault: Option<Fault>) -> Self {
        Self { fault: fault.filter(|fault| fault.is_of_events()), ..Self::default() }
    }

    pub fn pass(&mut self, bytes: Bytes) -> Passed {
        let Some(fault) = self.fault else { return Passed { bytes, goes_on: true } };
        self.rest.extend_from_slice(&bytes);
        let mut out = BytesMut::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = self.rest.split_to(end + 1).freeze();
            match fault {
                Fault::EventsLost if is_deleted(&line) => {}
                Fault::EventsDoubled => {
                    out.extend_from_slice(&line);
                    out.extend_from_slice(&line);
                }
                Fault::EventsReordered => match self.held.take() {
                    None => self.held = Some(line),
                    Some(first) => {
                        out.extend_from_slice(&line);
                        out.extend_from_slice(&first);
                    }
                },
                Fault::EventsExpired => return Passed { bytes: EXPIRED.into(), goes_on: false },
                Fault::EventsCut => return Passed { bytes: line.slice(..line.len() / 2), goes_on: false },
                _ => out.extend_from_slice(&line),
            }
        }
        Passed { bytes: out.freeze(), goes_on: true }
    }

    /// Whether an event waits for one that may never come; it is let go after a moment.
    pub const fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    pub fn let_go(&mut self) -> Bytes {
        self.held.take().unwrap_or_default()
    }
}

fn is_deleted(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"DELETED""#)
}

#[test]
fn events_are_lost_doubled_and_reordered_line_by_line() {
    let (one, two) = ("{\"type\":\"ADDED\",1}\n", "{\"type\":\"DELETED\",2}\n");
    let pass = |fault| {
        let mut events = Events::new(Some(fault));
        let both = format!("{one}{two}");
        let (first, second) = both.split_at(30);
        let mut text = events.pass(Bytes::from(first.to_owned())).bytes.to_vec();
        text.extend(events.pass(Bytes::from(second.to_owned())).bytes);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(pass(Fault::EventsLost), one);
    assert_eq!(pass(Fault::EventsDoubled), format!("{one}{one}{two}{two}"));
    assert_eq!(pass(Fault::EventsReordered), format!("{two}{one}"));
}
