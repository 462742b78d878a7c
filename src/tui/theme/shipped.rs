//! The themes that hoptop ships with.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShippedTheme {
    /// The terminal's own sixteen colours on its own background.
    Default,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
    ColorBlind,
    /// Without colours.
    Mono,
}

impl ShippedTheme {
    /// All shipped themes.
    pub const ALL: [Self; 5] = [Self::Default, Self::Light, Self::Dark, Self::ColorBlind, Self::Mono];

    /// Returns the name, as in a config file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Light => "light",
            Self::Dark => "dark",
            Self::ColorBlind => "colour-blind",
            Self::Mono => "mono",
        }
    }

    /// Returns a short description.
    pub fn description(self) -> &'static str {
        match self {
            Self::Default => "the terminal's own colours and background",
            Self::Light => "dark on light",
            Self::Dark => "light on dark",
            Self::ColorBlind => "safe for every kind of colour vision",
            Self::Mono => "without colours",
        }
    }

    /// Returns the theme with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shipped| shipped.name() == name)
    }

    /// Returns the text of the theme's file.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Default => include_str!("../../../assets/themes/default.toml"),
            Self::Light => include_str!("../../../assets/themes/light.toml"),
            Self::Dark => include_str!("../../../assets/themes/dark.toml"),
            Self::ColorBlind => include_str!("../../../assets/themes/colour-blind.toml"),
            Self::Mono => include_str!("../../../assets/themes/mono.toml"),
        }
    }
}
