//! Which terminals are known to put brackets around pastes, once hoptop has asked for them.
//!
//! Pure. A terminal that isn't known may have them too: the first paste in brackets shows it.

use super::environment::TerminalEnvironment;

/// Whether pastes come in brackets for certain. Within tmux and screen that depends on the outer terminal.
pub(crate) fn has_brackets(environment: &TerminalEnvironment<'_>) -> bool {
    let own = [
        "KITTY_WINDOW_ID",
        "WEZTERM_PANE",
        "GHOSTTY_RESOURCES_DIR",
        "ALACRITTY_WINDOW_ID",
        "KONSOLE_VERSION",
        "ITERM_SESSION_ID",
        "VTE_VERSION",
        "WT_SESSION",
    ];
    let programs = ["iTerm.app", "WezTerm", "ghostty", "Apple_Terminal", "vscode"];
    let terminals = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "wezterm"];
    !environment.has(&["TMUX", "STY"])
        && (environment.has(&own) || environment.is("TERM_PROGRAM", &programs) || environment.is("TERM", &terminals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_terminals_have_brackets_but_not_within_tmux() {
        let has = |variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.into());
            has_brackets(&TerminalEnvironment { variable: &variable, has_program: &|_| false })
        };
        assert!(has(&[("VTE_VERSION", "7600")]) && has(&[("TERM", "foot")]) && has(&[("TERM_PROGRAM", "vscode")]));
        assert!(
            !has(&[]) && !has(&[("TERM", "xterm-256color")]) && !has(&[("VTE_VERSION", "7600"), ("TMUX", "/tmp/1")])
        );
    }
}
