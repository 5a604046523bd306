//! The packaged plugin under the real krew: validated, installed, run, upgraded, removed.
#![cfg(unix)] // krew is run through symbolic links and shell scripts here

mod release;
mod server;
mod tools;
mod user;

use std::fs;
use std::path::Path;

use release::{PLATFORMS, Release, package, present_platform};
use user::User;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The program as built for this test run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-purge");

const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

#[test]
fn the_manifest_of_a_release_passes_krews_own_validation() -> Outcome {
    let user = User::new("validation")?;
    let release = Release::make(&user.home().join("release"), VERSION, Path::new(PROGRAM))?;
    let validation = user.run("validate-krew-manifest", &["-manifest", release.manifest_path()])?;
    assert!(validation.ok, "{}", validation.stderr);
    // It has installed every platform's archive, and looked for a licence in what came out.
    let all = format!("all {} spec.platforms installed fine", PLATFORMS.len());
    assert!(validation.stderr.contains(&all), "{}", validation.stderr);
    Ok(())
}

#[test]
fn krew_installs_upgrades_and_removes_the_plugin() -> Outcome {
    let user = User::new("lifecycle")?;
    let releases = user.home().join("releases");
    let older = user.write_script("older", "echo the older release")?;
    let older = Release::make(&releases.join("older"), "v0.0.1", &older)?;
    let index = user.new_index()?;
    index.publish(&older)?;

    user.krew(&["index", "add", "ours", index.path()])?;
    user.krew(&["install", "ours/purge"])?;
    assert_eq!(user.run("kubectl", &["purge", "--version"])?.stdout, "the older release\n");
    assert_eq!(user.installed_version()?, "v0.0.1");

    let newer = Release::make(&releases.join("newer"), VERSION, Path::new(PROGRAM))?;
    index.publish(&newer)?;
    user.krew(&["upgrade", "purge"])?;
    assert_eq!(user.installed_version()?, VERSION);
    let through_kubectl = user.run("kubectl", &["purge", "--version"])?;
    assert_eq!(through_kubectl, user.run(PROGRAM, &["--version"])?);
    assert!(through_kubectl.ok, "{}", through_kubectl.stderr);
    // What the caveats say about completion, with a folder that is in this PATH.
    let script = user.run("kubectl", &["purge", "completion", "kubectl"])?.stdout;
    assert_eq!(script, user.installed_file("kubectl_complete-purge")?);
    assert!(user.installed_file("kubectl-purge.1")?.starts_with(".ie"));
    user.add_to_path("kubectl_complete-purge", &script)?;
    let offered = user.run("kubectl", &["__complete", "purge", "or"])?;
    assert_eq!(offered.stdout, "orphans\tDelete what no controller owns any more\n:4\n", "{}", offered.stderr);
    let plugins = user.run("kubectl", &["plugin", "list"])?;
    assert!(plugins.ok, "kubectl has something to say against a plugin: {}", plugins.stderr);
    assert!(plugins.stdout.contains("/kubectl-purge\n"), "{}", plugins.stdout);

    user.krew(&["uninstall", "purge"])?;
    assert!(!user.run("kubectl", &["purge", "--version"])?.ok);
    assert_eq!(user.left_in_the_store()?, Vec::<String>::new());
    Ok(())
}

#[test]
fn krew_refuses_an_archive_that_was_altered() -> Outcome {
    let user = User::new("altered")?;
    let release = Release::make(&user.home().join("release"), VERSION, Path::new(PROGRAM))?;
    let (os, arch) = present_platform();
    let archive = release.archive(os, arch);
    let mut bytes = fs::read(&archive)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes)?;

    let refusal = user.run("kubectl", &["krew", "install", "--manifest", release.manifest_path()])?;
    assert!(!refusal.ok);
    assert!(refusal.stderr.contains("checksum does not match"), "{}", refusal.stderr);
    assert_eq!(user.left_in_the_store()?, Vec::<String>::new());
    Ok(())
}

#[test]
fn an_archive_is_the_same_bytes_each_time() -> Outcome {
    let user = User::new("same")?;
    let program = user.write_script("kubectl-purge-built-elsewhere", "echo hello")?;
    let (os, arch) = present_platform();
    let mut archives = Vec::new();
    for attempt in ["first", "second"] {
        let archive = package(&user.home().join(attempt), os, arch, &program, &program)?;
        archives.push((fs::read(archive)?, user.listing(attempt, os, arch)?));
    }
    assert_eq!(archives[0].1, "kubectl-purge\nLICENSE\nkubectl-purge.1\nkubectl_complete-purge\n");
    assert_eq!(archives[0], archives[1]);
    Ok(())
}
