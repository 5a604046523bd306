//! What a process takes of memory and file handles, by `/proc`. Elsewhere than on Linux nothing is measured: 0.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::harness::Run;

/// Runs to the end; the most memory that it had at one time, in bytes.
pub fn peak(mut command: Command) -> (Run, u64) {
    let begun = std::time::Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = read(child.stdout.take().unwrap());
    let stderr = read(child.stderr.take().unwrap());
    let mut peak = 0;
    let status = loop {
        peak = peak.max(Taken::of(&child).map_or(0, |taken| taken.peak));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let took = begun.elapsed();
    (
        Run { stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), code: status.code().unwrap_or(-1), took },
        peak,
    )
}

fn read(mut stream: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
}

/// What a process has at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Bytes of memory now, and at most so far.
    pub memory: u64,
    pub peak: u64,
    pub files: usize,
    pub threads: usize,
}

impl Taken {
    /// None where the process has ended.
    pub fn of(child: &Child) -> Option<Self> {
        let folder = format!("/proc/{}", child.id());
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let number = |name: &str| -> Option<u64> {
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
        };
        let memory = number("VmRSS:")? << 10;
        let files = fs::read_dir(format!("{folder}/fd")).ok()?.count();
        let threads = number("Threads:").and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        Some(Self { memory, peak: number("VmHWM:")? << 10, files, threads })
    }
}
