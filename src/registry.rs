//! Values that a program adds to the library by name: filters, weights, formats. A process has one
//! registry; configs, manifests and checkpoints store the names.

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type of values that programs can add.
pub trait RegistryKind: Send + Sync + 'static {
    /// The noun for such a value in messages.
    const NOUN: &'static str;
}

type Entry = (&'static str, &'static (dyn Any + Send + Sync));
static ADDED: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// An added value and its name, which files store.
pub struct NamedValue<T: 'static> {
    pub name: &'static str,
    pub value: &'static T,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there already is a {noun} `{name}`; choose another name")]
pub struct NameTaken {
    pub noun: &'static str,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this program has no {noun} `{name}`{known}; run the program that registers it")]
pub struct NameMissing {
    noun: &'static str,
    name: String,
    /// The existing names, as text.
    known: String,
}

impl NameMissing {
    pub fn of<T: RegistryKind>(name: &str, known: &[&str]) -> Self {
        let has = format!(" (it has {})", known.join(", "));
        let known = if known.is_empty() { String::new() } else { has };
        Self { noun: T::NOUN, name: name.into(), known }
    }
}

/// Adds a value until the end of the process.
pub fn add<T: RegistryKind>(name: &str, value: T) -> Result<(), NameTaken> {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if added.iter().any(|(taken, value)| *taken == name && value.is::<T>()) {
        return Err(NameTaken { noun: T::NOUN, name: name.into() });
    }
    added.push((String::leak(name.into()), Box::leak(Box::new(value))));
    Ok(())
}

pub fn all<T: RegistryKind>() -> Vec<NamedValue<T>> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let to_named = |&(name, value): &Entry| Some(NamedValue { name, value: value.downcast_ref()? });
    added.iter().filter_map(to_named).collect()
}

impl<T: RegistryKind> FromStr for NamedValue<T> {
    type Err = NameMissing;

    fn from_str(name: &str) -> Result<Self, NameMissing> {
        let all = all::<T>();
        let known: Vec<&str> = all.iter().map(|entry| entry.name).collect();
        let value = all.iter().find(|entry| entry.name == name).copied();
        value.ok_or_else(|| NameMissing::of::<T>(name, &known))
    }
}

impl<'de, T: RegistryKind> Deserialize<'de> for NamedValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl<T> Serialize for NamedValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<T> Clone for NamedValue<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NamedValue<T> {}

impl<T> PartialEq for NamedValue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<T> Eq for NamedValue<T> {}

impl<T> fmt::Debug for NamedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
