//! A headless Chromium, controlled through its pipe: the protocol is JSON, and every message ends with a NUL.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
];

/// A browser with one open page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// Errors of the page, as shown in the console.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

/// The browser's command, if installed. With REQUIRE_CHROMIUM=1 it must be.
fn installed() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let name = NAMES.into_iter().find(|name| runs(name));
    if name.is_none() {
        assert!(std::env::var_os("REQUIRE_CHROMIUM").is_none_or(|value| value != "1"), "Chromium is not installed");
        eprintln!("skipped: Chromium is not installed");
    }
    name
}

impl Browser {
    /// Opens a file; `None` if no browser is installed.
    pub fn open(file: &Path) -> Option<Self> {
        let name = installed()?;
        let profile = tempfile::tempdir().unwrap();
        // The browser reads descriptor 3 and writes to 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2", name])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut browser = Self { process, to, from, session: None, last: 0, complaints: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        browser.until("Page.loadEventFired");
        Some(browser)
    }

    fn send(&mut self, method: &str, parameters: Value) {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&message).unwrap();
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(message["params"]["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(message["params"]["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(message["params"]["args"].to_string()),
            Some("Network.requestWillBeSent") => {
                let url = message["params"]["request"]["url"].as_str().unwrap();
                if !url.starts_with("file://") && !url.starts_with("about:") {
                    self.complaints.push(format!("asked for {url}"));
                }
            }
            _ => {}
        }
        message
    }

    /// Calls a method of the protocol and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.send(method, parameters);
        loop {
            let message = self.receive();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// Waits for an event.
    fn until(&mut self, event: &str) {
        while self.receive()["method"] != event {}
    }

    /// The value of a JavaScript expression; promises are awaited.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Presses a key like a user, and waits until the page is drawn.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("no code for {key}"),
        };
        let text = match key {
            "Enter" => Some("\r"),
            " " => Some(" "),
            _ => None,
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
            if let (Some(text), "keyDown") = (text, kind) {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
        self.value(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))",
        );
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
