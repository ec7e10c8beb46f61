//! Reports in JSON and text.

use std::fmt::Write as _;

/// A report of a text for each number, between a beginning and an end.
fn each(start: &str, count: u64, end: &str, put: impl Fn(&mut String, u64)) -> Vec<u8> {
    let mut text = start.to_owned();
    (0..count).for_each(|at| put(&mut text, at));
    text.push_str(end);
    text.into_bytes()
}

/// Appends formatted text; a `String` takes all of it.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {{
        let _ = write!($out, $($text)*);
    }};
}

fn comma(at: u64) -> &'static str {
    if at == 0 { "" } else { "," }
}

pub(super) fn json_frames(count: u64) -> Vec<u8> {
    let start =
        format!("{{\"modules\":[{{\"name\":\"{}\",\"base\":\"0x1000\"}}],\"frames\":[", "n".repeat(2_000));
    each(&start, count, "]}\n", |out, at| put!(out, "{}\"{:#x}\"", comma(at), 0x1000 + at))
}

pub(super) fn json_lines(count: u64) -> Vec<u8> {
    each("", count, "", |out, at| {
        let module = format!("{{\"name\":\"m{at}\",\"id\":\"{at:032x}\",\"base\":\"0x1000\"}}");
        put!(out, "{{\"id\":{at},\"modules\":[{module}],\"frames\":[\"0x1001\"]}}\n");
    })
}

pub(super) fn json_modules(count: u64) -> Vec<u8> {
    let module = "{\"name\":\"m\",\"base\":\"0x1000\"}";
    let modules = vec![module; count as usize].join(",");
    let start = format!("{{\"modules\":[{modules}],\"frames\":[");
    each(&start, count, "]}\n", |out, at| {
        put!(out, "{}{{\"module\":{at},\"address\":\"0x1001\"}}", comma(at));
    })
}

pub(super) fn json_nested(count: u64) -> Vec<u8> {
    let deep = format!("{{\"modules\":[],\"frames\":[1],\"x\":{}{}}}\n", "[".repeat(100), "]".repeat(100));
    each("{\"modules\":[],\"frames\":[1]}\n", count, "", |out, _| out.push_str(&deep))
}

const ID: &str = "0123456789ABCDEF0123456789ABCDEF0";

pub(super) fn symbolicate_frames(count: u64) -> Vec<u8> {
    let module = format!("[\"{}\",\"{ID}\"]", "n".repeat(1_000));
    let start = format!("{{\"version\":5,\"memoryMap\":[{module}],\"stacks\":[[");
    each(&start, count, "]]}", |out, at| put!(out, "{}[0,{at}]", comma(at)))
}

pub(super) fn symbolicate_stacks(count: u64) -> Vec<u8> {
    each("{\"memoryMap\":[],\"stacks\":[", count, "]}", |out, at| put!(out, "{}[]", comma(at)))
}

pub(super) fn symbolicate_jobs(count: u64) -> Vec<u8> {
    each("{\"jobs\":[", count, "]}", |out, at| {
        let comma = comma(at);
        put!(out, "{comma}{{\"memoryMap\":[[\"m{at}\",\"{ID}\"]],\"stacks\":[[[0,{at}]]]}}");
    })
}

pub(super) fn symbolicate_modules(count: u64) -> Vec<u8> {
    let name = "n".repeat(500);
    let end = each("],\"stacks\":[[", count, "]]}", |out, at| put!(out, "{}[{at},1]", comma(at)));
    let end = String::from_utf8_lossy(&end).into_owned();
    each("{\"memoryMap\":[", count, &end, |out, at| {
        put!(out, "{}[\"{name}{at}\",\"{ID}\"]", comma(at));
    })
}

const HEADING: &str = "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n";

pub(super) fn sanitizer_frames(count: u64) -> Vec<u8> {
    each(HEADING, count, "", |out, at| {
        put!(out, "    #{at} 0x1000 in f{at} a.c:1 (/lib/m{at}.so+0x{at:x}) (BuildId: {at:040x})\n");
    })
}

pub(super) fn sanitizer_stacks(count: u64) -> Vec<u8> {
    let heading = format!("==1==ERROR: AddressSanitizer: {}\n", "h".repeat(2_000));
    each(&heading, count, "", |out, _| put!(out, "#0 0x1 (a+0x1)\n"))
}

pub(super) fn sanitizer_inlined(count: u64) -> Vec<u8> {
    each(&[HEADING, "#0 0x1 in f a.c:1 (a+0x1)\n"].concat(), count, "", |out, at| {
        put!(out, "#{} 0x2 in f{at} a.c:{at} (a+0x2)\n", at + 1);
    })
}

pub(super) fn llvm(count: u64) -> Vec<u8> {
    let name = "n".repeat(500);
    each("PLEASE submit a bug report\nStack dump:\n", count, "", |out, at| {
        put!(out, " #{at} 0x{at:016x} {name}{at}() (/lib/l.so+0x{at:x})\n");
    })
}

pub(super) fn android(count: u64) -> Vec<u8> {
    let heading = "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x8\nbacktrace:\n";
    each(heading, count, "", |out, at| {
        put!(out, "      #{at:02} pc {at:016x}  /a/lib.so (f{at}()+20) (BuildId: {at:040x})\n");
    })
}

pub(super) fn systemd(count: u64) -> Vec<u8> {
    each("Process 7 (app) of user 0 dumped core.\n", count, "", |out, at| {
        put!(out, "Stack trace of thread {at}:\n#0  0x{at:016x} f{at} (/opt/app{at} + 0x{at:x})\n");
    })
}

pub(super) fn perf_events(count: u64) -> Vec<u8> {
    each("", count, "", |out, at| put!(out, "app 7 1.5: 1 e{at}:u:\n\t{at:16x} f{at} (/opt/app)\n\n"))
}

pub(super) fn perf_inlined(count: u64) -> Vec<u8> {
    each("app 7 1.5: 1 cycles:\n", count, "\t            1000 g (/opt/app)\n\n", |out, at| {
        put!(out, "\t            1000 f{at} (inlined)\n");
    })
}

pub(super) fn perf_names(count: u64) -> Vec<u8> {
    let name = "n".repeat(500);
    each("app 7 1.5: 1 cycles:\n", count, "\n", |out, at| {
        put!(out, "\t{at:16x} {name}{at}+0x1 (/opt/app)\n");
    })
}

fn perf_mapped(out: &mut String, process: u64, start: u64) {
    let range = format!("[{start:#x}(0x1000) @ 0 08:01 5 0]");
    put!(out, "app {process}/{process} 1.0: PERF_RECORD_MMAP2 {process}/{process}: {range}: r-xp /opt/app\n");
}

fn perf_sample(out: &mut String, process: u64, address: u64) {
    put!(out, "app {process}/{process} 2.0: 1 cycles:\n\t{address:16x} f (/opt/app)\n\n");
}

pub(super) fn perf_mappings(count: u64) -> Vec<u8> {
    let place = |at: u64| 0x7f00_0000_0000 + 0x1000 * at;
    let samples = each("", count, "", |out, at| perf_sample(out, 7, place(at) + 1));
    each("", count, &String::from_utf8_lossy(&samples), |out, at| perf_mapped(out, 7, place(at)))
}

pub(super) fn perf_processes(count: u64) -> Vec<u8> {
    let place = |at: u64| 0x7f00_0000_0000 + 0x1000 * at;
    let samples = each("", count, "", |out, at| perf_sample(out, at + 1, place(at) + 1));
    each("", count, &String::from_utf8_lossy(&samples), |out, at| perf_mapped(out, at + 1, place(at)))
}
