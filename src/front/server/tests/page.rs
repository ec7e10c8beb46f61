//! The page in a real browser: what it shows of a stack, by keyboard alone, in light and in dark, and that it loads nothing from elsewhere.

mod common;

use common::browser::Browser;
use common::{Programs, Server, program};
use foldsym_server::Config;
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
    for part in [
        "demo::print_address(unsigned long)",
        "inlined",
        "demo::crash()",
        "/src/demo/demo.cpp:62",
        "unique",
        "absent",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
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
    assert_eq!(browser.run("return document.querySelector('details').open"), false);
    browser.run("document.querySelector('summary').focus()");
    browser.press(&["\u{e007}"]);
    assert_eq!(browser.run("return document.querySelector('details').open"), true);
    assert!(text(&browser, "threads").contains("found by"));
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
    for part in ["# hash (event cpu-clock)", "add inlined\nloop.c:4", "work\nloop.c:8", "named by the report"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    // Text that is not a report, and names that are no markup.
    paste(&browser, "<img src=x onerror=alert(1)>");
    assert!(text(&browser, "status").starts_with("No answer: "), "{}", text(&browser, "status"));
    paste(&browser, "<b>x</b>+0x10");
    assert!(text(&browser, "threads").contains("<b>x</b>"));
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
    for _ in 0..6 {
        browser.press(&["\u{e004}"]);
        reached.push(browser.run("const at = document.activeElement; return at.id || at.className"));
    }
    assert_eq!(reached, ["skip", "text", "main", "file", "callers", "list"]);
    // A narrow window shows all of it without scrolling to the side.
    let id = programs.id(0);
    paste(&browser, &format!("{id}:0x20129b\n{id}:0x2018f9"));
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), true);
    browser.picture("narrow.png");
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
