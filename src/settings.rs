//! What was typed, and what it means: checked before any request is sent.

use std::path::PathBuf;

use thiserror::Error;

use crate::{
    cli::{App, DryRun, Orphans, Output, RunFlags},
    cluster::timeout,
    inventory::{Selector, SelectorError, label},
    output::Color,
    plan::{APP_LABELS, Allowed},
    run::Limits,
};

/// A command line that can't be meant.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UsageError {
    #[error("the application's name is empty: kubectl purge app NAME")]
    EmptyName,
    #[error("\"{0}\" is no label value, so no application can be called so: {1}")]
    NotALabelValue(String, &'static str),
    #[error("--label-key \"{0}\" is no label key: {1}")]
    NotALabelKey(String, &'static str),
    #[error("--instance \"{0}\" is no label value: {1}")]
    NotAnInstance(String, &'static str),
    #[error("--selector \"{0}\": {1}")]
    NotASelector(String, SelectorError),
    #[error("\"{0}\" is no object: TYPE/NAME, as in deploy/web")]
    NotAnObject(String),
    #[error("{0} is about an application's label, and \"{1}\" names an object")]
    NotOfAnObject(&'static str, String),
    #[error("--timeout: {0}")]
    Timeout(timeout::NotATimeout),
    #[error("--grace-period: {0} is no number of seconds that a deletion can be given; 0 deletes at once")]
    GracePeriod(i64),
    #[error("--expect-digest: \"{0}\" is no digest of a plan: sha256: and 64 hexadecimal digits")]
    NotADigest(String),
    #[error("--max: 0 allows nothing; --dry-run shows the plan and changes nothing")]
    Max,
    #[error("-o name prints a plan: it goes with --dry-run")]
    NamesOfARun,
    #[error(
        "-A is not for this program: one purge is of one namespace, since the same name in another one is another \
         application; name it with -n NAMESPACE"
    )]
    AllNamespaces,
    /// A name mistyped would delete what was to be kept.
    #[error("--exclude {0}: there is no such object in namespace \"{1}\"")]
    NothingToExclude(String, String),
    /// Only the server knows its types, so this is found out after the first requests, all of them reads.
    #[error(
        "the server has no namespaced type \"{0}\" that can be listed and deleted; `kubectl api-resources` lists them"
    )]
    UnknownType(String),
}

/// An object as typed: its type is looked up when the server's are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub kind: String,
    pub name: String,
}

impl Typed {
    fn parse(text: &str) -> Result<Self, UsageError> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.trim().is_empty() && !name.trim().is_empty() && !name.contains('/') => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err(UsageError::NotAnObject(text.to_owned())),
        }
    }
}

/// What is to be purged, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Named { app: String, keys: Vec<String> },
    Matching { text: String, selector: Selector },
    Around(Typed),
    Orphans,
}

/// One purge, as it was asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    pub subject: Subject,
    pub instance: Option<String>,
    pub include_related: bool,
    pub exclude: Vec<Typed>,
    pub delete_data: bool,
    pub no_scale_down: bool,
    pub allowed: Allowed,
    pub limits: Limits,
    /// Go on without asking.
    pub yes: bool,
    /// Show the plan, and no more.
    pub dry_run: bool,
    /// Have the server try every write of the plan before the question.
    pub preflight: bool,
    /// Put back what an earlier run has changed, and delete nothing.
    pub restore: bool,
    /// Where every object to be deleted is saved first.
    pub backup: Option<PathBuf>,
    /// The digest that the plan must have.
    pub expect_digest: Option<String>,
    pub output: Output,
    pub color: Color,
}

impl Settings {
    /// Reads the flags of `purge app`.
    pub fn of_app(app: &App) -> Result<Self, UsageError> {
        let mut settings = Self::of_run(subject(app)?, &app.run)?;
        if let Some(instance) = &app.instance {
            label::check_value(instance).map_err(|rule| UsageError::NotAnInstance(instance.clone(), rule))?;
        }
        settings.instance.clone_from(&app.instance);
        settings.include_related = app.include_related;
        settings.allowed.all_instances = app.all_instances;
        settings.allowed.managed = app.allow_managed;
        Ok(settings)
    }

    /// Reads the flags of `purge orphans`. An orphan has no manager that would bring it back.
    pub fn of_orphans(orphans: &Orphans) -> Result<Self, UsageError> {
        let mut settings = Self::of_run(Subject::Orphans, &orphans.run)?;
        settings.allowed.managed = true;
        settings.allowed.all_instances = true;
        Ok(settings)
    }

    fn of_run(subject: Subject, flags: &RunFlags) -> Result<Self, UsageError> {
        if let Some(seconds) = flags.grace_period.filter(|seconds| *seconds < 0) {
            return Err(UsageError::GracePeriod(seconds));
        }
        flags.expect_digest.as_deref().map_or(Ok(()), check_digest)?;
        if flags.max == Some(0) {
            return Err(UsageError::Max);
        }
        let dry_run = flags.dry_run != DryRun::None;
        if flags.output == Output::Name && !dry_run {
            return Err(UsageError::NamesOfARun);
        }
        let limits = Limits {
            timeout: timeout::parse(&flags.timeout).map_err(UsageError::Timeout)?,
            grace_period: grace_period(flags),
            force: flags.force,
            remove_finalizers: flags.remove_finalizers,
            ignore_unavailable: flags.ignore_unavailable,
            strict: flags.strict,
        };
        let exclude = flags.exclude.iter().map(|text| Typed::parse(text)).collect::<Result<_, _>>()?;
        Ok(Self {
            subject,
            instance: None,
            include_related: false,
            exclude,
            delete_data: flags.delete_data,
            no_scale_down: flags.no_scale_down,
            allowed: Allowed {
                all_instances: false,
                managed: false,
                system_namespace: flags.allow_system_namespace,
                unavailable: flags.ignore_unavailable,
                max: flags.max,
            },
            limits,
            yes: flags.yes,
            dry_run,
            preflight: flags.dry_run != DryRun::Client,
            restore: flags.restore,
            backup: flags.backup.clone(),
            expect_digest: flags.expect_digest.clone(),
            output: flags.output,
            color: flags.color,
        })
    }
}

/// As in kubectl: 0 without `--force` is 1, so that nothing is taken out of the API while it still runs.
fn grace_period(flags: &RunFlags) -> Option<i64> {
    match flags.grace_period {
        Some(0) if !flags.force => Some(1),
        None if flags.now => Some(1),
        given => given,
    }
}

/// A digest as the plan prints it.
fn check_digest(digest: &str) -> Result<(), UsageError> {
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    let fits = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if fits { Ok(()) } else { Err(UsageError::NotADigest(digest.to_owned())) }
}

fn subject(app: &App) -> Result<Subject, UsageError> {
    if let Some(text) = &app.selector {
        let selector = Selector::parse(text).map_err(|error| UsageError::NotASelector(text.clone(), error))?;
        return Ok(Subject::Matching { text: text.clone(), selector });
    }
    let name = app.name.as_deref().unwrap_or_default();
    if name.trim().is_empty() {
        return Err(UsageError::EmptyName);
    }
    if name.contains('/') {
        let flag = [("--label-key", app.label_key.is_some()), ("--instance", app.instance.is_some())];
        if let Some((flag, _)) = flag.into_iter().find(|(_, given)| *given) {
            return Err(UsageError::NotOfAnObject(flag, name.to_owned()));
        }
        return Typed::parse(name).map(Subject::Around);
    }
    label::check_value(name).map_err(|rule| UsageError::NotALabelValue(name.to_owned(), rule))?;
    let keys = match &app.label_key {
        Some(key) => {
            label::check_key(key).map_err(|rule| UsageError::NotALabelKey(key.clone(), rule))?;
            vec![key.clone()]
        }
        None => APP_LABELS.iter().map(|&key| key.to_owned()).collect(),
    };
    Ok(Subject::Named { app: name.to_owned(), keys })
}
