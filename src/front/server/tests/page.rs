//! The page in a real browser: what it shows of a stack, by keyboard alone, in light and in dark, and that it loads nothing from elsewhere.

mod common;

use std::time::{Duration, Instant};

use common::browser::Browser;
use common::{Programs, Server, program};
use foldsym_server::{Config, Limits};
use foldsym_store::Store;
use foldsym_symbolize::Symbolizer;
use foldsym_testbins::stacks::Stack;
use serde_json::{Value, json};

/// A server with readable names.
fn server(programs: &Programs) -> Server {
    let store = Store::Local(programs.store.clone());
    let mut config = Config::new(Symbolizer::builder().store(store.clone()).build().unwrap());
    config.stores.push(store);
    Server::start(config)
}

/// A report of the tests of the crate that reads them.
fn report(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports");
    std::fs::read(folder.join(name)).unwrap()
}

/// Puts a text into the field, as pasting does, and sends it by keyboard.
fn paste(browser: &Browser, text: &str) {
    browser.run(&format!(
        "document.getElementById('text').value = {}; document.getElementById('text').focus()",
        json!(text)
    ));
    browser.run("document.getElementById('status').textContent = ''");
    // Ctrl+Enter
    browser.press(&["\u{e009}", "\u{e007}"]);
    browser.wait("return /^(\\d|No answer)/.test(document.getElementById('status').textContent)");
}

/// Drops a file on the page.
fn drop_file(browser: &Browser, bytes: &[u8]) {
    browser.run("document.getElementById('status').textContent = ''");
    browser.run(&format!(
        "const data = new DataTransfer();
         data.items.add(new File([Uint8Array.from({})], 'report'));
         document.dispatchEvent(new DragEvent('drop', {{dataTransfer: data}}))",
        json!(bytes)
    ));
    browser.wait("return /^(\\d|No answer)/.test(document.getElementById('status').textContent)");
}

fn text(browser: &Browser, id: &str) -> String {
    browser.run(&format!("return document.getElementById('{id}').innerText")).as_str().unwrap().to_owned()
}

/// Nothing was refused by the policy, and no request left the server.
fn clean(browser: &Browser, server: &Server) {
    let said: Vec<Value> = browser.console().into_iter().filter(|line| line["level"] == "SEVERE").collect();
    // The answers that the test asks for are errors to the browser.
    let other: Vec<&Value> = said.iter().filter(|line| line["source"] != "network").collect();
    assert!(other.is_empty(), "{other:?}");
    let asked = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)");
    let own = format!("http://{}/", server.bound.address);
    for name in asked.as_array().unwrap() {
        assert!(
            name.as_str().unwrap().starts_with(&own) || name.as_str().unwrap().starts_with("data:"),
            "{name}"
        );
    }
}

// Long because each step of the page begins where the one before ended.
#[test]
fn a_stack_a_report_and_the_store() {
    let Some(browser) = Browser::start(1100, 900) else { return };
    let programs = Programs::of(&["demo.elf", "fold.clang-lld.set/program"]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    assert_eq!(browser.run("return document.title"), "foldsym");

    // Lines of build id and offset: a program that is not position-independent has link-time addresses.
    let id = programs.id(0);
    let lines: String =
        ["0x20129b", "0x201fbd", "0x201e8d", "0x2018f9"].map(|at| format!("{id}:{at}\n")).concat();
    paste(&browser, &format!("{lines}libgone.so+0x1234\n"));
    let shown = text(&browser, "threads");
    for part in
        ["demo::print_address(unsigned long)", "inlined", "demo::crash()", "/src/demo/demo.cpp:62", "unique"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The bucket of the stack.
    assert!(
        shown.contains("Signature ") && shown.contains("demo::print_address | demo::crash | "),
        "{shown}"
    );
    // A module without a symbol file has that in the list of modules, once.
    assert!(shown.contains("?? 0x1234 libgone.so") && !shown.contains("no symbol file"), "{shown}");
    assert!(text(&browser, "modules").contains("no symbol file"));
    // A frame is a line with its module; an inlined function is a line too.
    assert!(shown.contains("demo::crash() /src/demo/demo.cpp:62 "), "{shown}");
    assert!(text(&browser, "modules").contains("libgone.so"));
    // The focus is where the answer begins, which a screen reader then reads.
    assert_eq!(browser.run("return document.activeElement.id"), "results");
    browser.picture("lines-light.png");
    browser.prefer("dark");
    browser.picture("lines-dark.png");
    browser.prefer("light");

    // A stack with folded functions: candidates on demand, by keyboard.
    let recorded = std::fs::read_to_string(program("fold.clang-lld.set/stacks")).unwrap();
    let stack = recorded.lines().find_map(|line| Stack::parse(line).unwrap()).unwrap();
    let frames: Vec<String> =
        stack.addresses.iter().map(|address| format!("{:#x}", address - stack.bias)).collect();
    let module = json!({"id": programs.id(1).to_string(), "name": "program", "bias": 0, "start": 0x20_0000, "size": 0x10_0000});
    paste(&browser, &json!({"modules": [module], "frames": frames}).to_string());
    let shown = text(&browser, "threads");
    assert!(shown.contains("ambiguous") && shown.contains("5 candidates"), "{shown}");
    assert_eq!(browser.run("return document.querySelector('li details').open"), false);
    browser.run("document.querySelector('li summary').focus()");
    browser.press(&["\u{e007}"]);
    assert_eq!(browser.run("return document.querySelector('li details').open"), true);
    browser.wait("return document.querySelectorAll('li details > ol > li').length === 5");
    let shown = text(&browser, "threads");
    for part in ["5 functions share this code. Nothing in the stack shows which one ran", "found by its "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    browser.picture("candidates.png");

    // What the profiler sends.
    let body = json!({"memoryMap": [["demo.elf", programs.debug_id(0)]], "stacks": [[[0, 4763]]]});
    paste(&browser, &body.to_string());
    assert!(text(&browser, "threads").contains("demo::crash()"));

    // A log of a sanitizer.
    let log =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports/asan-segv.txt");
    paste(&browser, &std::fs::read_to_string(log).unwrap());
    assert!(text(&browser, "modules").contains("libc.so.6"), "{}", text(&browser, "modules"));
    browser.picture("sanitizer.png");

    // Names that the report has itself.
    let log =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports/perf-untimed.txt");
    paste(&browser, &std::fs::read_to_string(log).unwrap());
    let shown = text(&browser, "threads");
    for part in ["# hash (event cpu-clock)", "add inlined loop.c:4", "work loop.c:8 ", "named by the report"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    // Text that is not a report, and names that are no markup.
    paste(&browser, "<img src=x onerror=alert(1)>");
    assert!(text(&browser, "status").starts_with("No answer: "), "{}", text(&browser, "status"));
    paste(&browser, "<b>x<b>+0x10");
    assert!(text(&browser, "threads").contains("<b>x<b>"));
    assert_eq!(browser.run("return document.querySelector('#threads b') === null"), true);

    browser.run("document.getElementById('list').focus()");
    browser.press(&["\u{e007}"]);
    browser.wait("return document.querySelectorAll('#files button').length === 2");
    assert!(text(&browser, "files").contains(&id.to_string()));
    browser.run("document.querySelectorAll('#files button')[0].focus()");
    browser.press(&["\u{e007}"]);
    browser.wait("return document.querySelectorAll('#bytes .map').length === 2");
    let areas = browser.run(
        "const map = document.querySelector('#bytes .map').getBoundingClientRect();
         return [...document.querySelectorAll('#bytes .map')].map(map => [...map.children].reduce((sum, box) => {
             const at = box.getBoundingClientRect(); return sum + at.width * at.height; }, 0) / (map.clientWidth * map.clientHeight))",
    );
    // The boxes fill the map.
    for area in areas.as_array().unwrap() {
        assert!((area.as_f64().unwrap() - 1.0).abs() < 0.02, "{areas}");
    }
    browser.picture("store.png");
    clean(&browser, &server);
}

/// A minidump that is dropped: why the process crashed, and where frames are missing, as no symbol file has its programs.
#[test]
fn a_minidump_that_is_dropped() {
    let Some(browser) = Browser::start(1100, 900) else { return };
    let programs = Programs::of(&["demo.elf"]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    let dump = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports/crash.dmp");
    drop_file(&browser, &std::fs::read(dump).unwrap());
    let shown = text(&browser, "threads");
    for part in [
        "minidump: SIGSEGV",
        "Thread 20165 crash (crashed)",
        "frames may be missing here",
        "found by scanning",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Neither warnings nor gaps are stacks or frames.
    let count =
        |what: &str| browser.run(&format!("return document.querySelectorAll('#threads {what}').length"));
    // The thread that crashed is open, and the other one is not.
    assert_eq!(count(".thread[open]"), json!(1));
    browser.run("document.querySelectorAll('.thread > summary')[1].click()");
    browser.wait("return document.querySelectorAll('#threads ol.frames').length === 2");
    let (stacks, frames) = (count("ol.frames"), count("ol.frames > li:not(.gap)"));
    let status = text(&browser, "status");
    let counted = |count: &Value, word: &str| match count.as_u64() {
        Some(1) => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    assert_eq!(status, format!("{}, {}.", counted(&stacks, "stack"), counted(&frames, "frame")));
    assert!(count("ul.notes > li").as_u64() > Some(0));
    browser.picture("minidump.png");
    clean(&browser, &server);
}

/// What a screen reader needs: names of all fields and buttons, and headings in order.
#[test]
fn every_control_has_a_name() {
    let Some(browser) = Browser::start(420, 800) else { return };
    let programs = Programs::of(&["demo.elf"]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    let nameless = browser.run(
        "return [...document.querySelectorAll('button, input, select, textarea')].filter(control =>
             !control.textContent.trim() && !(control.labels && control.labels.length) && !control.ariaLabel).map(control => control.outerHTML)",
    );
    assert_eq!(nameless, json!([]));
    let levels = browser
        .run("return [...document.querySelectorAll('h1, h2, h3')].map(heading => +heading.tagName[1])");
    let levels: Vec<u64> = levels.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect();
    assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    // The tab key reaches the link past the form first, then each control.
    let mut reached = Vec::new();
    for _ in 0..7 {
        browser.press(&["\u{e004}"]);
        reached.push(browser.run("const at = document.activeElement; return at.id || at.className"));
    }
    assert_eq!(reached, ["skip", "text", "main", "example", "file", "callers", "list"]);
    // A narrow window shows all of it without scrolling to the side.
    let id = programs.id(0);
    paste(&browser, &format!("{id}:0x20129b\n{id}:0x2018f9"));
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), true);
    browser.picture("narrow.png");
    clean(&browser, &server);
}

/// At 390 pixels nothing is wider than the window: neither the page nor a part of it scrolls to the side.
#[test]
fn a_narrow_window_does_not_scroll_to_the_side() {
    let Some(browser) = Browser::start(500, 800) else { return };
    let programs = Programs::of(&["demo.elf", "fold.clang-lld.set/program"]);
    let server = server(&programs);
    // Chromium's own windows have at least 500 pixels.
    browser.width(390);
    browser.open(&format!("http://{}/", server.bound.address));
    assert_eq!(browser.run("return window.innerWidth"), 390);
    let fits = |what: &str| {
        let wide = browser.run(
            "const width = document.documentElement.clientWidth; return [...document.querySelectorAll('body, body *')].filter(part =>
                 part.checkVisibility() && (part.getBoundingClientRect().right > width || part.scrollWidth > part.clientWidth + 1 &&
                 ['auto', 'scroll'].includes(getComputedStyle(part).overflowX))).map(part => part.outerHTML.slice(0, 200))",
        );
        assert_eq!(wide, json!([]), "{what}");
        assert_eq!(
            browser
                .run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
            true,
            "{what}"
        );
    };
    fits("the empty page");
    for name in ["crash.dmp", "asan.txt", "perf.txt"] {
        drop_file(&browser, &report(name));
        fits(name);
        browser.picture(&format!("narrow-{name}.png"));
    }
    let long = "a_name_without_any_place_to_break_it_".repeat(20);
    paste(&browser, &format!("{}:0x20129b\n{long}+0x10", programs.id(0)));
    fits("a long name");
    browser.run("document.getElementById('list').click()");
    browser.wait("return document.querySelectorAll('#files button').length === 2");
    fits("the store");
    browser.run("document.querySelectorAll('#files button')[0].click()");
    browser.wait("return document.querySelectorAll('#bytes .map').length === 2");
    fits("the bytes of a file");
    browser.picture("narrow-store.png");
    browser.prefer("dark");
    browser.picture("narrow-dark.png");
}

/// The thread that crashed comes first, also where the report has others before it.
#[test]
fn the_thread_that_crashed_comes_first() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let programs = Programs::of(&[]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    let modules = "return ofOurs({Format: 'x', Reason: '', CrashAddress: null, Modules: [], Warnings: [], Threads: [1, 2, 3].map(Id => ({
        Id, Name: '', Crashed: Id === 2, Frames: []}))})";
    let script = format!(
        "show((() => {{ {modules} }})()); return [...document.querySelectorAll('.thread')].map(row => [row.querySelector('h3').textContent, row.open])"
    );
    assert_eq!(
        browser.run(&script),
        json!([["Thread 2 (crashed)", true], ["Thread 1", false], ["Thread 3", false]])
    );
    // In a report of a sanitizer the error is that thread. Each module has its state once, without folders of the server.
    for (file, thread) in [("asan.txt", "READ of size 1"), ("crash.dmp", "Thread 20165 crash (crashed)")] {
        drop_file(&browser, &report(file));
        let first = browser.run("return document.querySelector('.thread h3').textContent");
        assert!(first.as_str().unwrap().starts_with(thread), "{first}");
        let count = browser.run("return document.querySelectorAll('.thread[open]').length");
        assert_eq!(count, 1, "{file}");
        let page = text(&browser, "results");
        let folder = programs.store.root().to_str().unwrap().to_owned();
        // The answer itself names the folder.
        let script = format!("return shown.json.includes({})", json!(folder));
        assert_eq!(browser.run(&script), true, "{file}");
        assert!(!page.contains(&folder) && !page.contains("not found"), "{page}");
        browser.picture(&format!("{file}.png"));
    }
    let states = browser.run("return [...document.querySelectorAll('#modules tbody tr')].map(row => [row.cells[0].innerText, row.cells[2].innerText])");
    let states = states.as_array().unwrap();
    assert_eq!(states.iter().filter(|row| row[0].as_str().unwrap().starts_with("/build/crash\n")).count(), 1);
    assert!(states.iter().all(|row| row[1] == "no symbol file"), "{states:?}");
    clean(&browser, &server);
}

/// Recursion is one line, and a hundred thousand frames without any are made as they are asked for.
#[test]
fn long_stacks() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let programs = Programs::of(&["demo.elf"]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    let rows = || browser.run("return document.querySelectorAll('#threads ol.frames > li').length");
    // Two functions that call each other.
    let walk = "walk.so+0x10\nwalk.so+0x20\n".repeat(50_000);
    paste(&browser, &format!("top.so+0x1\n{walk}main.so+0x2\n"));
    assert_eq!(text(&browser, "status"), "1 stack, 100,002 frames.");
    assert_eq!(rows(), 5);
    let shown = text(&browser, "threads");
    assert!(shown.contains("the 2 frames above again, 49,999 times (#3 to #100000)"), "{shown}");
    browser.picture("recursion.png");
    // Its frames are there on demand.
    browser.run("document.querySelector('li.more button').click()");
    assert!(rows().as_u64() > Some(200));

    let lines: String = (0..100_000).map(|at| format!("walk.so+{at:#x}\n")).collect();
    paste(&browser, &lines);
    assert_eq!(text(&browser, "status"), "1 stack, 100,000 frames.");
    assert_eq!(rows(), 251);
    let last = browser.run("return document.querySelector('#threads ol.frames > li:last-child').innerText");
    assert!(last.as_str().unwrap().starts_with("#99999"), "{last}");
    // The button is reached by the keyboard, and the focus goes to the first frame that it made.
    let ask =
        "const button = document.querySelector('li.more button'); button.focus(); return button.textContent";
    assert_eq!(browser.run(ask), "Show 1,000 of 99,750 more frames");
    browser.press(&["\u{e007}"]);
    assert_eq!(rows(), 1251);
    assert_eq!(browser.run("return document.activeElement.querySelector('.number').textContent"), "#200");
    assert_eq!(browser.run(ask), "Show 1,000 of 98,750 more frames");
    // A request of stacks, one a line, has a row for each, as far as they are shown.
    let stacks =
        "{\"modules\":[{\"name\":\"a\"}],\"frames\":[{\"module\":0,\"address\":16}]}\n".repeat(20_000);
    paste(&browser, &stacks);
    assert_eq!(text(&browser, "status"), "20,000 stacks, 20,000 frames.");
    clean(&browser, &server);
}

/// An address names a thread or a frame, also one that has no row yet. It leads there when the report is sent.
#[test]
fn links_to_frames() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let programs = Programs::of(&["demo.elf"]);
    let server = server(&programs);
    browser.open(&format!("http://{}/#t1f1", server.bound.address));
    let focus = |id: &str| browser.wait(&format!("return document.activeElement.id === '{id}'"));
    let stacks = "Process 1 (shop) of user 0 dumped core.\nStack trace of thread 1:\n".to_owned()
        + &(0..9)
            .map(|at| format!("#{at}  0x000055d0c0de1300 walk (/usr/bin/shop + 0x1300)\n"))
            .collect::<String>()
        + "Stack trace of thread 2:\n#0  0x00007f1a2b105d5e poll (libc.so.6 + 0x105d5e)\n\
           #1  0x000055d0c0de2000 n/a (/usr/bin/shop + 0x2000)\n";
    paste(&browser, &stacks);
    focus("t1f1");
    assert_eq!(browser.run("return document.getElementById('t1').open"), true);
    // The links of frames say what they cannot do.
    let link = "document.querySelector('#t1f0 a.number')";
    let title = browser.run(&format!("return {link}.title"));
    assert!(title.as_str().unwrap().contains("does not contain the report"), "{title}");
    browser.run(&format!("{link}.click()"));
    focus("t1f0");
    assert_eq!(browser.run("return location.hash"), "#t1f0");
    // A frame that only repeats others, and a thread.
    browser.run("location.hash = '#t0f7'");
    focus("t0f7");
    browser.run("location.hash = '#t1'");
    browser.wait("return document.activeElement === document.querySelector('#t1 > summary')");
    browser.run("document.querySelector('#crashed a').focus()");
    browser.press(&["\u{e007}"]);
    browser.wait("return document.activeElement === document.querySelector('#t0 > summary')");
    assert_eq!(browser.run("return document.activeElement.tabIndex"), 0);
    browser.picture("links.png");
    // The address was that of a place in the last answer.
    let lines: String = (0..3_000).map(|at| format!("walk.so+{at:#x}\n")).collect();
    paste(&browser, &lines);
    assert_eq!(browser.run("return location.hash + ' ' + document.activeElement.id"), " results");
    browser.run("location.hash = '#t0f2000'");
    focus("t0f2000");
    clean(&browser, &server);
}

/// An error takes the answer to the last request away. A report that is too large is not sent: the page says what to do with it.
#[test]
fn an_error_clears_what_was_there() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let programs = Programs::of(&["demo.elf"]);
    let mut limits = Limits::default();
    limits.body = 100_000;
    let server = programs.server(limits);
    browser.open(&format!("http://{}/", server.bound.address));
    let is_clear = || {
        let left = "return [document.getElementById('results').hidden, document.getElementById('threads').childElementCount,
                    document.getElementById('modules').childElementCount]";
        assert_eq!(browser.run(left), json!([true, 0, 0]));
    };
    for wrong in ["neither a stack nor a report", ""] {
        paste(&browser, &format!("{}:0x20129b", programs.id(0)));
        assert!(text(&browser, "threads").contains("demo"));
        paste(&browser, wrong);
        assert!(text(&browser, "status").starts_with("No answer: "), "{}", text(&browser, "status"));
        is_clear();
    }
    paste(&browser, &format!("{}:0x20129b", programs.id(0)));
    let before = browser.run("return performance.getEntriesByType('resource').length");
    let core: Vec<u8> = b"\x7fELF\x02\x01\x01\0".iter().copied().cycle().take(200_000).collect();
    drop_file(&browser, &core);
    let status = text(&browser, "status");
    for part in [
        "0.2 MiB",
        "at most 0.1 MiB",
        "foldsym symbolize --store STORE FILE",
        "--max-body 200000",
        "coredumpctl info",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    is_clear();
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), before);
    browser.picture("too-large.png");
    // A client that is no page gets advice too.
    let refused = server.post("/symbolicate", &[b' '; 100_001]);
    assert_eq!(refused.status, 413);
    let refused = refused.json();
    assert!(refused["error"].as_str().unwrap().contains("--max-body"), "{refused}");
    clean(&browser, &server);
}

/// The example needs no file of the server. Its answer is copied as text, and downloaded as JSON.
#[test]
fn an_example_a_copy_and_a_download() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let programs = Programs::of(&[]);
    let server = server(&programs);
    browser.open(&format!("http://{}/", server.bound.address));
    let folder = tempfile::tempdir().unwrap();
    browser.allow_copies_and_downloads(folder.path());
    browser.run("document.getElementById('example').focus()");
    browser.press(&["\u{e007}"]);
    browser.wait("return /^(\\d|No answer)/.test(document.getElementById('status').textContent)");
    assert_eq!(text(&browser, "status"), "2 stacks, 10 frames.");
    let shown = text(&browser, "threads");
    for part in
        ["Cart_total shop", "the frame above again, 4 times (#2 to #5)", "main shop", "named by the report"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    browser.picture("example.png");
    browser.prefer("dark");
    browser.picture("example-dark.png");

    browser.run("document.getElementById('copy').focus()");
    browser.press(&["\u{e007}"]);
    browser.wait("return document.getElementById('status').textContent === 'Copied as text.'");
    browser.run("document.getElementById('text').value = ''; document.getElementById('text').focus()");
    // Ctrl+V
    browser.press(&["\u{e009}", "v"]);
    let copied = browser.run("return document.getElementById('text').value");
    let copied = copied.as_str().unwrap();
    assert!(copied.starts_with("systemd: Process 4711 (shop) of user 1000 dumped core.\n\n"), "{copied}");
    for part in [
        "#0   Cart_total in shop [named by the report]\n",
        "     ... the frame above again, 4 times (#2 to #5)\n",
        "#7   __libc_start_main in libc.so.6",
    ] {
        assert!(copied.contains(part), "{part}: {copied}");
    }

    assert!(
        copied.ends_with("\n\nModules:\n/usr/bin/shop: no symbol file\nlibc.so.6: no symbol file\n"),
        "{copied}"
    );
    assert!(copied.contains("#1   ?? 0x2000 in shop\n"), "{copied}");

    browser.run("document.getElementById('save').focus()");
    browser.press(&["\u{e007}"]);
    let saved = folder.path().join("foldsym.json");
    let start = Instant::now();
    while !saved.exists() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    let saved: Value = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
    assert_eq!(saved["Threads"].as_array().map(Vec::len), Some(2));
    assert_eq!(saved["Threads"][0]["Frames"].as_array().map(Vec::len), Some(8));
    clean(&browser, &server);
}

#[test]
fn the_policy_names_what_the_page_holds() {
    let programs = Programs::of(&[]);
    let server = server(&programs);
    let (one, other) = (server.get("/"), server.get("/"));
    let policy = one.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'nonce-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_ne!(Some(policy), other.header("content-security-policy"));
    let page = String::from_utf8(one.body.clone()).unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!(page.matches(&format!("nonce=\"{nonce}\"")).count(), 2);
    assert!(!page.contains("NONCE") && !page.contains("http://") && !page.contains("https://"));
}
