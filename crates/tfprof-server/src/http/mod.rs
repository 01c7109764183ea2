//! The server: loopback only, one page, one model.

mod guard;
mod page;

use crate::reply::{Body, Reply};
use crate::report::Settings;
use crate::site::Site;
use flate2::Compression;
use flate2::write::GzEncoder;
pub use guard::Token;
use guard::{Guard, Refusal};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use page::Asset;
pub use page::{PAGE, Page};
use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

type Answer = Response<Full<Bytes>>;

/// A server that is bound to its port and not yet running.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    site: Arc<Site>,
    guard: Guard,
    page: Page,
    /// Limits concurrent questions. Those that wait for the same view use no processor, so there may be more
    /// of them than processors.
    work: Semaphore,
    /// A separate limit for quick requests, which never wait for slow ones.
    quick: Semaphore,
}

/// Quick requests, which are answered from memory while the user zooms or scrolls.
const QUICK: [&str; 3] = ["tile", "names", "at"];
/// Concurrent questions per processor.
const EACH: usize = 4;

/// The maximum number of open connections; further ones wait.
const MOST_CONNECTIONS: usize = 512;
/// The timeout for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// Bodies below this size are not worth compressing.
const SMALL: usize = 1400;

impl Server {
    /// Binds a port of the loopback interface; 0 picks a free one.
    pub fn bind(site: Arc<Site>, page: Page, port: u16) -> io::Result<Server> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let guard = Guard::new(listener.local_addr()?.port(), Token::new()?, Token::new()?);
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let (work, quick) = (Semaphore::new(EACH * threads), Semaphore::new(threads));
        let state = Arc::new(State { site, guard, page, work, quick });
        Ok(Server { listener, state })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address to open: it works once.
    pub fn link(&self) -> String {
        self.state.guard.link()
    }

    /// Serves until `stop` is done.
    pub fn run(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            tokio::spawn(accept(listener, self.state));
            stop.await;
            Ok::<(), io::Error>(())
        })?;
        // Unfinished answers are no longer needed.
        runtime.shutdown_background();
        Ok(())
    }

    /// Serves until Ctrl-C.
    pub fn run_until_interrupted(self) -> io::Result<()> {
        self.run(async {
            // Without signals the program ends as usual.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&connections).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: wait for others to close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(Arc::clone(&state), request));
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(64 << 10);
            // A closed connection is not an error.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

async fn respond(state: Arc<State>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let answer = route(&state, &request).await;
    Ok(page::with_policy(answer))
}

async fn route(state: &Arc<State>, request: &Request<Incoming>) -> Answer {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered");
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or(""));
    match state.guard.check(request.headers(), path, query) {
        Ok(None) => {}
        Ok(Some(cookie)) => return enter(&cookie),
        Err(Refusal { status, message }) => return plain(status, message),
    }
    if path == "/api/export" {
        return export(state).await;
    }
    if let Some(route) = path.strip_prefix("/api/") {
        let key = if query.is_empty() { route.to_owned() } else { format!("{route}?{query}") };
        return api(state, key, takes_gzip(request.headers())).await;
    }
    match state.page.asset(path) {
        Some(Asset { kind, bytes }) => {
            body(StatusCode::OK, kind, bytes.to_vec(), takes_gzip(request.headers()), "no-cache")
        }
        None => plain(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

/// Exchanges the token in the address for a cookie, and redirects to the address without it.
fn enter(cookie: &str) -> Answer {
    let mut answer = plain(StatusCode::SEE_OTHER, "");
    answer.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(cookie)
        && !cookie.is_empty()
    {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

async fn api(state: &Arc<State>, key: String, gzip: bool) -> Answer {
    let route = key.split('?').next().unwrap_or(&key);
    let turns = if QUICK.contains(&route) { &state.quick } else { &state.work };
    let Ok(_turn) = turns.acquire().await else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "the server stops");
    };
    let site = Arc::clone(&state.site);
    let stop = Arc::new(AtomicBool::new(false));
    let _waits = StopWhenGone(Arc::clone(&stop));
    let worked = tokio::task::spawn_blocking(move || {
        let Reply { status, body: answer, .. } = site.answer_until(&key, &stop);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match answer {
            Body::Json(bytes) => body(status, "application/json; charset=utf-8", bytes, gzip, "no-store"),
            // Responses may be cached: a new server has another address or another cookie.
            // Tiles are not compressed: latency matters more than bytes on the loopback interface.
            Body::Bytes(bytes) => {
                body(status, "application/octet-stream", bytes, false, "private, max-age=31536000, immutable")
            }
        }
    });
    worked.await.unwrap_or_else(|_| {
        plain(StatusCode::INTERNAL_SERVER_ERROR, "this question could not be answered; please report it")
    })
}

/// Stops a long statement when its connection closes, since that drops the pending answer.
struct StopWhenGone(Arc<AtomicBool>);

impl Drop for StopWhenGone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The report as a download.
async fn export(state: &Arc<State>) -> Answer {
    let Ok(_turn) = state.work.acquire().await else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "the server stops");
    };
    let (site, page) = (Arc::clone(&state.site), state.page);
    let written = tokio::task::spawn_blocking(move || site.report(&page, &Settings::default())).await;
    let Ok(Ok(report)) = written else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "the report could not be written");
    };
    let mut answer = body(StatusCode::OK, "text/html; charset=utf-8", report.html, false, "no-store");
    let name = HeaderValue::from_static("attachment; filename=\"report.html\"");
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    answer
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    accepted.split(',').any(|coding| coding.split(';').next().unwrap_or("").trim() == "gzip")
}

fn plain(status: StatusCode, message: &'static str) -> Answer {
    body(status, "text/plain; charset=utf-8", message.as_bytes().to_vec(), false, "no-store")
}

fn body(status: StatusCode, kind: &'static str, mut bytes: Vec<u8>, gzip: bool, cache: &'static str) -> Answer {
    let compress = gzip && bytes.len() > SMALL;
    if compress {
        let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
        // Writing to memory cannot fail.
        if encoder.write_all(&bytes).is_ok()
            && let Ok(smaller) = encoder.finish()
        {
            bytes = smaller;
        }
    }
    let mut answer = Response::new(Full::new(Bytes::from(bytes)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding, Cookie"));
    if compress {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}
