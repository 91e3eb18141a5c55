//! Controls a headless browser over a pipe, without ports, network or packages.
//!
//! Chromium's `--remote-debugging-pipe` speaks the DevTools protocol: JSON messages, each terminated by
//! a zero byte, input on file descriptor 3 and output on 4.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser that hangs must not hang the tests. They wait in several short turns, so that a machine
/// that is suspended loses only one turn.
const TURN: Duration = Duration::from_millis(100);
const TURNS: usize = 1_200;

/// An open page.
pub struct Page {
    browser: Child,
    messages: Receiver<Value>,
    /// Closed first when dropped, which ends the browser.
    commands: Option<ChildStdin>,
    last: u64,
    session: Option<String>,
    loaded: Loaded,
    /// Unexpected errors, dialogs and requests.
    bad: Vec<String>,
    _folder: TempDir,
}

/// The load state of the page. The empty page before it has none of these.
#[derive(PartialEq)]
enum Loaded {
    Not,
    Begun,
    Done,
}

impl Page {
    /// Opens this file in a browser; `None` if the tests may run without one.
    pub fn open(html: &str) -> Option<Self> {
        let program = find()?;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.html");
        fs::write(&file, html).unwrap();
        let mut browser = start(&program, &folder);
        let stdout = browser.stdout.take().unwrap();
        let mut page = Self {
            messages: messages(stdout),
            commands: browser.stdin.take(),
            browser,
            last: 0,
            session: None,
            loaded: Loaded::Not,
            bad: Vec::new(),
            _folder: folder,
        };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = page.call("Target.attachToTarget", attach);
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.size(1280, 900);
        page.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while page.loaded != Loaded::Done {
            page.hear("the page");
        }
        page.wait("document.documentElement.classList.contains('ready')");
        Some(page)
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let arguments = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let answer = self.call("Runtime.evaluate", arguments);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The visible text of the first element that matches a selector.
    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({}).innerText", json!(selector)));
        text.as_str().unwrap().to_owned()
    }

    /// The number of elements that match a selector.
    #[track_caller]
    pub fn count(&mut self, selector: &str) -> u64 {
        let count = self.value(&format!("document.querySelectorAll({}).length", json!(selector)));
        count.as_u64().unwrap()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait(&mut self, expression: &str) {
        let asked = format!(
            "new Promise((resolve) => {{ let left = 6000; const ask = () => ({expression}) \
             ? resolve(true) : left-- ? setTimeout(ask, 5) : resolve(false); ask(); }})"
        );
        assert_eq!(self.value(&asked), true, "{expression}");
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str) {
        self.key(key, "keyDown");
        self.key(key, "keyUp");
    }

    /// Presses a key and holds it down.
    pub fn hold(&mut self, key: &str) {
        self.key(key, "keyDown");
    }

    pub fn release(&mut self, key: &str) {
        self.key(key, "keyUp");
    }

    fn key(&mut self, key: &str, kind: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowRight" => (39, ""),
            _ => (0, key),
        };
        let text = if kind == "keyDown" { text } else { "" };
        let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Types a text into the focused element.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Emulates a light or dark system theme.
    pub fn system_is(&mut self, colours: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": colours});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// The displayed colour at a position in an element.
    #[track_caller]
    pub fn colour(&mut self, selector: &str, x: f64, y: f64) -> [u8; 3] {
        let place = self.value(&format!(
            "(() => {{ const element = document.querySelector({}); \
             element.scrollIntoView({{ block: 'center' }}); \
             const box = element.getBoundingClientRect(); \
             return [box.left + scrollX + box.width * {x}, box.top + scrollY + box.height * {y}]; }})()",
            json!(selector)
        ));
        let clip = json!({"x": place[0], "y": place[1], "width": 1, "height": 1, "scale": 1});
        let image = self.call("Page.captureScreenshot", json!({"format": "png", "clip": clip}));
        let source = format!("data:image/png;base64,{}", image["data"].as_str().unwrap());
        // The page must not load images, so the screenshot is decoded as a bitmap.
        let pixel = self.value(&format!(
            "(async () => {{ const bytes = Uint8Array.from(atob({}.split(',')[1]), (one) => one.charCodeAt(0)); \
             const bitmap = await createImageBitmap(new Blob([bytes])); \
             const canvas = new OffscreenCanvas(1, 1).getContext('2d'); canvas.drawImage(bitmap, 0, 0); \
             return [...canvas.getImageData(0, 0, 1, 1).data]; }})()",
            json!(source)
        ));
        [0, 1, 2].map(|at| pixel[at].as_u64().unwrap() as u8)
    }

    /// Fails if there were errors in the page.
    #[track_caller]
    pub fn close(mut self) {
        self.value("1");
        assert_eq!(self.bad, Vec::<String>::new());
    }

    #[track_caller]
    fn call(&mut self, method: &str, arguments: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": arguments});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let commands = self.commands.as_mut().unwrap();
        commands.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let message = self.hear(method);
            if message["id"] == self.last {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// The next message. Events are recorded.
    #[track_caller]
    fn hear(&mut self, wanted: &str) -> Value {
        for _ in 0..TURNS {
            match self.messages.recv_timeout(TURN) {
                Ok(message) => {
                    self.note(&message);
                    return message;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the browser ended before {wanted}"),
            }
        }
        panic!("the browser is silent; wanted: {wanted}")
    }

    fn note(&mut self, event: &Value) {
        let url = event["params"]["frame"]["url"].as_str().unwrap_or_default();
        match event["method"].as_str() {
            Some("Page.frameNavigated") if url.starts_with("file:") => self.loaded = Loaded::Begun,
            Some("Page.loadEventFired") if self.loaded == Loaded::Begun => {
                self.loaded = Loaded::Done;
            }
            _ => {}
        }
        let is_bad = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => true,
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                let own = url.starts_with("file:") && url.ends_with("/report.html");
                !own && !url.starts_with("data:image/jpeg;base64,")
            }
            _ => false,
        };
        if is_bad {
            self.bad.push(event.to_string());
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

/// The browser to use; `None` if there is none and none is required.
fn find() -> Option<PathBuf> {
    if env::var_os("LOOKALIKE_NO_BROWSER").is_some_and(|value| value == "1") {
        return None;
    }
    if let Some(given) = env::var_os("LOOKALIKE_BROWSER") {
        return Some(given.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let places = env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    assert!(
        found.is_some(),
        "the report is tested in a browser, and there is none: install one \
         (apt-get install --no-install-recommends chromium), name one by LOOKALIKE_BROWSER, \
         or set LOOKALIKE_NO_BROWSER=1 to go without"
    );
    found
}

fn start(program: &PathBuf, folder: &TempDir) -> Child {
    // The shell assigns our two pipes to the file descriptors that the browser expects.
    let shell = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
    Command::new("sh")
        .args(["-c", shell])
        .arg(program)
        // Only our own file is opened, and containers rarely permit the sandbox.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--remote-debugging-pipe", "--no-first-run", "--disable-extensions"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        // No name is ever looked up.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The messages of the browser, read on another thread so that waiting can time out.
fn messages(from: impl std::io::Read + Send + 'static) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for message in BufReader::new(from).split(0).map_while(Result::ok) {
            let message = serde_json::from_slice(&message).unwrap_or(Value::Null);
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}
