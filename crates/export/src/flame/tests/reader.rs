//! Reads the data of a page.

use flate2::read::ZlibDecoder;
use std::io::Read;

/// The data of a page.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Data {
    pub(super) traces: Vec<Trace>,
    pub(super) left_out: u64,
    /// Names and numbers of threads of each trace: `main 1 0`.
    pub(super) threads: Vec<String>,
    pub(super) paths: Vec<Path>,
}

#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Trace {
    pub(super) title: String,
    pub(super) program: String,
    pub(super) start: i64,
    pub(super) duration: u64,
    pub(super) threads: u64,
    pub(super) marks: Vec<String>,
}

#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Path {
    /// Frames, the outermost first.
    pub(super) frames: Vec<String>,
    /// For each trace: calls, time, CPU time, objects, bytes, blocked, waiting.
    pub(super) weights: Vec<[i64; 7]>,
}

impl Data {
    /// Returns a line for each path: the frames, and the weights of each trace.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |path: &Path| {
            let weights = path.weights.iter().map(|w| format!("{w:?}"));
            let weights: Vec<String> = weights.collect();
            format!("{} {}", path.frames.join(";"), weights.join(" "))
        };
        self.paths.iter().map(line).collect()
    }
}

/// Returns the text between two others.
pub(super) fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).expect("the start");
    rest.split_once(end).expect("the end").0
}

/// Returns the data of a page.
pub(super) fn read(page: &str) -> Data {
    let packed = between(
        page,
        "<script type=\"text/plain\" id=\"profile\">",
        "</script>",
    );
    let (zlib, mut bytes) = (decode_base64(packed), Vec::new());
    let mut decoder = ZlibDecoder::new(&*zlib);
    decoder.read_to_end(&mut bytes).expect("a zlib stream");
    let mut input = Input(&bytes);
    let data = input.data();
    assert!(input.0.is_empty(), "{} bytes remain", input.0.len());
    data
}

fn decode_base64(text: &str) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no base64: {digit}"),
    };
    assert_eq!(text.len() % 4, 0);
    let digits = text.trim_end_matches('=').as_bytes();
    let group = |group: &[u8]| {
        let bits = |(at, digit): (usize, &u8)| u32::from(value(*digit)) << (18 - 6 * at);
        let bits: u32 = group.iter().enumerate().map(bits).sum();
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take(&mut self, len: u64) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(len as usize);
        self.0 = rest;
        taken.to_vec()
    }

    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = u64::from(self.take(1)[0]);
            value |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let value = self.number();
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    fn text(&mut self) -> String {
        let len = self.number();
        String::from_utf8(self.take(len)).expect("UTF-8")
    }

    fn texts(&mut self) -> Vec<String> {
        (0..self.number()).map(|_| self.text()).collect()
    }

    fn sorted_texts(&mut self) -> Vec<String> {
        let mut before = Vec::new();
        let count = self.number();
        let mut texts = Vec::new();
        for _ in 0..count {
            before.truncate(self.number() as usize);
            let len = self.number();
            before.extend(self.take(len));
            texts.push(String::from_utf8(before.clone()).expect("UTF-8"));
        }
        assert!(texts.is_sorted());
        texts
    }

    fn column(&mut self, len: u64) -> Vec<u64> {
        (0..len).map(|_| self.number()).collect()
    }

    fn data(&mut self) -> Data {
        assert_eq!(self.number(), 1, "version");
        let count = self.number();
        let traces: Vec<Trace> = (0..count).map(|_| self.trace()).collect();
        let left_out = self.number();
        let (threads, frames) = self.frames(count);
        Data {
            paths: self.paths(count, &frames),
            traces,
            left_out,
            threads,
        }
    }

    fn trace(&mut self) -> Trace {
        Trace {
            title: self.text(),
            program: self.text(),
            start: self.signed(),
            duration: self.number(),
            threads: self.number(),
            marks: self.texts(),
        }
    }

    /// Returns the threads, and the names of all frames.
    fn frames(&mut self, traces: u64) -> (Vec<String>, Vec<String>) {
        let parts = [(); 3].map(|()| self.sorted_texts());
        let names = self.texts();
        let mut threads = names.clone();
        for _ in 0..traces {
            for thread in &mut threads {
                *thread += &format!(" {}", self.number());
            }
        }
        let count = self.number();
        let columns = [(); 3].map(|()| self.column(count));
        let mut frames = vec!["LEFT OUT".to_owned(), "SUMS".to_owned()];
        frames.extend(names.into_iter().map(|name| format!("[{name}]")));
        for method in 0..count as usize {
            let part = |at: usize| &parts[at][columns[at][method] as usize];
            let dot = if part(0).is_empty() { "" } else { "." };
            frames.push(format!("{}{dot}{}{}", part(0), part(1), part(2)));
        }
        (threads, frames)
    }

    fn paths(&mut self, traces: u64, frames: &[String]) -> Vec<Path> {
        let count = self.number();
        let levels = self.column(count);
        let mut open: Vec<String> = Vec::new();
        let mut paths = Vec::new();
        for (level, frame) in levels.into_iter().zip(self.column(count)) {
            open.truncate(open.len() - level as usize);
            open.push(frames[frame as usize].clone());
            paths.push(Path {
                frames: open.clone(),
                weights: vec![[0; 7]; traces as usize],
            });
        }
        for trace in 0..traces as usize {
            let bits = self.number();
            for weight in (0..7).filter(|weight| bits >> weight & 1 == 1) {
                for path in &mut paths {
                    path.weights[trace][weight] = match weight {
                        0 | 3 => self.number() as i64,
                        _ => self.signed(),
                    };
                }
            }
        }
        paths
    }
}
