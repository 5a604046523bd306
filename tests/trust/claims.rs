//! What SECURITY.md and docs/trust.md claim names the tests that hold it, and those exist.

use std::{collections::BTreeSet, fs, path::Path};

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files that a text names between backquotes.
fn files(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.starts_with("src/") || word.starts_with("tests/")).collect()
}

#[test]
fn each_line_of_the_threat_model_names_tests() {
    let security = read(".github/SECURITY.md");
    let claims: Vec<&str> =
        security.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| could try to")).collect();
    let claims: Vec<&str> = claims.into_iter().filter(|line| !line.starts_with("| ---")).collect();
    assert!(claims.len() > 20, "{} lines", claims.len());
    for claim in claims {
        let tested = claim.split_once("Tested").unwrap_or_else(|| panic!("no test: {claim}")).1;
        assert!(!files(tested).is_empty(), "no test is named: {claim}");
    }
}

#[test]
fn the_tests_that_are_named_exist_and_are_tests() {
    let mut named = 0;
    for text in [".github/SECURITY.md", "docs/trust.md"] {
        for file in files(&read(text)) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            assert!(path.exists(), "{text} names {file}");
            // docs/trust.md also names what is tested, and folders.
            if text.ends_with("SECURITY.md") && path.is_file() {
                let source = read(file);
                let is_test = ["#[test]", "#[tokio::test]", "#[cfg(test)]"].iter().any(|mark| source.contains(mark));
                assert!(is_test, "{text} names {file}, in which no test is");
                named += 1;
            }
        }
    }
    assert!(named > 20, "{named} files");
}
