//! The benchmark's own parts, which no benchmark run should be needed to trust.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../benches/peers/figures.rs"]
#[allow(dead_code, reason = "what the benchmark needs of it")]
mod figures;
#[path = "../benches/peers/link.rs"]
mod link;
#[path = "../benches/peers/run.rs"]
mod run;

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use figures::{Figures, Goal, Work, median, ratio};
use link::Link;

#[test]
fn a_median_stands_in_the_middle_and_a_ratio_is_taken_run_by_run() {
    assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    // The machine became ten times slower half-way: the ratio is none the worse.
    assert!((ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]) - 2.0).abs() < 1e-9);
}

#[test]
fn a_table_names_the_ratio_and_what_was_missed() {
    let row = |who: &str, done: f64| Figures { who: who.into(), done: vec![done], ..Figures::default() };
    let goals = vec![Goal::new("1/2 of b", 0.5, 0.25, ""), Goal::new("time", 1.0, 2.0, " s")];
    let work = Work { title: "W".into(), rows: vec![row("a", 2.0), row("b", 8.0)], goals, notes: Vec::new() };
    let text = work.markdown();
    assert!(text.contains("| b | 8.000 s (8.000 to 8.000) | 4.00 |"), "{text}");
    assert!(text.contains("1/2 of b: 0.250, to be at most 0.500: reached"), "{text}");
    assert!(text.contains("time: 2.000 s, to be at most 1.000 s: **missed**"), "{text}");
}

#[test]
fn like_is_held_against_like() {
    let row = |who: &str, done: f64, returned: f64| Figures {
        who: who.into(),
        done: vec![done],
        returned: vec![returned],
        ..Figures::default()
    };
    let mut work = Work { rows: vec![row("a", 2.0, 4.0), row("b", 4.0, 40.0)], ..Work::default() };
    work.against("a", "b", 0.2);
    let verdicts: Vec<_> = work.goals.iter().map(|goal| (goal.what.as_str(), goal.is_reached())).collect();
    // Gone in 2 s where the peer's were in 4: 0.5, though the peer returned after 40.
    assert_eq!(verdicts, [("of b, until all is gone", false), ("of b, until each returns", true)]);
    work.note_mixed("a", "b");
    assert_eq!(work.goals.len(), 2, "what is unlike is no goal");
}

#[test]
fn a_round_trip_takes_as_long_as_was_asked_and_all_bytes_are_counted() {
    let echo = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = echo.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = echo.accept().unwrap();
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte).unwrap();
        }
    });
    let link = Link::open(server, Duration::from_millis(40)).unwrap();
    let mut client = TcpStream::connect(link.address).unwrap();
    let mut ask = || {
        let begun = Instant::now();
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        begun.elapsed()
    };
    assert!(ask() >= Duration::from_millis(80), "opening takes a round trip more");
    assert!(ask() >= Duration::from_millis(40));
    assert_eq!(link.bytes.take(), 4);
}

#[test]
fn a_run_tells_its_time_its_code_and_its_memory() {
    let log = std::env::temp_dir().join(format!("kubectl-purge-peers-{}", std::process::id()));
    let mut command = Command::new("sh");
    command.args(["-c", "echo said; sleep 0.1; exit 3"]);
    let ran = run::run(command, &log).unwrap();
    assert_eq!((ran.code, std::fs::read_to_string(&log).unwrap().as_str()), (3, "said\n"));
    assert!(ran.took >= Duration::from_millis(100) && ran.begun.elapsed() >= ran.took);
    assert!(ran.peak > 100 || !cfg!(target_os = "linux"), "{} KiB", ran.peak);
    std::fs::remove_file(log).unwrap();
}
