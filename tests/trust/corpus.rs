//! The fuzzers' corpora, in every `cargo test`: what a fuzzer has found once is never found again.

use std::{fs, path::Path};

use kubectl_purge::fuzzing::TARGETS;

use crate::series::Series;

/// A corpus stays small enough to be read and to be run in a moment.
const LARGEST: u64 = 64 * 1024;
const MOST: usize = 200;

#[test]
fn every_input_of_the_corpora_keeps_its_targets_promise() {
    let series = Series::new("corpora", 1, 1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut figures = Vec::new();
    for (name, target) in TARGETS {
        let binary = fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(binary.contains(&format!("fuzzing::{name}(")), "{name} fuzzes something else");
        let mut inputs: Vec<_> =
            fs::read_dir(root.join("corpus").join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!((5..=MOST).contains(&inputs.len()), "{name} has {} inputs", inputs.len());
        for input in &inputs {
            let bytes = fs::read(input).unwrap();
            assert!(bytes.len() as u64 <= LARGEST, "{} is too large", input.display());
            // The name of the input, should it panic: libtest shows what a failed test printed.
            println!("{}", input.display());
            target(&bytes);
        }
        figures.push(format!("{name} {}", inputs.len()));
    }
    series.report(figures.join(", "));
}
