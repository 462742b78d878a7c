//! The dashboard: Elm with explicit effects.
//!
//! `update` turns a message into a changed model and effects, `view` measures and draws the model and changes nothing, `step`
//! puts both together, `run` is the loop that performs effects. The store is all it talks to; it must never wait for the network.

mod burst;
pub mod command;
pub mod effect;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod input;
pub mod keymap;
pub mod keys;
pub mod model;
pub mod outside;
mod queries;
mod remember;
pub mod run;
pub mod step;
mod tail;
pub mod terminal;
pub mod theme;
pub mod update;
pub mod view;
mod writes;
