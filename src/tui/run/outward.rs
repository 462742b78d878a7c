//! The loop's way outside: copying, opening, the terminal's title and mouse, and being suspended.
//!
//! Programs run on the pool; the terminal is asked between two frames only, so that nothing comes into the middle of one.

use ratatui::{Terminal, backend::Backend};

use super::{Dashboard, RunError, fault, pace::Cause};
use crate::{
    clock::Mono,
    domain::alert::Rule,
    tui::{
        model::Overlay,
        outside::{
            Outside, Request,
            browser::Browser,
            clipboard::{CopyMethod, TERMINAL_LIMIT},
            notice::Notices,
        },
        update::{Copied, Msg},
    },
};

/// What was last said to the outside, and what is yet to be.
pub(super) struct Outward {
    pub(super) outside: Outside,
    /// Whether the person looks at this terminal, as far as it says so.
    pub(super) focused: bool,
    /// Whether it says so, or did once.
    tells_focus: bool,
    notices: Notices,
    /// That the program is to be suspended, and whether what was started with it is too.
    pub(super) suspend: Option<bool>,
    title: String,
    mouse: bool,
}

impl Outward {
    pub(super) fn new(outside: Outside) -> Self {
        Self {
            focused: true,
            tells_focus: outside.notices.tells_focus,
            outside,
            notices: Notices::default(),
            suspend: None,
            title: String::new(),
            mouse: false,
        }
    }

    /// The terminal says whether the person looks at it.
    pub(super) fn focus(&mut self, focused: bool) {
        (self.focused, self.tells_focus) = (focused, true);
    }

    /// Alerts were raised, each about this.
    pub(super) fn raised(&mut self, raised: Vec<(Rule, String)>) {
        for (rule, about) in raised {
            self.notices.raised(rule, about);
        }
    }

    fn ask(&self, request: Request<'_>) -> Result<(), RunError> {
        (self.outside.terminal)(request).map_err(fault)
    }
}

impl Dashboard {
    /// Draws a frame that the terminal shows at once.
    pub(super) fn draw_whole<B: Backend>(&self, draw: impl FnOnce() -> Result<(), B::Error>) -> Result<(), RunError> {
        self.outward.ask(Request::BeginFrame)?;
        let drawn = draw().map_err(fault);
        self.outward.ask(Request::EndFrame)?;
        drawn
    }

    /// Tells the terminal the title, and whether the mouse is wanted, if that has changed; and what came while nobody looked.
    pub(super) fn tell_terminal(&mut self, now: Mono) -> Result<(), RunError> {
        let title = title(self.model.overview.alerts);
        if title != self.outward.title {
            self.outward.ask(Request::Title(&title))?;
            self.outward.title = title;
        }
        // On a page that may have to be copied by hand the mouse is the person's.
        let mouse = self.outward.outside.mouse && !matches!(self.model.overlay, Overlay::Answer { .. });
        if mouse != self.outward.mouse {
            self.outward.ask(Request::Mouse(mouse))?;
            self.outward.mouse = mouse;
        }
        // Where the terminal doesn't say, who has pressed no key for a while may look elsewhere.
        let is_away = if self.outward.tells_focus { !self.outward.focused } else { !self.pace.is_attended() };
        let way = self.outward.outside.notices;
        match self.outward.notices.take(is_away, now) {
            Some(notice) if way.is_open() => self.outward.ask(Request::Notice(&way.sequence(&notice))),
            _ => Ok(()),
        }
    }

    /// Copies a text by the first way that works. The terminal is asked when its turn comes, by the loop.
    pub(super) fn copy(&mut self, text: String) {
        let (methods, feed) = (self.outward.outside.copy_methods.clone(), self.outward.outside.feed);
        self.spawn(move || {
            let mut failures = Vec::new();
            for way in methods {
                match way.command() {
                    None if text.len() > TERMINAL_LIMIT => failures.push("the terminal takes no text as long".into()),
                    None => return Msg::CopyByTerminal(text),
                    Some(command) => match feed(&command, &text) {
                        Ok(()) => return Msg::Copied(Copied { text, outcome: Ok(way.sentence()) }),
                        Err(error) => failures.push(format!("{}: {error}", way.name())),
                    },
                }
            }
            Msg::Copied(Copied { text, outcome: Err(not_copied(&failures)) })
        });
    }

    /// Copies a text by the terminal itself.
    pub(super) fn copy_by_terminal(&mut self, text: String) -> Msg {
        let asked = (self.outward.outside.terminal)(Request::Copy(&text));
        let outcome = asked.map(|()| CopyMethod::Terminal.sentence());
        Msg::Copied(Copied { text, outcome: outcome.map_err(|error| not_copied(&[error.to_string()])) })
    }

    /// Opens a link that was checked, or copies it where there is no browser.
    pub(super) fn open(&mut self, link: String) {
        let open = match self.outward.outside.browser {
            Browser::Opens(open) => open,
            Browser::Unreachable(reason) => {
                self.take(Msg::NotOpened { link, reason: reason.to_owned() });
                return;
            }
        };
        self.spawn(move || match open(&link) {
            Ok(()) => Msg::Done(format!("Asked the browser to open {link}")),
            Err(error) => Msg::NotOpened { link, reason: error.to_string() },
        });
    }

    /// A person pressed the key that suspends.
    pub(super) fn want_suspension(&mut self) {
        let refusal = match &self.outward.outside.suspension {
            None => Some("this system has no way to"),
            Some(suspension) => suspension.refusal,
        };
        match refusal {
            None => self.outward.suspend = Some(true),
            Some(reason) => self.take(Msg::Fault(format!("Not suspended: {reason}."))),
        }
    }

    /// Gives the terminal back, waits until the program goes on, and takes it again.
    pub(super) async fn suspend<B: Backend>(
        &mut self,
        terminal: &mut Terminal<B>,
        everybody: bool,
    ) -> Result<(), RunError> {
        self.outward.ask(Request::GiveBack)?;
        if let Some(suspension) = &self.outward.outside.suspension {
            suspension.carry_out(everybody).await;
        }
        self.outward.ask(Request::Take)?;
        // What the terminal was told is forgotten; so is its size, and whether it has the focus.
        (self.outward.title, self.outward.mouse, self.outward.focused) = (String::new(), false, true);
        let size = terminal.size().map_err(fault)?;
        self.redraw = true;
        self.pace.want(Cause::Person);
        self.take(Msg::Resize(size.width, size.height));
        Ok(())
    }
}

/// The title: how many alerts stand that a person should act on or look at.
fn title([critical, warning, _]: [u64; 3]) -> String {
    let count = |mark: &str, count: u64| if count > 0 { format!(" {mark} {count}") } else { String::new() };
    format!("hoptop{}{}", count("!!", critical), count("!", warning))
}

fn not_copied(failures: &[String]) -> String {
    let why = match failures {
        [] => "no way to a clipboard was found here".to_owned(),
        failures => failures.join("; "),
    };
    format!("Not copied ({why}): select it with the mouse.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_counts_what_needs_somebody() {
        assert_eq!(title([2, 3, 1]), "hoptop !! 2 ! 3");
        assert_eq!(title([0, 3, 1]), "hoptop ! 3");
        assert_eq!(title([0, 0, 9]), "hoptop");
    }

    #[test]
    fn what_failed_is_named() {
        assert_eq!(
            not_copied(&["wl-copy: exit status: 1".into()]),
            "Not copied (wl-copy: exit status: 1): select it with the mouse."
        );
        assert!(not_copied(&[]).contains("no way to a clipboard"));
    }
}
