//! The themes that hoptop ships with.

/// Defines the themes: each with its name, which is also that of its file in `assets/themes`, and a short description.
macro_rules! themes {
    ($($(#[$doc:meta])* $theme:ident $name:literal $description:literal,)*) => {
        /// A theme that hoptop ships with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ShippedTheme {
            $($(#[$doc])* $theme,)*
        }

        impl ShippedTheme {
            /// All shipped themes.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$theme),*];

            /// Returns the name, as in a config file.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$theme => $name,)*
                }
            }

            /// Returns a short description.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$theme => $description,)*
                }
            }

            /// Returns the theme with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|shipped| shipped.name() == name)
            }

            /// Returns the text of the theme's file.
            pub(super) fn text(self) -> &'static str {
                match self {
                    $(Self::$theme => include_str!(concat!("../../../assets/themes/", $name, ".toml")),)*
                }
            }
        }
    };
}

themes! {
    /// The terminal's own sixteen colours on its own background.
    Default "default" "the terminal's own colours and background",
    /// Dark on light.
    Light "light" "dark on light",
    /// Light on dark.
    Dark "dark" "light on dark",
    /// Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
    ColorBlind "colour-blind" "safe for every kind of colour vision",
    /// Without colours.
    Mono "mono" "without colours",
}
