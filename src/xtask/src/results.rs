//! The head of a results page: what was run, on which state, with which tools, on which machine.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::sh;

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
    #[test]
    fn a_shell_reads_the_words_that_were_given() {
        for word in ["", "--flag=a/b", "ARM (zlib, bzip2)=firmware.elf", "it's", "$HOME `x` \"y\" *"] {
            let command = format!("printf %s {}", super::quoted(word));
            let read = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), word);
        }
        assert_eq!(super::quoted("--out=a/b.md"), "--out=a/b.md");
    }
}
