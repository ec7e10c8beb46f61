//! Chromium without a screen, driven by ChromeDriver's HTTP protocol.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::ask;

/// What Chromium is started with. It fetches nothing by itself.
const OPTIONS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
];

/// A session with a page.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts one; `None`, with a line that says so, where there is no Chromium.
    ///
    /// # Panics
    /// There is none, and `CI` is set.
    pub(crate) fn start(width: u32, height: u32) -> Option<Self> {
        let start =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = start else {
            assert!(std::env::var_os("CI").is_none(), "needs chromium and chromedriver");
            println!("skipped: needs chromium");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap());
        let port = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "chromedriver ended");
            if let Some(found) = line.split("successfully on port ").nth(1) {
                break found.trim().trim_end_matches('.').parse::<u16>().unwrap();
            }
        };
        // What it prints later must not stop it.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let profile = tempfile::tempdir().unwrap();
        let mut options: Vec<String> = OPTIONS.map(str::to_owned).to_vec();
        options.push(format!("--user-data-dir={}", profile.path().display()));
        options.push(format!("--window-size={width},{height}"));
        let logs = json!({"browser": "ALL"});
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:loggingPrefs": logs, "goog:chromeOptions": {"args": options}}}});
        let mut browser = Self { driver, address, session: String::new(), _profile: profile };
        let made = browser.call("POST", "/session", &wanted);
        browser.session = made["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        Some(browser)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let response = ask(
            self.address,
            &format!("{method} {path} HTTP/1.1\r\nContent-Type: application/json"),
            body.as_bytes(),
        );
        response.json()["value"].clone()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        let value = self.call("POST", &format!("/session/{}/{path}", self.session), body);
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    pub(crate) fn open(&self, url: &str) {
        self.command("url", &json!({"url": url}));
    }

    /// Prefers light or dark colours.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let params = json!({"features": features});
        self.command("goog/cdp/execute", &json!({"cmd": "Emulation.setEmulatedMedia", "params": params}));
    }

    /// Gives the page this width, which may be less than a window has.
    pub(crate) fn width(&self, width: u32) {
        let params = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.command(
            "goog/cdp/execute",
            &json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": params}),
        );
    }

    /// Lets the page write to the clipboard, and puts downloads into a folder.
    pub(crate) fn allow_copies_and_downloads(&self, folder: &Path) {
        let permissions = json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
        self.command("goog/cdp/execute", &json!({"cmd": "Browser.grantPermissions", "params": permissions}));
        let params = json!({"behavior": "allow", "downloadPath": folder});
        self.command("goog/cdp/execute", &json!({"cmd": "Browser.setDownloadBehavior", "params": params}));
    }

    /// What a script returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Presses keys where the focus is.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut actions = Vec::new();
        actions.extend(keys.iter().map(|key| json!({"type": "keyDown", "value": key})));
        actions.extend(keys.iter().rev().map(|key| json!({"type": "keyUp", "value": key})));
        self.command("actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }

    /// Waits until a script returns true.
    pub(crate) fn wait(&self, script: &str) {
        let start = Instant::now();
        while self.run(script) != true {
            let status = self.run("return document.getElementById('status').textContent");
            assert!(start.elapsed() < Duration::from_secs(20), "{script}: {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the page said on its console, and what its policy refused.
    pub(crate) fn console(&self) -> Vec<Value> {
        self.command("se/log", &json!({"type": "browser"})).as_array().cloned().unwrap_or_default()
    }

    /// Puts a picture into the folder that `FOLDSYM_SCREENSHOTS` names, for people to look at.
    pub(crate) fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("FOLDSYM_SCREENSHOTS") else { return };
        let params = json!({"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": true}});
        let found = self.command("goog/cdp/execute", &params);
        std::fs::write(Path::new(&folder).join(name), base64(found["data"].as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Decodes base64.
fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::from(value(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
