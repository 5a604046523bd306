//! Label selectors, as Kubernetes evaluates them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A selector over labels. All its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    /// An operator of a newer API than this one: matches nothing, so that nothing is taken by mistake.
    Unknown,
}

impl Selector {
    /// Every pair must be among the labels.
    #[must_use]
    pub fn from_map(labels: &BTreeMap<String, String>) -> Self {
        let requirements = labels
            .iter()
            .map(|(key, value)| Requirement { key: key.clone(), operator: Operator::In(vec![value.clone()]) })
            .collect();
        Self { requirements }
    }

    /// Whether it has no requirement, and so matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels meet every requirement. An absent label satisfies `NotIn`, as in Kubernetes.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match &requirement.operator {
                Operator::In(values) => value.is_some_and(|value| values.contains(value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::Unknown => false,
            }
        })
    }
}

/// `metav1.LabelSelector` as it stands in a spec.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Option<Vec<String>>,
}

impl From<LabelSelector> for Selector {
    fn from(selector: LabelSelector) -> Self {
        let mut this = Self::from_map(&selector.match_labels.unwrap_or_default());
        for expression in selector.match_expressions.unwrap_or_default() {
            let values = expression.values.unwrap_or_default();
            let operator = match expression.operator.as_str() {
                "In" => Operator::In(values),
                "NotIn" => Operator::NotIn(values),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => Operator::Unknown,
            };
            this.requirements.push(Requirement { key: expression.key, operator });
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn selector(json: &str) -> Selector {
        serde_json::from_str::<LabelSelector>(json).unwrap().into()
    }

    #[test]
    fn every_requirement_must_hold() {
        let both = selector(
            r#"{"matchLabels":{"app":"demo"},"matchExpressions":[{"key":"track","operator":"NotIn","values":["canary"]}]}"#,
        );
        assert!(both.matches(&labels(&[("app", "demo")])));
        assert!(both.matches(&labels(&[("app", "demo"), ("track", "stable")])));
        assert!(!both.matches(&labels(&[("app", "demo"), ("track", "canary")])));
        assert!(!both.matches(&labels(&[("app", "demo-b")])));
    }

    #[test]
    fn existence_and_unknown_operators() {
        assert!(selector(r#"{"matchExpressions":[{"key":"a","operator":"Exists"}]}"#).matches(&labels(&[("a", "")])));
        assert!(!selector(r#"{"matchExpressions":[{"key":"a","operator":"Exists"}]}"#).matches(&labels(&[])));
        assert!(selector(r#"{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}"#).matches(&labels(&[])));
        assert!(
            !selector(r#"{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}"#)
                .matches(&labels(&[("a", "2")]))
        );
    }

    #[test]
    fn an_empty_selector_matches_everything_and_says_so() {
        assert!(selector("{}").is_empty());
        assert!(selector("{}").matches(&labels(&[("a", "b")])));
    }
}
