//! The tour of the demo: five steps, each with a sentence and the command that leads to the next step.
//!
//! While its step is drawn, the key that clears the list ends the tour, on every screen. The tour must never take
//! another key: it only watches the commands that a person gives.

use super::command::CommandId;

/// A step of the tour.
pub(crate) struct TourStep {
    /// What the screen shows.
    pub(crate) text: &'static str,
    /// What the key of `command` does.
    pub(crate) invitation: &'static str,
    /// The command that ends the step.
    pub(crate) command: CommandId,
}

/// The steps, in order.
pub(crate) const STEPS: [TourStep; 5] = [
    TourStep {
        text: "The most urgent transfer is on top. The pane beside or below the list has its verdict, what to say and what to do.",
        invitation: "moves to the next one",
        command: CommandId::Down,
    },
    TourStep {
        text: "PROGRESS shows where a transfer stands between its submission and its limit, with marks at the median and at 9 in 10.",
        invitation: "shows and copies the reply for the customer",
        command: CommandId::Answer,
    },
    TourStep {
        text: "An alert stays until somebody handles it.",
        invitation: "acknowledges it, with a note for your colleagues",
        command: CommandId::Acknowledge,
    },
    TourStep {
        text: "Anything that a customer sends finds the transfer: a hash, a link, a ticket. Paste it, or search.",
        invitation: "searches and filters",
        command: CommandId::Filter,
    },
    TourStep {
        text: "That is all you need to begin.",
        invitation: "lists all keys; type there to search them",
        command: CommandId::Help,
    },
];

/// The state of the tour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tour {
    /// There is no tour, or it is over.
    #[default]
    Over,
    /// The step with this index is shown.
    At(usize),
}

impl Tour {
    /// Returns the shown step and its number.
    pub(crate) fn step(self) -> Option<(usize, &'static TourStep)> {
        match self {
            Self::Over => None,
            Self::At(index) => STEPS.get(index).map(|step| (index + 1, step)),
        }
    }

    /// Returns the number of steps.
    pub(crate) fn length(self) -> usize {
        STEPS.len()
    }

    /// Returns the tour after a command.
    pub(crate) fn after(self, command: CommandId) -> Self {
        match self.step() {
            Some(_) if command == CommandId::Clear => Self::Over,
            Some((number, step)) if step.command == command && number < STEPS.len() => Self::At(number),
            Some((_, step)) if step.command == command => Self::Over,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_waits_for_its_command_and_esc_ends_the_tour() {
        let mut tour = Tour::At(0);
        for (index, step) in STEPS.iter().enumerate() {
            assert_eq!(tour.after(CommandId::Redraw), Tour::At(index));
            assert_eq!(tour.after(CommandId::Clear), Tour::Over);
            tour = tour.after(step.command);
        }
        assert_eq!((tour, tour.after(CommandId::Down)), (Tour::Over, Tour::Over));
    }
}
