//! Opens links in the person's browser, if there is one.
//!
//! This module must never use a shell, and never this terminal: without a display a text browser would take over the
//! terminal.

use std::io;

use super::environment::TerminalEnvironment;
use crate::{domain::link, process::program};

/// The way to open links.
#[derive(Clone, Copy, Debug)]
pub enum Browser {
    /// Opens links by this function.
    Opens(fn(&str) -> io::Result<()>),
    /// Links can't be opened, for this reason.
    Unreachable(&'static str),
}

/// Returns the way to open links in this environment.
pub(crate) fn choose(environment: &TerminalEnvironment<'_>) -> Browser {
    let has_windows = cfg!(target_os = "macos") || environment.has(&["WSL_DISTRO_NAME"]);
    let has_display = environment.has(&["DISPLAY", "WAYLAND_DISPLAY"]);
    match (has_display, environment.has(&["SSH_CONNECTION", "SSH_TTY"])) {
        (true, _) => Browser::Opens(open),
        (false, true) => Browser::Unreachable("no browser is available over ssh"),
        (false, false) if has_windows => Browser::Opens(open),
        (false, false) => Browser::Unreachable("no browser is available without a display"),
    }
}

fn open(link: &str) -> io::Result<()> {
    let link = link::check(link).map_err(io::Error::other)?;
    program::start_detached(open::commands(link))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn reason(variables: &[&str]) -> Option<&'static str> {
        let variable = |name: &str| variables.contains(&name).then(|| OsString::from("1"));
        match choose(&TerminalEnvironment { variable: &variable, has_program: &|_| true }) {
            Browser::Opens(_) => None,
            Browser::Unreachable(reason) => Some(reason),
        }
    }

    #[test]
    fn a_browser_needs_a_display() {
        assert_eq!(reason(&["DISPLAY"]), None);
        assert_eq!(reason(&["WAYLAND_DISPLAY", "SSH_TTY"]), None);
        assert_eq!(reason(&["SSH_CONNECTION"]), Some("no browser is available over ssh"));
        assert_eq!(reason(&["WSL_DISTRO_NAME"]), None);
    }

    #[test]
    fn a_link_that_is_not_allowed_is_not_opened() {
        assert_eq!(open("file:///etc/passwd").unwrap_err().to_string(), "it is not an http or https link");
    }
}
