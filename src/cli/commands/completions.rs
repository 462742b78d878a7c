//! `hoptop completions SHELL`: prints the script that makes a shell ask hoptop for completion candidates.
//!
//! The command must never read the settings or the store: a broken config file must not prevent it.

use std::io::Write;

use clap::Args;
use clap_complete::{Shell, env::Shells};
use color_eyre::eyre::{Result, eyre};

use crate::{cli::completers::VARIABLE, runtime::exit::Exit};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples, each with the startup file of the shell to add it to:
  # ~/.bashrc
  source <(hoptop completions bash)
  # ~/.zshrc, after compinit
  source <(hoptop completions zsh)
  # ~/.config/fish/config.fish
  hoptop completions fish | source
  # $PROFILE
  hoptop completions powershell | Out-String | Invoke-Expression
  # ~/.config/elvish/rc.elv
  eval (hoptop completions elvish | slurp)";

/// The arguments of `hoptop completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script of the shell.
pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Exit> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| eyre!("hoptop has no completion script for {name}"))?;
    shell.write_registration(VARIABLE, "hoptop", "hoptop", "hoptop", out)?;
    if args.shell == Shell::Zsh {
        // A script in a folder of `fpath` is loaded by the first completion, which must be answered too.
        writeln!(out, "[[ $funcstack[1] != _hoptop ]] || _clap_dynamic_completer_hoptop \"$@\"")?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script() {
        for shell in <Shell as clap::ValueEnum>::value_variants() {
            let mut script = Vec::new();
            completions(&CompletionsArgs { shell: *shell }, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains(VARIABLE) && script.contains("hoptop"), "{shell}: {script}");
        }
    }
}
