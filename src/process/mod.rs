//! The operating system's processes and files, beneath every other room: private files and folders, kernel locks between
//! processes, and outside programs.
//!
//! Every room may import this one. It knows paths, open files and child processes. It must never know what a file contains,
//! what a lock protects or what a program is started for, and it must never import another room.

pub mod files;
pub mod lock;
pub mod program;
