//! Hostile words on a real terminal: the plan, the question, what is redrawn, the end.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use kubectl_purge::output::escape::is_harmful;
use serde_json::json;

use super::{
    check::COLOURS,
    server::Server,
    setup::Folder,
    texts::some,
    world::{CANARY, Hostile, Mood, PACKED},
};
use crate::{screen::Screen, series::Series};

/// So many rows that nothing scrolls away: what stood above is then seen to be still there.
const TALL: u16 = 4000;
/// So few that not everything has room.
const SMALL: u16 = 12;
/// What the questions end with; nothing of the server's is shown with a blank at its end.
const QUESTIONS: [&str; 2] = ["[y/N] ", "name to go on: "];

/// What a line that is redrawn begins with.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Most of a case is waiting.
const AT_ONCE: usize = 4;

#[test]
#[cfg(unix)]
fn a_terminal_obeys_nobody_but_the_program() {
    let series = Series::new("hostile terminal", 8, 600);
    let (next, answered, waited) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= series.cases || series.is_over() {
                        return;
                    }
                    println!("case {case}");
                    // Something to wait for, long enough for it to be told: half a minute each.
                    let waits = series.cases >= 16 && case % 8 == 1;
                    let (was_asked, has_waited) = shown(&mut series.random(case), case, waits);
                    answered.fetch_add(was_asked.into(), Ordering::Relaxed);
                    waited.fetch_add(has_waited.into(), Ordering::Relaxed);
                }
            });
        }
    });
    let [cases, answered, waited] = [next, answered, waited].map(AtomicUsize::into_inner);
    let cases = cases.min(series.cases);
    assert!(answered * 2 > cases, "only {answered} of {cases} were asked");
    assert!(waited > 0 || cases < 16, "nothing was waited for");
    series.report(format!("{cases} terminals, {answered} questions answered, {waited} long waits"));
}

/// One run on a terminal; whether it asked, and whether it told what it waits for.
fn shown(random: &mut Rng, case: usize, waits: bool) -> (bool, bool) {
    let mood = if waits { Mood::Holds } else { [Mood::Refuses, Mood::Gives, Mood::Holds, Mood::Stays][case % 4] };
    let hostile = Arc::new(Hostile::new(random, mood));
    let server = Server::plain(move |asked| hostile.answer(asked));
    let folder = Folder::new();
    let kubeconfig = folder.named(&some(random), &json!({ "server": server.url }), &json!({}));
    let columns = [80, 40, 137, 200][random.usize(..4)];
    let timeout = if waits { "--timeout=24s" } else { "--timeout=1s" };
    let allowed = ["--allow-managed", "--all-instances", "--ignore-unavailable"];
    let flags = [&["app", "demo"], &allowed[..], &["--request-timeout=2s", timeout]].concat();
    let rows = if random.u8(..4) == 0 { SMALL } else { TALL };
    on_screen(&kubeconfig, (rows, columns), &flags)
}

fn on_screen(kubeconfig: &Path, size: (u16, u16), flags: &[&str]) -> (bool, bool) {
    let mut screen = Screen::of(kubeconfig, size, flags);
    let asked = until_question(&mut screen);
    let before = screen.text();
    if asked {
        let answer = if screen.raw().ends_with(QUESTIONS[0]) { "y\r" } else { "demo\r" };
        screen.types(answer);
    }
    let code = screen.ends();
    assert!(matches!(code, 0 | 1 | 3 | 4 | 5), "{code}\n{}", screen.text());
    assert!(!screen.cursor_is_hidden());
    let (raw, after) = (screen.raw(), screen.text());
    obeyed(&raw);
    // What is redrawn below took nothing of what stood above it, and left nothing of itself.
    let rows = |text: &str| text.trim_end().lines().map(str::to_owned).collect::<Vec<_>>();
    let (stood, stands) = (rows(&before), rows(&after));
    // Cells may have 1,000 columns: a plan of many of them has scrolled away before the question.
    let kept = if stood.len() < usize::from(size.0) / 2 && size.0 == TALL { stood.len().saturating_sub(1) } else { 0 };
    assert!(stands.len() >= kept, "{stood:#?}\n{stands:#?}");
    assert_eq!(stands[..kept], stood[..kept]);
    for (row, line) in stands.iter().enumerate() {
        assert!(!line.starts_with(SPINNER), "left over in row {row}: {line:?}");
    }
    assert!(!raw.contains(CANARY) && !raw.contains(PACKED), "{raw}");
    (asked, raw.contains("deleting for "))
}

/// Whether it asks; otherwise it has ended.
fn until_question(screen: &mut Screen) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let raw = screen.raw();
        if QUESTIONS.iter().any(|question| raw.ends_with(question)) {
            thread::sleep(Duration::from_millis(50));
            return true;
        }
        if !screen.is_running() {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("it neither asks nor ends:\n{}", screen.text());
}

/// The terminal got our colours, and what moves the cursor to redraw lines of ours, and nothing else to obey.
#[track_caller]
fn obeyed(raw: &str) {
    let mut rest = raw.to_owned();
    for sequence in COLOURS {
        rest = rest.replace(sequence, "");
    }
    for line in rest.split("\r\n") {
        let line = without_redraw(line);
        assert_eq!(line.chars().find(|character| is_harmful(*character)), None, "{line:?}");
    }
}

/// Without what the display that is redrawn writes: back to the line's beginning, up and down some lines, a line erased.
fn without_redraw(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::new();
    while let Some(at) = rest.find(['\u{1b}', '\r']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits =
            rest.strip_prefix("\u{1b}[").map(|tail| tail.trim_start_matches(|digit: char| digit.is_ascii_digit()));
        match digits.and_then(|tail| tail.strip_prefix(['A', 'B', 'K'])) {
            Some(tail) => rest = tail,
            None if rest.starts_with("\r\u{1b}[2K") => rest = &rest[1..],
            None => return line.to_owned(),
        }
    }
    plain + rest
}
