//! What was typed, and what it means: checked before any request is sent.

use std::path::PathBuf;

use thiserror::Error;

use crate::{
    cli::{App, DryRun, Output},
    cluster::timeout,
    output::Color,
    plan::{Choices, Question},
    run::Limits,
};

/// A command line that can't be meant.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UsageError {
    #[error("the application's name is empty: kubectl purge app NAME")]
    EmptyName,
    #[error("\"{0}\" is no label value: {1}")]
    NotALabelValue(String, &'static str),
    #[error("--timeout: {0}")]
    Timeout(#[from] timeout::NotATimeout),
    #[error("--grace-period: {0} is no number of seconds that a deletion can be given; 0 deletes at once")]
    GracePeriod(i64),
    #[error("--expect-digest: \"{0}\" is no digest of a plan: sha256: and 64 hexadecimal digits")]
    NotADigest(String),
}

/// One purge of an application, as it was asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    pub question: Question,
    pub choices: Choices,
    pub limits: Limits,
    /// Go on without asking.
    pub yes: bool,
    /// Show the plan, and no more.
    pub dry_run: bool,
    /// Have the server try every write of the plan before the question.
    pub preflight: bool,
    /// Where every object to be deleted is saved first.
    pub backup: Option<PathBuf>,
    /// The digest that the plan must have.
    pub expect_digest: Option<String>,
    pub output: Output,
    pub color: Color,
}

impl Settings {
    /// Reads the flags of `purge app`.
    pub fn of(app: &App) -> Result<Self, UsageError> {
        if app.name.trim().is_empty() {
            return Err(UsageError::EmptyName);
        }
        check_label_value(&app.name)?;
        app.expect_digest.as_deref().map_or(Ok(()), check_digest)?;
        if let Some(seconds) = app.grace_period.filter(|seconds| *seconds < 0) {
            return Err(UsageError::GracePeriod(seconds));
        }
        let limits = Limits {
            timeout: timeout::parse(&app.timeout)?,
            grace_period: grace_period(app),
            force: app.force,
            remove_finalizers: app.remove_finalizers,
            ignore_unavailable: app.ignore_unavailable,
            strict: app.strict,
        };
        Ok(Self {
            question: Question::named(&app.name),
            choices: Choices { delete_data: app.delete_data, no_scale_down: app.no_scale_down },
            limits,
            yes: app.yes,
            dry_run: app.dry_run != DryRun::None,
            preflight: app.dry_run != DryRun::Client,
            backup: app.backup.clone(),
            expect_digest: app.expect_digest.clone(),
            output: app.output,
            color: app.color,
        })
    }
}

/// As in kubectl: 0 without `--force` is 1, so that nothing is taken out of the API while it still runs.
fn grace_period(app: &App) -> Option<i64> {
    match app.grace_period {
        Some(0) if !app.force => Some(1),
        None if app.now => Some(1),
        given => given,
    }
}

/// A digest as the plan prints it.
fn check_digest(digest: &str) -> Result<(), UsageError> {
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    let fits = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if fits { Ok(()) } else { Err(UsageError::NotADigest(digest.to_owned())) }
}

/// The rule for label values (`k8s.io/apimachinery/pkg/util/validation.IsValidLabelValue`).
fn check_label_value(value: &str) -> Result<(), UsageError> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let rule = if value.len() > 63 {
        "it has more than 63 characters"
    } else if !value.bytes().all(inner) {
        "letters, digits, '-', '_' and '.' are allowed, and no selector"
    } else if !value.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !value.ends_with(|c: char| c.is_ascii_alphanumeric())
    {
        "it must begin and end with a letter or digit"
    } else {
        return Ok(());
    };
    Err(UsageError::NotALabelValue(value.to_owned(), rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_must_be_a_label_value() {
        for good in ["demo", "Demo", "d", "a.b_c-d", &"x".repeat(63)] {
            assert_eq!(check_label_value(good), Ok(()), "{good}");
        }
        for bad in ["demo,tier", "a in (b)", "-a", "a-", "a b", "app=demo", "dé", &"x".repeat(64)] {
            assert!(check_label_value(bad).is_err(), "{bad}");
        }
    }
}
