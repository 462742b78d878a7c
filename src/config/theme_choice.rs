//! Which theme is wanted: one that hoptop has, by its name, or a person's own, by its path.
//!
//! Which names there are is the dashboard's business.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Which theme is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThemeChoice {
    /// By its name.
    Named(String),
    /// By the file that it is in.
    File(PathBuf),
}

impl ThemeChoice {
    /// As a text says that stands in a variable: a path starts from the current folder.
    pub fn from_here(text: String) -> Self {
        Self::resolved(text, Path::to_owned)
    }

    /// What has a slash, or ends in `.toml`, is a path, and starts where `resolve` says.
    pub(super) fn resolved(text: String, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        let is_path = text.contains(['/', std::path::MAIN_SEPARATOR]) || text.ends_with(".toml");
        if is_path { Self::File(resolve(Path::new(&text))) } else { Self::Named(text) }
    }
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self::Named("default".into())
    }
}

impl fmt::Display for ThemeChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => out.write_str(&crate::domain::text::clean(name)),
            Self::File(path) => path.display().fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_a_name() {
        let choice = |text: &str| ThemeChoice::resolved(text.into(), |path| Path::new("/home").join(path));
        assert_eq!(choice("dark"), ThemeChoice::Named("dark".into()));
        assert_eq!(choice("own.toml"), ThemeChoice::File("/home/own.toml".into()));
        assert_eq!(choice("./own"), ThemeChoice::File("/home/./own".into()));
        assert_eq!(choice("/etc/own.toml"), ThemeChoice::File("/etc/own.toml".into()));
    }
}
