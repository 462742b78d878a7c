//! Opening a link in the person's browser, where there is one.
//!
//! Never through a shell, and never in this terminal: without a display a browser of text would take it.

use std::io;

use super::Surroundings;
use crate::domain::link;

/// Whether links can be opened here.
#[derive(Clone, Copy, Debug)]
pub enum Browser {
    /// By this function.
    Opens(fn(&str) -> io::Result<()>),
    /// They can't, and why.
    Unreachable(&'static str),
}

/// What there is for links here.
pub fn choose(surroundings: &Surroundings<'_>) -> Browser {
    let has_windows = cfg!(any(target_os = "macos", windows)) || surroundings.has(&["WSL_DISTRO_NAME"]);
    match (surroundings.has_display(), surroundings.is_remote()) {
        (true, _) => Browser::Opens(open),
        (false, true) => Browser::Unreachable("over ssh there is no browser"),
        (false, false) if has_windows => Browser::Opens(open),
        (false, false) => Browser::Unreachable("without a display there is no browser"),
    }
}

fn open(link: &str) -> io::Result<()> {
    let link = link::check(link).map_err(io::Error::other)?;
    open::that_detached(link)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn reason(variables: &[&str]) -> Option<&'static str> {
        let variable = |name: &str| variables.contains(&name).then(|| OsString::from("1"));
        match choose(&Surroundings { variable: &variable, has_program: &|_| true }) {
            Browser::Opens(_) => None,
            Browser::Unreachable(reason) => Some(reason),
        }
    }

    #[test]
    fn a_browser_needs_a_display() {
        assert_eq!(reason(&["DISPLAY"]), None);
        assert_eq!(reason(&["WAYLAND_DISPLAY", "SSH_TTY"]), None);
        assert_eq!(reason(&["SSH_CONNECTION"]), Some("over ssh there is no browser"));
        assert_eq!(reason(&["WSL_DISTRO_NAME"]), None);
    }

    #[test]
    fn what_is_not_allowed_is_not_opened() {
        assert_eq!(open("file:///etc/passwd").unwrap_err().to_string(), "it is no http or https link");
    }
}
