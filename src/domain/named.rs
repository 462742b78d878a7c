//! Enums with a text for each variant, each spelled once.

/// Defines an enum without fields, and the method that returns the text of a variant. With `, ALL` after the method also
/// an array of all variants in their order.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident: $method:ident, ALL {
            $($(#[$of_variant:meta])* $variant:ident $text:literal,)*
        }
    ) => {
        $crate::domain::named::named! {
            $(#[$attribute])*
            $vis enum $kind: $method { $($(#[$of_variant])* $variant $text,)* }
        }

        impl $kind {
            /// All values, in their order.
            $vis const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];
        }
    };
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
