//! The kinds of JSON that hoptop prints, their names, and their JSON Schemas.
//!
//! A name and its version are a contract with scripts: a schema only gains properties. `assets/schemas` holds the
//! schemas; the tests check each output against its schema.

use clap::ValueEnum;
use serde::{Serialize, Serializer};
use serde_json::Value;

macro_rules! schemas {
    ($($kind:ident $name:literal $printed_by:literal,)*) => {
        /// A kind of JSON output. As JSON it is the value of `schema`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub(crate) enum Schema { $(#[value(name = $name)] $kind,)* }

        impl Schema {
            /// Returns the value of `schema` in the output, like `hoptop/alert/1`.
            pub(crate) fn id(self) -> &'static str {
                match self { $(Self::$kind => concat!("hoptop/", $name, "/1"),)* }
            }

            /// Returns the commands that print this kind of JSON.
            pub(crate) fn printed_by(self) -> &'static str {
                match self { $(Self::$kind => $printed_by,)* }
            }

            fn parse_file(self) -> Result<Value, serde_json::Error> {
                serde_json::from_str(match self {
                    $(Self::$kind => include_str!(concat!("../../../assets/schemas/", $name, ".json")),)*
                })
            }
        }
    };
}

schemas! {
    Transaction "transaction" "list, show, check and export, with --json or --format json or ndjson",
    Event "event" "watch --json, on_event and webhooks: one event a line",
    Alert "alert" "alerts --json",
    Quote "quote" "quote --json",
    Stats "stats" "stats --json",
    Import "import" "import --json",
    Doctor "doctor" "doctor --json",
    Config "config" "config --json",
    StoreStatus "store-status" "store status --json",
}

impl Schema {
    /// Returns the JSON Schema. The schema of events contains the definitions of a transaction.
    ///
    /// # Errors
    /// If a file of the program isn't JSON.
    pub(crate) fn json_schema(self) -> Result<Value, serde_json::Error> {
        let mut schema = self.parse_file()?;
        if self == Self::Event
            && let Some(fields) = schema.as_object_mut()
            && let Some(definitions) = Self::Transaction.parse_file()?.get_mut("$defs")
        {
            fields.insert("$defs".to_owned(), definitions.take());
        }
        Ok(schema)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::status::RouterStatus;

    #[test]
    fn schema_of_a_transaction_lists_all_statuses() {
        let schema = Schema::Transaction.json_schema().unwrap();
        let listed = schema.pointer("/$defs/transaction/properties/status/enum").and_then(Value::as_array).unwrap();
        let listed: Vec<_> = listed.iter().filter_map(Value::as_str).collect();
        for status in RouterStatus::DOCUMENTED {
            assert!(listed.contains(&status.name()), "{} is missing in assets/schemas/transaction.json", status.name());
        }
    }
}
