//! Label selectors, as Kubernetes reads and evaluates them.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;
use thiserror::Error;

use super::label;

/// A text that is no selector, or none that may pick what to delete.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SelectorError {
    #[error("it is empty, and would pick everything")]
    Empty,
    #[error("it only says what must not be there, and would pick the rest of the namespace")]
    OnlyNegative,
    #[error("\"{0}\" is no requirement: KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or !KEY")]
    Requirement(String),
    #[error("\"{0}\" is no label key: {1}")]
    Key(String, &'static str),
    #[error("\"{0}\" is no label value: {1}")]
    Value(String, &'static str),
}

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

    /// Reads a selector as `kubectl -l` takes it (`k8s.io/apimachinery/pkg/labels.Parse`). One that picks by absence
    /// alone is refused: what it picks is whatever else is there.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for part in split(text) {
            let part = part.trim();
            requirements.push(requirement(part)?);
        }
        if requirements.is_empty() {
            return Err(SelectorError::Empty);
        }
        let is_positive =
            |requirement: &Requirement| matches!(requirement.operator, Operator::In(_) | Operator::Exists);
        if !requirements.iter().any(is_positive) {
            return Err(SelectorError::OnlyNegative);
        }
        Ok(Self { requirements })
    }

    /// The label keys that it asks for.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|requirement| requirement.key.as_str())
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

/// As `kubectl -l` takes it. A selector with an operator that is not known has no such form, and says so in it.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator }) in self.requirements.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match operator {
                Operator::In(values) => write!(f, "{key} in ({})", values.join(","))?,
                Operator::NotIn(values) => write!(f, "{key} notin ({})", values.join(","))?,
                Operator::Exists => f.write_str(key)?,
                Operator::DoesNotExist => write!(f, "!{key}")?,
                Operator::Unknown => write!(f, "{key} ? ()")?,
            }
        }
        Ok(())
    }
}

/// The requirements, cut at commas outside of parentheses. Nothing but blanks has none.
fn split(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

fn requirement(text: &str) -> Result<Requirement, SelectorError> {
    let malformed = || SelectorError::Requirement(text.to_owned());
    let of = |key: &str, operator| {
        let key = key.trim();
        label::check_key(key).map_err(|rule| SelectorError::Key(key.to_owned(), rule))?;
        Ok(Requirement { key: key.to_owned(), operator })
    };
    let value = |value: &str| {
        let value = value.trim();
        if !value.is_empty() {
            label::check_value(value).map_err(|rule| SelectorError::Value(value.to_owned(), rule))?;
        }
        Ok(value.to_owned())
    };
    if let Some((key, found)) = text.split_once("!=") {
        return of(key, Operator::NotIn(vec![value(found)?]));
    }
    if let Some((key, found)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return of(key, Operator::In(vec![value(found)?]));
    }
    if let Some((front, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (key, operator) = front.trim().rsplit_once(char::is_whitespace).ok_or_else(malformed)?;
        let values = values.split(',').map(value).collect::<Result<Vec<_>, _>>()?;
        return match operator {
            "in" => of(key, Operator::In(values)),
            "notin" => of(key, Operator::NotIn(values)),
            _ => Err(malformed()),
        };
    }
    match text.strip_prefix('!') {
        Some(key) => of(key, Operator::DoesNotExist),
        None if text.is_empty() => Err(malformed()),
        None => of(text, Operator::Exists),
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
    fn selectors_are_read_as_kubectl_reads_them() {
        let picks = |text: &str, pairs: &[(&str, &str)]| Selector::parse(text).unwrap().matches(&labels(pairs));
        assert!(picks("app=demo", &[("app", "demo")]));
        assert!(picks("app==demo , tier!=back", &[("app", "demo")]));
        assert!(!picks("app=demo,tier!=back", &[("app", "demo"), ("tier", "back")]));
        assert!(picks("app in (a, demo),tier notin (back,x)", &[("app", "demo"), ("tier", "front")]));
        assert!(picks("example.com/app,!gone", &[("example.com/app", "")]));
        assert!(picks("app=", &[("app", "")]));
    }

    #[test]
    fn what_is_no_selector_or_picks_by_absence_is_refused() {
        let error = |text: &str| Selector::parse(text).unwrap_err();
        assert_eq!(error(""), SelectorError::Empty);
        assert_eq!(error("  "), SelectorError::Empty);
        assert_eq!(error("app!=demo"), SelectorError::OnlyNegative);
        assert_eq!(error("!app"), SelectorError::OnlyNegative);
        assert_eq!(error("a,,b"), SelectorError::Requirement(String::new()));
        assert_eq!(error("app within (a)"), SelectorError::Requirement("app within (a)".into()));
        for text in ["app=a b", "a b", "app in (a", "=x", "-a=x", "app=x;y", "a=b=c", "ä=x", "app in ((a))"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_empty_selector_matches_everything_and_says_so() {
        assert!(selector("{}").is_empty());
        assert!(selector("{}").matches(&labels(&[("a", "b")])));
    }
}
