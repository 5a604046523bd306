//! Starts a control plane, says how to reach it, and keeps it until Enter or Ctrl-C.
//!
//! `cargo run -p control-plane --example up`

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use control_plane::{ControlPlane, Error};

fn main() -> ExitCode {
    match up() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn up() -> Result<(), Error> {
    let began = Instant::now();
    let control_plane = ControlPlane::builder().start()?;
    println!("up after {:.1} s at {}", began.elapsed().as_secs_f64(), control_plane.server());
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("export PATH={}:$PATH", control_plane.bin_dir().display());
    println!("Enter or Ctrl-C ends it.");
    // A closed stdin ends it as Enter does.
    let _ = io::stdin().read_line(&mut String::new());
    Ok(())
}
