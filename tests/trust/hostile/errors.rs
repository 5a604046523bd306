//! The real program on a server whose every word is hostile.

use std::sync::Arc;

use serde_json::json;

use super::{
    check::{aligned, harmless, silent_about},
    server::{Answer, Server},
    setup::{Folder, at_once, purge},
    texts::{bytes, text},
    world::{CANARY, Hostile, Mood, PACKED},
};
use crate::series::Series;

const FORMATS: [&[&str]; 9] = [
    &["--dry-run"],
    &["--dry-run", "-o", "wide"],
    &["--dry-run", "-o", "json"],
    &["--dry-run", "-o", "yaml"],
    &["--dry-run", "-o", "name"],
    &["--dry-run", "--color=always"],
    &["--dry-run=server"],
    &["--dry-run", "-v", "10"],
    &["--dry-run", "--color=never", "--include-related", "--allow-managed"],
];

/// A run that changes something, with a word on how it may end.
const RUN: &[&str] =
    &["--yes", "--timeout=1s", "--allow-managed", "--all-instances", "--ignore-unavailable", "--request-timeout=2s"];

#[test]
fn whatever_a_server_says_no_control_byte_comes_out_and_columns_stay_columns() {
    let series = Series::new("hostile server", 9, 600);
    let counts = at_once(&series, |case| {
        let (mut runs, mut rows) = (0, 0);
        let mut random = series.random(case);
        let mood = [Mood::Refuses, Mood::Stays, Mood::Gives][case % 3];
        let hostile = Arc::new(Hostile::new(&mut random, mood));
        let server = Server::plain(move |asked| hostile.answer(asked));
        let folder = Folder::new();
        let (name, cluster) = (text(&mut random), json!({ "server": server.url }));
        let kubeconfig = folder.named(&name, &cluster, &json!({}));
        let flags = FORMATS[case % FORMATS.len()];
        let app = [&["app", "demo"][..], flags].concat();
        let orphans = [&["orphans"][..], flags].concat();
        let run = [&["app", "demo"][..], RUN, if random.bool() { &["-o", "json"] } else { &[] }].concat();
        let mut commands = vec![app, vec!["list"], vec!["__complete", "app", ""]];
        commands.push(if case % 3 == 0 { orphans } else { run });
        for arguments in commands {
            println!("case {case}: {arguments:?}, {mood:?}");
            let run = purge(&kubeconfig, &arguments);
            assert!(matches!(run.code, 0 | 1 | 3 | 4 | 5), "{run:?}");
            harmless_but_tabs(&run, &arguments);
            silent_about(&run, &[CANARY, PACKED]);
            rows += aligned(&run.stdout);
            runs += 1;
        }
        (runs, rows)
    });
    let (runs, rows) = counts.iter().fold((0, 0), |(runs, rows), (more, others)| (runs + more, rows + others));
    assert!(rows > counts.len(), "{rows} rows");
    series.report(format!("{runs} runs, {rows} rows in line, no control byte"));
}

/// Completion answers with a tab between a word and its description: that is kubectl's protocol.
#[track_caller]
fn harmless_but_tabs(run: &crate::harness::Run, arguments: &[&str]) {
    if arguments[0] == "__complete" {
        let stdout = run.stdout.replace('\t', " ");
        let plain = crate::harness::Run { stdout, stderr: run.stderr.clone(), code: run.code, took: run.took };
        harmless(&plain, false);
    } else {
        harmless(run, arguments.contains(&"--color=always"));
    }
}

/// What is said where nothing goes as it should: the way that most words of others come out.
#[test]
fn errors_are_said_in_harmless_words_whatever_stands_in_the_answer() {
    let series = Series::new("hostile errors", 18, 1500);
    let runs = at_once(&series, |case| {
        let mut random = series.random(case);
        let status = [400, 401, 403, 404, 418, 422, 429, 500, 503][case % 9];
        let words = text(&mut random);
        let body = match case % 3 {
            0 => json!({ "kind": "Status", "message": words, "reason": text(&mut random), "code": status })
                .to_string()
                .into(),
            1 => bytes(&mut random),
            _ => words.into_bytes(),
        };
        let reason: Vec<u8> =
            text(&mut random).into_bytes().into_iter().filter(|byte| !byte.is_ascii_control()).take(99).collect();
        let retry: Vec<u8> = if random.bool() { b"18446744073709551615".to_vec() } else { b"rubbish".to_vec() };
        let code = if case % 6 == 5 { 200 } else { status };
        let server = Server::plain(move |_| Answer {
            reason: reason.clone(),
            ..Answer::of(code, body.clone()).header("Retry-After", retry.clone())
        });
        let folder = Folder::new();
        let kubeconfig = folder.named(&text(&mut random), &json!({ "server": server.url }), &json!({}));
        let verbose: &[&str] = if random.bool() { &["-v", "9"] } else { &[] };
        println!("case {case}: {code}");
        let run = purge(&kubeconfig, &[&["app", "demo", "--dry-run"], verbose].concat());
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("error: ") && run.stdout.is_empty(), "{run:?}");
        harmless(&run, false);
        assert!(run.stderr.len() < 64 << 10, "{} bytes of words", run.stderr.len());
    });
    series.report(format!("{} runs, each one line of harmless words", runs.len()));
}
