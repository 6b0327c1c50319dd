use super::*;
use std::io::{self, Read, Write};
use std::thread;

const ORIGIN: &str = "https://a.example";
/// More bytes than the system's buffers of a connection hold.
const SIZE: u64 = 64 << 20;

/// An offer that is served on another thread.
struct Serving {
    port: u16,
    path: String,
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<anyhow::Result<Served>>,
    _folder: tempfile::TempDir,
}

fn serve(time: Option<Duration>) -> Serving {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    let file = File::create(&path).expect("ours");
    file.set_len(SIZE).expect("a size");
    let offer = Offer::new(&path, "a.x", ORIGIN, None).expect("a port");
    Serving {
        port: offer.page.port,
        path: offer.page.path.clone(),
        stop: Arc::clone(&offer.stop),
        thread: thread::spawn(move || offer.serve(time)),
        _folder: folder,
    }
}

impl Serving {
    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("a server")
    }

    /// Asks for the file, and reads no response.
    fn get(&self) -> TcpStream {
        let (port, path) = (self.port, &self.path);
        let mut stream = self.connect();
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {ORIGIN}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    }

    fn assert_loads(self) {
        let count = io::copy(&mut self.get(), &mut io::sink()).expect("a response");
        assert!(count > SIZE, "{count}");
        let served = self.thread.join().expect("no panic").expect("served");
        assert_eq!(served, Served::Loaded);
    }
}

fn response(stream: &mut TcpStream) -> String {
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    response
}

#[test]
fn bodies_of_requests_are_not_read() {
    let serving = serve(None);
    for header in [
        "Content-Length: 99999999999",
        "Content-Length: 18446744073709551616",
        "Content-Length: -1",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue\r\nContent-Length: 5",
        "Upgrade: websocket\r\nConnection: Upgrade",
    ] {
        let mut stream = serving.connect();
        let port = serving.port;
        let head = format!("POST /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{header}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("ended");
        let expected = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(response(&mut stream), expected, "{header}");
    }
    // The response arrives, even though the server does not read all that is sent.
    let mut stream = serving.connect();
    let head = b"POST /x HTTP/1.1\r\nContent-Length: 500000\r\n\r\n";
    let body = vec![0; 500_000];
    stream
        .write_all(&[&head[..], &body].concat())
        .expect("sent");
    assert!(response(&mut stream).starts_with("HTTP/1.1 403 "));
    serving.assert_loads();
}

#[test]
fn endless_requests_are_refused() {
    let serving = serve(None);
    let mut stream = serving.connect();
    stream.write_all(b"GET /").expect("sent");
    stream.write_all(&vec![b'a'; 100 << 10]).expect("sent");
    assert!(response(&mut stream).starts_with("HTTP/1.1 403 "));
    serving.assert_loads();
}

#[test]
fn clients_that_do_nothing_block_nothing() {
    let serving = serve(None);
    let idle = [serving.get(), serving.connect(), serving.get()];
    serving.assert_loads();
    drop(idle);

    let serving = serve(Some(Duration::from_millis(500)));
    let idle = serving.get();
    let served = serving.thread.join().expect("no panic").expect("served");
    assert_eq!(served, Served::TimedOut);
    drop(idle);

    let serving = serve(None);
    let idle = serving.get();
    thread::sleep(Duration::from_millis(200));
    serving.stop.store(true, Ordering::Relaxed);
    let served = serving.thread.join().expect("no panic").expect("served");
    assert_eq!(served, Served::Stopped);
    drop(idle);
}

#[test]
fn a_file_is_loaded_once_all_of_it_was_received() {
    let serving = serve(None);
    for count in [0, 1000, SIZE / 2] {
        let stream = serving.get();
        let read = io::copy(&mut stream.take(count), &mut io::sink());
        assert_eq!(read.expect("a response"), count);
    }
    // All but the last bytes are read, the rest is in the system's buffers.
    let stream = serving.get();
    let read = io::copy(&mut stream.take(SIZE), &mut io::sink());
    assert_eq!(read.expect("a response"), SIZE);
    thread::sleep(Duration::from_millis(300));
    assert!(!serving.thread.is_finished());
    serving.assert_loads();
}
