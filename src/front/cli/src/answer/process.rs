//! The modules of a process, and the words and lines that name addresses of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use foldsym_symbolize::{
    AddressKind, GivenStack, MAX_FRAMES, Module, ModuleId, Modules, ReportedAddress, Request, RequestError,
    Requests, StackFrame, id_and_offset, module_and_offset, modules_of_maps, modules_of_process, number,
    open_regular, parse_maps,
};

use crate::answer::address::hex;
use crate::args::Sources;
use crate::io::failure::{Failure, quoted};

/// Most modules that input lines may name before the list is cleared.
const MAX_NAMED: usize = 1 << 16;
/// A module has few sections: each costs a comparison for each address in it.
const MAX_SECTIONS: usize = 1 << 10;
/// Files of `--maps` are not larger.
const MAX_MAPS: u64 = 256 << 20;

/// The modules so far: the modules of `--maps`, and modules that input lines named.
pub(crate) struct Process {
    /// The modules of `--maps`.
    mapped: Modules,
    /// The modules of `--maps`, and then those that input lines named.
    modules: Modules,
    /// By the name in input lines. Strangers may write them, so the hash has a key.
    named: HashMap<String, usize>,
    /// Modules of logs, by the path of their program and the build id: a path has many spellings.
    programs: HashMap<(PathBuf, Option<ModuleId>), usize>,
    open_paths: bool,
    /// Reads lines that are JSON.
    requests: Requests,
}

impl Process {
    /// Reads the modules of `--maps`.
    ///
    /// # Errors
    /// The file cannot be read, or has a line of another form.
    pub(crate) fn new(sources: &Sources) -> Result<Self, Failure> {
        let mut mapped = Modules::new(Vec::new());
        if let Some(path) = &sources.maps {
            let entries = parse_maps(&read(path)?).map_err(|error| Failure::input(path, error))?;
            // The list of a running process is the kernel's, so its paths are trusted; other paths are opened only if the user allows it.
            mapped = match running(path) {
                Some(folder) => modules_of_process(&entries, Some(&folder)),
                None if sources.open_paths => modules_of_process(&entries, None),
                None => modules_of_maps(&entries),
            };
        }
        for (name, path) in &sources.sections {
            mapped.push(Module::new(name).with_sections(read_sections(path)?));
        }
        Ok(Self {
            modules: mapped.clone(),
            mapped,
            named: HashMap::new(),
            programs: HashMap::new(),
            open_paths: sources.open_paths,
            requests: Requests::default(),
        })
    }

    /// The modules of the places that were read so far.
    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Reads a line that is one address.
    ///
    /// # Errors
    /// The fault of the line, for the user.
    pub(crate) fn line(&mut self, line: &str) -> Result<ReportedAddress, String> {
        // All earlier lines are answered, so nothing uses their places any more.
        self.forget();
        match file_and_address(line.trim()) {
            Some((file, address)) => {
                if !self.open_paths {
                    return Err(format!(
                        "{}: lines of FILE ADDRESS need --open-paths, as they open any file",
                        quoted(file)
                    ));
                }
                let address = number(address).ok_or_else(|| no_address(address))?;
                let new = || Module::new(file).with_program(Path::new(file));
                Ok(ReportedAddress::Image { module: self.module(file, new), address })
            }
            None => self.word(line.trim()),
        }
    }

    /// Reads a line that is a stack.
    ///
    /// # Errors
    /// The fault of the line, for the user.
    pub(crate) fn stack(&mut self, line: &str) -> Result<Vec<StackFrame>, String> {
        self.forget();
        let mut frames = Vec::new();
        for word in line.split_ascii_whitespace() {
            if frames.len() == MAX_FRAMES {
                return Err(format!("more than {MAX_FRAMES} frames"));
            }
            let kind = if frames.is_empty() { AddressKind::Exact } else { AddressKind::Return };
            frames.push(match (word, word.strip_prefix('=')) {
                ("?", _) => StackFrame::UNKNOWN,
                (_, Some(address)) => {
                    StackFrame { place: self.word_in(word, address)?, kind: AddressKind::Exact }
                }
                _ => StackFrame { place: self.word(word)?, kind },
            });
        }
        if frames.is_empty() {
            return Err("a stack needs an address".to_owned());
        }
        Ok(frames)
    }

    /// Reads a stack that is a JSON object. Lines of one process, which repeat its modules, share them.
    ///
    /// # Errors
    /// The fault of the line, for the user.
    pub(crate) fn request(&mut self, given: &GivenStack<'_>) -> Result<Request, RequestError> {
        self.requests.parse(given, Some(&self.modules))
    }

    /// `0x7f00...`, `MODULE+OFFSET` or `BUILDID:OFFSET`.
    fn word(&mut self, word: &str) -> Result<ReportedAddress, String> {
        self.word_in(word, word)
    }

    /// As [`Self::word`], of a text that is a part of a word. Messages quote the word as it was given.
    fn word_in(&mut self, word: &str, text: &str) -> Result<ReportedAddress, String> {
        if let Some(address) = number(text) {
            return Ok(ReportedAddress::Memory(address));
        }
        if let Ok((id, address)) = id_and_offset(text) {
            // The key is the id's canonical spelling: users may write the digits in upper or lower case.
            let name = id.to_string();
            let new = || Module::new(&name).with_id(id);
            return Ok(ReportedAddress::Image { module: self.module(&name, new), address });
        }
        let (name, address) = module_and_offset(text).map_err(|_| no_address(word))?;
        Ok(ReportedAddress::Image { module: self.module(name, || Module::new(name)), address })
    }

    /// The module that lines call so: one of `--maps` of that path or file name, else a new one.
    fn module(&mut self, name: &str, new: impl FnOnce() -> Module) -> usize {
        if let Some(&known) = self.named.get(name) {
            return known;
        }
        let index = self.mapped.of_name(name).unwrap_or_else(|| self.modules.push(new()));
        self.named.insert(name.to_owned(), index);
        index
    }

    /// An address of a module that a log names. Modules with the same name and different build ids are different modules; two spellings of
    /// one path are the same module.
    pub(crate) fn place(&mut self, name: &str, id: Option<&str>, address: u64) -> ReportedAddress {
        let id = id.and_then(|id| ModuleId::parse(id).ok());
        let key = id.as_ref().map_or_else(|| name.to_owned(), |id| format!("{id} {name}"));
        if let Some(&module) = self.named.get(&key) {
            return ReportedAddress::Image { module, address };
        }
        // Without the option no path of a log reaches the file system.
        let program = if self.open_paths { std::fs::canonicalize(name).ok() } else { None };
        let program = program.map(|program| (program, id.clone()));
        // Another spelling may name the same program. One module for both keeps its answers and its names by symbol once.
        let known = program.as_ref().and_then(|program| self.programs.get(program).copied());
        if let Some(module) = known {
            self.named.insert(key, module);
            return ReportedAddress::Image { module, address };
        }
        let open_paths = self.open_paths;
        let new = || {
            let module = Module::new(name);
            let module = if open_paths { module.with_program(Path::new(name)) } else { module };
            match id {
                Some(id) => module.with_id(id),
                None => module,
            }
        };
        let module = self.module(&key, new);
        if let Some(program) = program {
            self.programs.insert(program, module);
        }
        ReportedAddress::Image { module, address }
    }

    /// Clears the list if lines named very many modules. Places that were read before become invalid.
    pub(crate) fn forget(&mut self) {
        // One program has any number of spellings.
        if self.modules.len() > self.mapped.len() + MAX_NAMED || self.named.len() > 2 * MAX_NAMED {
            self.modules = self.mapped.clone();
            self.named.clear();
            self.programs.clear();
        }
    }
}

/// The folder `/proc/PID` if the path is a running process's list of mappings: `/proc/PID/maps`, also by links and with `..`. Other files
/// with similar paths do not count.
fn running(maps: &Path) -> Option<PathBuf> {
    let real = maps.canonicalize().ok()?;
    let mut words = real.strip_prefix("/proc").ok()?.iter().map(|word| word.to_str().unwrap_or_default());
    // `/proc/self` is a link, which `canonicalize` has followed.
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit());
    let process = words.next().filter(|word| is_number(word))?.to_owned();
    let is_maps = match (words.next(), words.next(), words.next(), words.next()) {
        (Some("maps"), None, ..) => true,
        // All threads of a process share its mappings.
        (Some("task"), Some(thread), Some("maps"), None) => is_number(thread),
        _ => false,
    };
    is_maps.then(|| Path::new("/proc").join(process))
}

/// The address of a section: hexadecimal digits, as the kernel and linkers print addresses, with or without `0x`.
fn section_address(text: &str) -> Option<u64> {
    hex(text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text))
}

/// Names and addresses of sections: a folder as `/sys/module/NAME/sections`, where each file has the address of the section of its
/// name, or a file of lines `SECTION ADDRESS`.
fn read_sections(path: &Path) -> Result<Vec<(String, u64)>, Failure> {
    let mut sections = Vec::new();
    let mut add = |from: &Path, name: &str, address: &str| {
        let wrong = || Failure::input(from, "expected the address of a section: hexadecimal digits");
        let address = section_address(address);
        if sections.len() == MAX_SECTIONS {
            return Err(Failure::input(path, format!("more than {MAX_SECTIONS} sections")));
        }
        sections.push((name.to_owned(), address.ok_or_else(wrong)?));
        Ok(())
    };
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|error| Failure::input(path, error))? {
            let entry = entry.map_err(|error| Failure::input(path, error))?;
            add(&entry.path(), &entry.file_name().to_string_lossy(), read_entry(&entry.path())?.trim())?;
        }
    } else {
        for line in read(path)?.lines().filter(|line| !line.trim().is_empty()) {
            let (name, address) = line.trim().split_once(char::is_whitespace).unwrap_or_default();
            add(path, name, address.trim())?;
        }
    }
    // Addresses of 0 would give wrong answers.
    if sections.iter().all(|(_, address)| *address == 0) {
        return Err(Failure::input(
            path,
            "all section addresses are 0: the kernel shows them in /sys/module only to root",
        ));
    }
    Ok(sections)
}

/// The two words of `FILE ADDRESS`; the file may be quoted.
fn file_and_address(line: &str) -> Option<(&str, &str)> {
    // The address follows the last blank: the path may contain blanks.
    let (file, address) = line.rsplit_once(char::is_whitespace)?;
    // Several blanks may separate the words.
    let file = file.trim_end();
    let quoted = ['"', '\''].iter().find_map(|quote| file.strip_prefix(*quote)?.strip_suffix(*quote));
    Some((quoted.unwrap_or(file), address))
}

fn no_address(word: &str) -> String {
    format!(
        "{} is not an address: expected 0x and hexadecimal digits, decimal digits, MODULE+OFFSET or BUILDID:OFFSET",
        quoted(word)
    )
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::input(path, error);
    let file = std::fs::File::open(path).map_err(failed)?;
    text_of(file, path)
}

/// As [`read`], of an entry of a folder: nobody named it, so it may be of any kind.
fn read_entry(path: &Path) -> Result<String, Failure> {
    text_of(open_regular(path).map_err(|error| Failure::input(path, error))?, path)
}

fn text_of(file: std::fs::File, path: &Path) -> Result<String, Failure> {
    use std::io::Read;
    let failed = |error: std::io::Error| Failure::input(path, error);
    let mut bytes = Vec::new();
    // The kernel's files have no size.
    file.take(MAX_MAPS + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_MAPS {
        return Err(Failure::input(path, format!("more than {MAX_MAPS} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(open_paths: bool) -> Process {
        Process::new(&Sources { open_paths, ..Sources::default() }).unwrap()
    }

    #[test]
    fn every_way_to_name_an_address() {
        let mut process = process(true);
        assert_eq!(process.line("0x10"), Ok(ReportedAddress::Memory(16)));
        assert_eq!(process.line("(liba.so+0x20)"), Ok(ReportedAddress::Image { module: 0, address: 32 }));
        assert_eq!(process.line("abcdef:3"), Ok(ReportedAddress::Image { module: 1, address: 3 }));
        assert_eq!(process.line("liba.so+1"), Ok(ReportedAddress::Image { module: 0, address: 1 }));
        assert_eq!(process.line("\"/opt/my app\" 0x5"), Ok(ReportedAddress::Image { module: 2, address: 5 }));
        assert_eq!(process.modules().len(), 3);
        assert_eq!(process.modules()[2].program.as_deref(), Some(Path::new("/opt/my app")));
        let frames = process.stack("0x1 liba.so+2 ? =3").unwrap();
        assert_eq!(
            frames,
            [
                StackFrame::exact(1),
                StackFrame {
                    place: ReportedAddress::Image { module: 0, address: 2 },
                    kind: AddressKind::Return
                },
                StackFrame::UNKNOWN,
                StackFrame::exact(3)
            ]
        );
    }

    #[test]
    fn spellings_of_one_path() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        std::fs::write(&app, "x").unwrap();
        let spelled =
            [app.clone(), folder.path().join("./app"), folder.path().join("app/../app"), app.clone()];
        let spelled = spelled.map(|path| path.to_str().unwrap().to_owned());
        let mut process = process(true);
        let is_first = |place| matches!(place, ReportedAddress::Image { module: 0, address: 1 });
        for path in [&spelled[0], &spelled[1], &spelled[3]] {
            assert!(is_first(process.place(path, None, 1)), "{path}");
        }
        assert_eq!(process.modules().len(), 1);
        // A path without a file is a module of its own, and so is another build.
        assert!(!is_first(process.place(&spelled[2], None, 1)));
        assert!(!is_first(process.place(&spelled[0], Some("abcd"), 1)));
        assert_eq!(process.place(&spelled[1], Some("abcd"), 1), process.place(&spelled[0], Some("abcd"), 1));
    }

    #[test]
    fn what_the_kernel_wrote() {
        if !Path::new("/proc/self/maps").exists() {
            return;
        }
        let own = PathBuf::from(format!("/proc/{}", std::process::id()));
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("maps");
        std::fs::write(&other, "").unwrap();
        let there = other.strip_prefix("/").unwrap();
        for path in ["/proc/self/maps", "/proc/self/../self/maps", "/proc/thread-self/maps"] {
            assert_eq!(running(Path::new(path)), Some(own.clone()), "{path}");
        }
        let others =
            [other.clone(), Path::new("/proc/..").join(there), Path::new("/proc/self/root").join(there)];
        for path in others.iter().chain([&own.join("stat"), &own]) {
            assert_eq!(running(path), None, "{}", path.display());
        }
    }

    #[test]
    fn addresses_of_sections() {
        for (text, address) in [
            ("0xffffffffc0201000", Some(0xffff_ffff_c020_1000)),
            ("ffffffffc0201000", Some(0xffff_ffff_c020_1000)),
            ("10201000", Some(0x1020_1000)),
            ("0X10", Some(16)),
            ("+10", None),
            ("0x+10", None),
            ("", None),
            ("0x", None),
        ] {
            assert_eq!(section_address(text), address, "{text}");
        }
    }

    #[test]
    fn what_names_none() {
        for (line, says) in [
            ("", "\"\" is not an address"),
            ("x", "MODULE+OFFSET"),
            ("+1", "is not an address"),
            ("../..:1", "is not an address"),
            ("a b", "--open-paths"),
        ] {
            let error = process(false).line(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        assert!(process(true).line("a b").unwrap_err().contains("\"b\" is not an address"));
        assert!(process(true).stack("").unwrap_err().contains("needs an address"));
        let long = "1 ".repeat(MAX_FRAMES + 1);
        assert!(process(true).stack(&long).unwrap_err().contains("more than 131072 frames"));
    }
}
