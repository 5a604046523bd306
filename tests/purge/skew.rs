//! Servers that are not of the newest kind. A whole run of these tests on an older Kubernetes is
//! `KUBECTL_PURGE_TEST_KUBERNETES=1.34 cargo test --test purge`, with nine minutes more to build it the first time.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Child, Stdio},
    thread,
};

use crate::harness::World;

/// A server that knows no aggregated discovery: what clients ask for it with is changed on the way into a word that
/// it never heard of, of the same length, so that nothing else of a request has to be understood.
struct Plain {
    proxy: Child,
    address: String,
}

const KNOWN: &[u8] = b"g=apidiscovery.k8s.io";
const UNKNOWN: &[u8] = b"g=undiscoverd.k8s.com";

impl Plain {
    fn before(world: &World) -> Self {
        let mut command = world.plane.kubectl_command();
        command.args(["proxy", "--port=0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut proxy = command.spawn().unwrap();
        let mut said = [0; 64];
        let length = proxy.stdout.as_mut().unwrap().read(&mut said).unwrap();
        let said = String::from_utf8_lossy(&said[..length]).into_owned();
        let behind = said.trim().rsplit(' ').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&behind).unwrap();
                let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || carry(client, server));
                thread::spawn(move || carry(from, to));
            }
        });
        Self { proxy, address }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        while let Some(place) = buffer[..count].windows(KNOWN.len()).position(|window| window == KNOWN) {
            buffer[place..place + KNOWN.len()].copy_from_slice(UNKNOWN);
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_server_without_aggregated_discovery_serves_as_well() {
    let world = World::new("plain");
    world.quota(&[("requests.cpu", "3"), ("requests.memory", "3Gi")]);
    world.deployment("web", "demo", 2);
    world.apply("{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }");
    world.until_running("app=demo", 2);
    let plain = Plain::before(&world);

    let seen_so = world.purge(&["app", "demo", "--dry-run", "-o", "name", "--server", &plain.address, "-v6"]).exits(0);
    assert!(seen_so.stderr.contains("/apis/apps/v1 200 OK"), "asked group by group: {}", seen_so.stderr);
    let seen_else = world.purge(&["app", "demo", "--dry-run", "-o", "name"]).exits(0);
    assert_eq!(seen_so.stdout, seen_else.stdout);

    let arguments = ["app", "demo", "--yes", "--server", &plain.address];
    world.purge(&arguments).exits(0).says("Purged application \"demo\"").says("requests.cpu 2 → 0");
    assert_eq!(world.names("deployments,replicasets,pods,services"), Vec::<String>::new());
}
