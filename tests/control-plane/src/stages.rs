//! Kwok's stages: how fake nodes and pods behave.

/// Which stages are used: kwok's own, less those left out, with those added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stages {
    without: Vec<String>,
    added: Vec<String>,
}

impl Stages {
    pub(crate) fn leave_out(&mut self, name: &str) {
        self.without.push(name.to_owned());
    }

    pub(crate) fn add(&mut self, yaml: &str) {
        self.added.push(yaml.to_owned());
    }

    pub(crate) fn are_kwoks_own(&self) -> bool {
        self.without.is_empty() && self.added.is_empty()
    }

    /// One YAML stream for `--config`. An added stage takes the place of one of the same name: with
    /// both, kwok would pick either.
    pub(crate) fn select(&self, own: &str) -> String {
        let added: Vec<_> = self.added.iter().flat_map(|yaml| documents(yaml)).collect();
        let replaced = |name: &str| added.iter().any(|stage| name_of(stage) == Some(name));
        let kept = documents(own).filter(|stage| {
            name_of(stage).is_none_or(|name| !self.without.iter().any(|without| without == name) && !replaced(name))
        });
        kept.chain(added.iter().copied()).fold(String::new(), |stream, stage| stream + "---\n" + stage.trim() + "\n")
    }
}

fn documents(yaml: &str) -> impl Iterator<Item = &str> {
    yaml.split("---\n").filter(|document| !document.trim().is_empty())
}

/// `metadata.name`, in the two-space layout that all of kwok's stages have.
fn name_of(stage: &str) -> Option<&str> {
    stage.lines().skip_while(|line| *line != "metadata:").find_map(|line| line.strip_prefix("  name: ")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str =
        "---\nkind: Stage\nmetadata:\n  name: pod-ready\n---\nkind: Stage\nmetadata:\n  name: pod-complete\n";

    #[test]
    fn untouched_stages_are_all_used() {
        assert!(Stages::default().are_kwoks_own());
        assert_eq!(Stages::default().select(OWN), OWN);
    }

    #[test]
    fn a_stage_left_out_is_not_used() {
        let mut stages = Stages::default();
        stages.leave_out("pod-complete");
        assert_eq!(stages.select(OWN), "---\nkind: Stage\nmetadata:\n  name: pod-ready\n");
    }

    #[test]
    fn an_added_stage_replaces_its_namesake() {
        let mut stages = Stages::default();
        stages.add("kind: Stage\nmetadata:\n  name: pod-ready\nspec: {}\n");
        let selected = stages.select(OWN);
        assert_eq!(selected.matches("name: pod-ready").count(), 1);
        assert!(selected.contains("spec: {}") && selected.contains("pod-complete"));
    }
}
