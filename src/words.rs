//! Enums whose variants have names.

/// Implements `ALL`, `name` and `named` of an enum.
macro_rules! words {
    ($kind:ident: $($variant:ident = $name:literal),*) => {
        impl $kind {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.name() == name)
            }
        }
    };
}
