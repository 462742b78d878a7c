//! The dashboard: Elm with explicit effects.
//!
//! `update` turns a message into a changed model and effects. `view` measures and draws the model without changing it.
//! `step` combines both, and `run` is the loop that performs effects. Each screen and dialog has a folder. The
//! dashboard uses the store alone, and must never wait for the network.

mod burst;
pub(crate) mod command;
pub(crate) mod dialogs;
mod draw;
pub(crate) mod effect;
pub(crate) mod export;
#[cfg(test)]
mod fixtures;
pub(crate) mod input;
pub(crate) mod key_text;
pub(crate) mod keys;
pub(crate) mod message;
pub(crate) mod model;
pub(crate) mod run;
pub(crate) mod screens;
pub(crate) mod step;
pub(crate) mod system;
pub(crate) mod terminal;
mod text_input;
pub(crate) mod theme;
pub(crate) mod tour;
pub(crate) mod update;
pub(crate) mod view;
mod view_state_file;
mod widgets;
