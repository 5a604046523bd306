//! A web server for the files of one folder: just enough for krew's downloads.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// Serves `folder` on loopback for as long as this process lives, and returns its address.
pub(crate) fn serve(folder: PathBuf) -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client that goes away is its own affair: krew says so if it was krew.
            let _ = answer(&connection, &folder);
        }
    });
    Ok(format!("http://{address}"))
}

fn answer(mut connection: &TcpStream, folder: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(connection).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for header in lines {
        if header?.is_empty() {
            break;
        }
    }
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    match fs::read(folder.join(name)) {
        Ok(bytes) if !name.contains('/') => {
            write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())?;
            connection.write_all(&bytes)
        }
        _ => write!(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}
