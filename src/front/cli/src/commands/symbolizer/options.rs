//! The options of `llvm-symbolizer` and of both `addr2line`s, spelled as each of these tools spells them.

use std::path::PathBuf;

use super::bytes::path_of;
use super::words::{NamedModule, build_id, number};
use crate::commands::tool::Tool;

/// How functions are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionNames {
    /// Not at all.
    None,
    /// Without namespaces and parameters.
    Short,
    Linkage,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolStyle {
    Llvm,
    Gnu,
    Json,
}

/// The options of a command line.
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
    pub(super) functions: FunctionNames,
    pub(super) demangle: bool,
    pub(super) style: ToolStyle,
    pub(super) verbose: bool,
    /// Subtracted from each address before it is looked up.
    pub(super) adjust_vma: u64,
    /// Prints only the file name of a path.
    pub(super) basenames: bool,
    /// Prints paths without the folder of the compiler.
    pub(super) relative_names: bool,
    /// An address at line 0 is answered with the last line before it in the function.
    pub(super) skip_line_zero: bool,
    /// Lines of the source file that are printed around the line.
    pub(super) context: u64,
    /// The section that addresses are offsets in (GNU's `-j`).
    pub(super) section: Option<String>,
    pub(super) dwp: Option<PathBuf>,
    pub(super) arch: Option<String>,
    /// Roots of separate debug files.
    pub(super) debug_dirs: Vec<PathBuf>,
    /// Copies a log with symbolizer markup, in place of requests.
    pub(super) filter_markup: bool,
    /// Whether the text that replaces markup has colours; `None` if it depends on the terminal.
    pub(super) color: Option<bool>,
    /// `--color` was given without a word, which counts more than any word.
    pub(super) always_color: bool,
    /// Requests on the command line; if there are none, standard input is read.
    pub(super) requests: Vec<String>,
}

/// The reason why a command line gives no answers: a request for help or the version, or an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instead {
    Help,
    Version,
    /// The message, complete.
    Wrong(String),
    /// The first line of GNU's tool before its list of options.
    Usage(String),
}

/// Options of LLVM's tools that take a value, by long name.
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

/// Options that are accepted and have no effect, since the feature that they turn on or off does not exist here.
const IGNORED: &[&str] = &[
    "debuginfod",
    "dia",
    "disable-gsym",
    "no-debuginfod",
    "relative-address",
    "use-native-pdb-reader",
    "cache-size",
    "dsym-hint",
    "gsym-file-directory",
];

/// GNU's long options, and whether they take a value.
const GNU: &[(&str, Takes)] = &[
    ("addresses", Takes::Nothing),
    ("basenames", Takes::Nothing),
    ("demangle", Takes::Maybe),
    ("exe", Takes::Value),
    ("functions", Takes::Nothing),
    ("help", Takes::Nothing),
    ("inlines", Takes::Nothing),
    ("no-recurse-limit", Takes::Nothing),
    ("no-recursion-limit", Takes::Nothing),
    ("pretty-print", Takes::Nothing),
    ("recurse-limit", Takes::Nothing),
    ("recursion-limit", Takes::Nothing),
    ("section", Takes::Value),
    ("target", Takes::Value),
    ("version", Takes::Nothing),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// After `=`, or the next argument.
    Value,
    /// Only after `=`.
    Maybe,
}

impl Options {
    pub(super) fn new(tool: Tool) -> Options {
        let symbolizer = tool == Tool::Symbolizer;
        Options {
            tool,
            obj: None,
            build_id: None,
            addresses: false,
            pretty: false,
            inlines: symbolizer,
            functions: if symbolizer { FunctionNames::Linkage } else { FunctionNames::None },
            demangle: symbolizer,
            style: if symbolizer { ToolStyle::Llvm } else { ToolStyle::Gnu },
            verbose: false,
            adjust_vma: 0,
            basenames: false,
            relative_names: false,
            skip_line_zero: false,
            context: 0,
            section: None,
            dwp: None,
            arch: None,
            debug_dirs: Vec::new(),
            filter_markup: false,
            color: None,
            always_color: false,
            requests: Vec::new(),
        }
    }

    /// Reads the arguments after the name of the program.
    pub(super) fn parse(tool: Tool, args: impl Iterator<Item = String>) -> Result<Options, Instead> {
        let mut options = Options::new(tool);
        let mut args = args.peekable();
        let mut only_requests = false;
        // LLVM's tools name all that they do not know before they end.
        let mut unknown: Vec<String> = Vec::new();
        while let Some(arg) = args.next() {
            if arg.is_empty() && tool != Tool::GnuAddr2line {
                // LLVM's tools pass over it.
            } else if only_requests || !arg.starts_with('-') || arg == "-" {
                options.requests.push(arg);
            } else if arg == "--" && tool == Tool::GnuAddr2line {
                only_requests = true;
            } else if let Some(long) = arg.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                match tool {
                    Tool::GnuAddr2line => options.long_of_gnu(name, value, &mut args)?,
                    _ => options.long(&arg, name, value, &mut args, &mut unknown)?,
                }
            } else {
                match tool {
                    Tool::GnuAddr2line => options.short_of_gnu(&arg, &mut args)?,
                    _ => options.short(&arg, &mut args, &mut unknown)?,
                }
            }
        }
        if !unknown.is_empty() {
            let lines: Vec<String> =
                unknown.iter().map(|arg| format!("error: unknown argument '{arg}'")).collect();
            return Err(Instead::Wrong(lines.join("\n")));
        }
        if !options.filter_markup && options.obj.is_some() && options.build_id.is_some() {
            return Err(Instead::Wrong("error: cannot specify both --build-id and --obj".to_owned()));
        }
        if tool == Tool::GnuAddr2line && options.obj.is_none() {
            // GNU's tool reads `a.out` by default.
            options.obj = Some("a.out".to_owned());
        }
        Ok(options)
    }

    /// The module that options name.
    pub(super) fn module(&self) -> Option<NamedModule> {
        let by_id = || self.build_id.clone().map(NamedModule::BuildId);
        self.obj.clone().map(NamedModule::Path).or_else(by_id)
    }

    /// LLVM's options of one letter, one or several: `-afiCpe FILE`.
    fn short(
        &mut self,
        arg: &str,
        args: &mut impl Iterator<Item = String>,
        unknown: &mut Vec<String>,
    ) -> Result<(), Instead> {
        // `-demangle=true`, `-f=short`, and names that LLVM took with one dash before version 13: `-inlines`.
        let letters = &arg[1..];
        let (name, value) = match letters.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (letters, None),
        };
        let spelled_out = match name {
            "e" if value.is_some() => Some("obj"),
            "f" if value.is_some() => Some("functions"),
            "demangle" | "inlining" | "inlines" | "obj" | "functions" => Some(name),
            _ => None,
        };
        if let Some(name) = spelled_out {
            return self.long(arg, name, value, args, unknown);
        }
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match letter {
                'e' | 'f' if at > 0 && rest.starts_with('=') => {
                    // `-fe=FILE` is `-f -e=FILE`.
                    return self.short(&format!("-{letter}{rest}"), args, unknown);
                }
                'a' => self.addresses = true,
                'C' => self.demangle = true,
                'f' => self.functions = FunctionNames::Linkage,
                'h' => return Err(Instead::Help),
                'i' => self.inlines = true,
                'p' => self.pretty = true,
                's' => (self.basenames, self.relative_names) = (true, false),
                'v' => return Err(Instead::Version),
                '-' => {
                    let (name, value) = match rest.split_once('=') {
                        Some((name, value)) => (name, Some(value.to_owned())),
                        None => (rest, None),
                    };
                    return self.long(&format!("--{rest}"), name, value, args, unknown);
                }
                'e' => {
                    self.obj = match rest {
                        "" => Some(args.next().ok_or_else(|| missing("-e"))?),
                        rest => Some(rest.to_owned()),
                    };
                    return Ok(());
                }
                other => unknown.push(format!("-{other}")),
            }
        }
        Ok(())
    }

    /// An option of LLVM's tools with two dashes.
    fn long(
        &mut self,
        arg: &str,
        name: &str,
        mut value: Option<String>,
        args: &mut impl Iterator<Item = String>,
        unknown: &mut Vec<String>,
    ) -> Result<(), Instead> {
        // The value is the next argument, even if it begins with a dash.
        if value.is_none() && VALUES.contains(&name) {
            value = Some(args.next().ok_or_else(|| missing(&format!("--{name}")))?);
        }
        let text = value.as_deref().unwrap_or_default();
        let wrong = |what: &str| Instead::Wrong(format!("--{name}=: expected a {what}, but got '{text}'"));
        let count = || number(text).ok_or_else(|| wrong("non-negative integer"));
        match (name, text) {
            ("obj" | "exe", _) => self.obj = value,
            ("functions", "none") => self.functions = FunctionNames::None,
            ("functions", "short") => self.functions = FunctionNames::Short,
            // LLVM's tool takes any other word for `linkage`.
            ("functions", _) => self.functions = FunctionNames::Linkage,
            ("inlining" | "inlines", "false") => self.inlines = false,
            ("demangle", "false") => self.demangle = false,
            ("inlining", "" | "true") => self.inlines = true,
            ("demangle", "true") => self.demangle = true,
            ("color", "") if value.is_none() => self.always_color = true,
            ("color", "auto") => self.color = None,
            ("color", "") => self.color = None,
            // Any other word is `always` to LLVM's tool.
            ("color", word) => self.color = Some(word != "never"),
            ("adjust-vma", _) => self.adjust_vma = count()?,
            ("print-source-context-lines", _) => self.context = count()?,
            // The option has no effect here, but LLVM's tool refuses a word that is not a number.
            ("cache-size", _) => drop(count()?),
            ("output-style", _) => {
                self.style = match text {
                    "GNU" => ToolStyle::Gnu,
                    "JSON" => ToolStyle::Json,
                    // Any other word is `LLVM` to LLVM's tool too.
                    _ => ToolStyle::Llvm,
                }
            }
            ("build-id", _) => self.build_id = Some(build_id(text).ok_or_else(|| wrong("build ID"))?),
            ("dwp", _) => self.dwp = value.map(|path| path_of(&path)),
            ("default-arch", _) => self.arch = value,
            ("debug-file-directory" | "fallback-debug-path", _) => {
                self.debug_dirs.extend(value.map(|path| path_of(&path)));
            }
            (name, _) if VALUES.contains(&name) => {}
            (_, _) if value.is_some() => unknown.push(arg.to_owned()),
            ("help", _) => return Err(Instead::Help),
            ("version", _) => return Err(Instead::Version),
            ("addresses" | "print-address", _) => self.addresses = true,
            // The last of the two counts.
            ("basenames", _) => (self.basenames, self.relative_names) = (true, false),
            ("relativenames", _) => (self.basenames, self.relative_names) = (false, true),
            ("pretty-print", _) => self.pretty = true,
            ("demangle", _) => self.demangle = true,
            ("no-demangle", _) => self.demangle = false,
            ("inlines", _) => self.inlines = true,
            ("no-inlines", _) => self.inlines = false,
            ("verbose", _) => self.verbose = true,
            ("no-untag-addresses", _) => {}
            ("skip-line-zero", _) => self.skip_line_zero = true,
            ("filter-markup", _) => self.filter_markup = true,
            (name, _) if IGNORED.contains(&name) => {}
            _ => unknown.push(arg.to_owned()),
        }
        Ok(())
    }

    /// GNU's options of one letter, one or several.
    fn short_of_gnu(&mut self, arg: &str, args: &mut impl Iterator<Item = String>) -> Result<(), Instead> {
        let letters = &arg[1..];
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match letter {
                'b' | 'e' | 'j' => {
                    let needed = || format!("option requires an argument -- '{letter}'");
                    let value = match rest {
                        "" => args.next().ok_or_else(|| Instead::Usage(needed()))?,
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
                'a' => self.addresses = true,
                'C' => self.demangle = true,
                'f' => self.functions = FunctionNames::Linkage,
                'h' | 'H' => return Err(Instead::Help),
                'i' => self.inlines = true,
                'p' => self.pretty = true,
                's' => self.basenames = true,
                'v' | 'V' => return Err(Instead::Version),
                // GNU's limit on recursion: our demangler has one of its own.
                'r' | 'R' => {}
                other => return Err(Instead::Usage(format!("invalid option -- '{other}'"))),
            }
        }
        Ok(())
    }

    /// A long option of GNU's tool: its name, or the beginning of it that no other has.
    fn long_of_gnu(
        &mut self,
        name: &str,
        value: Option<String>,
        args: &mut impl Iterator<Item = String>,
    ) -> Result<(), Instead> {
        // `getopt_long` prefers a whole name, and else accepts a beginning that only one name has.
        let exact = GNU.iter().find(|(option, _)| *option == name);
        let mut beginning = GNU.iter().filter(|(option, _)| option.starts_with(name));
        let (option, takes) = match (exact, beginning.next(), beginning.next()) {
            (Some(exact), _, _) | (None, Some(exact), None) => *exact,
            // Two names of one option.
            (None, Some(one), Some(_)) if name.starts_with("recur") || name.starts_with("no-recur") => *one,
            (None, Some(_), Some(_)) => {
                let all = GNU.iter().filter(|(option, _)| option.starts_with(name));
                let all: Vec<String> = all.map(|(option, _)| format!("'--{option}'")).collect();
                let text = format!("option '--{name}' is ambiguous; possibilities: {}", all.join(" "));
                return Err(Instead::Usage(text));
            }
            (None, None, _) => {
                let spelled = value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}"));
                return Err(Instead::Usage(format!("unrecognized option '{spelled}'")));
            }
        };
        let value = match (takes, value) {
            (Takes::Nothing, Some(_)) => {
                return Err(Instead::Usage(format!("option '--{option}' doesn't allow an argument")));
            }
            // `getopt_long` takes the next argument, even if it begins with a dash.
            (Takes::Value, None) => {
                let needed = || Instead::Usage(format!("option '--{option}' requires an argument"));
                Some(args.next().ok_or_else(needed)?)
            }
            (_, value) => value,
        };
        match option {
            "addresses" => self.addresses = true,
            "basenames" => self.basenames = true,
            "demangle" => self.demangle = true,
            "exe" => self.obj = value,
            "functions" => self.functions = FunctionNames::Linkage,
            "help" => return Err(Instead::Help),
            "inlines" => self.inlines = true,
            "pretty-print" => self.pretty = true,
            "section" => self.section = value,
            "version" => return Err(Instead::Version),
            _ => {}
        }
        Ok(())
    }
}

/// LLVM's message on an option without its value.
fn missing(option: &str) -> Instead {
    Instead::Wrong(format!("error: {option}: missing argument"))
}

/// The output of `--help`.
pub(super) fn usage(tool: Tool) -> String {
    let name = tool.name();
    let from = "The answers are foldsym's: a program is converted once and kept in the folder that FOLDSYM_CACHE names. \
                FOLDSYM_STORE is a store that has the files of build ids.";
    match tool {
        Tool::GnuAddr2line => format!(
            "Usage: addr2line [option(s)] [addr(s)]\n Convert addresses into line number/file name pairs.\n If no \
             addresses are specified on the command line, they will be read from stdin\n The options are:\n  \
             @<file>  -a --addresses  -C --demangle  -e --exe=<executable>  -f --functions  -i --inlines\n  \
             -j --section=<name>  -p --pretty-print  -s --basenames  -h --help  -v --version\n {from}\n"
        ),
        _ => format!(
            "OVERVIEW: {name}\n\nUSAGE: {name} [options] addresses...\n\nOPTIONS:\n  --addresses -a, --adjust-vma=N, \
             --basenames -s, --build-id=ID, --color[=always|auto|never], --debug-file-directory=DIR, --default-arch=A, --demangle -C, --no-demangle,\n  \
             --dwp=FILE, --fallback-debug-path=DIR, --filter-markup, --functions[=none|short|linkage] -f, --inlines -i, --no-inlines,\n  \
             --obj=FILE -e FILE, --output-style=LLVM|GNU|JSON, --pretty-print -p, --print-source-context-lines=N,\n  \
             --relativenames, --skip-line-zero, --verbose, --version -v, --help -h\n\nAccepted without an effect: --{}.\n{from}\n",
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
        assert!(options.demangle && options.inlines && options.style == ToolStyle::Llvm);
        let sanitizer = parsed(Tool::GnuAddr2line, &["-C", "-i", "-fe", "app"]).unwrap();
        assert_eq!(sanitizer.obj.as_deref(), Some("app"));
        assert!(sanitizer.demangle && sanitizer.inlines && sanitizer.functions == FunctionNames::Linkage);
        let pprof = ["--inlining", "-demangle=false", "--output-style=JSON"];
        let options = parsed(Tool::Symbolizer, &pprof).unwrap();
        assert!(!options.demangle && options.inlines && options.style == ToolStyle::Json);
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
