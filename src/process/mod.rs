//! Files and processes of the operating system: private files and folders, kernel locks between processes, other
//! programs, and where secrets come from.
//!
//! Every module may import this one. It knows paths, open files and child processes. It must never know what a file
//! contains, what a lock protects or what a program is started for, and it must never import another module of hoptop.

pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod program;
pub(crate) mod secret_source;
