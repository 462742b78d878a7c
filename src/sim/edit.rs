//! Changes to a status record before it goes out: how a scenario says what no record should say.
//!
//! It must never change anything but the field that it names, and never pass over a field that isn't there in silence.

use serde_json::Value;

/// Why a change can't be made: what, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// No JSON pointer.
    #[error("`{0}` is no JSON pointer to a field; it starts with `/`, for example /toChain/blockNumber")]
    Pointer(String),
    /// No JSON.
    #[error("`{pointer}`: `{text}` is no JSON ({reason}); write text in quotes of its own, for example '\"173\"'")]
    Json {
        /// The field.
        pointer: String,
        /// What was to be put there.
        text: String,
        /// What the JSON reader says.
        reason: String,
    },
    /// Nothing there that could hold the field.
    #[error("`{0}`: the record has nothing there to put it into; check the pointer, or set what holds it as well")]
    Parent(String),
    /// Nothing to take out.
    #[error("`{0}`: the record has no such field to take out; check the pointer")]
    Missing(String),
}

/// A field that is put into a record, or taken out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    parent: String,
    name: String,
    value: Option<Value>,
}

impl Edit {
    /// Puts the JSON of `text` where the pointer leads, whether or not something is there; in an array also behind the
    /// last entry, which is called `-`.
    pub fn set(pointer: &str, text: &str) -> Result<Self, EditError> {
        let wrong = |error: serde_json::Error| EditError::Json {
            pointer: pointer.to_owned(),
            text: text.to_owned(),
            reason: error.to_string(),
        };
        let value = serde_json::from_str(text).map_err(wrong)?;
        Self::new(pointer, Some(value))
    }

    /// Takes the field out.
    pub fn unset(pointer: &str) -> Result<Self, EditError> {
        Self::new(pointer, None)
    }

    fn new(pointer: &str, value: Option<Value>) -> Result<Self, EditError> {
        let (parent, name) = pointer
            .rsplit_once('/')
            .filter(|(parent, _)| parent.is_empty() || parent.starts_with('/'))
            .ok_or_else(|| EditError::Pointer(pointer.to_owned()))?;
        // RFC 6901, 4: in this order, so that `~01` is `~1`.
        let name = name.replace("~1", "/").replace("~0", "~");
        Ok(Self { parent: parent.to_owned(), name, value })
    }

    /// What this change makes of a field of the record itself: nothing to do with it, or its new value, if any.
    pub fn of(&self, field: &str) -> Option<Option<&Value>> {
        (self.parent.is_empty() && self.name == field).then_some(self.value.as_ref())
    }

    /// Makes the change.
    ///
    /// # Errors
    /// If what the pointer leads through isn't there, or what is to be taken out isn't.
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
                let place = if self.name == "-" { Some(length) } else { index() };
                match place.and_then(|place| entries.get_mut(place)) {
                    Some(entry) => *entry = value.clone(),
                    None if place == Some(length) => entries.push(value.clone()),
                    None => return Err(EditError::Parent(pointer())),
                }
                Ok(())
            }
            (Some(Value::Array(entries)), None) => match index().filter(|place| *place < entries.len()) {
                Some(place) => {
                    entries.remove(place);
                    Ok(())
                }
                None => Err(EditError::Missing(pointer())),
            },
            (_, Some(_)) => Err(EditError::Parent(pointer())),
            (_, None) => Err(EditError::Missing(pointer())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(edit: Result<Edit, EditError>) -> Result<Value, String> {
        let mut record = json!({ "a": { "b/c": 1 }, "list": [1, 2], "text": "x" });
        let made = edit.and_then(|edit| edit.apply(&mut record));
        made.map(|()| record).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_put_in_and_taken_out() {
        let set = |pointer, text| after(Edit::set(pointer, text)).unwrap();
        let unset = |pointer| after(Edit::unset(pointer)).unwrap();
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
    fn what_can_not_be_done_is_said() {
        let set = |pointer, text| after(Edit::set(pointer, text)).unwrap_err();
        let unset = |pointer| after(Edit::unset(pointer)).unwrap_err();
        assert!(set("a", "1").starts_with("`a` is no JSON pointer"));
        assert!(set("a/b", "1").starts_with("`a/b` is no JSON pointer"));
        assert!(set("/a", "nul").starts_with("`/a`: `nul` is no JSON"));
        for pointer in ["/none/b", "/text/b", "/list/7", "/list/x"] {
            assert!(set(pointer, "1").starts_with(&format!("`{pointer}`: the record has nothing there")));
            assert!(unset(pointer).starts_with(&format!("`{pointer}`: the record has no such field")));
        }
        assert!(unset("/a/b").ends_with("no such field to take out; check the pointer"));
    }

    #[test]
    fn a_field_of_the_record_itself_is_known() {
        let edit = Edit::set("/toChain", "1").unwrap();
        assert_eq!((edit.of("toChain"), edit.of("fromChain")), (Some(Some(&json!(1))), None));
        assert_eq!(Edit::unset("/toChain").unwrap().of("toChain"), Some(None));
        assert_eq!(Edit::unset("/a/toChain").unwrap().of("toChain"), None);
    }
}
