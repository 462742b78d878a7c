//! The loop's effects outside the screen: clipboard, browser, the terminal's title and mouse, notifications and
//! suspension.
//!
//! Programs run on the pool for blocking work. The terminal must get requests only between two frames, never within
//! one.

use ratatui::{Terminal, backend::Backend};

use super::{
    dashboard::{Dashboard, RunError, terminal_error},
    frame_pacer::FrameCause,
};
use crate::{
    clock::MonotonicTime,
    tui::{
        dialogs::Dialog,
        message::Msg,
        system::{
            browser::Browser,
            clipboard::{CopyMethod, TERMINAL_LIMIT},
            suspension::SuspendScope,
        },
        terminal::{TerminalRequest, drawn_size},
    },
};

impl Dashboard {
    /// Draws a frame as one synchronized update, which the terminal shows all at once.
    pub(super) fn draw_synchronized<B: Backend>(
        &self,
        draw: impl FnOnce() -> Result<(), B::Error>,
    ) -> Result<(), RunError> {
        self.system_state.request_terminal(TerminalRequest::BeginFrame)?;
        let drawn = draw().map_err(terminal_error);
        self.system_state.request_terminal(TerminalRequest::EndFrame)?;
        drawn
    }

    /// Sets the terminal's title and mouse mode if they changed, and sends a notification to a person in another
    /// window.
    pub(super) fn update_terminal(&mut self, now: MonotonicTime) -> Result<(), RunError> {
        let title = title(self.model.overview.alerts);
        if title != self.system_state.title {
            self.system_state.request_terminal(TerminalRequest::Title(&title))?;
            self.system_state.title = title;
        }
        // A person may select the text of a reply with the mouse, so the terminal keeps the mouse while a reply is open.
        let mouse = self.system_state.system.has_mouse && !matches!(self.model.dialog, Dialog::Reply { .. });
        if mouse != self.system_state.has_mouse {
            self.system_state.request_terminal(TerminalRequest::Mouse(mouse))?;
            self.system_state.has_mouse = mouse;
        }
        // If the terminal doesn't report focus, a person without a recent key press counts as away.
        let is_away =
            if self.system_state.reports_focus { !self.system_state.is_focused } else { !self.pace.is_active() };
        let settings = self.system_state.system.notifications;
        match self.system_state.notifications.take(is_away, now) {
            Some(text) if settings.is_enabled() => {
                self.system_state.request_terminal(TerminalRequest::Notification(&settings.sequence(&text)))
            }
            _ => Ok(()),
        }
    }

    /// Copies a text by the first method that works. The loop itself copies by the terminal, between two frames.
    pub(super) fn copy(&mut self, text: String) {
        let (methods, feed) = (self.system_state.system.copy_methods.clone(), self.system_state.system.feed);
        self.spawn(move || {
            let mut failures = Vec::new();
            for method in methods {
                match method.command() {
                    None if text.len() > TERMINAL_LIMIT => {
                        failures.push("the text is too long for the terminal".into())
                    }
                    None => return Msg::CopyByTerminal(text),
                    Some(command) => match feed(&command, &text) {
                        Ok(()) => return Msg::Copied { text, outcome: Ok(method.result_text()) },
                        Err(error) => failures.push(format!("{}: {error}", method.name())),
                    },
                }
            }
            Msg::Copied { text, outcome: Err(not_copied(&failures)) }
        });
    }

    /// Copies a text by the terminal (OSC 52).
    pub(super) fn copy_by_terminal(&mut self, text: String) -> Msg {
        let asked = (self.system_state.system.terminal)(TerminalRequest::Copy(&text));
        let outcome = asked.map(|()| CopyMethod::Terminal.result_text());
        Msg::Copied { text, outcome: outcome.map_err(|error| not_copied(&[error.to_string()])) }
    }

    /// Opens a checked link. Without a browser the link is copied instead.
    pub(super) fn open(&mut self, link: String) {
        match self.system_state.system.browser {
            Browser::Opens(open) => self.spawn(move || match open(&link) {
                Ok(()) => Msg::Done(format!("Asked the browser to open {link}")),
                Err(error) => Msg::NotOpened { link, reason: error.to_string() },
            }),
            Browser::Unreachable(reason) => self.handle_message(Msg::NotOpened { link, reason: reason.to_owned() }),
        }
    }

    /// Handles the key that suspends the program: requests the suspension, or reports why it is impossible.
    pub(super) fn request_suspension(&mut self) {
        let refusal = match &self.system_state.system.suspension {
            None => Some("this system does not support it"),
            Some(suspension) => suspension.refusal,
        };
        match refusal {
            None => self.system_state.suspend = Some(SuspendScope::ProcessGroup),
            Some(reason) => self.handle_message(Msg::Failed(format!("Not suspended: {reason}."))),
        }
    }

    /// Restores the terminal, waits until the program is continued, and takes over the terminal again.
    pub(super) async fn suspend<B: Backend>(
        &mut self,
        terminal: &mut Terminal<B>,
        scope: SuspendScope,
    ) -> Result<(), RunError> {
        self.system_state.request_terminal(TerminalRequest::Restore)?;
        if let Some(suspension) = &self.system_state.system.suspension {
            suspension.suspend(scope).await;
        }
        self.system_state.request_terminal(TerminalRequest::TakeOver)?;
        // Title, mouse mode, size and focus may have changed in the meantime.
        (self.system_state.title, self.system_state.has_mouse, self.system_state.is_focused) =
            (String::new(), false, true);
        let size = drawn_size(terminal.size().map_err(terminal_error)?);
        self.needs_redraw = true;
        self.pace.request(FrameCause::Input);
        self.handle_message(Msg::Resize(size.width, size.height));
        Ok(())
    }
}

/// Returns the terminal's title, with the number of critical and warning alerts.
fn title([critical, warning, _]: [u64; 3]) -> String {
    let count = |mark: &str, count: u64| if count > 0 { format!(" {mark} {count}") } else { String::new() };
    format!("hoptop{}{}", count("!!", critical), count("!", warning))
}

fn not_copied(failures: &[String]) -> String {
    let why = match failures {
        [] => "no clipboard was found".to_owned(),
        failures => failures.join("; "),
    };
    format!("Not copied ({why}): select the text with the mouse.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_counts_critical_and_warning_alerts() {
        assert_eq!(title([2, 3, 1]), "hoptop !! 2 ! 3");
        assert_eq!(title([0, 3, 1]), "hoptop ! 3");
        assert_eq!(title([0, 0, 9]), "hoptop");
    }

    #[test]
    fn each_failed_copy_method_is_named() {
        assert_eq!(
            not_copied(&["wl-copy: exit status: 1".into()]),
            "Not copied (wl-copy: exit status: 1): select the text with the mouse."
        );
        assert!(not_copied(&[]).contains("no clipboard was found"));
    }
}
