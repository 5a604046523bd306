//! Reading the fields of one entry, with errors that say where and never what.

use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::error::KubeconfigError;
use super::files::Entry;

/// An entry's fields and where they are.
pub(super) struct Fields<'a> {
    fields: &'a Map<String, Value>,
    /// `user "jane" in /home/jane/.kube/config`
    pub(super) place: String,
    /// What relative paths start from.
    folder: PathBuf,
}

impl<'a> Fields<'a> {
    /// Fields that no file holds.
    pub(super) fn new(fields: &'a Map<String, Value>, place: &str) -> Self {
        Self { fields, place: place.to_owned(), folder: PathBuf::new() }
    }

    /// The fields of a cluster or user.
    pub(super) fn of(kind: &str, entry: &'a Entry) -> Self {
        let place = format!("{kind} \"{}\" in {}", entry.name, entry.file.display());
        let folder = entry.file.parent().map_or_else(PathBuf::new, Path::to_owned);
        Self { fields: &entry.fields, place, folder }
    }

    /// The fields of a mapping inside this one.
    pub(super) fn inside(&self, field: &'static str) -> Result<Option<Fields<'a>>, KubeconfigError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(fields)) => {
                Ok(Some(Fields { fields, place: format!("{}: {field}", self.place), folder: self.folder.clone() }))
            }
            Some(_) => Err(self.wrong(field, "must be a mapping")),
        }
    }

    /// The fields' names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a String> {
        self.fields.keys()
    }

    /// A raw value, for what has a shape of its own.
    pub(super) fn value(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// A text; an empty one counts as absent.
    pub(super) fn text(&self, field: &str) -> Result<Option<&'a str>, KubeconfigError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(field, "must be text; put it in quotes")),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, field: &str) -> Result<Vec<String>, KubeconfigError> {
        let wrong = || self.wrong(field, "must be a list of texts");
        match self.value(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// A yes or no; kubectl reads YAML 1.1, in which those words are booleans.
    pub(super) fn flag(&self, field: &str) -> Result<bool, KubeconfigError> {
        match self.value(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) => match text.to_ascii_lowercase().as_str() {
                "yes" | "y" | "on" | "true" => Ok(true),
                "no" | "n" | "off" | "false" => Ok(false),
                _ => Err(self.wrong(field, "must be true or false")),
            },
            Some(_) => Err(self.wrong(field, "must be true or false")),
        }
    }

    /// A path; a relative one starts from the kubeconfig's own folder.
    pub(super) fn path(&self, field: &str) -> Result<Option<PathBuf>, KubeconfigError> {
        Ok(self.text(field)?.map(|path| clean(&self.folder.join(path))))
    }

    /// The bytes of `FIELD-data`, or of the file that `FIELD` names. Both at once is an error, as in kubectl.
    pub(super) fn data_or_file(&self, field: &str) -> Result<Option<Vec<u8>>, KubeconfigError> {
        let data_field = format!("{field}-data");
        let (data, path) = (self.text(&data_field)?, self.path(field)?);
        match (data, path) {
            (Some(_), Some(_)) => Err(self.wrong(field, &format!("and {data_field} are both set; keep one"))),
            (Some(data), None) => decode(data).map(Some).ok_or_else(|| self.wrong(&data_field, "is not valid base64")),
            (None, Some(path)) => read(&path).map(Some).map_err(|problem| self.wrong(field, &problem)),
            (None, None) => Ok(None),
        }
    }

    /// An error about a field of this entry.
    pub(super) fn wrong(&self, field: &str, problem: &str) -> KubeconfigError {
        KubeconfigError::Field { place: self.place.clone(), field: field.to_owned(), problem: problem.to_owned() }
    }
}

/// Takes `..` by the letter, as Go does: with a linked folder the kernel would end up elsewhere.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(cleaned.pop()),
            component => cleaned.push(component),
        }
    }
    cleaned
}

/// A file's bytes, or what is wrong with it.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    super::bytes_of(path)
        .map_err(|error| format!("names {}, which cannot be read: {}", path.display(), super::reason(&error)))
}

/// Base64 as Go decodes it: padded, line breaks ignored.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let engine = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new());
    let packed: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    engine.decode(packed).ok()
}
