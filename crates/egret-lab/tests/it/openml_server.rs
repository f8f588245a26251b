use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the server does with one request.
#[derive(Clone)]
pub enum Reply {
    /// A complete answer.
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Sends nothing for this long, then closes.
    Silence(Duration),
    /// Closes at once.
    Drop,
    /// Announces the whole body and sends half of it.
    Half(Vec<u8>),
}

pub fn ok(body: impl Into<Vec<u8>>) -> Reply {
    status(200, body)
}

pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply::Answer {
        status,
        headers: Vec::new(),
        body: body.into(),
    }
}

pub fn with_header(status: u16, name: &'static str, value: impl Into<String>) -> Reply {
    Reply::Answer {
        status,
        headers: vec![(name, value.into())],
        body: Vec::new(),
    }
}

/// Replies by path. Each request takes the next reply; the last one is repeated.
#[derive(Default)]
struct Script {
    replies: HashMap<String, Vec<Reply>>,
    requests: Vec<String>,
}

impl Script {
    fn next(&mut self, path: &str) -> Reply {
        self.requests.push(path.to_owned());
        match self.replies.get_mut(path) {
            Some(replies) if 1 < replies.len() => replies.remove(0),
            Some(replies) => replies[0].clone(),
            // The reply of OpenML for an unknown id.
            None => status(
                412,
                r#"{"error":{"code":"111","message":"Unknown dataset"}}"#,
            ),
        }
    }
}

/// A local server that answers like OpenML.
pub struct OpenMlServer {
    url: String,
    address: std::net::SocketAddr,
    script: Arc<Mutex<Script>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OpenMlServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let script = Arc::new(Mutex::new(Script::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (its_script, its_stop) = (script.clone(), stop.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if its_stop.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    let script = its_script.clone();
                    // A thread each: one may be silent while the next is asked. What a client that went away
                    // does not read is no matter.
                    thread::spawn(move || serve(stream, &script).ok());
                }
            }
        });
        Self {
            url: format!("http://{address}"),
            address,
            script,
            stop,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the replies to the next requests for this path.
    pub fn on(&self, path: &str, replies: Vec<Reply>) {
        let mut script = self.script.lock().expect("no thread panicked");
        script.replies.insert(path.to_owned(), replies);
    }

    /// The paths requested since the last call.
    pub fn requests(&self) -> Vec<String> {
        let mut script = self.script.lock().expect("no thread panicked");
        std::mem::take(&mut script.requests)
    }
}

impl Drop for OpenMlServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the loop.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    lines.read_line(&mut request)?;
    let mut header = String::new();
    while lines.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let reply = script.lock().expect("no thread panicked").next(path);
    match reply {
        Reply::Drop => Ok(()),
        Reply::Silence(time) => {
            // Until the client disconnects, or the time is over.
            stream.set_read_timeout(Some(time))?;
            stream.read(&mut [0]).map(|_| ())
        }
        Reply::Half(body) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body[..body.len() / 2])
        }
        Reply::Answer {
            status,
            headers,
            body,
        } => {
            let mut head = format!("HTTP/1.1 {status} Said\r\nConnection: close\r\n");
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            head += &format!("Content-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
    }
}
