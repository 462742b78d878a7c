//! The ways to the clipboard, and in which order: the person's own command, tmux's buffer, the terminal (OSC 52), the
//! platform's tool.
//!
//! A pure choice. It must never claim more than is known: a terminal doesn't say whether it took a text.

use super::Surroundings;

/// A way to the clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// The command of the config.
    Own(Vec<String>),
    /// tmux's buffer, which tmux hands on to its terminal.
    Tmux,
    /// The terminal's own clipboard (OSC 52), which goes through ssh.
    Terminal,
    /// The platform's tool.
    Tool(&'static [&'static str]),
}

/// The most bytes that terminals take in one OSC 52: xterm's buffer, and what the others took from it.
pub const TERMINAL_LIMIT: usize = 74_994;

/// The platforms' tools, and the variables of which one must be set for each to have somewhere to put a text.
const TOOLS: [(&[&str], &[&str]); 5] = [
    (&["wl-copy"], &["WAYLAND_DISPLAY"]),
    (&["xclip", "-selection", "clipboard"], &["DISPLAY"]),
    (&["xsel", "--clipboard", "--input"], &["DISPLAY"]),
    (&["pbcopy"], &[]),
    (&["clip.exe"], &[]),
];

impl CopyMethod {
    /// The program and its arguments; none for the terminal.
    pub fn command(&self) -> Option<Vec<String>> {
        let owned = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        match self {
            Self::Own(words) => Some(words.clone()),
            Self::Tmux => owned(&["tmux", "load-buffer", "-w", "-"]),
            Self::Terminal => None,
            Self::Tool(words) => owned(words),
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Self::Own(words) => words.first().cloned().unwrap_or_default(),
            Self::Tmux => "tmux".into(),
            Self::Terminal => "OSC 52".into(),
            Self::Tool(words) => words.first().copied().unwrap_or_default().into(),
        }
    }

    /// What is said when it was taken.
    pub fn sentence(&self) -> String {
        match self {
            Self::Own(_) => format!("Copied by {}, as the config says.", self.name()),
            Self::Tmux => "Copied to tmux's buffer; tmux hands it on to the terminal.".into(),
            Self::Terminal => "Sent to the terminal's clipboard (OSC 52); it doesn't say whether it took it.".into(),
            Self::Tool(_) => format!("Copied by {}.", self.name()),
        }
    }
}

/// The ways that there are, in their order.
pub fn methods(surroundings: &Surroundings<'_>, own: Option<Vec<String>>) -> Vec<CopyMethod> {
    let mut methods: Vec<CopyMethod> = own.map(CopyMethod::Own).into_iter().collect();
    if surroundings.has(&["TMUX"]) && (surroundings.has_program)("tmux") {
        methods.push(CopyMethod::Tmux);
    }
    if !is_deaf(surroundings) {
        methods.push(CopyMethod::Terminal);
    }
    let works = |(words, variables): &(&[&str], &[&str])| {
        let has_place = variables.is_empty() || surroundings.has(variables);
        has_place && words.first().is_some_and(|program| (surroundings.has_program)(program))
    };
    methods.extend(TOOLS.into_iter().filter(works).map(|(words, _)| CopyMethod::Tool(words)));
    methods
}

/// Whether the terminal is known not to know OSC 52: the Linux console, Terminal.app, those built on VTE, JetBrains', and GNU
/// screen, which passes nothing on.
fn is_deaf(surroundings: &Surroundings<'_>) -> bool {
    // Within tmux it is tmux that listens; whatever its server was started in.
    if surroundings.has(&["TMUX"]) {
        return false;
    }
    surroundings.is("TERM", &["linux", "dumb"])
        || surroundings.is("TERM_PROGRAM", &["Apple_Terminal"])
        || surroundings.is("TERMINAL_EMULATOR", &["JetBrains-JediTerm"])
        || surroundings.has(&["VTE_VERSION", "STY"])
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// The ways with these variables and programs.
    fn names(variables: &[(&str, &str)], programs: &[&str], own: Option<&str>) -> String {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let has_program = |program: &str| programs.contains(&program);
        let surroundings = Surroundings { variable: &variable, has_program: &has_program };
        let methods = methods(&surroundings, own.map(|program| vec![program.to_owned()]));
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
    fn only_what_can_be_known_is_claimed() {
        assert!(CopyMethod::Terminal.sentence().contains("doesn't say"));
        assert_eq!(CopyMethod::Tool(&["xclip", "-selection", "clipboard"]).sentence(), "Copied by xclip.");
        assert_eq!(CopyMethod::Own(vec!["wl-copy".into()]).sentence(), "Copied by wl-copy, as the config says.");
        assert_eq!(CopyMethod::Tmux.command().unwrap(), ["tmux", "load-buffer", "-w", "-"]);
        assert_eq!(CopyMethod::Terminal.command(), None);
    }
}
