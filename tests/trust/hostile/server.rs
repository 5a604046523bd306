//! A server of our own: it says what no API server would, byte for byte, over plain HTTP/1.1 or TLS.

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use rustls::{ServerConnection, StreamOwned};

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered: raw bytes throughout.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub reason: Vec<u8>,
    pub headers: Vec<(&'static str, Vec<u8>)>,
    pub body: Body,
}

/// A body, whole or made up as it goes.
#[derive(Clone, Debug)]
pub enum Body {
    Whole(Vec<u8>),
    /// The part, so many times, in chunks.
    Repeated {
        begin: Vec<u8>,
        part: Vec<u8>,
        times: usize,
    },
    /// A blank now and then, for as long as somebody listens.
    Trickle,
}

impl Answer {
    #[allow(clippy::needless_pass_by_value, reason = "a document made on the spot reads better so")]
    pub fn json(body: impl ToString) -> Self {
        Self::of(200, body.to_string().into_bytes())
    }

    pub fn of(status: u16, body: Vec<u8>) -> Self {
        let headers = vec![("Content-Type", b"application/json".to_vec())];
        Self { status, reason: b"Reason".to_vec(), headers, body: Body::Whole(body) }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Serve = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A server on a port of its own, which goes with the process.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub fn plain(serve: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(None, Arc::new(serve))
    }

    pub fn tls(config: Arc<rustls::ServerConfig>, serve: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(Some(config), Arc::new(serve))
    }

    fn listen(tls: Option<Arc<rustls::ServerConfig>>, serve: Arc<Serve>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tls, serve, log) = (tls.clone(), serve.clone(), log.clone());
                thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    match tls {
                        Some(config) => {
                            let connection = ServerConnection::new(config).unwrap();
                            converse(StreamOwned::new(connection, stream), &*serve, &log);
                        }
                        None => converse(stream, &*serve, &log),
                    }
                });
            }
        });
        Self { url, asked }
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers what comes on one connection, until it is closed or broken.
fn converse(stream: impl Read + Write, serve: &Serve, log: &Mutex<Vec<Asked>>) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream) {
        let answer = serve(&asked);
        log.lock().unwrap().push(asked);
        if write(stream.get_mut(), &answer).is_err() {
            return;
        }
    }
}

fn read(stream: &mut BufReader<impl Read>) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let mut asked = Asked { method: words.next()?, path: words.next()?, ..Asked::default() };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        asked.headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    asked.body = vec![0; length];
    stream.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn write(stream: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} ", answer.status).into_bytes();
    head.extend(&answer.reason);
    for (name, value) in &answer.headers {
        head.extend(format!("\r\n{name}: ").into_bytes());
        head.extend(value);
    }
    match &answer.body {
        Body::Whole(body) => {
            head.extend(format!("\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes());
            stream.write_all(&head)?;
            stream.write_all(body)?;
        }
        Body::Repeated { begin, part, times } => {
            head.extend(b"\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(&head)?;
            for part in std::iter::once(begin).chain(std::iter::repeat_n(part, *times)) {
                stream.write_all(format!("{:x}\r\n", part.len()).as_bytes())?;
                stream.write_all(part)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Body::Trickle => {
            head.extend(b"\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(&head)?;
            loop {
                stream.write_all(b"1\r\n \r\n")?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(500));
            }
        }
    }
    stream.flush()
}
