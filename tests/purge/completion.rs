//! Completion through the real kubectl, and by the program itself.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::harness::{PROGRAM, Run, World};

/// Runs `kubectl __complete purge …`, with the program and its helper in a PATH of their own.
struct Shell<'a> {
    world: &'a World,
    folder: PathBuf,
}

impl<'a> Shell<'a> {
    fn new(world: &'a World, name: &str) -> Self {
        let folder = world.plane.dir().join(format!("complete-{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(PROGRAM, folder.join("kubectl-purge")).unwrap();
        let helper = Run::of(Command::new(PROGRAM)).exits(2);
        assert!(helper.stderr.contains("Usage:"), "{}", helper.stderr);
        let mut command = Command::new(PROGRAM);
        command.args(["completion", "kubectl"]);
        let script = Run::of(command).exits(0).stdout;
        let path = folder.join("kubectl_complete-purge");
        std::fs::write(&path, script).unwrap();
        executable(&path);
        Self { world, folder }
    }

    fn completes(&self, words: &[&str]) -> Run {
        let mut command = self.world.plane.kubectl_command();
        let path = std::env::join_paths([self.folder.clone(), "/usr/bin".into(), "/bin".into()]).unwrap();
        command.env("PATH", path).env("KUBECONFIG", self.world.plane.kubeconfig());
        command.args(["__complete", "purge"]).args(words);
        let run = Run::of(command).exits(0);
        // kubectl says on stderr what it does, and nobody else says anything.
        let is_kubectls =
            |line: &str| line.is_empty() || line.starts_with("[Debug]") || line.starts_with("Completion ended");
        assert!(run.stderr.lines().all(is_kubectls), "{}", run.stderr);
        run
    }

    /// The candidates without their descriptions.
    fn candidates(&self, words: &[&str]) -> Vec<String> {
        let lines = patiently(|| self.completes(words).stdout, ":4\n");
        let words = lines.lines().filter(|line| !line.starts_with(':'));
        words.map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }
}

/// The program gives up after a second and a half, which a machine that runs all tests at once may need for anything.
fn patiently(mut ask: impl FnMut() -> String, nothing: &str) -> String {
    let mut answers = std::iter::repeat_with(&mut ask).take(10);
    answers.find(|answer| answer != nothing).unwrap_or_else(|| nothing.to_owned())
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn two_applications(story: &str) -> World {
    let world = World::new(story);
    world.deployment("web", "demo", 1);
    world.deployment("worker", "other", 0);
    world.until_running("app=demo", 1);
    world
}

#[test]
fn kubectl_completes_commands_applications_and_objects() {
    let world = two_applications("complete");
    let shell = Shell::new(&world, "names");
    let namespace = world.namespace.as_str();
    assert_eq!(shell.candidates(&[""]), ["app", "orphans", "list", "completion"]);
    let offer = patiently(|| shell.completes(&["app", "-n", namespace, ""]).stdout, ":4\n");
    assert_eq!(offer, "demo\tapp, 1 pod\nother\tapp, 0 pods\n:4\n");
    assert_eq!(shell.candidates(&["-n", namespace, "app", "de"]), ["deployment/", "demo"]);
    assert!(shell.completes(&["-n", namespace, "app", "dep"]).stdout.ends_with("deployment/\n:6\n"));
    assert_eq!(shell.candidates(&["app", "-n", namespace, "deploy/w"]), ["deploy/web", "deploy/worker"]);
    assert_eq!(shell.candidates(&["app", "demo", "-n", namespace, "--exclude", "deploy/wo"]), ["deploy/worker"]);
    assert!(shell.candidates(&["app", "demo", "--dry"]).contains(&"--dry-run".to_owned()));
    assert_eq!(shell.candidates(&["app", "demo", "-o", "j"]), ["json"]);
}

#[test]
fn namespaces_come_from_the_cluster_and_contexts_from_the_kubeconfig() {
    let world = World::new("complete-places");
    let shell = Shell::new(&world, "places");
    assert_eq!(shell.candidates(&["list", "-n", &world.namespace]), [world.namespace.as_str()]);
    assert!(shell.candidates(&["list", "--namespace=kube-"]).contains(&"kube-system".to_owned()));
    let known = world.plane.kubectl(&["config", "get-contexts", "-o", "name"]).ok().unwrap();
    assert_eq!(shell.candidates(&["--context", ""]), known.lines().collect::<Vec<_>>());
}

#[test]
fn a_cluster_that_does_not_answer_costs_little_time_and_no_word() {
    let world = World::new("complete-dead");
    let shell = Shell::new(&world, "dead");
    // A server that takes the connection and never says anything.
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("--server=https://{}", deaf.local_addr().unwrap());
    for words in
        [&["app", &server, ""][..], &["app", "--context", "nowhere", ""], &["app", "--kubeconfig", "/nowhere", ""]]
    {
        let run = shell.completes(words);
        assert_eq!(run.stdout, ":4\n", "{words:?}");
        assert!(run.took < Duration::from_secs(5), "{:?}", run.took);
    }
}

#[test]
fn a_link_of_kubectls_name_completes_without_a_script() {
    let world = two_applications("complete-link");
    let link = world.plane.dir().join("kubectl_complete-purge");
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    let offer = patiently(
        || {
            let mut command = Command::new(&link);
            command.args(["app", "-n", &world.namespace, "d"]).env("KUBECONFIG", world.plane.kubeconfig());
            Run::of(command).exits(0).stdout
        },
        ":4\n",
    );
    assert!(offer.ends_with("demo\tapp, 1 pod\n:4\n"), "{offer}");
}

/// What a shell offers once its script is loaded; none where this machine lacks the shell.
fn offered(world: &World, shell: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(shell);
    let path = std::env::join_paths([Path::new(PROGRAM).parent().unwrap(), "/usr/bin".as_ref(), "/bin".as_ref()]);
    command.args(arguments).env("PATH", path.unwrap()).env("KUBECONFIG", world.plane.kubeconfig());
    command.env("HOME", world.plane.dir()).env("TERM", "dumb");
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    Some(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn bash_and_fish_offer_what_the_cluster_knows() {
    let world = two_applications("complete-shells");
    let line = |words: &str| format!("kubectl-purge app -n {} {words}", world.namespace);
    let in_bash = |words: &str| {
        let script = format!(
            "source <(kubectl-purge completion bash); COMP_LINE='{}'; COMP_POINT=${{#COMP_LINE}}; \
             _kubectl_purge; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line(words)
        );
        patiently(|| offered(&world, "bash", &["-c", &script]).unwrap(), "\n")
    };
    assert_eq!(in_bash(""), "demo\nother\n");
    assert_eq!(in_bash("deploy/w"), "deploy/web\ndeploy/worker\n");
    assert_eq!(in_bash("--includ"), "--include-related\n");
    assert_eq!(in_bash("demo --dry-run=cl"), "client\n");
    let in_fish = |words: &str| {
        let script = format!("kubectl-purge completion fish | source; complete -C '{}'", line(words));
        offered(&world, "fish", &["-c", &script])
    };
    if in_fish("").is_some() {
        let offer = patiently(|| in_fish("d").unwrap(), "");
        assert!(offer.lines().any(|line| line == "demo\tapp, 1 pod"), "{offer}");
        assert_eq!(in_fish("demo --dry-run=cl").unwrap(), "--dry-run=client\tThe plan is shown\n");
    }
}

#[test]
fn every_script_is_one_that_its_shell_understands() {
    let world = World::new("scripts");
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "-n"), ("kubectl", ""), ("powershell", "")] {
        let mut command = Command::new(PROGRAM);
        command.args(["completion", shell]);
        let script = Run::of(command).exits(0).says("kubectl-purge").stdout;
        let path = world.plane.dir().join(format!("script.{shell}"));
        std::fs::write(&path, script).unwrap();
        if !check.is_empty() {
            let said = offered(&world, shell, &[check, path.to_str().unwrap()]);
            assert_eq!(said.unwrap_or_default(), "", "{shell}");
        }
    }
}
