//! Reads a stack, with the modules of its process, from a JSON object.

use serde_json::Value;

use foldsym_store::ModuleId;
use serde_json::value::RawValue;

use crate::given::{GivenStack, List, value};
use crate::given_frames;
use crate::parse::number;
use crate::request_error::{RequestError, shown, wrong};
use crate::stack::{Mapping, Module, Modules, ReportedAddress, StackFrame};

/// Processes with more modules are refused.
const MAX_MODULES: usize = 1 << 20;
/// The most sections of a module: each costs a comparison for each frame in the module.
const MAX_SECTIONS: usize = 1 << 10;

/// A stack with the modules of its process.
///
/// ```
/// use foldsym_symbolize::{GivenStack, Requests};
/// let line = br#"{"id": 7, "modules": [{"name": "libfoo.so", "id": "abcdef0123", "base": "0x7f0000000000"}],
///     "frames": ["0x7f0000001000", "0x7f0000002000", {"module": 0, "offset": "0x10", "kind": "exact"}]}"#;
/// let given = GivenStack::parse(line)?;
/// let request = Requests::default().parse(&given, None)?;
/// assert_eq!((request.modules.len(), request.frames.len()), (1, 3));
/// assert_eq!(given.echo().next(), Some(("id", "7".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The modules.
    pub modules: Modules,
    /// The frames, innermost first.
    pub frames: Vec<StackFrame>,
    /// The value of the vtable pointer of the object that the innermost function runs on.
    pub vptr: Option<ReportedAddress>,
}

impl Request {
    fn of(given: &GivenStack<'_>, modules: Modules) -> Result<Self, RequestError> {
        let frames = given.frames.ok_or_else(|| wrong("a stack needs \"frames\", a list of addresses"))?;
        let frames = given_frames::frames(frames.get(), &modules)?;
        let vptr = given.vptr.map(|vptr| read_vptr(&value(vptr)?, &modules)).transpose()?.flatten();
        Ok(Self { vptr, modules, frames })
    }
}

/// Reads objects one after another. An object with the same modules as the one before shares them, so that modules are read once, and the
/// engine finds their files once.
#[derive(Debug, Default)]
pub struct Requests {
    /// As they were written.
    last: Option<(String, Modules)>,
    /// Keys of modules and frames that are not known are errors.
    is_strict: bool,
}

/// The keys of a module.
const MODULE_KEYS: [&str; 8] = ["id", "name", "base", "size", "bias", "start", "file_offset", "sections"];

impl Requests {
    /// Refuses keys of modules and frames that are not known. A report may have keys of others; in a call of a function they are misspelled.
    pub fn strict() -> Self {
        Self { is_strict: true, ..Self::default() }
    }

    /// Reads an object. If it has no key `modules`, it gets the modules of `process`. `schema/answers.md` describes each key.
    ///
    /// # Errors
    /// The object is not a stack. The message is for its author.
    pub fn parse(
        &mut self,
        given: &GivenStack<'_>,
        process: Option<&Modules>,
    ) -> Result<Request, RequestError> {
        if !given.is_object {
            return Err(wrong("a stack is an object"));
        }
        if self.is_strict {
            for (list, known) in [(given.modules, &MODULE_KEYS[..]), (given.frames, &given_frames::KEYS)] {
                list.map_or(Ok(()), |list| only_known(list.get(), known))?;
            }
        }
        let text = match (given.modules, process) {
            (Some(modules), _) => modules.get(),
            (None, Some(process)) => return Request::of(given, process.clone()),
            (None, None) => return Err(wrong("a stack needs \"modules\", a list of objects")),
        };
        // A process may have a million modules: no two lists are kept.
        self.last = self.last.take().filter(|(last, _)| last == text);
        if let Some((_, modules)) = &self.last {
            return Request::of(given, modules.clone());
        }
        let modules = given_modules(text)?;
        let request = Request::of(given, modules.clone())?;
        self.last = Some((text.to_owned(), modules));
        Ok(request)
    }
}

/// Checks the keys of the objects in a list. What is no list, or no object, is left to its reader.
fn only_known(list: &str, known: &[&str]) -> Result<(), RequestError> {
    type Keys<'k> = std::collections::BTreeMap<std::borrow::Cow<'k, str>, serde::de::IgnoredAny>;
    let elements: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    for element in elements.into_iter().filter(|element| element.get().starts_with('{')) {
        let keys: Keys<'_> = serde_json::from_str(element.get()).unwrap_or_default();
        if let Some(key) = keys.keys().find(|key| !known.contains(&&***key)) {
            return Err(wrong(format!("unknown key {key:?}: expected {}", known.join(", "))));
        }
    }
    Ok(())
}

/// The modules of a process, element by element.
fn given_modules(text: &str) -> Result<Modules, RequestError> {
    let list: List<'_, MAX_MODULES> =
        serde_json::from_str(text).map_err(|_| wrong("\"modules\" is not a list"))?;
    if list.count > MAX_MODULES {
        return Err(wrong(format!("more than {MAX_MODULES} modules")));
    }
    let read = |module: &&RawValue| read_module(&value(module)?);
    list.elements.iter().map(read).collect::<Result<_, _>>().map(Modules::new)
}

/// The value of the vtable pointer.
fn read_vptr(vptr: &Value, modules: &Modules) -> Result<Option<ReportedAddress>, RequestError> {
    match vptr {
        Value::Null => Ok(None),
        Value::Object(place) => given_frames::place(place, modules).map(Some),
        number => unsigned(number, "vptr").map(ReportedAddress::Memory).map(Some),
    }
}

fn read_module(json: &Value) -> Result<Module, RequestError> {
    let object = json.as_object().ok_or_else(|| wrong(format!("{} is not a module", shown(json))))?;
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(wrong(format!("\"{key}\" of a module: {} is not a string", shown(other)))),
    };
    let address =
        |key: &str| object.get(key).filter(|value| !value.is_null()).map(|value| unsigned(value, key));
    let address = |key: &str| address(key).transpose();
    let id = match text("id")?.filter(|id| !id.is_empty()) {
        Some(id) => Some(ModuleId::parse(id).map_err(|error| wrong(error.to_string()))?),
        None => None,
    };
    let mut module = Module::new(text("name")?.unwrap_or_default());
    module.id = id;
    let (base, bias, start) = (address("base")?, address("bias")?, address("start")?);
    let (size, file_offset) = (address("size")?, address("file_offset")?);
    let name = if module.name.is_empty() { "a module".to_owned() } else { format!("{:?}", &*module.name) };
    let needs = |what: &str| wrong(format!("{name}: {what}"));
    module.mapping = match (base, bias, start) {
        (Some(address), None, None) if file_offset.is_none() => Mapping::LoadAddress { address, size },
        (None, Some(bias), start) if file_offset.is_none() => match (start, size) {
            (Some(start), Some(size)) => Mapping::Bias { bias, start, size },
            _ => return Err(needs("\"bias\" needs \"start\" and \"size\"")),
        },
        (None, None, Some(start)) => match (size, file_offset) {
            (Some(size), Some(file_offset)) => Mapping::FilePart { start, size, file_offset },
            _ => return Err(needs("\"start\" needs \"size\" and \"file_offset\", or \"bias\"")),
        },
        (None, None, None) if file_offset.is_none() => Mapping::Unknown,
        _ => return Err(needs("give one of \"base\", \"bias\", and \"start\" with \"file_offset\"")),
    };
    if let Some(sections) = object.get("sections").filter(|sections| !sections.is_null()) {
        if module.mapping != Mapping::Unknown {
            return Err(needs("\"sections\" already give its addresses: give no other"));
        }
        let sections = sections.as_object().filter(|sections| sections.len() <= MAX_SECTIONS);
        let sections =
            sections.ok_or_else(|| needs("\"sections\" is not an object of section names and addresses"))?;
        let sections = sections.iter().map(|(name, base)| Ok((name.clone(), unsigned(base, "sections")?)));
        module = module.with_sections(sections.collect::<Result<Vec<_>, RequestError>>()?);
    }
    Ok(module)
}

fn unsigned(json: &Value, key: &str) -> Result<u64, RequestError> {
    let value = json.as_u64().or_else(|| number(json.as_str()?));
    value.ok_or_else(|| wrong(format!("\"{key}\": {} is not a number", shown(json))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stack::AddressKind;

    /// The same request, read from its text.
    fn of_text(json: &Value) -> Result<Request, RequestError> {
        Requests::default().parse(&GivenStack::parse(json.to_string().as_bytes()).unwrap(), None)
    }

    #[test]
    fn lines_of_one_process_share_its_modules() {
        let line = |name: &str, at: u32| json!({"modules": [{"name": name, "base": "0x10"}], "frames": [at]});
        let mut requests = Requests::default();
        let mut of = |json: &Value| {
            requests.parse(&GivenStack::parse(json.to_string().as_bytes()).unwrap(), None).unwrap()
        };
        let (one, same, other) = (of(&line("a", 1)), of(&line("a", 2)), of(&line("b", 2)));
        assert_eq!(one.modules.serial(), same.modules.serial());
        assert_ne!(same.modules.serial(), other.modules.serial());
        assert_eq!((same.frames.len(), &*other.modules[0].name), (1, "b"));
        let without = GivenStack::parse(b"{\"frames\":[1]}").unwrap();
        let error = requests.parse(&without, None).unwrap_err();
        assert!(error.to_string().contains("needs \"modules\""), "{error}");
        let of_process = requests.parse(&without, Some(&one.modules)).unwrap();
        assert_eq!(of_process.modules.serial(), one.modules.serial());
    }

    #[test]
    fn unknown_keys_are_refused_on_request() {
        let of = |json: Value| {
            let text = json.to_string();
            let given = GivenStack::parse(text.as_bytes()).unwrap();
            let read = |mut requests: Requests| requests.parse(&given, None).map(|_| ());
            assert!(read(Requests::default()).is_ok(), "{json}");
            read(Requests::strict()).map_err(|error| error.to_string())
        };
        let module =
            |key: &str| json!({"modules": [{"name": "a", key: 1}, {"id": "abcdef"}], "frames": [1, "?"]});
        assert_eq!(of(module("base")), Ok(()));
        let error = of(module("bsae")).unwrap_err();
        assert!(error.starts_with("unknown key \"bsae\": expected id, name, base,"), "{error}");
        let frame = |key: &str| json!({"modules": [], "frames": [1, {"address": 1, key: "exact"}]});
        assert_eq!(of(frame("kind")), Ok(()));
        let error = of(frame("kinds")).unwrap_err();
        assert_eq!(error, "unknown key \"kinds\": expected kind, module, address, offset");
    }

    #[test]
    fn every_mapping_and_every_frame() {
        let json = json!({
                "id": "x", "Frames": 1, "tags": {"a": [1]}, "vptr": "0x1008",
                "modules": [
                    {"name": "a", "base": "0x1000", "size": 16},
                    {"id": "abcdef", "bias": 5, "start": "0x2000", "size": "0x10"},
                    {"name": "/lib/c.so", "start": 4096, "size": 1, "file_offset": 0},
                    {"name": "d", "id": null},
                ],
                "frames": ["0x1001", 17, "=0x10", "?", {"address": "0x20", "kind": "adjusted"},
                    {"module": "c.so", "offset": 3}, {"module": "abcdef", "address": 4, "kind": "exact"}],
        });
        let request = of_text(&json).unwrap();
        let mappings: Vec<Mapping> = request.modules.iter().map(|module| module.mapping).collect();
        assert_eq!(
            mappings,
            [
                Mapping::LoadAddress { address: 0x1000, size: Some(16) },
                Mapping::Bias { bias: 5, start: 0x2000, size: 16 },
                Mapping::FilePart { start: 4096, size: 1, file_offset: 0 },
                Mapping::Unknown,
            ]
        );
        let at = |place, kind| StackFrame { place, kind };
        assert_eq!(
            request.frames,
            [
                StackFrame::exact(0x1001),
                StackFrame::returns_to(17),
                StackFrame::exact(0x10),
                StackFrame::UNKNOWN,
                StackFrame::adjusted(0x20),
                at(ReportedAddress::Offset { module: 2, offset: 3 }, AddressKind::Return),
                at(ReportedAddress::Image { module: 1, address: 4 }, AddressKind::Exact),
            ]
        );
        assert_eq!(request.vptr, Some(ReportedAddress::Memory(0x1008)));
        let of_module =
            json!({"modules": [{"name": "a"}], "frames": [1], "vptr": {"module": 0, "address": 8}});
        let request = of_text(&of_module).unwrap();
        assert_eq!(request.vptr, Some(ReportedAddress::Image { module: 0, address: 8 }));
    }

    #[test]
    fn what_is_no_stack_says_why() {
        let module = |module: Value| json!({"modules": [module], "frames": []});
        let frame = |frame: Value| json!({"modules": [{"name": "a"}], "frames": [frame]});
        for (json, says) in [
            (json!([]), "a stack is an object"),
            (json!({}), "needs \"modules\""),
            (json!({"modules": {}}), "\"modules\" is not a list"),
            (json!({"modules": []}), "needs \"frames\""),
            (module(json!(1)), "1 is not a module"),
            (module(json!({"name": 1})), "\"name\" of a module: 1 is not a string"),
            (module(json!({"id": "../.."})), "../.."),
            (module(json!({"base": -1})), "\"base\": -1 is not a number"),
            (module(json!({"name": "x", "bias": 1})), "\"x\": \"bias\" needs \"start\" and \"size\""),
            (module(json!({"start": 1})), "a module: \"start\" needs"),
            (module(json!({"base": 1, "bias": 1})), "give one of"),
            (module(json!({"base": 1, "file_offset": 1})), "give one of"),
            (module(json!({"base": 1, "sections": {".text": 1}})), "\"sections\" already give its addresses"),
            (module(json!({"sections": [1]})), "\"sections\" is not an object"),
            (module(json!({"sections": {".text": "x"}})), "\"sections\": \"x\" is not a number"),
            (json!({"modules": [], "frames": [1], "vptr": "x"}), "\"vptr\": \"x\" is not a number"),
            (frame(json!("x")), "\"x\" is not an address"),
            (frame(json!(null)), "null is not an address"),
            (frame(json!({})), "a frame needs"),
            (frame(json!({"module": 1, "offset": 0})), "\"module\": 1 is none"),
            (frame(json!({"module": "b", "offset": 0})), "\"b\" is none of \"modules\""),
            (frame(json!({"module": 0})), "a frame needs"),
            (frame(json!({"address": 0, "kind": "x"})), "\"kind\": \"x\""),
            (frame(json!({"address": 0, "kind": 1})), "\"kind\": 1"),
        ] {
            let error = of_text(&json).unwrap_err().to_string();
            assert!(error.contains(says), "{json}: {error}");
        }
        let many = json!({"modules": [], "frames": vec![1; given_frames::MAX_FRAMES + 1]});
        assert!(of_text(&many).unwrap_err().to_string().contains("more than"));
        for large in [
            module(json!([vec![0; crate::given::MAX_ELEMENT]])),
            frame(json!({"a": vec![0; crate::given::MAX_ELEMENT]})),
        ] {
            assert!(of_text(&large).unwrap_err().to_string().contains("at most 262144"));
        }
    }
}
