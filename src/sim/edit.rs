//! Changes to a status record before it is sent, so that a scenario can send records with faults.
//!
//! A change must never affect a field that it doesn't name, and must never ignore a missing field silently.

use serde_json::Value;

/// The reason why a change can't be made, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not a JSON pointer.
    #[error("`{0}` is not a JSON pointer to a field; it starts with `/`, for example /toChain/blockNumber")]
    Pointer(String),
    /// The value is not JSON.
    #[error("`{pointer}`: `{text}` is not JSON ({reason}); write text in quotes of its own, for example '\"173\"'")]
    Json {
        /// The pointer to the field.
        pointer: String,
        /// The text that should be the value.
        text: String,
        /// The message of the JSON parser.
        reason: String,
    },
    /// The record has no object or array that could hold the field.
    #[error("`{0}`: the record has no object or array there; check the pointer, or set what holds it as well")]
    Parent(String),
    /// The record doesn't have the field that should be removed.
    #[error("`{0}`: the record has no such field to remove; check the pointer")]
    Missing(String),
}

/// A change that sets a field of a record, or removes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordEdit {
    parent: String,
    name: String,
    value: Option<Value>,
}

impl RecordEdit {
    /// Creates a change that sets the field at `pointer` to the JSON in `text`, whether or not the field exists. In an
    /// array, `-` is the place after the last entry.
    pub fn set(pointer: &str, text: &str) -> Result<Self, EditError> {
        let wrong = |error: serde_json::Error| EditError::Json {
            pointer: pointer.to_owned(),
            text: text.to_owned(),
            reason: error.to_string(),
        };
        let value = serde_json::from_str(text).map_err(wrong)?;
        Self::new(pointer, Some(value))
    }

    /// Creates a change that removes the field.
    pub fn unset(pointer: &str) -> Result<Self, EditError> {
        Self::new(pointer, None)
    }

    fn new(pointer: &str, value: Option<Value>) -> Result<Self, EditError> {
        let (parent, name) = pointer
            .rsplit_once('/')
            .filter(|(parent, _)| parent.is_empty() || parent.starts_with('/'))
            .ok_or_else(|| EditError::Pointer(pointer.to_owned()))?;
        // RFC 6901, 4: in this order, so that `~01` becomes `~1`.
        let name = name.replace("~1", "/").replace("~0", "~");
        Ok(Self { parent: parent.to_owned(), name, value })
    }

    /// Returns the change to a top-level field: `None` if the field isn't changed, `Some(None)` if it is removed,
    /// otherwise the new value.
    pub fn change_to(&self, field: &str) -> Option<Option<&Value>> {
        (self.parent.is_empty() && self.name == field).then_some(self.value.as_ref())
    }

    /// Applies the change to a record.
    ///
    /// # Errors
    /// If a part of the pointer's path is missing, or the field to remove is missing.
    pub fn apply(&self, record: &mut Value) -> Result<(), EditError> {
        let pointer = || format!("{}/{}", self.parent, self.name.replace('~', "~0").replace('/', "~1"));
        let parent = record.pointer_mut(&self.parent);
        let index = || self.name.parse::<usize>().ok();
        match (parent, &self.value) {
            (Some(Value::Object(fields)), Some(value)) => {
                fields.insert(self.name.clone(), value.clone());
                Ok(())
            }
            (Some(Value::Object(fields)), None) => {
                fields.remove(&self.name).map(drop).ok_or_else(|| EditError::Missing(pointer()))
            }
            (Some(Value::Array(entries)), Some(value)) => {
                let length = entries.len();
                let position = if self.name == "-" { Some(length) } else { index() };
                match position.and_then(|position| entries.get_mut(position)) {
                    Some(entry) => *entry = value.clone(),
                    None if position == Some(length) => entries.push(value.clone()),
                    None => return Err(EditError::Parent(pointer())),
                }
                Ok(())
            }
            (Some(Value::Array(entries)), None) => {
                let position = index().filter(|position| *position < entries.len());
                position.map(|position| drop(entries.remove(position))).ok_or_else(|| EditError::Missing(pointer()))
            }
            (_, Some(_)) => Err(EditError::Parent(pointer())),
            (_, None) => Err(EditError::Missing(pointer())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record_after(edit: Result<RecordEdit, EditError>) -> Result<Value, String> {
        let mut record = json!({ "a": { "b/c": 1 }, "list": [1, 2], "text": "x" });
        let applied = edit.and_then(|edit| edit.apply(&mut record));
        applied.map(|()| record).map_err(|error| error.to_string())
    }

    #[test]
    fn edits_set_and_remove_fields() {
        let set = |pointer, text| record_after(RecordEdit::set(pointer, text)).unwrap();
        let unset = |pointer| record_after(RecordEdit::unset(pointer)).unwrap();
        assert_eq!(set("/new", "\"n\"")["new"], "n");
        assert_eq!(set("/a", "null")["a"], Value::Null);
        assert_eq!(set("/a/b~1c", "[2]")["a"], json!({ "b/c": [2] }));
        assert_eq!(set("/list/0", "9")["list"], json!([9, 2]));
        assert_eq!(
            (&set("/list/-", "3")["list"], &set("/list/2", "3")["list"]),
            (&json!([1, 2, 3]), &json!([1, 2, 3]))
        );
        assert_eq!(unset("/a/b~1c")["a"], json!({}));
        assert_eq!(unset("/list/1")["list"], json!([1]));
        assert_eq!(unset("/text").get("text"), None);
    }

    #[test]
    fn impossible_edits_are_errors() {
        let set = |pointer, text| record_after(RecordEdit::set(pointer, text)).unwrap_err();
        let unset = |pointer| record_after(RecordEdit::unset(pointer)).unwrap_err();
        assert!(set("a", "1").starts_with("`a` is not a JSON pointer"));
        assert!(set("a/b", "1").starts_with("`a/b` is not a JSON pointer"));
        assert!(set("/a", "nul").starts_with("`/a`: `nul` is not JSON"));
        for pointer in ["/none/b", "/text/b", "/list/7", "/list/x"] {
            assert!(set(pointer, "1").starts_with(&format!("`{pointer}`: the record has no object or array there")));
            assert!(unset(pointer).starts_with(&format!("`{pointer}`: the record has no such field")));
        }
        assert!(unset("/a/b").ends_with("no such field to remove; check the pointer"));
    }

    #[test]
    fn change_to_a_top_level_field_is_found() {
        let edit = RecordEdit::set("/toChain", "1").unwrap();
        assert_eq!((edit.change_to("toChain"), edit.change_to("fromChain")), (Some(Some(&json!(1))), None));
        assert_eq!(RecordEdit::unset("/toChain").unwrap().change_to("toChain"), Some(None));
        assert_eq!(RecordEdit::unset("/a/toChain").unwrap().change_to("toChain"), None);
    }
}
