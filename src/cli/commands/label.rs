//! `hoptop label`: adds labels to transactions, and removes labels.
//!
//! The command must never change only some of the named transactions: if one can't be found, none is changed.

use std::collections::HashSet;

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{operation::Edit, text},
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Add a label to one transaction
  hoptop label 0x9f3c41 --add vip
  # Add two labels to two transactions, and remove one
  hoptop label 0x9f3c41 0x41aa90 --add vip --add later --remove batch-17
  # Undo it, if it was the last change
  hoptop undo";

/// The arguments of `hoptop label`.
#[derive(Args, Clone, Debug)]
pub(crate) struct LabelArgs {
    /// One or more transactions. Name each by its hash, six or more characters of it, a URL that contains it, a ticket, a
    /// quote or request ID, or the sender's address
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completers::transactions))]
    pub transactions: Vec<String>,
    /// A label to add; may be repeated
    #[arg(long, value_name = "LABEL", add = ArgValueCompleter::new(completers::labels))]
    pub add: Vec<String>,
    /// A label to remove; may be repeated
    #[arg(long, value_name = "LABEL", add = ArgValueCompleter::new(completers::labels))]
    pub remove: Vec<String>,
}

/// Changes the labels of all named transactions, or of none if one of them can't be found.
pub(crate) fn label(args: &LabelArgs, cx: &mut Context) -> Result<Exit> {
    let (add, remove) = match parse_labels(args) {
        Ok(labels) => labels,
        Err(reason) => {
            writeln!(cx.err, "{reason}")?;
            return Ok(Exit::Usage);
        }
    };
    if args.add.iter().any(|given| given.split(';').any(text::is_cut)) {
        writeln!(cx.err, "warning: a label: {}", text::cut_warning())?;
    }
    let Some(named) = cx.find_all(&args.transactions)? else { return Ok(Exit::Error) };
    let count = named.len();
    let signed =
        |sign: char, labels: &[String]| labels.iter().map(|label| format!(" {sign}{label}")).collect::<String>();
    let labels = signed('+', &add) + &signed('-', &remove);
    let transactions = named.into_iter().map(|(key, _)| key).collect();
    match cx.edit(Edit::ChangeLabels { transactions, add, remove })? {
        0 => writeln!(cx.out, "no change: the labels are already as you want them")?,
        changed => {
            let changes = text::counted(changed, "change");
            writeln!(cx.out, "labels{labels} on {}: {changes}", text::counted(count, "transaction"))?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the labels to add and the labels to remove, each once.
///
/// # Errors
/// A sentence about the mistake.
fn parse_labels(args: &LabelArgs) -> Result<(Vec<String>, Vec<String>), &'static str> {
    let (add, remove) = (split_labels(&args.add)?, split_labels(&args.remove)?);
    if add.is_empty() && remove.is_empty() {
        return Err("no label is given; use --add LABEL or --remove LABEL");
    }
    if add.iter().any(|label| remove.contains(label)) {
        return Err("the same label can't be added and removed");
    }
    Ok((add, remove))
}

/// Returns the labels of a repeated option. A semicolon separates labels, as in `hoptop add --label` and in files.
fn split_labels(given: &[String]) -> Result<Vec<String>, &'static str> {
    let mut labels = Vec::new();
    for given in given {
        let before = labels.len();
        labels.extend(given.split(';').filter_map(text::clean_or_none));
        if labels.len() == before {
            return Err("a label is empty; give it as in --add vip");
        }
    }
    let mut seen = HashSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{
            commands::undo,
            context::testing::{CommandFixture, parse},
        },
        domain::fixtures,
    };

    fn run(fixture: &mut CommandFixture, words: &[&str]) -> (String, String, Exit) {
        let args = parse(&[&["label"], words].concat()).unwrap();
        let (out, err, exit) = fixture.run(|cx| label(&args, cx));
        (out, err, exit.unwrap())
    }

    fn labels(fixture: &CommandFixture) -> Vec<Vec<String>> {
        fixture.transactions().into_iter().map(|tx| tx.labels).collect()
    }

    fn tracked() -> (CommandFixture, [String; 2]) {
        let fixture = CommandFixture::new();
        let hashes = [1, 2].map(|number| {
            let mut new = fixtures::new(number);
            new.labels = vec!["old".into()];
            fixture.track(new);
            fixtures::params(number).transaction_id.to_string()
        });
        (fixture, hashes)
    }

    #[test]
    fn labels_are_added_and_removed_on_several_transactions_in_one_edit() {
        let (mut fixture, [first, second]) = tracked();
        let added = run(&mut fixture, &[&first, "--add", "vip", "--add", "vip"]);
        assert_eq!(added.0, "labels +vip on 1 transaction: 1 change\n");
        let words = [&first, &second, "--add", "vip", "--remove", "old", "--add", "big\u{1b} customer"];
        let done = run(&mut fixture, &words);
        let line = "labels +vip +big customer -old on 2 transactions: 5 changes\n";
        assert_eq!(done, (line.into(), String::new(), Exit::Success));
        assert_eq!(labels(&fixture), [["big customer", "vip"], ["big customer", "vip"]]);
        assert_eq!(run(&mut fixture, &words).0, "no change: the labels are already as you want them\n");
        fixture.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!(labels(&fixture), [vec!["old", "vip"], vec!["old"]]);
        // A filter can't tell these apart.
        assert_eq!(
            run(&mut fixture, &[&first, "--add", "VIP"]).0,
            "no change: the labels are already as you want them\n"
        );
        run(&mut fixture, &[&first, "--add", "VIP", "--remove", "vip"]);
        assert_eq!(labels(&fixture), [vec!["VIP", "old"], vec!["old"]]);
        run(&mut fixture, &[&first, "--remove", "Vip"]);
        assert_eq!(labels(&fixture), [["old"], ["old"]]);
    }

    #[test]
    fn missing_or_contradicting_label_and_unknown_transaction_change_nothing() {
        let (mut fixture, [first, _]) = tracked();
        let table: [(&[&str], &str, Exit); 4] = [
            (&[&first], "no label is given; use --add LABEL or --remove LABEL", Exit::Usage),
            (&[&first, "--add", " "], "a label is empty", Exit::Usage),
            (&[&first, "--add", "a;b", "--remove", "b"], "the same label can't be added and removed", Exit::Usage),
            (&[&first, "0xabcdefabcdef", "--add", "a"], "`0xabcdefabcdef` is not tracked", Exit::Error),
        ];
        for (words, reason, code) in table {
            let (out, err, exit) = run(&mut fixture, words);
            assert!(out.is_empty() && err.starts_with(reason) && exit == code, "{words:?}: {err}");
        }
        assert_eq!(labels(&fixture), [["old"], ["old"]]);
    }
}
