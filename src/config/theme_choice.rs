//! The chosen theme: a built-in theme by name, or a theme file by path.
//!
//! The dashboard checks whether the name exists.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The chosen theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The name of a built-in theme.
    Named(String),
    /// The path of a theme file.
    File(PathBuf),
}

impl ThemeChoice {
    /// Parses the name or path in a variable. A relative path starts at the current folder.
    pub fn from_current_folder(text: String) -> Self {
        Self::parse_with(text, Path::to_owned)
    }

    /// Parses a name or a path. A text with a slash, or that ends in `.toml`, is a path, which `resolve` completes.
    pub(super) fn parse_with(text: String, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        let is_path = text.contains('/') || text.ends_with(".toml");
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
    fn paths_and_names_are_distinguished() {
        let choice = |text: &str| ThemeChoice::parse_with(text.into(), |path| Path::new("/home").join(path));
        assert_eq!(choice("dark"), ThemeChoice::Named("dark".into()));
        assert_eq!(choice("own.toml"), ThemeChoice::File("/home/own.toml".into()));
        assert_eq!(choice("./own"), ThemeChoice::File("/home/./own".into()));
        assert_eq!(choice("/etc/own.toml"), ThemeChoice::File("/etc/own.toml".into()));
    }
}
