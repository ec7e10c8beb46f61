//! Frames of a stack that is a JSON object.

use std::fmt;

use foldsym_store::ModuleId;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::given::{List, value};
use crate::parse::number;
use crate::request_error::{RequestError, shown, wrong};
use crate::stack::{AddressKind, Modules, ReportedAddress, StackFrame};

/// Stacks with more frames are refused: no stack of a program is that deep, and answers are kept whole.
pub const MAX_FRAMES: usize = 1 << 17;

/// The keys of a frame that is an object.
pub(crate) const KEYS: [&str; 4] = ["kind", "module", "address", "offset"];

/// Reads the frames from the text of their list.
pub(crate) fn frames(text: &str, modules: &Modules) -> Result<Vec<StackFrame>, RequestError> {
    // Trees of values take most of the time of a service, so they are parsed only if something is unusual or wrong, for the message.
    let mut reader = serde_json::Deserializer::from_str(text);
    let frames = PlainFrames { modules }.deserialize(&mut reader);
    match frames.and_then(|frames| reader.end().map(|()| frames)) {
        Ok(frames) => Ok(frames),
        Err(_) => any_frames(text, modules),
    }
}

/// Reads frames of every form; returns the fault.
fn any_frames(text: &str, modules: &Modules) -> Result<Vec<StackFrame>, RequestError> {
    let list: List<'_, MAX_FRAMES> =
        serde_json::from_str(text).map_err(|_| wrong("a stack needs \"frames\", a list of addresses"))?;
    // The list keeps only the first elements, but counts all of them.
    if list.count > MAX_FRAMES {
        return Err(wrong(format!("more than {MAX_FRAMES} frames")));
    }
    let read = |(index, text): (usize, &&_)| {
        let json = value(text)?;
        let frame = match &json {
            Value::Object(object) => GivenFrame::of(object),
            other => GivenFrame::Word(Scalar::of(other)),
        };
        frame.read(default_kind(index), modules)
    };
    list.elements.iter().enumerate().map(read).collect()
}

/// Reads a place that is an object, as a frame may be.
pub(crate) fn place(object: &Map<String, Value>, modules: &Modules) -> Result<ReportedAddress, RequestError> {
    Ok(GivenFrame::of(object).read(AddressKind::Exact, modules)?.place)
}

/// The kind of a frame that does not say it.
fn default_kind(index: usize) -> AddressKind {
    if index == 0 { AddressKind::Exact } else { AddressKind::Return }
}

/// A value of a frame.
#[derive(Clone, Copy)]
enum Scalar<'v> {
    Number(u64),
    Text(&'v str),
    /// Neither.
    Other(&'v Value),
}

impl<'v> Scalar<'v> {
    fn of(json: &'v Value) -> Self {
        match json {
            Value::String(text) => Self::Text(text),
            other => other.as_u64().map_or(Self::Other(other), Self::Number),
        }
    }

    /// The value, for a message.
    fn shown(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => shown(&text.into()),
            Self::Other(value) => shown(value),
        }
    }

    fn unsigned(self, key: &str) -> Result<u64, RequestError> {
        let value = match self {
            Self::Number(number) => Some(number),
            Self::Text(text) => number(text),
            Self::Other(_) => None,
        };
        value.ok_or_else(|| wrong(format!("\"{key}\": {} is not a number", self.shown())))
    }

    /// A module by its index, its identity or its name.
    fn module(self, modules: &Modules) -> Option<usize> {
        match self {
            Self::Number(index) => usize::try_from(index).ok().filter(|index| *index < modules.len()),
            Self::Text(text) => {
                let by_id = ModuleId::parse(text).ok().and_then(|id| modules.of_id(&id));
                by_id.or_else(|| modules.of_name(text))
            }
            Self::Other(_) => None,
        }
    }
}

/// A frame as it is written: `"0x10"`, `"16"` or 16; a word as in a line of text (`"=0x10"`, `"?"`); or an object.
enum GivenFrame<'v> {
    Word(Scalar<'v>),
    Object {
        kind: Option<Scalar<'v>>,
        module: Option<Scalar<'v>>,
        address: Option<Scalar<'v>>,
        offset: Option<Scalar<'v>>,
    },
}

impl<'v> GivenFrame<'v> {
    fn of(object: &'v Map<String, Value>) -> Self {
        let get = |key| object.get(key).map(Scalar::of);
        Self::Object {
            kind: get("kind"),
            module: get("module"),
            address: get("address"),
            offset: get("offset"),
        }
    }

    fn read(&self, default: AddressKind, modules: &Modules) -> Result<StackFrame, RequestError> {
        match *self {
            Self::Word(word) => {
                let no_address = || wrong(format!("\"frames\": {} is not an address", word.shown()));
                let (address, kind) = match word {
                    Scalar::Text("?") => return Ok(StackFrame::UNKNOWN),
                    Scalar::Text(text) => match text.strip_prefix('=') {
                        Some(text) => (number(text), AddressKind::Exact),
                        None => (number(text), default),
                    },
                    Scalar::Number(number) => (Some(number), default),
                    Scalar::Other(_) => (None, default),
                };
                Ok(StackFrame { place: ReportedAddress::Memory(address.ok_or_else(no_address)?), kind })
            }
            Self::Object { kind, module, address, offset } => {
                let kind = match kind {
                    None => default,
                    Some(given) => AddressKind::parse(if let Scalar::Text(text) = given { text } else { "" })
                        .map_err(|expected| wrong(format!("\"kind\": {}: {expected}", given.shown())))?,
                };
                let module = match module {
                    None => None,
                    Some(given) => Some(given.module(modules).ok_or_else(|| {
                        wrong(format!("\"module\": {} is none of \"modules\"", given.shown()))
                    })?),
                };
                let unsigned =
                    |key, given: Option<Scalar<'_>>| given.map(|given| given.unsigned(key)).transpose();
                let place = match (module, unsigned("address", address)?, unsigned("offset", offset)?) {
                    (None, Some(address), None) => ReportedAddress::Memory(address),
                    (Some(module), Some(address), None) => ReportedAddress::Image { module, address },
                    (Some(module), None, Some(offset)) => ReportedAddress::Offset { module, offset },
                    _ => {
                        let needed =
                            "a frame needs \"address\", or \"module\" with \"offset\" or \"address\"";
                        return Err(wrong(needed));
                    }
                };
                Ok(StackFrame { place, kind })
            }
        }
    }
}

/// Reads frames that are words, numbers, and objects of these with keys that are known, each once. All else is an error.
struct PlainFrames<'m> {
    modules: &'m Modules,
}

impl<'de> DeserializeSeed<'de> for PlainFrames<'_> {
    type Value = Vec<StackFrame>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PlainFrames<'_> {
    type Value = Vec<StackFrame>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of frames")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        let mut frames = Vec::new();
        while let Some(frame) =
            list.next_element_seed(PlainFrame { modules: self.modules, default: default_kind(frames.len()) })?
        {
            // The slower reader then gives the error that names the limit.
            if frames.len() == MAX_FRAMES {
                return Err(S::Error::custom("too many frames"));
            }
            frames.push(frame);
        }
        Ok(frames)
    }
}

/// One of them.
struct PlainFrame<'m> {
    modules: &'m Modules,
    /// The kind of a frame that does not give one.
    default: AddressKind,
}

impl PlainFrame<'_> {
    fn read<E: Error>(self, given: &GivenFrame<'_>) -> Result<StackFrame, E> {
        given.read(self.default, self.modules).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for PlainFrame<'_> {
    type Value = StackFrame;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlainFrame<'_> {
    type Value = StackFrame;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a frame")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<StackFrame, E> {
        self.read(&GivenFrame::Word(Scalar::Number(number)))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<StackFrame, E> {
        self.read(&GivenFrame::Word(Scalar::Text(word)))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<StackFrame, M::Error> {
        let (mut kind, mut module, mut address, mut offset) = (None, None, None, None);
        // A key with escapes cannot be borrowed and is an error here. The slower reader takes it.
        while let Some(key) = map.next_key::<&str>()? {
            let slot = match key {
                "kind" => &mut kind,
                "module" => &mut module,
                "address" => &mut address,
                "offset" => &mut offset,
                _ => return Err(M::Error::custom("another key")),
            };
            // The slower reader handles this: a map of serde_json keeps the last of two equal keys.
            if slot.replace(map.next_value_seed(PlainScalar)?).is_some() {
                return Err(M::Error::custom("a key twice"));
            }
        }
        self.read(&GivenFrame::Object { kind, module, address, offset })
    }
}

/// A number, or a text without escapes.
struct PlainScalar;

impl<'de> DeserializeSeed<'de> for PlainScalar {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlainScalar {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Module;

    /// Whether frames are read without trees of values; both ways must give the same.
    fn is_plain(text: &str) -> bool {
        let modules = Modules::new(vec![Module::new("a"), Module::new("b")]);
        let mut reader = serde_json::Deserializer::from_str(text);
        let plain = PlainFrames { modules: &modules }.deserialize(&mut reader);
        let (read, any) = (frames(text, &modules), any_frames(text, &modules));
        assert_eq!(read, any, "{text}");
        if let Ok(plain) = &plain {
            assert_eq!(plain, &read.unwrap(), "{text}");
        }
        plain.is_ok()
    }

    #[test]
    fn usual_frames_are_plain_and_others_are_read_as_well() {
        for text in [
            "[]",
            "[1, \"0x10\", \"=7\", \"?\", \"\\u0031\"]",
            "[{\"module\":1,\"address\":\"0x10\",\"kind\":\"exact\"}, {\"offset\":1, \"module\":\"b\"}, {\"address\":1}]",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "{}",
            "[null]",
            "[-1]",
            "[1.0]",
            "[\"x\"]",
            "[{\"address\":1,\"tag\":2}]",
            "[{\"address\":1,\"address\":2}]",
            "[{\"address\":\"\\u0031\"}]",
            "[{\"addr\\u0065ss\":1}]",
            "[{\"module\":2,\"address\":1}]",
            "[{\"module\":null,\"address\":1}]",
            "[{\"address\":1,\"kind\":\"x\"}]",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
