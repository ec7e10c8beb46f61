//! The options of `llvm-symbolizer` and of both `addr2line`s, spelled as each of these tools spells them.

use std::path::PathBuf;

use super::words::{Module, build_id, number};
use crate::commands::tool::Tool;

/// How functions are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Functions {
    /// Not at all.
    None,
    /// Without namespaces and parameters.
    Short,
    Linkage,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Llvm,
    Gnu,
    Json,
}

/// What the caller wants.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) tool: Tool,
    /// The module of every request.
    pub(super) obj: Option<String>,
    pub(super) build_id: Option<Vec<u8>>,
    /// Prints the address before its answer.
    pub(super) addresses: bool,
    pub(super) pretty: bool,
    pub(super) inlines: bool,
    pub(super) functions: Functions,
    pub(super) demangle: bool,
    pub(super) style: Style,
    pub(super) verbose: bool,
    /// Subtracted from each address before it is looked up.
    pub(super) adjust_vma: u64,
    /// Prints the file name of a path alone.
    pub(super) basenames: bool,
    /// Lines of the source file that are printed around the line.
    pub(super) context: u64,
    /// The section that addresses are offsets in (GNU's `-j`).
    pub(super) section: Option<String>,
    pub(super) dwp: Option<PathBuf>,
    pub(super) arch: Option<String>,
    /// Roots of separate debug files.
    pub(super) debug_dirs: Vec<PathBuf>,
    /// Requests on the command line; standard input is read where there are none.
    pub(super) requests: Vec<String>,
}

/// What the command line asks for in place of answers, or why it cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instead {
    Help,
    Version,
    /// The message, complete.
    Wrong(String),
}

/// Options that take a value, by long name.
const VALUES: &[&str] = &[
    "adjust-vma",
    "build-id",
    "cache-size",
    "debug-file-directory",
    "default-arch",
    "dsym-hint",
    "dwp",
    "exe",
    "fallback-debug-path",
    "gsym-file-directory",
    "obj",
    "output-style",
    "print-source-context-lines",
];

/// Options that are accepted and change nothing: what they turn on or off is not there.
const IGNORED: &[&str] = &[
    "color",
    "debuginfod",
    "dia",
    "disable-gsym",
    "no-debuginfod",
    "relative-address",
    "relativenames",
    "skip-line-zero",
    "use-native-pdb-reader",
    "cache-size",
    "dsym-hint",
    "gsym-file-directory",
];

impl Options {
    fn new(tool: Tool) -> Options {
        let symbolizer = tool == Tool::Symbolizer;
        Options {
            tool,
            obj: None,
            build_id: None,
            addresses: false,
            pretty: false,
            inlines: symbolizer,
            functions: if symbolizer { Functions::Linkage } else { Functions::None },
            demangle: symbolizer,
            style: if symbolizer { Style::Llvm } else { Style::Gnu },
            verbose: false,
            adjust_vma: 0,
            basenames: false,
            context: 0,
            section: None,
            dwp: None,
            arch: None,
            debug_dirs: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Reads the arguments behind the name of the program.
    pub(super) fn parse(tool: Tool, args: impl Iterator<Item = String>) -> Result<Options, Instead> {
        let mut options = Options::new(tool);
        let mut args = args.peekable();
        let mut only_requests = false;
        while let Some(arg) = args.next() {
            if only_requests || !arg.starts_with('-') || arg == "-" {
                options.requests.push(arg);
            } else if arg == "--" {
                only_requests = true;
            } else if let Some(long) = arg.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                options.long(tool, name, value, &mut args)?;
            } else {
                options.short(tool, &arg, &mut args)?;
            }
        }
        if options.obj.is_some() && options.build_id.is_some() {
            return Err(Instead::Wrong("error: cannot specify both --build-id and --obj".to_owned()));
        }
        if tool == Tool::GnuAddr2line && options.obj.is_none() {
            options.obj = Some("a.out".to_owned());
        }
        Ok(options)
    }

    /// The module that options name.
    pub(super) fn module(&self) -> Option<Module> {
        let by_id = || self.build_id.clone().map(Module::BuildId);
        self.obj.clone().map(Module::Path).or_else(by_id)
    }

    /// One or several options of one letter: `-afiCpe FILE`.
    fn short(
        &mut self,
        tool: Tool,
        arg: &str,
        args: &mut impl Iterator<Item = String>,
    ) -> Result<(), Instead> {
        let gnu = tool == Tool::GnuAddr2line;
        // `-demangle=true`, `-f=short`, `-inlines`: LLVM takes one dash for some long names.
        let name = &arg[1..];
        if !gnu && let Some((name, value)) = name.split_once('=') {
            let name = long_name(name, false).unwrap_or(name);
            return self.long(tool, name, Some(value.to_owned()), args);
        }
        if !gnu && matches!(name, "demangle" | "inlining" | "inlines" | "obj" | "functions") {
            return self.long(tool, name, None, args);
        }

        for (at, letter) in name.char_indices() {
            let rest = &name[at + letter.len_utf8()..];
            match (letter, gnu) {
                ('e', _) | ('b' | 'j', true) => {
                    let value = match rest {
                        "" => args.next().ok_or_else(|| missing(tool, &letter.to_string()))?,
                        rest => rest.to_owned(),
                    };
                    match letter {
                        'e' => self.obj = Some(value),
                        'j' => self.section = Some(value),
                        // The format of an object file is seen from its bytes.
                        _ => {}
                    }
                    return Ok(());
                }
                // GNU's limit on recursion: our demangler has one of its own.
                ('r' | 'R', true) => {}
                _ => {
                    let name = long_name(&letter.to_string(), gnu).ok_or_else(|| unknown(tool, arg))?;
                    self.long(tool, name, None, args)?;
                }
            }
        }
        Ok(())
    }

    fn long(
        &mut self,
        tool: Tool,
        name: &str,
        mut value: Option<String>,
        args: &mut impl Iterator<Item = String>,
    ) -> Result<(), Instead> {
        let gnu = tool == Tool::GnuAddr2line;
        if value.is_none() && (VALUES.contains(&name) || (gnu && matches!(name, "section" | "target"))) {
            value = Some(args.next().ok_or_else(|| missing(tool, name))?);
        }
        let text = value.as_deref().unwrap_or_default();
        let wrong =
            |what: &str| Instead::Wrong(format!("{}: error: --{name}: {what}, found '{text}'", tool.name()));
        match name {
            "help" => return Err(Instead::Help),
            "version" => return Err(Instead::Version),
            "obj" | "exe" => self.obj = value,
            "section" if gnu => self.section = value,
            "target" if gnu => {}
            "addresses" | "print-address" => self.addresses = true,
            "basenames" => self.basenames = true,
            "pretty-print" => self.pretty = true,
            "demangle" => self.demangle = text != "false",
            "no-demangle" => self.demangle = false,
            "inlines" | "inlining" => self.inlines = text != "false",
            "no-inlines" => self.inlines = false,
            "functions" => {
                self.functions = match text {
                    "none" => Functions::None,
                    "short" => Functions::Short,
                    "" | "linkage" => Functions::Linkage,
                    _ => return Err(wrong("expected none, short or linkage")),
                }
            }
            "recurse-limit" | "no-recurse-limit" if gnu => {}
            _ if gnu => return Err(unknown(tool, &format!("--{name}"))),
            "verbose" => self.verbose = true,
            "no-untag-addresses" => {}
            "relativenames" => self.basenames = false,
            "adjust-vma" => {
                self.adjust_vma = number(text).ok_or_else(|| wrong("expected an address"))?;
            }
            "print-source-context-lines" => {
                self.context = number(text).ok_or_else(|| wrong("expected a number of lines"))?;
            }
            "output-style" => {
                self.style = match text {
                    "LLVM" => Style::Llvm,
                    "GNU" => Style::Gnu,
                    "JSON" => Style::Json,
                    _ => return Err(wrong("expected LLVM, GNU or JSON")),
                }
            }
            "build-id" => {
                let id = build_id(text).ok_or_else(|| wrong("expected a build-id"))?;
                self.build_id = Some(id);
            }
            "dwp" => self.dwp = value.map(PathBuf::from),
            "default-arch" => self.arch = value,
            "debug-file-directory" | "fallback-debug-path" => {
                self.debug_dirs.extend(value.map(PathBuf::from))
            }
            "filter-markup" => {
                return Err(Instead::Wrong(format!(
                    "{}: error: --filter-markup is not supported",
                    tool.name()
                )));
            }
            name if IGNORED.contains(&name) => {}
            _ => return Err(unknown(tool, &format!("--{name}"))),
        }
        Ok(())
    }
}

/// The long name of an option of one letter.
fn long_name(letter: &str, gnu: bool) -> Option<&'static str> {
    Some(match letter {
        "a" => "addresses",
        "C" => "demangle",
        "f" => "functions",
        "h" => "help",
        "H" if gnu => "help",
        "i" => "inlines",
        "p" => "pretty-print",
        "s" => "basenames",
        "v" => "version",
        "V" if gnu => "version",
        _ => return None,
    })
}

fn unknown(tool: Tool, arg: &str) -> Instead {
    Instead::Wrong(match tool {
        Tool::GnuAddr2line => format!("addr2line: unrecognized option '{arg}'\n{}", usage(tool)),
        _ => format!("error: unknown argument '{arg}'"),
    })
}

fn missing(tool: Tool, name: &str) -> Instead {
    Instead::Wrong(match tool {
        Tool::GnuAddr2line => format!("addr2line: option requires an argument -- '{name}'\n{}", usage(tool)),
        _ => format!("error: argument to '{name}' is missing (expected 1 value)"),
    })
}

/// What `--help` prints.
pub(super) fn usage(tool: Tool) -> String {
    let name = tool.name();
    let from = "The answers are foldsym's: a program is converted once and kept in the folder that FOLDSYM_CACHE names.";
    match tool {
        Tool::GnuAddr2line => format!(
            "Usage: addr2line [option(s)] [addr(s)]\n Convert addresses into line number/file name pairs.\n If no \
             addresses are specified on the command line, they will be read from stdin\n The options are:\n  \
             @<file>  -a --addresses  -C --demangle  -e --exe=<executable>  -f --functions  -i --inlines\n  \
             -j --section=<name>  -p --pretty-print  -s --basenames  -h --help  -v --version\n {from}\n"
        ),
        _ => format!(
            "OVERVIEW: {name}\n\nUSAGE: {name} [options] addresses...\n\nOPTIONS:\n  --addresses -a, --adjust-vma=N, \
             --basenames -s, --build-id=ID, --debug-file-directory=DIR, --default-arch=A, --demangle -C, --no-demangle,\n  \
             --dwp=FILE, --fallback-debug-path=DIR, --functions[=none|short|linkage] -f, --inlines -i, --no-inlines,\n  \
             --obj=FILE -e FILE, --output-style=LLVM|GNU|JSON, --pretty-print -p, --print-source-context-lines=N,\n  \
             --verbose, --version -v, --help -h\n\nAccepted without an effect: --{}.\n{from}\n",
            IGNORED.join(", --")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(tool: Tool, args: &[&str]) -> Result<Options, Instead> {
        Options::parse(tool, args.iter().map(ToString::to_string))
    }

    #[test]
    fn names_choose_the_tool() {
        for (name, expected) in [
            ("llvm-symbolizer", Some(Tool::Symbolizer)),
            ("llvm-symbolizer-foldsym", Some(Tool::Symbolizer)),
            ("addr2line", Some(Tool::GnuAddr2line)),
            ("llvm-addr2line", Some(Tool::LlvmAddr2line)),
            ("x86_64-linux-gnu-addr2line", Some(Tool::GnuAddr2line)),
            ("foldsym", None),
        ] {
            assert_eq!(Tool::of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn the_calls_of_known_clients() {
        let sanitizer = ["--demangle", "--inlines", "--default-arch=x86_64"];
        let options = parsed(Tool::Symbolizer, &sanitizer).unwrap();
        assert!(options.demangle && options.inlines && options.style == Style::Llvm);
        let sanitizer = parsed(Tool::GnuAddr2line, &["-C", "-i", "-fe", "app"]).unwrap();
        assert_eq!(sanitizer.obj.as_deref(), Some("app"));
        assert!(sanitizer.demangle && sanitizer.inlines && sanitizer.functions == Functions::Linkage);
        let pprof = ["--inlining", "-demangle=false", "--output-style=JSON"];
        let options = parsed(Tool::Symbolizer, &pprof).unwrap();
        assert!(!options.demangle && options.inlines && options.style == Style::Json);
        let perf = parsed(Tool::GnuAddr2line, &["-e", "app", "-a", "-i", "-f"]).unwrap();
        assert!(perf.addresses && !perf.demangle && perf.obj.as_deref() == Some("app"));
        let kernel = parsed(Tool::GnuAddr2line, &["-i", "-e", "vmlinux", "ffffffff81000000"]).unwrap();
        assert_eq!(kernel.requests, ["ffffffff81000000"]);
        let grouped = parsed(Tool::LlvmAddr2line, &["-afiCpe", "app", "10"]).unwrap();
        assert!(grouped.pretty && grouped.addresses && grouped.obj.as_deref() == Some("app"));
    }

    #[test]
    fn what_is_not_an_option() {
        let error = |tool, args: &[&str]| parsed(tool, args).unwrap_err();
        let wrong = |text: &str| Instead::Wrong(text.to_owned());
        assert_eq!(error(Tool::Symbolizer, &["--bogus"]), wrong("error: unknown argument '--bogus'"));
        assert_eq!(error(Tool::Symbolizer, &["--version"]), Instead::Version);
        let both = error(Tool::Symbolizer, &["--obj=a", "--build-id=ab"]);
        assert_eq!(both, wrong("error: cannot specify both --build-id and --obj"));
    }
}
