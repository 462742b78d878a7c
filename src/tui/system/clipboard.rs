//! The methods of copying, in their order: the command of the config, tmux's buffer, the terminal (OSC 52), the
//! platform's tool.
//!
//! A pure choice. The sentences must never claim more than is known: a terminal doesn't confirm a copy.

use super::environment::TerminalEnvironment;

/// A method of copying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// The command of the config.
    Own(Vec<String>),
    /// tmux's buffer, which tmux forwards to its terminal.
    Tmux,
    /// The terminal's own clipboard (OSC 52), which works over ssh.
    Terminal,
    /// The platform's tool.
    Tool(&'static [&'static str]),
}

/// The most bytes of one OSC 52: the size of xterm's buffer, which other terminals adopted.
pub(crate) const TERMINAL_LIMIT: usize = 74_994;

/// The platforms' tools, and for each the variables of which one must be set; none for a tool that always works.
const TOOLS: [(&[&str], &[&str]); 5] = [
    (&["wl-copy"], &["WAYLAND_DISPLAY"]),
    (&["xclip", "-selection", "clipboard"], &["DISPLAY"]),
    (&["xsel", "--clipboard", "--input"], &["DISPLAY"]),
    (&["pbcopy"], &[]),
    (&["clip.exe"], &[]),
];

impl CopyMethod {
    /// Returns the program and its arguments; `None` for the terminal.
    pub fn command(&self) -> Option<Vec<String>> {
        let owned = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        match self {
            Self::Own(words) => Some(words.clone()),
            Self::Tmux => owned(&["tmux", "load-buffer", "-w", "-"]),
            Self::Terminal => None,
            Self::Tool(words) => owned(words),
        }
    }

    /// Returns the name of the program; `OSC 52` for the terminal.
    pub fn name(&self) -> String {
        self.command().map_or_else(|| "OSC 52".into(), |words| words.into_iter().next().unwrap_or_default())
    }

    /// Returns the sentence about a successful copy.
    pub fn result_text(&self) -> String {
        match self {
            Self::Own(_) => format!("Copied with {} (from the config).", self.name()),
            Self::Tmux => "Copied to tmux's buffer; tmux forwards it to the terminal.".into(),
            Self::Terminal => "Sent to the terminal's clipboard (OSC 52); the terminal doesn't confirm it.".into(),
            Self::Tool(_) => format!("Copied with {}.", self.name()),
        }
    }
}

/// Returns the methods that this environment offers, in their order.
pub(crate) fn methods(environment: &TerminalEnvironment<'_>, own: Option<Vec<String>>) -> Vec<CopyMethod> {
    let mut methods: Vec<CopyMethod> = own.map(CopyMethod::Own).into_iter().collect();
    if environment.has(&["TMUX"]) && (environment.has_program)("tmux") {
        methods.push(CopyMethod::Tmux);
    }
    if !lacks_osc52(environment) {
        methods.push(CopyMethod::Terminal);
    }
    let works = |(words, variables): &(&[&str], &[&str])| {
        let can_run = variables.is_empty() || environment.has(variables);
        can_run && words.first().is_some_and(|program| (environment.has_program)(program))
    };
    methods.extend(TOOLS.into_iter().filter(works).map(|(words, _)| CopyMethod::Tool(words)));
    methods
}

/// Whether the terminal is known not to support OSC 52: the Linux console, Terminal.app, VTE's, JetBrains' and GNU
/// screen.
fn lacks_osc52(environment: &TerminalEnvironment<'_>) -> bool {
    // Within tmux, tmux itself handles the sequence.
    if environment.has(&["TMUX"]) {
        return false;
    }
    environment.is("TERM", &["linux", "dumb"])
        || environment.is("TERM_PROGRAM", &["Apple_Terminal"])
        || environment.is("TERMINAL_EMULATOR", &["JetBrains-JediTerm"])
        || environment.has(&["VTE_VERSION", "STY"])
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// Returns the methods with these variables and programs.
    fn names(variables: &[(&str, &str)], programs: &[&str], own: Option<&str>) -> String {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let has_program = |program: &str| programs.contains(&program);
        let environment = TerminalEnvironment { variable: &variable, has_program: &has_program };
        let methods = methods(&environment, own.map(|program| vec![program.to_owned()]));
        methods.iter().map(CopyMethod::name).collect::<Vec<_>>().join(" > ")
    }

    #[test]
    fn the_order_follows_the_environment() {
        const ALL: [&str; 6] = ["tmux", "wl-copy", "xclip", "xsel", "pbcopy", "clip.exe"];
        const LINUX: [&str; 4] = ["tmux", "wl-copy", "xclip", "xsel"];
        let table = [
            (&[][..], &[][..], None, "OSC 52"),
            (&[("SSH_TTY", "/dev/pts/1")], &LINUX, None, "OSC 52"),
            (&[("TMUX", "/tmp/tmux,1,0")], &LINUX, None, "tmux > OSC 52"),
            (&[("TMUX", "/tmp/tmux,1,0")], &[], None, "OSC 52"),
            (&[("TMUX", "")], &LINUX, None, "OSC 52"),
            (&[("WAYLAND_DISPLAY", "wayland-0"), ("DISPLAY", ":0")], &LINUX, None, "OSC 52 > wl-copy > xclip > xsel"),
            (&[("DISPLAY", ":0"), ("VTE_VERSION", "7600")], &LINUX, None, "xclip > xsel"),
            (&[("VTE_VERSION", "7600"), ("TMUX", "x")], &LINUX, None, "tmux > OSC 52"),
            (&[("TERM", "linux")], &LINUX, None, ""),
            (&[("STY", "1.pts")], &LINUX, None, ""),
            (&[("TERM_PROGRAM", "Apple_Terminal")], &["pbcopy"], None, "pbcopy"),
            (&[("TERM", "linux")], &["clip.exe"], Some("mine"), "mine > clip.exe"),
            (&[("TMUX", "x")], &ALL, Some("mine"), "mine > tmux > OSC 52 > pbcopy > clip.exe"),
        ];
        for (variables, programs, own, expected) in table {
            assert_eq!(names(variables, programs, own), expected, "{variables:?} {programs:?}");
        }
    }

    #[test]
    fn sentences_claim_only_known_facts() {
        assert!(CopyMethod::Terminal.result_text().contains("doesn't confirm"));
        assert_eq!(CopyMethod::Tool(&["xclip", "-selection", "clipboard"]).result_text(), "Copied with xclip.");
        assert_eq!(CopyMethod::Own(vec!["wl-copy".into()]).result_text(), "Copied with wl-copy (from the config).");
        assert_eq!(CopyMethod::Tmux.command().unwrap(), ["tmux", "load-buffer", "-w", "-"]);
        assert_eq!(CopyMethod::Terminal.command(), None);
    }
}
