//! A pseudo terminal for tests.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pseudo terminal with 80 columns and 24 rows. All output is collected.
pub(crate) struct Terminal {
    /// The user's side of the terminal, for typing.
    pub(crate) keys: File,
    name: String,
    /// The program's side. It keeps the terminal open while no program uses it.
    side: File,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("ours");
        unlockpt(&master).expect("ours");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let name = name.into_string().expect("ASCII");
        let side = open(&name);
        let keys = File::from(master);
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let (mut from, to) = (keys.try_clone().expect("a copy"), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // An error means that no program has the terminal open any more.
            while let Ok(n @ 1..) = from.read(&mut piece) {
                to.lock().expect("no panic").extend_from_slice(&piece[..n]);
            }
        });
        let terminal = Self {
            keys,
            name,
            side,
            shown,
            reader,
        };
        terminal.resize(80, 24);
        terminal
    }

    /// Opens the program's side of the terminal.
    pub(crate) fn open(&self) -> File {
        open(&self.name)
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.side, size).expect("a terminal");
    }

    /// Returns the output so far, including control sequences.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned()
    }

    pub(crate) fn wait_for(&self, text: &str) {
        let begun = Instant::now();
        while !self.shown().contains(text) {
            assert!(begun.elapsed() < Duration::from_secs(60), "never {text}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no program has the terminal open, and returns the output.
    pub(crate) fn end(self) -> String {
        drop(self.side);
        self.reader.join().expect("no panic");
        String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned()
    }
}

fn open(name: &str) -> File {
    let options = OpenOptions::new().read(true).write(true).to_owned();
    options.open(name).expect("open")
}
