//! The kinds of JSON that hoptop prints, their names, and their JSON Schemas.
//!
//! A name and its version are a contract with scripts: a schema only gains properties. `assets/schemas` holds the
//! schemas; the tests check each output against its schema.

use clap::ValueEnum;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A kind of JSON output. As JSON it is the value of `schema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    Transaction,
    Event,
    Alert,
    Quote,
    Stats,
    Import,
    Doctor,
    Config,
    StoreStatus,
}

impl Schema {
    /// Returns the value of `schema` in the output, like `hoptop/alert/1`.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Transaction => "hoptop/transaction/1",
            Self::Event => "hoptop/event/1",
            Self::Alert => "hoptop/alert/1",
            Self::Quote => "hoptop/quote/1",
            Self::Stats => "hoptop/stats/1",
            Self::Import => "hoptop/import/1",
            Self::Doctor => "hoptop/doctor/1",
            Self::Config => "hoptop/config/1",
            Self::StoreStatus => "hoptop/store-status/1",
        }
    }

    /// Returns the commands that print this kind of JSON.
    pub(crate) fn printed_by(self) -> &'static str {
        match self {
            Self::Transaction => "list, show, check and export, with --json or --format json or ndjson",
            Self::Event => "watch --json, on_event and webhooks: one event a line",
            Self::Alert => "alerts --json",
            Self::Quote => "quote --json",
            Self::Stats => "stats --json",
            Self::Import => "import --json",
            Self::Doctor => "doctor --json",
            Self::Config => "config --json",
            Self::StoreStatus => "store status --json",
        }
    }

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

    fn parse_file(self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(match self {
            Self::Transaction => include_str!("../../../assets/schemas/transaction.json"),
            Self::Event => include_str!("../../../assets/schemas/event.json"),
            Self::Alert => include_str!("../../../assets/schemas/alert.json"),
            Self::Quote => include_str!("../../../assets/schemas/quote.json"),
            Self::Stats => include_str!("../../../assets/schemas/stats.json"),
            Self::Import => include_str!("../../../assets/schemas/import.json"),
            Self::Doctor => include_str!("../../../assets/schemas/doctor.json"),
            Self::Config => include_str!("../../../assets/schemas/config.json"),
            Self::StoreStatus => include_str!("../../../assets/schemas/store-status.json"),
        })
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
