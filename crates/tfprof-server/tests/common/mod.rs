//! Shared by the tests: a site of the sample, a running server, and a client that speaks HTTP on a real socket.

#![allow(dead_code, clippy::unwrap_used)]

use flate2::read::GzDecoder;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use tfprof::{Inputs, Keep, Profiler};
use tfprof_server::http::{Page, Server};
use tfprof_server::{Command, Setup, Site};

/// A directory that is removed in the end.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("tfprof-server-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The files of `tfprof demo`.
pub fn demo(dir: &Dir) -> Vec<PathBuf> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tfprof-cli/demo");
    ["graph.pb", "run_meta_0", "run_meta_100", "tfprof_log"]
        .map(|name| {
            let mut plain = Vec::new();
            let file = std::fs::File::open(packed.join(format!("{name}.gz"))).unwrap();
            GzDecoder::new(file).read_to_end(&mut plain).unwrap();
            dir.write(name, &plain)
        })
        .to_vec()
}

pub fn site(paths: &[PathBuf], source_root: &Path) -> Site {
    let mut inputs = Inputs::default();
    paths.iter().for_each(|path| inputs.add_path(path).unwrap());
    let mut profiler = Profiler::new(Keep::EVERYTHING);
    inputs.load(&mut profiler).unwrap();
    let names = paths.iter().map(|path| path.display().to_string()).collect();
    let command = Command { program: "tfprof".to_owned(), inputs: names, python: "import tfprof".to_owned() };
    Site::new(profiler, inputs, Setup { command, source_root: source_root.to_owned(), defaults: Vec::new() }).unwrap()
}

const PAGE: Page = Page { index: b"<!doctype html>page", script: b"script", style: b"style" };

/// A server on a thread of its own.
pub struct Running {
    pub address: SocketAddr,
    pub link: String,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub fn start(site: Arc<Site>) -> Running {
        let server = Server::bind(site, PAGE, 0).unwrap();
        let (address, link) = (server.address().unwrap(), server.link());
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let stop = async move {
                while !matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Disconnected)) {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            };
            server.run(stop).unwrap();
        });
        Running { address, link, stop: Some(stop), thread: Some(thread) }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.address.port())
    }

    /// The path and query of the link.
    pub fn entrance(&self) -> &str {
        &self.link[self.link.rfind("/?").unwrap()..]
    }

    /// Follows the link; the answer is the cookie.
    pub fn enter(&self) -> String {
        let answer = self.get(self.entrance(), &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    /// Sends one request with these headers besides `Host`.
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let host = self.host();
        let mut all = vec![("Host", host.as_str())];
        all.extend_from_slice(headers);
        self.send("GET", path, &all)
    }

    /// Sends one request with exactly these headers.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut client = Client::new(self.address);
        client.send(method, path, headers)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// One connection.
pub struct Client(TcpStream);

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        Client(TcpStream::connect(address).unwrap())
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        request.push_str("\r\n");
        self.0.write_all(request.as_bytes()).unwrap();
        self.read()
    }

    fn read(&mut self) -> Answer {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if self.0.read(&mut byte).unwrap_or(0) == 0 {
                break;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut answer = Answer { status, head, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; length];
        self.0.read_exact(&mut answer.body).unwrap();
        answer
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
