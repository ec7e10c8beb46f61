//! The lines of the text of `perf script`.

use foldsym_symbolize::{module_and_offset, number};

use crate::names::without_offset;

/// The line of a frame: `    916 weigh+0x56 (/build/post)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLine<'l> {
    pub(super) address: u64,
    /// The function that perf found; empty where it found none.
    pub(super) function: &'l str,
    /// The program or library; `inlined` for a function that is inlined into the frame of the next line.
    pub(super) object: &'l str,
    /// The offset in its file, where perf prints it.
    pub(super) offset: Option<u64>,
}

impl<'l> FrameLine<'l> {
    pub(super) fn parse(line: &'l str) -> Option<Self> {
        let line = line.trim();
        let digits = line.find(' ')?;
        let address = hexadecimal(&line[..digits])?;
        let rest = line[digits..].strip_suffix(')')?;
        // A name may hold spaces and parentheses, and so may a path.
        let at = rest.rfind(" (/").or_else(|| rest.rfind(" ("))?;
        let object = &rest[at + 2..];
        let parsed = module_and_offset(object).ok().filter(|_| object.contains("+0x"));
        let (object, offset) = parsed.map_or((object, None), |(object, offset)| (object, Some(offset)));
        let function = function(&rest[..at]);
        Some(Self { address, function, object, offset })
    }

    /// Whether the frame is the kernel's.
    pub(super) fn is_of_kernel(&self) -> bool {
        let is_named = ["[kernel", "[guest.kernel"].iter().any(|start| self.object.starts_with(start));
        // On x86-64 and AArch64 addresses of the kernel have the highest bit set.
        // An unwinder of perf that ends at address 0 takes 1 off that too.
        is_named || self.address >> 63 == 1 && self.address != u64::MAX
    }

    /// Whether the frame is of a file.
    pub(super) fn has_file(&self) -> bool {
        // `//anon` and `[heap]` are memory without a file.
        !self.object.starts_with(['[', '/']) && self.object != "inlined" && !self.object.is_empty()
            || self.object.starts_with('/') && !self.object.starts_with("//")
    }
}

/// A name without the offset that perf prints after it; empty for the word for none.
pub(super) fn function(text: &str) -> &str {
    let name = without_offset(text.trim());
    if name == "[unknown]" { "" } else { name }
}

pub(super) fn hexadecimal(digits: &str) -> Option<u64> {
    // `from_str_radix` also accepts a sign, which perf does not print.
    let fits = (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The line above a stack, and that of an event: `post 26559/26559 [001] 68437.011746:   5025125 cpu-clock:`. Without the field of the time it
/// ends with the event: `post 26559 cpu-clock:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heading<'l> {
    pub(super) command: &'l str,
    /// Process and thread; perf prints the thread alone unless it is asked for both.
    pub(super) process: Option<u64>,
    pub(super) thread: Option<u64>,
    /// The text behind the time; without a time, from the event on.
    pub(super) rest: &'l str,
}

impl<'l> Heading<'l> {
    pub(super) fn parse(line: &'l str) -> Option<Self> {
        Self::timed(line).or_else(|| Self::untimed(line))
    }

    /// A heading with a time.
    pub(super) fn timed(line: &'l str) -> Option<Self> {
        let line = line.trim();
        // A command has at most 15 bytes, which may be words and numbers: the id is what is in front of the time.
        let (mut id, mut words) = (None, line.char_indices().peekable());
        let mut start = None;
        loop {
            let next = words.next();
            match next {
                Some((at, letter)) if !letter.is_ascii_whitespace() => _ = start.get_or_insert(at),
                _ => {
                    let end = next.map_or(line.len(), |(at, _)| at);
                    if let Some(begin) = start.take() {
                        let word = &line[begin..end];
                        if let (true, Some((at, process, thread))) = (is_time(word), id) {
                            let (command, rest) = (line[..at].trim(), line[end..].trim());
                            return (!command.is_empty()).then_some(Self { command, process, thread, rest });
                        }
                        let is_processor = word.starts_with('[') && word.ends_with(']');
                        if !is_processor {
                            id = ids(word).map(|(process, thread)| (begin, process, thread));
                        }
                    }
                    next?;
                }
            }
        }
    }
}

impl<'l> Heading<'l> {
    /// A heading without a time: what ends it is the event, behind the ids and a count.
    pub(super) fn untimed(line: &'l str) -> Option<Self> {
        // The lines of perf's header have a key.
        if line.starts_with('#') && line.contains(" : ") {
            return None;
        }
        let line = line.trim();
        // The last two numbers, and the one in front of the processor.
        let (mut numbers, mut in_front) = ([None; 2], None);
        for word in line.split_ascii_whitespace() {
            let at = word.as_ptr().addr() - line.as_ptr().addr();
            if word.starts_with('[') && word.ends_with(']') {
                in_front = numbers[1];
                continue;
            }
            if let Some((process, thread)) = ids(word) {
                numbers = [numbers[1], Some((at, process, thread))];
                continue;
            }
            // Of two numbers the last is the count.
            if let Some((id, process, thread)) = in_front.or(numbers[0]).or(numbers[1])
                && id > 0
                && is_event(word)
            {
                let behind = &line[at + word.len()..];
                // Fields of a tracepoint may be any text, and perf prints an address in 16 columns.
                let is_one = behind.is_empty()
                    || word[..word.len() - 1].contains(':')
                    || behind.get(..17).is_some_and(|address| address.ends_with(|last: char| last != ' '))
                        && FrameLine::parse(behind).is_some();
                let (command, rest) = (line[..id].trim(), &line[at..]);
                return is_one.then_some(Self { command, process, thread, rest });
            }
            (numbers, in_front) = ([None; 2], None);
        }
        None
    }

    /// The event, if perf prints it.
    pub(super) fn event(&self) -> Option<&'l str> {
        let mut words = self.rest.split_ascii_whitespace();
        let word = words.next()?;
        let is_count = word.bytes().all(|byte| byte.is_ascii_digit());
        let word = if is_count { words.next()? } else { word };
        is_event(word).then(|| &word[..word.len() - 1])
    }
}

fn is_event(word: &str) -> bool {
    word.len() > 1
        && word.ends_with(':')
        && word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn is_time(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = word.strip_suffix(':').and_then(|word| word.split_once('.'));
    parts.is_some_and(|(seconds, rest)| digits(seconds) && digits(rest))
}

/// `PID/TID` or `TID`. Threads of the kernel that have none are -1.
pub(super) fn ids(word: &str) -> Option<(Option<u64>, Option<u64>)> {
    let one = |text: &str| match text {
        "-1" => Some(None),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Some),
        _ => None,
    };
    match word.split_once('/') {
        Some((process, thread)) => Some((one(process)?, one(thread)?)),
        None => Some((None, one(word)?)),
    }
}

/// A mapping: `PERF_RECORD_MMAP2 7/7: [0x55d0000(0x1000) @ 0 <519e57>]: r-xp /build/post`, where a device and an inode may be in place of a
/// build id.
pub(super) struct Mapped<'l> {
    pub(super) process: Option<u64>,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) id: Option<&'l str>,
    pub(super) path: &'l str,
}

impl<'l> Mapped<'l> {
    /// `None` for other events, and where no code is mapped.
    pub(super) fn parse(event: &'l str) -> Option<Self> {
        let rest = event.strip_prefix("PERF_RECORD_MMAP")?;
        let (given, rest) = rest.trim_start_matches('2').trim_start().split_once(": [")?;
        let (process, _) = ids(given)?;
        let (range, rest) = rest.split_once(" @ ")?;
        let (place, rest) = rest.split_once("]: ")?;
        let (start, size) = range.strip_suffix(')')?.split_once('(')?;
        let (offset, file) = place.split_once(' ').unwrap_or((place, ""));
        let (rights, path) = rest.split_once(' ')?;
        let id = file.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
        let is_code = rights.contains('x') || path.starts_with("[kernel");
        let path = path.trim();
        let (start, size, offset) = (number(start)?, number(size)?, number(offset)?);
        is_code.then_some(Self { process, start, size, offset, id, path })
    }
}

/// The command of `perf record`, in a line of the header of perf's file: `# cmdline : perf record -g ./x`.
pub(super) fn recorded_by(line: &str) -> Option<&str> {
    line.strip_prefix('#')?.trim_start().strip_prefix("cmdline")?.trim_start().strip_prefix(':')
}

/// True if perf itself walked the stacks of this command, by call frame information. The command contains the arguments of the recorded
/// program too, so one word that asks for another walk is enough for false.
pub(super) fn is_walked_by_perf(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let mut is_dwarf = false;
    while let Some(word) = words.next() {
        // `-g` alone means frame pointers, and it may stand among other letters.
        if word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('g')) {
            return false;
        }
        let how = match word.split_once("call-graph=") {
            Some((_, how)) => Some(how),
            None if word == "--call-graph" => Some(words.next().unwrap_or_default()),
            None => None,
        };
        match how.map(|how| how.split([',', '/']).next() == Some("dwarf")) {
            Some(false) => return false,
            Some(true) => is_dwarf = true,
            None => {}
        }
    }
    is_dwarf
}
