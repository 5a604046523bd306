//! The program beside its peers on the same work, in turn, against a real control plane. See benches/README.md.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark speaks to its reader")]
#![allow(clippy::cast_precision_loss, reason = "counts that are measured are small")]

mod contest;
mod figures;
mod ground;
mod link;
mod looks;
mod purges;
mod run;
mod scale;
mod watcher;

use std::fs;

use anyhow::{Context as _, Result, bail};

use figures::Work;

/// Does one piece of work so many times.
type Contest = fn(usize) -> Result<Vec<Work>>;

/// Each piece of work by its name, in the order of the report.
const WORKS: [(&str, Contest); 7] = [
    ("plan", looks::plan),
    ("workload", purges::workload),
    ("objects", purges::objects),
    ("growth", looks::growth),
    ("requests", purges::requests),
    ("footprint", looks::footprint),
    ("scale", scale::scale),
];

/// Runs of each competitor unless `--repeats N` says otherwise; a warm-up comes before them.
const REPEATS: usize = 5;

fn main() -> Result<()> {
    let mut repeats = REPEATS;
    let mut asked = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // cargo's own word to every benchmark.
            "--bench" => {}
            "--repeats" => {
                let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
                repeats = number.context("--repeats takes a number of at least 1")?;
            }
            name => asked.push(name.to_owned()),
        }
    }
    let names: Vec<&str> = WORKS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = asked.iter().find(|name| !names.contains(&name.as_str()) && *name != "report") {
        bail!("no work is called {unknown}: there are {}, and report", names.join(", "));
    }
    let folder = ground::folder()?;
    for (name, work) in WORKS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            eprintln!("== {name}");
            let results = work(repeats)?;
            fs::write(folder.join(format!("{name}.json")), serde_json::to_vec_pretty(&results)?)?;
            if !asked.iter().any(|asked| asked == "report") {
                for work in &results {
                    print!("{}", work.markdown());
                }
            }
        }
    }
    if asked.iter().any(|asked| asked == "report") {
        for (name, _) in WORKS {
            let Ok(kept) = fs::read(folder.join(format!("{name}.json"))) else {
                // What is left out silently would look as if it had never been asked for.
                println!("### {name}: not measured\n");
                continue;
            };
            let results: Vec<Work> = serde_json::from_slice(&kept)?;
            for work in &results {
                print!("{}", work.markdown());
            }
        }
    }
    Ok(())
}
