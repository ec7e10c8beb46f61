//! Which lines of a log are frames. Each form is a row of one table: how its lines are read, and real lines as examples. A line that
//! matches a form only in part is no frame.

mod by_function;
mod frame;
mod markup;
mod numbered;

use foldsym_reports::Format;
use foldsym_symbolize::AddressKind;
pub(super) use frame::{Frame, Symbol};
pub(super) use markup::Markup;

/// Which form a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Reports of the sanitizers of clang and gcc.
    Sanitizer,
    /// Stack dumps of LLVM's tools.
    Llvm,
    /// Tombstones of Android, and logcat's copies.
    Android,
    /// The message of systemd-coredump.
    Systemd,
    /// Elements of symbolizer markup, as Fuchsia writes them.
    Markup,
    /// `backtrace_symbols` of glibc.
    Backtrace,
    /// `backtrace_symbols` of macOS.
    MacOs,
    /// The Linux kernel.
    Kernel,
}

/// How lines of a form are read.
struct Reader {
    form: Form,
    read: fn(&str, &Markup) -> Option<Frame>,
    /// Reads a line below one of this form, if some lines show their form only so.
    read_next: Option<fn(&str) -> Option<Frame>>,
    /// Lines that producers wrote.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold each example against all other forms"))]
    examples: &'static [&'static str],
}

/// The forms. No two read the same line.
const READERS: &[Reader] = &[
    Reader {
        form: Form::Sanitizer,
        read: |line, _| numbered::frame(Format::Sanitizer, line),
        read_next: None,
        examples: &[
            "    #0 0x55d0c1234253  (/opt/app+0x1253) (BuildId: 73a18bb0f231bd63)",
            "    #1 0x7f0012345678 in f(int) app.cpp:3:5 (/opt/app+0x1678)",
            "    #2 0x7f0012345678  (<unknown module>)",
            "    #3 0x55d0c1234253 in main /src/app.c:7:3",
            "    #1 <null> <null> (t.tsan+0xe93ba) (BuildId: ab)",
            "2026-10-01T12:00:00.123Z stderr F     #0 0x55d0c1234253  (/opt/app+0x1253)",
            "app_1  |     #0 0x55d0c1234253  (/opt/app+0x1253)",
            "Oct  1 12:00:00 host app[123]:     #0 0x55d0c1234253  (/opt/app+0x1253)",
        ],
    },
    Reader {
        form: Form::Llvm,
        read: |line, _| numbered::frame(Format::Llvm, line),
        read_next: Some(|line| numbered::next_frame(Format::Llvm, line)),
        examples: &[
            " #5 0x000055d0c1234567 (/opt/app+0x1165)",
            "#12 0x00007f0012345678 (/lib/x86_64-linux-gnu/libc.so.6+0x2724a)",
            " #1 0x000055d0c1234567 main (/opt/app+0x1165)",
            " #0 0x00007f0012345678 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) Signals.inc:723:11",
            "0  libLLVM.so.22.1 0x00007f0012345678 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) + 54",
            "4  opt             0x000055d0c1234568",
            "112 libLLVM.so.22.1 0x00007f0012345678 main + 54",
            "104 libpython3.11.so.1.0                          0x000078ddc3a4fda0 PyEval_EvalCode + 190",
            "104 libc.so.6                           0x000078ddcc642990",
            "1004 libpython3.11.so.1.0                          0x000078ddc3a4fda0 PyEval_EvalCode + 190",
        ],
    },
    Reader {
        form: Form::Android,
        read: |line, _| numbered::frame(Format::Android, line),
        read_next: None,
        examples: &[
            "      #00 pc 0000000000001253  /data/app/lib.so (boom+20) (BuildId: 73a18bb0f231bd63)",
            "10-01 12:00:00.123  1234  1234 F DEBUG   :       #01 pc 00000000000e3a4c  /system/lib64/libc.so (abort+168)",
            "F/DEBUG   ( 1234):     #02 pc 0001a2b4  /system/lib/libart.so",
        ],
    },
    Reader {
        form: Form::Systemd,
        read: |line, _| numbered::frame(Format::Systemd, line),
        read_next: None,
        examples: &[
            "                #0  0x0000000000408c96 n/a (/opt/app + 0x8c96)",
            "                #11 0x00007f0012345678 __libc_start_main (libc.so.6 + 0x2724a)",
        ],
    },
    Reader {
        form: Form::Markup,
        read: markup::frame,
        read_next: None,
        examples: &["[123.456] 1102:1104> {{{bt:1:0x8000:ra}}}"],
    },
    Reader {
        form: Form::Backtrace,
        read: |line, _| by_function::backtrace(line),
        read_next: None,
        examples: &["/opt/app(+0x1567) [0x55d0c1234567]", "lib.so(f+0x12) [0x7f0012345678]", "app(+0x1567)"],
    },
    Reader {
        form: Form::MacOs,
        read: |line, _| numbered::frame(Format::MacOs, line),
        read_next: None,
        examples: &[
            "3   app                                 0x0000000100003f50 main + 16",
            "112 app                                 0x0000000100003f50 main + 16",
            "\t0   CoreFoundation                      0x00007ff80c123456 __exceptionPreprocess + 242",
            "2   app                                 0x0000000100001234 0x100000000 + 4660",
            "104 a_module_of_more_than_thirty_five_letters 0x0000000100003f50 main + 16",
            "1004app                                 0x0000000100003f50 main + 16",
            "102 SwiftUI                       \t    0x7ff913d0f91f static App.main() + 63",
            "103 Capturinator                  \t       0x10b1fdd06 0x10b1fb000 + 11526",
            "0   TouchCanvas                   \t0x0000000102afb3d0 CanvasView.updateEstimatedPropertiesForTouches(_:) + 304 (CanvasView.swift:231)",
        ],
    },
    Reader {
        form: Form::Kernel,
        read: |line, _| by_function::kernel(line),
        read_next: None,
        examples: &[
            "[   12.345678]  do_idle+0x1f/0x40",
            "[    1.2] RIP: 0010:f.isra.0+0x1f/0x40 [ext4]",
            "[<c0101234>] (f+0x6/0x1e) from [<c0105678>] (g+0x8/0x10)",
            "Krnl PSW : 0704c00180000000 0000000000123456 (f+0x1e/0x40)",
            "TPC: <f+0x1e/0x40>",
            "RPC: <f+0x1e/0x40>",
            "[    1.234] initcall do_thing+0x0/0xf returned 0 after 12 usecs",
        ],
    },
];

/// Reads a line below one of the form `above`, if that was a frame too; `None` if it is not a frame.
pub(super) fn parse(line: &str, markup: &Markup, above: Option<Form>) -> Option<(Form, Frame)> {
    let next = READERS.iter().filter(|reader| Some(reader.form) == above);
    let next = next.filter_map(|reader| Some((reader.form, reader.read_next?(line)?))).next();
    next.or_else(|| READERS.iter().find_map(|reader| Some((reader.form, (reader.read)(line, markup)?))))
}

/// The kind of the address of frame 0 below a line that is not a frame, if that line shows it.
pub(super) fn kind_below(form: Form, heading: &str) -> Option<AddressKind> {
    let format = (form == Form::MacOs).then_some(Format::MacOs)?;
    foldsym_reports::numbered::kind_below(format, heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markup() -> Markup {
        let mut markup = Markup::default();
        for line in
            ["{{{reset}}}", "x {{{module:0x1:libx.so:elf:abcd}}}", "{{{mmap:0x7000:0x1000:load:1:rx:0x200}}}"]
        {
            markup.context(line);
        }
        markup
    }

    #[test]
    fn a_line_has_one_form() {
        let markup = markup();
        for owner in READERS {
            for line in owner.examples {
                let read = |reader: &&Reader| (reader.read)(line, &markup).is_some();
                let forms: Vec<Form> = READERS.iter().filter(read).map(|reader| reader.form).collect();
                assert_eq!(forms, [owner.form], "{line}");
            }
        }
    }

    #[test]
    fn frames_behind_text_and_of_unknown_modules() {
        let parse = |line: &str| parse(line, &Markup::default(), None).unwrap().1;
        let frame = parse("app_1  |     #7 0x55d0c1234253  (/opt/app+0x1253)");
        assert_eq!((frame.prefix.as_str(), frame.number, frame.address), ("app_1  |     ", Some(7), 0x1253));
        // The title of a logger may have a number.
        let frame = parse("job #12 of #13:     #0 0x55d0c1234253  (/opt/app+0x1253)");
        assert_eq!((frame.prefix.as_str(), frame.number), ("job #12 of #13:     ", Some(0)));
        let frame = parse("    #1 0x7f0012345678  (<unknown module>)");
        assert_eq!((frame.number, frame.module), (Some(1), None));
        let frame =
            parse("  #01 pc 000e3a4c  /system/lib/libc.so (offset 0x1000) (f(int)+168) (BuildId: ab)");
        assert_eq!((frame.module.as_deref(), frame.address), (Some("/system/lib/libc.so"), 0xe3a4c));
        assert_eq!((frame.id.as_deref(), frame.kind), (Some("ab"), Some(AddressKind::Adjusted)));
        let frame = parse(" #5 0x000055d0c1234567 (/opt/my app+0x1165)");
        assert_eq!((frame.module.as_deref(), frame.kind), (Some("/opt/my app"), Some(AddressKind::Return)));
        let frame = parse(" #1 0x000055d0c1234567 f(int (*)(char)) (/opt/app+0x1165)");
        assert_eq!((frame.module.as_deref(), frame.names.as_str()), (Some("/opt/app"), "f(int (*)(char))"));
        let frame = parse("#1  0x0000000000408c96 f(int, char) (/opt/app + 0x8c96)");
        assert_eq!((frame.module.as_deref(), frame.address), (Some("/opt/app"), 0x8c96));
        assert_eq!(frame.names, "f(int, char)");
        let frame = parse("3   app    0x0000000100003f50 main + 16");
        let symbol = frame.symbol.unwrap();
        assert_eq!((symbol.name.as_str(), frame.address, frame.number), ("main", 16, Some(3)));
        for (line, name, kind) in [
            ("[<c01>] (f+0x6/0x1e) from [<c02>] (g+0x8/0x10)", "g", AddressKind::Return),
            ("Krnl PSW : 0704 1234 (f+0x1e/0x40)", "f", AddressKind::Exact),
            ("initcall do_thing+0x0/0xf returned 0", "do_thing", AddressKind::Exact),
            ("TPC: <f+0x1e/0x40>", "f", AddressKind::Exact),
            ("RPC: <f+0x1e/0x40>", "f", AddressKind::Return),
        ] {
            let frame = parse(line);
            assert_eq!((frame.symbol.unwrap().name.as_str(), frame.kind), (name, Some(kind)), "{line}");
        }
        assert!(parse("initcall f+0x0/0xf returned 0").is_doubtful);
    }

    #[test]
    fn parts_of_frames() {
        let markup = markup();
        let parse = |line: &str| parse(line, &markup, None);
        let (form, frame) =
            parse("    #3 0x55d0 in f(int) (.cold) a.cpp:3 (/opt/my (x)/app+0x1567) (BuildId: ab)").unwrap();
        assert_eq!((form, frame.number, frame.given.as_str()), (Form::Sanitizer, Some(3), "0x55d0"));
        assert_eq!((frame.module.as_deref().unwrap_or(""), frame.address), ("/opt/my (x)/app", 0x1567));
        assert_eq!((frame.id.as_deref(), frame.kind), (Some("ab"), Some(AddressKind::Adjusted)));
        let (_, frame) = parse("    #0 0x55d0  (app+0x10)").unwrap();
        assert_eq!(
            (frame.module.as_deref().unwrap_or(""), frame.address, frame.kind),
            ("app", 16, Some(AddressKind::Exact))
        );
        let (form, frame) = parse("log: {{{bt:1:0x8000:ra}}}").unwrap();
        assert_eq!(
            (form, frame.module.as_deref().unwrap_or(""), frame.address),
            (Form::Markup, "libx.so", 0x1200)
        );
        // ThreadSanitizer writes no address of the process.
        let (_, frame) = parse("    #1 <null> <null> (t.tsan+0xe93ba) (BuildId: ab)").unwrap();
        assert_eq!((frame.given.as_str(), frame.address), ("", 0xe93ba));
        assert!(parse("{{{bt:1:0x8000:pc}}}").is_none());
        let (form, frame) = parse("/opt/app(+0x1f) [0x55d01f]").unwrap();
        assert_eq!(
            (form, frame.module.as_deref().unwrap_or(""), frame.address),
            (Form::Backtrace, "/opt/app", 0x1f)
        );
        let (_, frame) = parse("  /opt/app(+0x1f)").unwrap();
        assert_eq!(
            (frame.module.as_deref().unwrap_or(""), frame.address, frame.given.as_str()),
            ("/opt/app", 0x1f, "")
        );
        let (form, frame) = parse("lib.so(f+0x1) [0x1]").unwrap();
        let symbol = frame.symbol.unwrap();
        assert_eq!((form, frame.address, symbol.name.as_str(), symbol.size), (Form::Backtrace, 1, "f", None));
        for (line, module, id, name, kind, is_doubtful) in [
            ("[   12.345678]  do_idle+0x1f/0x40", "vmlinux", None, "do_idle", AddressKind::Return, false),
            (
                "[    1.2] RIP: 0010:f.isra.0+0x1f/0x40 [ext4]",
                "ext4.ko",
                None,
                "f.isra.0",
                AddressKind::Exact,
                false,
            ),
            ("<4>[ 1.2]  ? f+0x1f/0x40 [a_b abcd]", "a_b.ko", Some("abcd"), "f", AddressKind::Return, true),
            ("[ 1.2] pc : f+0x1f/0x40", "vmlinux", None, "f", AddressKind::Exact, false),
            ("[ 1.2] lr : f+0x1f/0x40", "vmlinux", None, "f", AddressKind::Return, false),
            (
                "Oct 1 host kernel: [<ffffffff810>] f+0x1f/0x40",
                "vmlinux",
                None,
                "f",
                AddressKind::Return,
                false,
            ),
        ] {
            let (form, frame) = parse(line).unwrap_or_else(|| panic!("{line}"));
            let symbol = frame.symbol.unwrap();
            assert_eq!((form, frame.address, symbol.size), (Form::Kernel, 0x1f, Some(0x40)), "{line}");
            assert_eq!((frame.module.as_deref().unwrap_or(""), frame.id.as_deref()), (module, id), "{line}");
            assert_eq!((symbol.name.as_str(), frame.kind), (name, Some(kind)), "{line}");
            assert_eq!(frame.is_doubtful, is_doubtful, "{line}");
        }
    }

    #[test]
    fn other_lines() {
        let markup = Markup::default();
        for line in [
            "",
            "#",
            "# 0x10 (a+0x1)",
            "#1 0x10",
            "#1  0x0000555555555131 in main () at app.c:5",
            "    #1 0x55d0c1234253 (app+1253)",
            "#00 pc 1253  /lib.so",
            "#0 pc 0000000000001253 ",
            "see #5 0x55d0c1234567",
            "x#5 0x000055d0c1234567 (/opt/app+0x1165)",
            "app 0x0000000100003f50 main + 16",
            "a/b+0x1/0x2",
            "1+0x1/0x2",
            "#1 x",
            "#99999999999999999999 0x1 (a+0x1)",
            "#1 0x1 (a+0x1) (BuildId: ",
            "{{{bt:0:0x10}}}",
            "{{{bt:0:0x10:x}}}",
            "{{{",
            "a(+0x",
            "(+0x10) [0x1]",
            "a(+0x+1) [0x1]",
            "lib(f+0x1)",
            "see the text(+0x10)",
            "a(b c+0x1) [0x1]",
            "a(+0x1) and more",
            "f+0x1/0x",
            "f+0x/0x2",
            "f/0x2",
            "+0x1/0x2",
            "/0x2",
            "a/b/0x12",
        ] {
            assert!(parse(line, &markup, None).is_none(), "{line}");
        }
    }
}
