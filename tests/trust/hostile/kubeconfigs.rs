//! Kubeconfigs that mean harm: by their names, their size, their depth.

use std::time::Duration;

use serde_json::json;

use super::{
    check::{harmless, silent_about},
    setup::{Folder, purge},
    texts::text,
};
use crate::series::Series;

const CANARY: &str = "canary-1c0de5";

#[test]
fn a_kubeconfigs_names_and_values_are_told_in_harmless_words() {
    let series = Series::new("hostile kubeconfigs", 12, 2000);
    for case in series.cases() {
        let mut random = series.random(case);
        let folder = Folder::new();
        let odd = text(&mut random);
        let user = json!({ "token": format!("{CANARY}{}", text(&mut random)) });
        let cluster = |server: &str| json!({ "server": server, "proxy-url": format!("http://u:{CANARY}@127.0.0.1:1") });
        let kubeconfig = match case % 6 {
            // A name that does not exist, among names that are told.
            0 => folder.named(&odd, &cluster("https://127.0.0.1:1"), &user),
            1 => folder.named(&odd, &cluster(&format!("https://u:{CANARY}@{odd}")), &user),
            2 => folder.named(
                &odd,
                &cluster("https://127.0.0.1:1"),
                &json!({ "exec": { "command": odd, "apiVersion": odd } }),
            ),
            3 => folder.named(&odd, &json!({ "server": "https://127.0.0.1:1", "certificate-authority": odd }), &user),
            4 => folder.named(
                &odd,
                &json!({ "server": "https://127.0.0.1:1", "certificate-authority-data": CANARY }),
                &user,
            ),
            _ => {
                let config = json!({ "current-context": "c", "contexts": [{ "name": "c", "context": { "cluster": "k", "namespace": odd } }],
                                     "clusters": [{ "name": "k", "cluster": { "server": "https://127.0.0.1:1" } }] });
                folder.file("config", config.to_string())
            }
        };
        println!("case {case}");
        let arguments: &[&str] = if case % 6 == 0 { &["list", "--context", "no-such"] } else { &["list", "-v", "9"] };
        let run = purge(&kubeconfig, arguments);
        assert!(matches!(run.code, 1 | 2) && run.stderr.contains("error: "), "{run:?}");
        harmless(&run, false);
        silent_about(&run, &[CANARY]);
    }
    series.report(format!("{} kubeconfigs", series.cases));
}

#[test]
fn a_kubeconfig_that_has_no_end_or_unfolds_without_end_is_an_error_at_once() {
    let folder = Folder::new();
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    bomb += "current-context: c\n";
    let bomb = folder.file("bomb", bomb);
    let deep = folder.file("deep", format!("a: {}", "[".repeat(1_000_000)));
    let blocks: String = (0..5000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    let blocks = folder.file("blocks", blocks);
    let large = folder.file("large", vec![b'#'; (16 << 20) + 1]);
    let mut cases = vec![(bomb, "is not valid YAML"), (deep, "is not valid YAML"), (blocks, "is not valid YAML")];
    cases.push((large, "cannot be read: it is larger than 16 MiB"));
    if cfg!(target_os = "linux") {
        cases.push(("/dev/zero".into(), "cannot be read: it is larger than 16 MiB"));
    }
    for (path, problem) in cases {
        let run = purge(&path, &["list"]).exits(1).complains(problem);
        assert!(run.took < Duration::from_secs(10), "{}: {:?}", path.display(), run.took);
    }
}

/// What a kubeconfig names is read to the same limit.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_a_kubeconfig_names_may_have_no_end() {
    let folder = Folder::new();
    let cluster = json!({ "server": "https://127.0.0.1:1", "certificate-authority": "/dev/zero" });
    let run = purge(&folder.kubeconfig(&cluster, &json!({})), &["list"]).exits(1);
    run.complains("names /dev/zero, which cannot be read: it is larger than 16 MiB");
    let cluster = json!({ "server": "https://127.0.0.1:1" });
    purge(&folder.kubeconfig(&cluster, &json!({ "tokenFile": "/dev/zero" })), &["list"]).exits(1).complains("16 MiB");
}
