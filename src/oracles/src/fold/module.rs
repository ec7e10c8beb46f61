//! Splits a recorded stack into one stack for each module of its program: its own frames, and `?` for the others.

use std::path::{Path, PathBuf};

use foldsym_testkit::stacks::{Stack, Truth};

/// A file of the program, and where it was when it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) path: PathBuf,
    pub(super) bias: u64,
    /// `None` if there is one module alone: all addresses are its own.
    range: Option<(u64, u64)>,
}

impl Module {
    /// The only module of a program.
    pub(super) fn alone(path: &Path, stacks: &[Option<Stack>]) -> Module {
        let bias = stacks.iter().flatten().next().map_or(0, |stack| stack.bias);
        Module { path: path.to_owned(), bias, range: None }
    }

    /// Reads `module BIAS START END NAME` of the program or one of its libraries; `None` for any other line or module.
    pub(super) fn parse(line: &str, files: &[PathBuf]) -> Option<Module> {
        let mut words = line.strip_prefix("module ")?.splitn(4, ' ');
        let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let (bias, start, end) = (number()?, number()?, number()?);
        let name = Path::new(words.next()?).file_name();
        let path = match name {
            None => files.first(),
            Some(name) => files.iter().skip(1).find(|file| file.file_name() == Some(name)),
        };
        Some(Module { path: path?.clone(), bias, range: Some((start, end)) })
    }

    /// Whether a frame of a stack is in this module. A return address is looked up one byte before.
    pub(super) fn holds(&self, stack: &Stack, at: usize) -> bool {
        let address = stack.addresses[at].saturating_sub(u64::from(at > 0));
        self.range.is_none_or(|(start, end)| (start..end).contains(&address))
    }

    /// Whether the object of a stack's innermost frame, which is here, has its class here.
    pub(super) fn has_class(&self, stack: &Stack) -> bool {
        let here = |vptr: u64| self.range.is_none_or(|(start, end)| (start..end).contains(&vptr));
        stack.vptr.is_some_and(here) && self.holds(stack, 0)
    }

    /// The stack as `foldsym stack` reads it; with the object's vtable pointer where it is wanted.
    pub(super) fn line(&self, stack: &Stack, with_vptr: bool) -> String {
        let words = stack.addresses.iter().enumerate();
        let mut words: Vec<String> = words
            .map(|(at, address)| if self.holds(stack, at) { format!("{address:#x}") } else { "?".to_owned() })
            .collect();
        if let Some(vptr) = stack.vptr.filter(|_| with_vptr) {
            words.insert(1, format!("vptr={vptr:#x}"));
        }
        words.join(" ")
    }

    /// The answer that the frame must have: next to a frame of another module it cannot be certain.
    pub(super) fn truth(&self, stack: &Stack, at: usize) -> Truth {
        let chain = (at..stack.addresses.len()).all(|outer| self.holds(stack, outer));
        let truth = stack.frames[at].clone();
        Truth { sure: truth.sure && chain, ..truth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_other_modules_are_unknown() {
        let files = [PathBuf::from("/t/program"), PathBuf::from("/t/program.part.so")];
        let module = Module::parse("module 0x1000 0x2000 0x3000 /t/program.part.so", &files).unwrap();
        assert_eq!((module.path.as_path(), module.bias), (files[1].as_path(), 0x1000));
        assert_eq!(Module::parse("module 0x1 0x2 0x3 ", &files).unwrap().path, files[0]);
        assert_eq!(Module::parse("module 0x1 0x2 0x3 /lib/libc.so.6", &files), None);
        let line = "stack 0x1000 0x2010 0x2000 0x2000 0x3000 | run@r.cpp:0/root! a@a.cpp:1/direct! b@b.cpp:2/direct!";
        let stack = Stack::parse(line).unwrap().unwrap();
        assert_eq!(module.line(&stack, false), "0x2000 ? 0x3000");
        assert_eq!(module.line(&stack, true), "0x2000 vptr=0x2010 ? 0x3000");
        assert!(!module.truth(&stack, 0).sure && module.truth(&stack, 2).sure);
    }
}
