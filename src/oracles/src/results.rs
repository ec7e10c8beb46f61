//! The head of a results page: what was run, on which state, with which tools, on which machine. Also the build of the command that
//! is measured.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::sh;

/// The head of a page: a title, the command with its arguments, the state of the checkout, the first line of each tool's version, the
/// processor. An item that cannot be determined is left out.
pub(crate) fn head(title: &str, task: &str, args: &[String], tools: &[&str]) -> String {
    let line = |command: &mut Command| {
        let text = sh::output(command).ok()?;
        text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    };
    let mut text = format!("# {title}\n\n");
    let mut shown = format!("cargo xtask {task}");
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            // Where the page goes, and which file of this machine was run.
            "--out" | "--foldsym" => _ = rest.next(),
            // A program that was named, without its folder.
            _ => {
                let (name, path) = arg.split_once('=').unwrap_or(("", arg));
                let file = path.rsplit('/').next().unwrap_or(path);
                let equals = if name.is_empty() { "" } else { "=" };
                let _ = write!(shown, " {}", quoted(&format!("{name}{equals}{file}")));
            }
        }
    }
    let _ = writeln!(text, "- `{shown}`");
    let state =
        line(Command::new("git").current_dir(sh::root()).args(["log", "-1", "--format=%h, %cs, \"%s\""]));
    let day = line(Command::new("date").arg("+%F"));
    if let (Some(state), Some(day)) = (state, day) {
        let _ = writeln!(text, "- run on {day}, state {state}");
    }
    for tool in tools {
        let path = sh::llvm(tool).unwrap_or_else(|_| Path::new(tool).to_owned());
        if let Some(version) = line(Command::new(path).arg("--version")) {
            let _ = writeln!(text, "- {tool}: {version}");
        }
    }
    let cpu = sh::read(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    if let Some((_, model)) = model {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let _ = writeln!(text, "- {model}, {cores} cores");
    }
    text.push('\n');
    text
}

/// The command to measure, with its server and remote stores: the one that is given, else the workspace's release build.
pub(crate) fn command_with_server(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    sh::run(sh::cargo().args([
        "build",
        "--quiet",
        "--release",
        "-p",
        "foldsym",
        "--features",
        "serve,remote",
    ]))?;
    Ok(sh::target_dir().join("release/foldsym"))
}

/// What a page of results is called, and what made it.
pub(crate) struct Page<'p> {
    pub(crate) name: &'p str,
    pub(crate) title: &'p str,
    pub(crate) command: &'p str,
    pub(crate) tools: &'p [String],
    /// The command that was given, in place of the workspace's release build.
    pub(crate) foldsym: Option<&'p Path>,
}

/// Writes a page of results: the command, the versions, the machine, then the text.
pub(crate) fn publish(page: &Page<'_>, text: &str) -> Result<(), String> {
    let Page { name, title, command, tools, foldsym } = page;
    let date = sh::output(Command::new("date").arg("+%F"))?.trim().to_owned();
    let rustc = sh::output(Command::new("rustc").arg("--version"))?.trim().to_owned();
    let cpus = sh::read(Path::new("/proc/cpuinfo"))?;
    let models = || cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models().next().map_or("a processor without a name", |(_, name)| name);
    let load = sh::read(Path::new("/proc/loadavg"))?;
    let load = load.split(' ').next().unwrap_or("?");
    let mut versions = vec![foldsym_version(*foldsym)?];
    versions.extend(tools.iter().cloned());
    versions.push(rustc);
    let page = format!(
        "# {title}\n\n```\n{command}\n```\n\n{date}; {}. {model}, {} processors, load {load} at the end.\n\n{text}",
        versions.join(", "),
        models().count()
    );
    let path = sh::root().join("benches/results").join(format!("{date}-{name}.md"));
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// The build that was measured: the workspace's release build, or a given command, whose build options are unknown.
fn foldsym_version(given: Option<&Path>) -> Result<String, String> {
    let built = sh::target_dir().join("release/foldsym");
    match given.filter(|given| {
        !built.canonicalize().is_ok_and(|built| given.canonicalize().is_ok_and(|given| given == built))
    }) {
        None => Ok(format!("foldsym {} (release profile)", env!("CARGO_PKG_VERSION"))),
        Some(path) => {
            let version = sh::output(Command::new(path).arg("--version"))?;
            Ok(format!("{} (given by --foldsym, its profile unknown)", version.trim()))
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_=./:,+@%".contains(char);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_that_were_given() {
        for word in ["", "--flag=a/b", "ARM (zlib, bzip2)=firmware.elf", "it's", "$HOME `x` \"y\" *"] {
            let command = format!("printf %s {}", quoted(word));
            let read = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), word);
        }
        assert_eq!(quoted("--out=a/b.md"), "--out=a/b.md");
    }

    /// `true` ignores its arguments.
    #[test]
    fn a_given_command_is_not_called_a_release_build() {
        assert!(foldsym_version(None).unwrap().ends_with("(release profile)"));
        let given = foldsym_version(Some(Path::new("/bin/true"))).unwrap();
        assert!(given.ends_with("(given by --foldsym, its profile unknown)"), "{given}");
        assert!(foldsym_version(Some(Path::new("/nonexistent"))).is_err());
    }
}
