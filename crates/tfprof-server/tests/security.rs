//! The server answers its own page and nobody else. Every test speaks to a real socket.

use crate::common::{Client, Dir, Running, demo, site};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tfprof_server::Site;

fn small(dir: &Dir) -> Arc<Site> {
    let graph = dir.write(
        "graph.pbtxt",
        br#"node { name: "a/b" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } } } } }"#,
    );
    Arc::new(site(&[graph], &dir.0))
}

#[test]
fn the_link_works_once_and_leaves_the_address() {
    let dir = Dir::new("link");
    let server = Running::start(small(&dir));
    let first = server.get(server.entrance(), &[]);
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    let token = server.entrance().split('=').nth(1).unwrap();
    assert!(token.len() >= 32, "at least 128 bits");
    assert!(!cookie.contains(token), "the cookie is another secret");
    let again = server.get(server.entrance(), &[]);
    assert_eq!(again.status, 403, "{}", again.text());
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.get("/", &[("Cookie", cookie)]).status, 200);
    // With the cookie, the link works again: the browser's own history.
    let mine = server.get(server.entrance(), &[("Cookie", cookie)]);
    assert_eq!((mine.status, mine.header("set-cookie")), (303, None));
}

#[test]
fn without_the_token_there_is_no_answer() {
    let dir = Dir::new("token");
    let server = Running::start(small(&dir));
    let cookie = server.enter();
    let (name, value) = cookie.split_once('=').unwrap();
    for wrong in [
        String::new(),
        "x=1".to_owned(),
        format!("{name}="),
        format!("{name}={}", &value[1..]),
        format!("{name}={value}0"),
        format!("other={value}"),
    ] {
        for path in ["/", "/app.js", "/api/meta", "/api/tile?level=0&index=0", "/nothing"] {
            let answer = server.get(path, &[("Cookie", &wrong)]);
            assert_eq!(answer.status, 401, "{path} {wrong}");
            assert!(!answer.text().contains(value) && !answer.head.contains(value), "no answer reveals the secret");
        }
    }
    assert_eq!(server.get("/?token=", &[]).status, 403);
    assert_eq!(server.get(&format!("/?token={value}"), &[]).status, 403, "the cookie is not the token");
    assert_eq!(server.get("/api/meta", &[("Cookie", &cookie)]).status, 200);
    assert_eq!(server.get("/api/meta", &[("Cookie", &format!("a=b; {cookie}; c=d"))]).status, 200);
}

#[test]
fn a_foreign_host_is_refused() {
    let dir = Dir::new("host");
    let server = Running::start(small(&dir));
    let cookie = server.enter();
    let port = server.address.port();
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        &format!("127.0.0.1:{}", port ^ 1),
        "",
        &format!("127.0.0.1:{port}.evil.example"),
    ] {
        let answer = server.send("GET", "/api/meta", &[("Host", host), ("Cookie", &cookie)]);
        assert!(matches!(answer.status, 400 | 403), "{host}: {}", answer.status);
    }
    let none = server.send("GET", "/api/meta", &[("Cookie", &cookie)]);
    assert!(matches!(none.status, 400 | 403), "no host: {}", none.status);
    let two =
        server.send("GET", "/api/meta", &[("Host", &server.host()), ("Host", "evil.example"), ("Cookie", &cookie)]);
    assert!(matches!(two.status, 400 | 403), "two hosts: {}", two.status);
    let absolute = server.send("GET", "http://evil.example/api/meta", &[("Host", "evil.example"), ("Cookie", &cookie)]);
    assert_eq!(absolute.status, 403);
    for host in [format!("localhost:{port}"), format!("LOCALHOST:{port}"), server.host()] {
        assert_eq!(server.send("GET", "/api/meta", &[("Host", &host), ("Cookie", &cookie)]).status, 200);
    }
}

#[test]
fn a_foreign_origin_is_refused() {
    let dir = Dir::new("origin");
    let server = Running::start(small(&dir));
    let cookie = server.enter();
    let own = format!("http://{}", server.host());
    for origin in [
        "http://evil.example",
        "null",
        "https://127.0.0.1",
        &format!("https://{}", server.host()),
        &format!("{own}.evil.example"),
    ] {
        assert_eq!(server.get("/api/meta", &[("Cookie", &cookie), ("Origin", origin)]).status, 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "else"] {
        assert_eq!(server.get("/api/meta", &[("Cookie", &cookie), ("Sec-Fetch-Site", site)]).status, 403, "{site}");
    }
    let mine = [("Cookie", cookie.as_str()), ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let answer = server.get("/api/meta", &mine);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn only_the_page_and_its_answers_are_served() {
    let dir = Dir::new("paths");
    dir.write("secret.py", b"password");
    let server = Running::start(small(&dir));
    let cookie = server.enter();
    let get = |path: &str| server.get(path, &[("Cookie", &cookie)]);
    for path in [
        "/../secret.py",
        "/..%2fsecret.py",
        "/%2e%2e/secret.py",
        "/secret.py",
        "//etc/passwd",
        "/app.js/../../Cargo.toml",
        "/api/../secret.py",
        "/api/",
        "/app.js%00",
        "/index.html/",
    ] {
        let answer = get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains("password"));
    }
    for (path, kind) in [("/", "text/html"), ("/app.js", "text/javascript"), ("/app.css", "text/css")] {
        let answer = get(path);
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with(kind));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'")
                && !policy.contains("unsafe")
                && policy.contains("frame-ancestors 'none'")
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let headers = [("Host", server.host()), ("Cookie", cookie.clone()), ("Content-Length", "0".to_owned())];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(server.send(method, "/api/meta", &headers).status, 405, "{method}");
    }
}

#[test]
fn no_other_interface_answers() {
    let dir = Dir::new("interface");
    let server = Running::start(small(&dir));
    assert!(server.address.ip().is_loopback());
    // The address of this machine on its network, if it has one: no packet is sent.
    let Some(own) = UdpSocket::bind("0.0.0.0:0").ok().and_then(|socket| {
        socket.connect("192.0.2.1:9").ok()?;
        Some(socket.local_addr().ok()?.ip())
    }) else {
        return;
    };
    if !own.is_loopback() && !own.is_unspecified() {
        let other = SocketAddr::new(own, server.address.port());
        assert!(TcpStream::connect_timeout(&other, Duration::from_secs(2)).is_err(), "{other} answers");
    }
}

#[test]
fn evil_names_stay_text() {
    let dir = Dir::new("evil");
    let evil = r#"node { name: "<script>alert(1)</script>/\"'\\u2028</style>\001\r\nSet-Cookie: a=b" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } } } } }"#;
    let graph = dir.write("graph.pbtxt", evil.replace("\\u2028", "\u{2028}").as_bytes());
    let site = Arc::new(site(&[graph], &dir.0));
    let server = Running::start(site);
    let cookie = server.enter();
    for path in [
        "/api/meta",
        "/api/rows?metric=params",
        "/api/flame?metric=params",
        "/api/find?find=%3Cscript%3E&metric=params",
        "/api/rows?parent=%0D%0ASet-Cookie%3A%20a",
    ] {
        let answer = server.get(path, &[("Cookie", &cookie)]);
        assert!(answer.header("content-type").unwrap().starts_with("application/json"), "{path}");
        assert_eq!(answer.header("set-cookie"), None);
        assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok(), "{path}: {}", answer.text());
    }
}

#[test]
fn only_python_files_below_the_source_root_are_shown() {
    let dir = Dir::new("sources");
    let outside = dir.write("outside/model.py", b"secret = 1\n");
    dir.write("root/src/mine.py", b"first\nsecond\tline\x1b\n");
    dir.write("root/notes.txt", b"no source\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, dir.0.join("root/link.py")).unwrap();
    let files = [
        "/etc/passwd",
        "../../etc/passwd.py",
        outside.to_str().unwrap(),
        "link.py",
        "notes.txt",
        "../outside/model.py",
        "/build/src/mine.py",
    ];
    let mut graph = String::new();
    let mut log = "id_to_string { key: 1 value: \"f\" }\n".to_owned();
    for (at, file) in files.iter().enumerate() {
        graph.push_str(&format!("node {{ name: \"n{at}\" op: \"VariableV2\" attr {{ key: \"shape\" value {{ shape {{ dim {{ size: 8 }} }} }} }} }}\n"));
        log.push_str(&format!(
            "log_entries {{ name: \"n{at}\" code_def {{ traces {{ file_id: {} lineno: 1 function_id: 1 }} }} }}\n",
            at + 2
        ));
        log.push_str(&format!("id_to_string {{ key: {} value: \"{file}\" }}\n", at + 2));
    }
    let paths = [dir.write("graph.pbtxt", graph.as_bytes()), dir.write("tfprof_log", log.as_bytes())];
    let site = site(&paths, &dir.0.join("root"));
    let mut shown = Vec::new();
    for file in files {
        let reply = site.answer(&format!("code?metric=params&file={}", tfprof_server::params::encoded(file)));
        let tfprof_server::reply::Body::Json(body) = &reply.body else { panic!("JSON") };
        let answer: serde_json::Value = serde_json::from_slice(body).unwrap();
        assert!(!answer.to_string().contains("secret") && !answer.to_string().contains("root:"), "{file}");
        if reply.status == 200 && !answer["text"].is_null() {
            shown.push((file, answer["text"].clone()));
        }
    }
    assert_eq!(shown, [("/build/src/mine.py", serde_json::json!(["first", "second\tline "]))]);
    // A file that the profile does not name is not there, wherever it is.
    assert_eq!(site.answer("code?metric=params&file=root%2Fsrc%2Fother.py").status, 404);
}

#[test]
fn odd_requests_do_not_stop_the_server() {
    let dir = Dir::new("odd");
    let server = Running::start(small(&dir));
    let cookie = server.enter();
    for bytes in [&b"\r\n\r\n"[..], b"GET / HTTP/1.1\r\n", b"GET \xff / HTTP/9\r\n\r\n", &vec![0; 100_000]] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let _ = std::io::Write::write_all(&mut stream, bytes);
    }
    let long = format!("/api/rows?parent={}", "a".repeat(200_000));
    let answer = server.get(&long, &[("Cookie", &cookie)]);
    assert!(matches!(answer.status, 0 | 400 | 404 | 414 | 431), "{}", answer.status);
    for path in [
        "/api/rows?limit=-1",
        "/api/rows?view=other",
        "/api/rows?metric=other",
        "/api/rows?hide=(",
        "/api/rows?step=99",
        "/api/rows?output=x.html",
        "/api/rows?nothing=1",
        "/api/flame?px=NaN",
        "/api/tile?level=4294967296&index=1",
        "/api/at?lane=70000&t_ns=1e400",
        "/api/%ff",
    ] {
        let answer = server.get(path, &[("Cookie", &cookie)]);
        assert!((200..500).contains(&answer.status), "{path}: {}", answer.status);
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(answer.status == 200 || body["error"]["message"].is_string(), "{path}: {body}");
    }
    assert_eq!(server.get("/api/meta", &[("Cookie", &cookie)]).status, 200);
}

#[test]
fn twenty_clients_get_right_answers_at_once() {
    let dir = Dir::new("many");
    let site = Arc::new(site(&demo(&dir), &dir.0));
    let server = Running::start(Arc::clone(&site));
    let cookie = server.enter();
    let keys = [
        "meta",
        "overview",
        "rows",
        "flame?view=op",
        "flame?invert=1",
        "rows?hide=gradients.*",
        "timeline",
        "memory",
        "graph",
        "code",
        "tile?index=0&level=0",
        "query",
        "query?sql=select+op,count(*)from+nodes+group+by+op",
    ];
    let without_time = |body: &[u8]| match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(mut value) => {
            value["ms"] = 0.into();
            value.to_string().into_bytes()
        }
        Err(_) => body.to_vec(),
    };
    let expected: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| match site.answer(key).body {
            tfprof_server::reply::Body::Json(body) | tfprof_server::reply::Body::Bytes(body) => without_time(&body),
        })
        .collect();
    std::thread::scope(|scope| {
        for client in 0..20 {
            let (server, cookie, expected) = (&server, &cookie, &expected);
            scope.spawn(move || {
                let mut connection = Client::new(server.address);
                for turn in 0..10 {
                    let at = (client * 7 + turn) % keys.len();
                    let headers = [("Host", server.host()), ("Cookie", cookie.clone())];
                    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    let answer = connection.send("GET", &format!("/api/{}", keys[at]), &headers);
                    assert_eq!(answer.status, 200, "{}", keys[at]);
                    assert!(without_time(&answer.body) == expected[at], "{}", keys[at]);
                }
            });
        }
    });
}

#[test]
fn statements_only_read() {
    let dir = Dir::new("query");
    let site = site(&demo(&dir), &dir.0);
    let ask = |sql: &str| {
        let reply = site.answer(&format!("query?sql={}", tfprof_server::params::encoded(sql)));
        let tfprof_server::reply::Body::Json(body) = reply.body else { panic!("expected JSON") };
        (reply.status, serde_json::from_slice::<serde_json::Value>(&body).unwrap())
    };
    let (status, answer) =
        ask("select count(*) as n, null as missing, 1 << 60 as large from nodes where op = 'Conv2D'");
    assert_eq!((status, &answer["rows"]), (200, &serde_json::json!([[31, null, "1152921504606846976"]])));
    assert_eq!(answer["columns"][0]["name"], "n");
    for sql in ["delete from nodes", "attach 'x' as y", "select load_extension('x')", "selec", "select 1; select 2"] {
        let (status, answer) = ask(sql);
        assert_eq!(status, 400, "{sql}: {answer}");
    }
    // The files pay for statements as well.
    let endless = "with recursive t(x) as (select 1 union all select x + 1 from t) select x from t";
    let (status, answer) = ask(endless);
    assert_eq!((status, answer["error"]["fix"].as_str()), (422, Some("allow more with --max_work")), "{answer}");
}
