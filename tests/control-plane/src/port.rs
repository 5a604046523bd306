//! A port that stays ours while its server is down.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::error::{Doing as _, Error};

/// A loopback port that is free at run time and held for as long as this value lives.
///
/// It is bound but never listens. The API server is told to share it (`--permit-port-sharing`,
/// that is `SO_REUSEPORT`), so there is no moment between finding a free port and using it in which
/// somebody else could take it, and none while the server is stopped: a client then meets a refused
/// connection, never a stranger.
#[derive(Debug)]
pub(crate) struct HeldPort {
    _socket: OwnedFd,
    address: SocketAddr,
}

impl HeldPort {
    /// Takes any free port of 127.0.0.1.
    pub(crate) fn take() -> Result<Self, Error> {
        Self::bound().doing(|| "find a free port on 127.0.0.1".to_owned())
    }

    fn bound() -> rustix::io::Result<Self> {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        Ok(Self { _socket: socket, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
