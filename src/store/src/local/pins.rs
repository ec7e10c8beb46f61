//! Pins: lists of build ids whose files garbage collection keeps. A pin is a file, for example for a release, with one build id per line.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use super::files::{is_own_folder, read_folder, read_small, safe_name};
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::{BuildId, IdError};

/// A named set of build ids that garbage collection keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The name, for example of a release.
    pub name: String,
    /// The build ids of its programs.
    pub ids: BTreeSet<BuildId>,
}

impl LocalStore {
    /// Keeps the files of these build ids until the pin is removed. Replaces a pin of the same name. The files need not exist yet.
    ///
    /// # Errors
    /// The name cannot be the name of a file, or the store cannot be written.
    pub fn pin(&self, name: &str, ids: impl IntoIterator<Item = BuildId>) -> Result<(), StoreError> {
        let _lock = self.lock_pins()?;
        self.place_pin(name, &ids.into_iter().collect())
    }

    /// Adds build ids to a pin, which is made if there is none of the name.
    ///
    /// # Errors
    /// As [`LocalStore::pin`] and [`LocalStore::pins`].
    pub fn add_to_pin(&self, name: &str, ids: &[BuildId]) -> Result<(), StoreError> {
        let _lock = self.lock_pins()?;
        let mut all = self.pin_of(name)?.unwrap_or_default();
        all.extend(ids.iter().cloned());
        self.place_pin(name, &all)
    }

    /// Removes build ids from a pin, and the pin when it names none any more. `Ok(false)` if it named none of them.
    ///
    /// # Errors
    /// As [`LocalStore::add_to_pin`].
    pub fn remove_from_pin(&self, name: &str, ids: &[BuildId]) -> Result<bool, StoreError> {
        let _lock = self.lock_pins()?;
        let Some(mut left) = self.pin_of(name)? else { return Ok(false) };
        let before = left.len();
        ids.iter().for_each(|id| _ = left.remove(id));
        match left.len() {
            0 => self.unpin(name)?,
            now if now != before => self.place_pin(name, &left).map(|()| true)?,
            _ => false,
        };
        Ok(left.len() != before)
    }

    /// The build ids of a pin.
    fn pin_of(&self, name: &str) -> Result<Option<BTreeSet<BuildId>>, StoreError> {
        Ok(self.pins()?.into_iter().find(|pin| pin.name == name).map(|pin| pin.ids))
    }

    fn place_pin(&self, name: &str, ids: &BTreeSet<BuildId>) -> Result<(), StoreError> {
        let path = self.root().join("pins").join(pin_name(name)?);
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.place_text(&path, &text, true)
    }

    /// Removes a pin. `Ok(false)` if there is none.
    ///
    /// # Errors
    /// As [`LocalStore::pin`].
    pub fn unpin(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.root().join("pins").join(pin_name(name)?);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io(&path, "remove", error)),
        }
    }

    /// All pins, by name. Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// A pin cannot be read, or a line of it is not a build id: it is then unknown which files the pin keeps.
    pub fn pins(&self) -> Result<Vec<Pin>, StoreError> {
        let mut pins = Vec::new();
        for entry in read_folder(&self.root().join("pins"))? {
            let path = entry.path();
            // A store makes no folders there, so it is no pin that would go unread.
            if is_own_folder(&path) {
                continue;
            }
            // If there is no file, the pin was removed after the folder was listed.
            let Some(text) = read_small(&path)? else { continue };
            let ids = read_pin(&text).map_err(|error| StoreError::damaged(&path, error))?;
            pins.push(Pin { name: entry.file_name().to_string_lossy().into_owned(), ids });
        }
        Ok(pins)
    }
}

/// The build ids in the text of a pin.
pub(crate) fn read_pin(text: &str) -> Result<BTreeSet<BuildId>, IdError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(BuildId::parse).collect()
}

pub(crate) fn pin_name(name: &str) -> Result<&str, StoreError> {
    safe_name(name).ok_or_else(|| StoreError::PinName { name: name.chars().take(255).collect() })
}
