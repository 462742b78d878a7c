//! Checks JSON against a JSON Schema, as far as `assets/schemas` uses the standard. The check is stricter than the
//! standard. A property that no schema names is an error: a new field of an output needs a line in its schema.

use std::collections::BTreeSet;

use serde_json::Value;

/// The keywords that this module knows. Another keyword would never be checked.
const KEYWORDS: [&str; 19] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "minimum",
    "pattern",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "allOf",
    "if",
    "then",
    "else",
];

/// Returns each violation of `schema` in `value`, with its path.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut check = SchemaCheck { root: schema, found: Vec::new() };
    check.whole(schema, value, "$");
    check.found
}

struct SchemaCheck<'a> {
    root: &'a Value,
    found: Vec<String>,
}

impl SchemaCheck<'_> {
    /// Checks a value, and that every property of an object is named.
    fn whole(&mut self, schema: &Value, value: &Value, path: &str) {
        let named = self.part(schema, value, path);
        if let (Value::Object(fields), Some(named)) = (value, named) {
            let unknown: Vec<_> = fields.keys().filter(|name| !named.contains(*name)).collect();
            if !unknown.is_empty() {
                self.found.push(format!("{path}: no schema names {unknown:?}"));
            }
        }
    }

    /// Checks a value against one of the schemas that apply to it. Returns the properties that the schema names; `None`
    /// if it allows any, or a value of any kind.
    fn part(&mut self, schema: &Value, value: &Value, path: &str) -> Option<BTreeSet<String>> {
        let unknown = schema.as_object().unwrap().keys().find(|name| !KEYWORDS.contains(&name.as_str()));
        assert_eq!(unknown, None, "a keyword that isn't checked");
        self.value(schema, value, path);
        let mut named = BTreeSet::new();
        let mut is_open = schema.get("type").is_none() && schema.get("properties").is_none();
        for part in self.parts(schema, value) {
            is_open = false;
            named.extend(self.part(&part, value, path)?);
        }
        let is_constant = ["const", "enum"].iter().any(|key| schema.get(key).is_some());
        let Value::Object(fields) = value else { return Some(named) };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.found.push(format!("{path}: {name} is missing"));
            }
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            named.insert(name.clone());
            if let Some(field) = fields.get(name) {
                self.whole(schema, field, &format!("{path}.{name}"));
            }
        }
        match &schema["additionalProperties"] {
            Value::Object(_) => {
                for (name, field) in fields.iter().filter(|(name, _)| !named.contains(*name)) {
                    self.whole(&schema["additionalProperties"], field, &format!("{path}.{name}"));
                }
                None
            }
            Value::Bool(true) => None,
            _ if is_open && !is_constant => None,
            _ => Some(named),
        }
    }

    /// Returns the other schemas that apply to the value.
    fn parts(&self, schema: &Value, value: &Value) -> Vec<Value> {
        let mut parts: Vec<Value> = schema["allOf"].as_array().cloned().unwrap_or_default();
        if let Some(reference) = schema["$ref"].as_str() {
            let found = self.root.pointer(reference.strip_prefix('#').unwrap());
            parts.push(found.unwrap_or_else(|| panic!("{reference} leads nowhere")).clone());
        }
        if let Some(condition) = schema.get("if") {
            let mut trial = SchemaCheck { root: self.root, found: Vec::new() };
            trial.part(condition, value, "");
            parts.extend(schema.get(if trial.found.is_empty() { "then" } else { "else" }).cloned());
        }
        parts
    }

    fn value(&mut self, schema: &Value, value: &Value, path: &str) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => vec![kind],
        };
        let is_of_type = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
        let is_allowed = schema.get("const").is_none_or(|only| only == value)
            && schema.get("enum").is_none_or(|all| all.as_array().unwrap().contains(value))
            && schema["minimum"].as_f64().is_none_or(|least| value.as_f64().is_none_or(|number| number >= least))
            && schema["pattern"].as_str().is_none_or(|pattern| {
                value.as_str().is_none_or(|text| regex::Regex::new(pattern).unwrap().is_match(text))
            });
        if !is_of_type || !is_allowed {
            self.found.push(format!("{path}: {value} is not {schema}"));
        }
        for (item, index) in value.as_array().into_iter().flatten().zip(0..) {
            if let Some(schema) = schema.get("items") {
                self.whole(schema, item, &format!("{path}[{index}]"));
            }
        }
    }
}
