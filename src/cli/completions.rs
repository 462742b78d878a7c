//! `hoptop completions SHELL`, and what a shell that has loaded it asks for: commands, flags, chains, and what is tracked.
//!
//! It must never make a store nor change one, and never say anything but candidates that stand for themselves in any shell:
//! what is tracked came from outside, and some shells put a candidate into the line as it is.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    path::PathBuf,
};

use crate::domain::transaction::TransactionHeader;

use clap::{Args, CommandFactory};
use clap_complete::{
    CompleteEnv, CompletionCandidate, Shell,
    env::{EnvCompleter, Shells},
};
use color_eyre::eyre::{Result, eyre};

use super::{args::Cli, exit::Exit};
use crate::{
    config::{self, Environment, Flags},
    domain::{
        alert::Alert,
        chains,
        filter::{Named, Names, asked, complete},
        row_text, text,
        transaction::Transaction,
    },
    store::{AlertQuery, Reader, Store},
};

/// Set by the script for as long as a shell asks.
const VARIABLE: &str = "HOPTOP_COMPLETE";
/// More candidates are of no help to anybody.
const MOST: usize = 100;

/// For the help.
pub const EXAMPLES: &str = "\
Examples, each for the file that the shell reads when it starts:
  source <(hoptop completions bash)                               ~/.bashrc
  source <(hoptop completions zsh)                                ~/.zshrc, behind compinit
  hoptop completions fish | source                                ~/.config/fish/config.fish
  hoptop completions powershell | Out-String | Invoke-Expression  $PROFILE
  eval (hoptop completions elvish | slurp)                        ~/.config/elvish/rc.elv";

/// Which shell.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell whose script is printed
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script that makes a shell ask hoptop how a line goes on.
pub fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Exit> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell: &dyn EnvCompleter = shells.completer(&name).ok_or_else(|| eyre!("{name} can't be served"))?;
    shell.write_registration(VARIABLE, "hoptop", "hoptop", "hoptop", out)?;
    if args.shell == Shell::Zsh {
        // In a folder of zsh's it is read when somebody first asks: that is to be answered too.
        writeln!(out, "[[ $funcstack[1] != _hoptop ]] || _clap_dynamic_completer_hoptop \"$@\"")?;
    }
    Ok(Exit::Fine)
}

/// If a shell asks, it is answered, and the process ends; else nothing happens.
pub fn answer_a_shell() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).bin("hoptop").complete();
}

/// Transactions: the newest, or those whose hash begins so.
pub fn transactions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let candidate = |tx: TransactionHeader| {
        let help = format!(
            "{} {} {}",
            row_text::status_of(&tx),
            row_text::route(&tx),
            row_text::ticket_or_label(&tx).unwrap_or("-")
        );
        Some(plain(tx.params.transaction_id.as_str())?.help(Some(text::clean(&help).into())))
    };
    let found = read(|reader| reader.with_hash_beginning(typed.to_str()?, MOST).ok());
    found.into_iter().flatten().filter_map(candidate).collect()
}

/// Alerts, the gravest first, and transactions.
pub fn alerts(typed: &OsStr) -> Vec<CompletionCandidate> {
    let found = read(|reader| reader.alerts_with_transactions(AlertQuery::MostUrgent(MOST)).ok()).unwrap_or_default();
    let candidate = |(alert, tx): (Alert, Option<Transaction>)| {
        let about = tx.map_or_else(String::new, |tx| format!(" {}", tx.params.transaction_id.short("...")));
        CompletionCandidate::new(alert.id.to_string()).help(Some(format!("{}{about}", alert.rule).into()))
    };
    let begins = |candidate: &CompletionCandidate| begins(candidate.get_value(), typed);
    let mut candidates: Vec<_> = found.into_iter().map(candidate).filter(begins).collect();
    candidates.extend(transactions(typed));
    candidates
}

/// Tickets that begin so.
pub fn tickets(typed: &OsStr) -> Vec<CompletionCandidate> {
    names(Named::Ticket, typed)
}

/// Labels that begin so.
pub fn labels(typed: &OsStr) -> Vec<CompletionCandidate> {
    names(Named::Label, typed)
}

fn names(of: Named, typed: &OsStr) -> Vec<CompletionCandidate> {
    let found = read(|reader| reader.names(of, typed.to_str()?, MOST).ok());
    found.into_iter().flatten().filter_map(|name| plain(&name)).collect()
}

/// The IDs of well-known chains, with their names.
pub fn chains(typed: &OsStr) -> Vec<CompletionCandidate> {
    let candidates = chains::all()
        .iter()
        .map(|chain| CompletionCandidate::new(chain.id.to_string()).help(Some(chain.name.clone().into())));
    candidates.filter(|candidate| begins(candidate.get_value(), typed)).collect()
}

/// How a filter goes on, by its grammar and by the store's tickets, labels and profiles.
pub fn filters(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let names = asked(typed).and_then(|(of, beginning)| {
        let words = read(|reader| reader.names(of, beginning, MOST).ok())?;
        Some(Names { of, beginning: beginning.to_owned(), words, is_whole: false })
    });
    let completion = complete(typed, names.as_ref());
    let before = typed.get(..completion.start).unwrap_or_default();
    completion.words.iter().filter_map(|word| plain(&format!("{before}{word}"))).collect()
}

/// A candidate, if no shell can take it for more than a word.
fn plain(word: &str) -> Option<CompletionCandidate> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._/:@%+,-".contains(letter);
    let is_word = !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain);
    is_word.then(|| CompletionCandidate::new(word))
}

fn begins(text: &OsStr, typed: &OsStr) -> bool {
    text.as_encoded_bytes().starts_with(typed.as_encoded_bytes())
}

/// Reads the store that the line is about; nothing if there is none, or what is there can't be read.
fn read<T>(work: impl FnOnce(&Reader) -> Option<T>) -> Option<T> {
    let settings = config::load(flags(std::env::args_os()), &Environment::process()).ok()?;
    if Store::was_never_at(&settings.db) {
        return None;
    }
    work(&Reader::quick(&settings.db).ok()?)
}

/// The settings among a line's words that say which store is meant.
fn flags(words: impl Iterator<Item = OsString>) -> Flags {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| word == flag).map(|at| at + 1);
        // Bash makes three words of `--db=PATH`.
        let behind = at.and_then(|at| words.get(at).filter(|word| *word != "=").or_else(|| words.get(at + 1)));
        let within = || words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        behind.map(String::as_str).or_else(within)
    };
    // No shell has expanded it yet.
    let path = |text: &str| match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(text),
    };
    Flags {
        db: value("--db").map(path),
        config: value("--config").map(path),
        state_dir: value("--state-dir").map(path),
        profile: value("--profile").map(str::to_owned),
        ..Flags::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_store_is_meant() {
        let of = |line: &str| flags(line.split(' ').map(OsString::from));
        let (db, config) = (Some(PathBuf::from("a.db")), Some(PathBuf::from("c.toml")));
        for line in [
            "hoptop --db a.db show --config=c.toml 0x",
            "hoptop -- hoptop --config c.toml list --db=a.db",
            "hoptop --db = a.db --config = c.toml list",
        ] {
            assert_eq!(of(line), Flags { db: db.clone(), config: config.clone(), ..Flags::default() }, "{line}");
        }
        assert_eq!(of("hoptop show --db"), Flags::default());
    }

    #[test]
    fn what_a_shell_could_take_for_more_than_a_word_is_no_candidate() {
        for word in ["SUP-1", "0xab", "cosmos/1:x", "é"] {
            assert!(plain(word).is_some(), "{word}");
        }
        for word in [
            "", "-x", "a b", "$(x)", "a;b", "`x`", "v*", "a\"b", "a'b", "~x", "=x", "a|b", "a\nb", "a\u{b}b", "a&",
            "#x",
        ] {
            assert!(plain(word).is_none(), "{word}");
        }
    }

    #[test]
    fn every_shell_has_its_script() {
        for shell in <Shell as clap::ValueEnum>::value_variants() {
            let mut script = Vec::new();
            completions(&CompletionsArgs { shell: *shell }, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains(VARIABLE) && script.contains("hoptop"), "{shell}: {script}");
        }
    }

    #[test]
    fn chains_and_filters_go_on_without_a_store() {
        let values = |candidates: Vec<CompletionCandidate>| {
            let value = |candidate: &CompletionCandidate| candidate.get_value().to_str().unwrap().to_owned();
            candidates.iter().map(value).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(values(chains(OsStr::new("4216"))), "42161");
        assert_eq!(values(filters(OsStr::new("is:un"))), "is:unsettled is:untracked");
    }
}
