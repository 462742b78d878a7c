//! `hoptop schema`: prints the JSON Schema of an output, or lists the schemas.

use std::io::Write;

use clap::{Args, ValueEnum};
use color_eyre::eyre::Result;

use crate::{cli::output::schema::Schema, runtime::exit::Exit};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # List the schemas and the commands that print such JSON
  hoptop schema
  # Write the JSON Schema of a transaction
  hoptop schema transaction > transaction.json

Each JSON value that hoptop prints names its schema in `schema`. A schema with the same number only gains \
properties.";

/// The arguments of `hoptop schema`.
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The schema to print [default: list all]
    #[arg(value_enum, hide_possible_values = false)]
    name: Option<Schema>,
}

/// Prints a JSON Schema, or one line for each.
pub(crate) fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit> {
    match args.name {
        Some(schema) => writeln!(out, "{}", serde_json::to_string_pretty(&schema.json_schema()?)?)?,
        None => {
            for schema in Schema::value_variants() {
                let name = schema.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
                writeln!(out, "{name:<13}  {:<22}  {}", schema.id(), schema.printed_by())?;
            }
        }
    }
    Ok(Exit::Success)
}
