//! `-o name`: one `type/name` a line, as kubectl writes them.

use super::escape;
use crate::plan::{Plan, PlanObject};

/// What would be gone at the end, in the order of the plan.
#[must_use]
pub fn render(plan: &Plan) -> String {
    plan.going().flat_map(|object| [name(object), "\n".into()]).collect()
}

/// `deployment.apps/web`, or `pod/web-0` for the core group.
fn name(object: &PlanObject) -> String {
    let kind = object.kind.kind.to_lowercase();
    let group = &object.kind.group;
    let dot = if group.is_empty() { "" } else { "." };
    escape::line(&format!("{kind}{dot}{group}/{}", object.name)).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::output::sample;

    #[test]
    fn names_are_those_of_what_goes() {
        assert_eq!(
            super::render(&sample::plan()),
            "podtemplate/podtemplate-demo\n\
             deployment.apps/deployment-demo\n\
             replicaset.apps/deployment-demo-54c9846b78\n\
             replicaset.apps/deployment-demo-3344900030\n\
             pod/deployment-demo-54c9846b78-a\n\
             pod/deployment-demo-54c9846b78-b\n\
             pod/deployment-demo-54c9846b78-c\n\
             service/service-demo\n"
        );
    }
}
