//! One run of a program as a whole process: how long, and how much memory at most.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    pub begun: Instant,
    pub took: Duration,
    /// Kibibytes of resident memory at its peak; 0 where the system does not tell.
    pub peak: u64,
    pub code: i32,
}

/// Runs it to its end. What it prints goes to a file, so that a failure can be read.
pub fn run(mut command: Command, log: &Path) -> std::io::Result<Ran> {
    let file = fs::File::create(log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let peak = watch_memory(&child);
    let code = child.wait()?.code().unwrap_or(-1);
    let took = begun.elapsed();
    Ok(Ran { begun, took, peak: peak.recv().unwrap_or(0), code })
}

/// Reads the kernel's own high-water mark until the process is gone.
fn watch_memory(child: &Child) -> mpsc::Receiver<u64> {
    let status = format!("/proc/{}/status", child.id());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut peak = 0;
        let mut pause = Duration::from_micros(500);
        while let Some(now) = fs::read_to_string(&status).ok().as_deref().and_then(high_water) {
            peak = peak.max(now);
            thread::sleep(pause);
            // Short runs are looked at closely; long ones have time.
            pause = (pause * 11 / 10).min(Duration::from_millis(5));
        }
        let _ = sender.send(peak);
    });
    receiver
}

/// `VmHWM` in KiB. A process that has ended has none.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
