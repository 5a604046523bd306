//! A wire between a client and the API server that takes time and counts bytes. TLS passes through untouched.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// Bytes that have passed, both ways together.
#[derive(Clone, Debug, Default)]
pub struct Bytes(Arc<AtomicU64>);

impl Bytes {
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A listening end on 127.0.0.1.
#[derive(Debug)]
pub struct Link {
    pub address: SocketAddr,
    pub bytes: Bytes,
}

impl Link {
    /// Opens a way to `server` on which a round trip takes this much longer; bandwidth is not limited.
    pub fn open(server: SocketAddr, round_trip: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let this = Self { address: listener.local_addr()?, bytes: Bytes::default() };
        let bytes = this.bytes.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let bytes = bytes.clone();
                thread::spawn(move || {
                    // Connecting takes a round trip: what the client sends first arrives that much later.
                    let Ok(far) = TcpStream::connect(server) else { return };
                    let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
                    let (_, _) = (near.set_nodelay(true), far.set_nodelay(true));
                    carry(near, far_too, round_trip / 2, round_trip, bytes.clone());
                    carry(far, near_too, round_trip / 2, Duration::ZERO, bytes);
                });
            }
        });
        Ok(this)
    }
}

/// Carries one direction: a thread that reads, and one that writes when the time has come. `once` is the time that
/// opening the connection takes.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration, once: Duration, bytes: Bytes) {
    let opened = Instant::now() + once;
    if delay.is_zero() {
        thread::spawn(move || {
            let mut buffer = vec![0; 256 << 10];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                bytes.0.fetch_add(count as u64, Ordering::Relaxed);
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
        return;
    }
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 256 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            bytes.0.fetch_add(count as u64, Ordering::Relaxed);
            let due = Instant::now().max(opened) + delay;
            if sender.send((due, buffer[..count].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, chunk) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&chunk).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
