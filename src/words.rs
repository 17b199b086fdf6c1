//! Names: of the variants of enums, and those that a misspelt one is nearest to.

/// Returns the name that is most like a misspelt one; none without names.
pub fn find_nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.max_by(|a, b| strsim::jaro(a, text).total_cmp(&strsim::jaro(b, text)))
}

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
