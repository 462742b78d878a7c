//! Enums with a text for each variant, each spelled once.

/// Defines an enum without fields, and the method that returns the text of a variant.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident: $method:ident {
            $($(#[$of_variant:meta])* $variant:ident $text:literal,)*
        }
    ) => {
        $(#[$attribute])*
        $vis enum $kind { $($(#[$of_variant])* $variant,)* }

        impl $kind {
            /// Returns the text that stands for the value.
            $vis fn $method(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

pub(crate) use named;
