//! Starts a control plane, says how to reach it, and keeps it until Enter or Ctrl-C.
//!
//! `cargo run -p control-plane --example up`

use std::error::Error;
use std::io;
use std::time::Instant;

use control_plane::ControlPlane;

fn main() -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let control_plane = ControlPlane::builder().start()?;
    println!("up after {:.1} s at {}", began.elapsed().as_secs_f64(), control_plane.server());
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("export PATH={}:$PATH", control_plane.bin_dir().display());
    println!("Enter or Ctrl-C ends it.");
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}
