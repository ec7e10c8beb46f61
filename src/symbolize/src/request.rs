//! Reads a stack, with the modules of its process, from a JSON object.

use serde_json::{Map, Value};

use foldsym_store::ModuleId;
use serde_json::value::RawValue;

use crate::given::{GivenStack, List};
use crate::parse::number;
use crate::stack::{Kind, Mapping, Module, Modules, Place, StackFrame};

// Stacks with more frames, and processes with more modules, are refused.
const MAX_FRAMES: usize = 1 << 17;
const MAX_MODULES: usize = 1 << 20;
/// The most sections of a module: each costs a comparison for each frame in the module.
const MAX_SECTIONS: usize = 1 << 10;
/// Bytes of a module or of a frame: it becomes a tree of values, one at a time.
const MAX_ELEMENT: usize = 1 << 18;

/// A stack with the modules of its process.
///
/// ```
/// use foldsym_symbolize::Request;
/// let json = serde_json::json!({
///     "id": 7, "thread": "main",
///     "modules": [{"name": "libfoo.so", "id": "abcdef0123", "base": "0x7f0000000000"}],
///     "frames": ["0x7f0000001000", "0x7f0000002000", {"module": 0, "offset": "0x10", "kind": "exact"}],
/// });
/// let request = Request::parse(&json, None)?;
/// assert_eq!((request.modules.len(), request.frames.len()), (1, 3));
/// assert_eq!(request.echo["thread"], "main");
/// # Ok::<(), foldsym_symbolize::RequestError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The modules.
    pub modules: Modules,
    /// The frames, innermost first.
    pub frames: Vec<StackFrame>,
    /// The value of the vtable pointer of the object that the innermost function runs on.
    pub vptr: Option<Place>,
    /// The keys that the answer repeats: all keys except `modules`, `frames` and the answer's own.
    pub echo: Map<String, Value>,
}

/// Why an object is not a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    message: String,
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RequestError {}

fn wrong(message: impl Into<String>) -> RequestError {
    RequestError { message: message.into() }
}

/// A value of the input, shortened for a message.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

impl Request {
    /// Reads an object. If it has no key `modules`, it gets the modules of `process`. `schema/answers.md` describes each key.
    ///
    /// # Errors
    /// The object is not a stack. The message is for its author.
    pub fn parse(json: &Value, process: Option<&Modules>) -> Result<Self, RequestError> {
        let object = json.as_object().ok_or_else(|| wrong("a stack is an object"))?;
        let modules = match (object.get("modules"), process) {
            (Some(modules), _) => read_modules(modules)?,
            (None, Some(process)) => process.clone(),
            (None, None) => return Err(wrong("a stack needs \"modules\", a list of objects")),
        };
        Self::of(json, modules)
    }

    fn of(json: &Value, modules: Modules) -> Result<Self, RequestError> {
        let frames = json.get("frames").and_then(Value::as_array);
        let frames = frames.ok_or_else(|| wrong("a stack needs \"frames\", a list of addresses"))?;
        if frames.len() > MAX_FRAMES {
            return Err(wrong(format!("more than {MAX_FRAMES} frames")));
        }
        let read = |(index, frame)| read_frame(frame, index == 0, &modules);
        let frames = frames.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let vptr = json.get("vptr").map(|vptr| read_vptr(vptr, &modules)).transpose()?.flatten();
        Ok(Self { vptr, modules, frames, echo: Self::echo(json) })
    }

    /// As [`Self::of`], without what is repeated.
    fn of_given(given: &GivenStack<'_>, modules: Modules) -> Result<Self, RequestError> {
        let frames = given.frames.and_then(|frames| serde_json::from_str(frames.get()).ok());
        let frames: List<'_, MAX_FRAMES> =
            frames.ok_or_else(|| wrong("a stack needs \"frames\", a list of addresses"))?;
        if frames.count > MAX_FRAMES {
            return Err(wrong(format!("more than {MAX_FRAMES} frames")));
        }
        let read = |(index, frame): (usize, &&RawValue)| read_frame(&value(frame)?, index == 0, &modules);
        let frames = frames.elements.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let vptr = given.vptr.map(|vptr| read_vptr(&value(vptr)?, &modules)).transpose()?.flatten();
        Ok(Self { vptr, modules, frames, echo: Map::new() })
    }

    /// The keys that the answer to an object repeats, even if the object is not a stack.
    pub fn echo(json: &Value) -> Map<String, Value> {
        // The answer has these keys itself, or does not need them.
        const OURS: [&str; 4] = ["modules", "frames", "Frames", "Error"];
        let object = json.as_object().into_iter().flatten();
        let kept = object.filter(|(key, _)| !OURS.contains(&key.as_str()));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// Reads objects one after another. An object with the same modules as the one before shares them, so that modules are read once, and the
/// engine finds their files once.
#[derive(Debug, Default)]
pub struct Requests {
    /// As they were written.
    last: Option<(String, Modules)>,
}

impl Requests {
    /// As [`Request::parse`], without modules from elsewhere and without what is repeated, which [`GivenStack::echo`] gives.
    ///
    /// # Errors
    /// As [`Request::parse`].
    pub fn parse(&mut self, given: &GivenStack<'_>) -> Result<Request, RequestError> {
        if !given.is_object {
            return Err(wrong("a stack is an object"));
        }
        let text = given.modules.ok_or_else(|| wrong("a stack needs \"modules\", a list of objects"))?.get();
        if let Some((known, modules)) = &self.last
            && known == text
        {
            return Request::of_given(given, modules.clone());
        }
        let modules = given_modules(text)?;
        let request = Request::of_given(given, modules.clone())?;
        self.last = Some((text.to_owned(), modules));
        Ok(request)
    }
}

/// The modules of a process, element by element.
fn given_modules(text: &str) -> Result<Modules, RequestError> {
    let list: List<'_, MAX_MODULES> =
        serde_json::from_str(text).map_err(|_| wrong("\"modules\" is no list"))?;
    if list.count > MAX_MODULES {
        return Err(wrong(format!("more than {MAX_MODULES} modules")));
    }
    let read = |module: &&RawValue| read_module(&value(module)?);
    list.elements.iter().map(read).collect::<Result<_, _>>().map(Modules::new)
}

/// A value whose tree is small.
fn value(text: &RawValue) -> Result<Value, RequestError> {
    let text = text.get();
    if text.len() > MAX_ELEMENT {
        return Err(wrong(format!("a module or a frame of {} bytes: at most {MAX_ELEMENT}", text.len())));
    }
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}

/// What the pointer to virtual functions holds.
fn read_vptr(vptr: &Value, modules: &Modules) -> Result<Option<Place>, RequestError> {
    match vptr {
        Value::Null => Ok(None),
        Value::Object(place) => Ok(Some(read_object(place, Kind::Exact, modules)?.place)),
        number => unsigned(number, "vptr").map(Place::Memory).map(Some),
    }
}

/// The modules of a process.
pub(crate) fn read_modules(json: &Value) -> Result<Modules, RequestError> {
    let list = json.as_array().ok_or_else(|| wrong("\"modules\" is no list"))?;
    if list.len() > MAX_MODULES {
        return Err(wrong(format!("more than {MAX_MODULES} modules")));
    }
    list.iter().map(read_module).collect::<Result<_, _>>().map(Modules::new)
}

fn read_module(json: &Value) -> Result<Module, RequestError> {
    let object = json.as_object().ok_or_else(|| wrong(format!("{} is no module", shown(json))))?;
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(wrong(format!("\"{key}\" of a module: {} is no text", shown(other)))),
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
            return Err(needs("\"sections\" are where it is: give no other address"));
        }
        let sections = sections.as_object().filter(|sections| sections.len() <= MAX_SECTIONS);
        let sections =
            sections.ok_or_else(|| needs("\"sections\" is no object of section names and addresses"))?;
        let sections = sections.iter().map(|(name, base)| Ok((name.clone(), unsigned(base, "sections")?)));
        module = module.with_sections(sections.collect::<Result<Vec<_>, RequestError>>()?);
    }
    Ok(module)
}

/// Reads a frame: `"0x10"`, `"16"` or 16; a word as in a line of text (`"=0x10"`, `"?"`); or an object.
fn read_frame(json: &Value, innermost: bool, modules: &Modules) -> Result<StackFrame, RequestError> {
    let kind = if innermost { Kind::Exact } else { Kind::Return };
    let address = match json {
        Value::String(word) if word == "?" => return Ok(StackFrame::UNKNOWN),
        Value::String(word) => match word.strip_prefix('=') {
            Some(word) => return Ok(StackFrame::exact(number(word).ok_or_else(|| no_address(json))?)),
            None => number(word),
        },
        Value::Object(object) => return read_object(object, kind, modules),
        other => other.as_u64(),
    };
    let place = Place::Memory(address.ok_or_else(|| no_address(json))?);
    Ok(StackFrame { place, kind })
}

fn no_address(json: &Value) -> RequestError {
    wrong(format!("\"frames\": {} is no address", shown(json)))
}

fn read_object(
    object: &Map<String, Value>,
    default: Kind,
    modules: &Modules,
) -> Result<StackFrame, RequestError> {
    let kind = match object.get("kind").map(|kind| kind.as_str().ok_or(kind)) {
        None => default,
        Some(Ok("exact")) => Kind::Exact,
        Some(Ok("return")) => Kind::Return,
        Some(Ok("adjusted")) => Kind::Adjusted,
        Some(other) => {
            let given = other.map_or_else(shown, |word| format!("{word:?}"));
            return Err(wrong(format!("\"kind\": {given}: expected \"exact\", \"return\" or \"adjusted\"")));
        }
    };
    let get = |key: &str| object.get(key).map(|value| unsigned(value, key)).transpose();
    let module = match object.get("module") {
        None => None,
        Some(module) => Some(
            find_module(module, modules)
                .ok_or_else(|| wrong(format!("\"module\": {} is none of \"modules\"", shown(module))))?,
        ),
    };
    let place = match (module, get("address")?, get("offset")?) {
        (None, Some(address), None) => Place::Memory(address),
        (Some(module), Some(address), None) => Place::Image { module, address },
        (Some(module), None, Some(offset)) => Place::Offset { module, offset },
        _ => return Err(wrong("a frame needs \"address\", or \"module\" with \"offset\" or \"address\"")),
    };
    Ok(StackFrame { place, kind })
}

/// A module by its index, its identity or its name.
fn find_module(json: &Value, modules: &Modules) -> Option<usize> {
    if let Some(index) = json.as_u64() {
        return usize::try_from(index).ok().filter(|index| *index < modules.len());
    }
    let text = json.as_str()?;
    let by_id = ModuleId::parse(text).ok().and_then(|id| modules.of_id(&id));
    by_id.or_else(|| modules.of_name(text))
}

fn unsigned(json: &Value, key: &str) -> Result<u64, RequestError> {
    let value = json.as_u64().or_else(|| number(json.as_str()?));
    value.ok_or_else(|| wrong(format!("\"{key}\": {} is no number", shown(json))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The same request, read from its text.
    fn of_text(json: &Value) -> Result<Request, RequestError> {
        Requests::default().parse(&GivenStack::parse(json.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn lines_of_one_process_share_its_modules() {
        let line = |name: &str, at: u32| json!({"modules": [{"name": name, "base": "0x10"}], "frames": [at]});
        let mut requests = Requests::default();
        let mut of =
            |json: &Value| requests.parse(&GivenStack::parse(json.to_string().as_bytes()).unwrap()).unwrap();
        let (one, same, other) = (of(&line("a", 1)), of(&line("a", 2)), of(&line("b", 2)));
        assert_eq!(one.modules.serial(), same.modules.serial());
        assert_ne!(same.modules.serial(), other.modules.serial());
        assert_eq!((same.frames.len(), &*other.modules[0].name), (1, "b"));
        let error = requests.parse(&GivenStack::parse(b"{\"frames\":[1]}").unwrap()).unwrap_err();
        assert!(error.to_string().contains("needs \"modules\""), "{error}");
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
        let request = Request::parse(&json, None).unwrap();
        let same = of_text(&json).unwrap();
        assert_eq!((&same.frames, same.vptr, same.modules.len()), (&request.frames, request.vptr, 4));
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
                at(Place::Offset { module: 2, offset: 3 }, Kind::Return),
                at(Place::Image { module: 1, address: 4 }, Kind::Exact),
            ]
        );
        assert_eq!(request.vptr, Some(Place::Memory(0x1008)));
        assert_eq!(Value::Object(request.echo), json!({"id": "x", "tags": {"a": [1]}, "vptr": "0x1008"}));
        let of_module =
            json!({"modules": [{"name": "a"}], "frames": [1], "vptr": {"module": 0, "address": 8}});
        let request = Request::parse(&of_module, None).unwrap();
        assert_eq!(request.vptr, Some(Place::Image { module: 0, address: 8 }));
    }

    #[test]
    fn what_is_no_stack_says_why() {
        let module = |module: Value| json!({"modules": [module], "frames": []});
        let frame = |frame: Value| json!({"modules": [{"name": "a"}], "frames": [frame]});
        for (json, says) in [
            (json!([]), "a stack is an object"),
            (json!({}), "needs \"modules\""),
            (json!({"modules": {}}), "\"modules\" is no list"),
            (json!({"modules": []}), "needs \"frames\""),
            (module(json!(1)), "1 is no module"),
            (module(json!({"name": 1})), "\"name\" of a module: 1 is no text"),
            (module(json!({"id": "../.."})), "../.."),
            (module(json!({"base": -1})), "\"base\": -1 is no number"),
            (module(json!({"name": "x", "bias": 1})), "\"x\": \"bias\" needs \"start\" and \"size\""),
            (module(json!({"start": 1})), "a module: \"start\" needs"),
            (module(json!({"base": 1, "bias": 1})), "give one of"),
            (module(json!({"base": 1, "file_offset": 1})), "give one of"),
            (module(json!({"base": 1, "sections": {".text": 1}})), "\"sections\" are where it is"),
            (module(json!({"sections": [1]})), "\"sections\" is no object"),
            (module(json!({"sections": {".text": "x"}})), "\"sections\": \"x\" is no number"),
            (json!({"modules": [], "frames": [1], "vptr": "x"}), "\"vptr\": \"x\" is no number"),
            (frame(json!("x")), "\"x\" is no address"),
            (frame(json!(null)), "null is no address"),
            (frame(json!({})), "a frame needs"),
            (frame(json!({"module": 1, "offset": 0})), "\"module\": 1 is none"),
            (frame(json!({"module": "b", "offset": 0})), "\"b\" is none of \"modules\""),
            (frame(json!({"module": 0})), "a frame needs"),
            (frame(json!({"address": 0, "kind": "x"})), "\"kind\": \"x\""),
            (frame(json!({"address": 0, "kind": 1})), "\"kind\": 1"),
        ] {
            let error = Request::parse(&json, None).unwrap_err().to_string();
            assert!(error.contains(says), "{json}: {error}");
            assert_eq!(of_text(&json).unwrap_err().to_string(), error, "{json}");
        }
        let many = json!({"modules": [], "frames": vec![1; MAX_FRAMES + 1]});
        assert!(Request::parse(&many, None).unwrap_err().to_string().contains("more than"));
        assert!(of_text(&many).unwrap_err().to_string().contains("more than"));
        for large in [module(json!([vec![0; MAX_ELEMENT]])), frame(json!({"a": vec![0; MAX_ELEMENT]}))] {
            assert!(of_text(&large).unwrap_err().to_string().contains("at most 262144"));
        }
    }
}
