//! Trace formats: their names, and their detection by the first bytes of a trace.

use crate::tally::Kinds as _;
use crate::{Decode, Encode, RemarkKind, jinsight, mlpd, profilerj, tptp, tracelog, trail};

/// A trace format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// TPTP's XML document (`.trcxml`).
    TptpXml,
    /// TPTP's binary stream (`.trcbin`).
    TptpBinary,
    /// JinsightLive (`.trc`).
    Jinsight,
    /// ProfilerJ's snapshot (`.xml`).
    ProfilerJ,
    /// Mono's log profile (`.mlpd`).
    Mlpd,
    /// The text trace of Tizen's CoreProfiler (`.log`).
    TraceLog,
    /// jtrail's own format (`.trail`).
    Trail,
}

/// Number of bytes at the start of a trace that [`Format::detect`] needs.
pub const DETECT_BYTES: usize = 128;

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::TptpXml,
        Self::TptpBinary,
        Self::Jinsight,
        Self::Mlpd,
        Self::TraceLog,
        Self::ProfilerJ,
        Self::Trail,
    ];

    /// Returns the name of the format in the option `format=`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TptpXml => "xml",
            Self::TptpBinary => "binary",
            Self::Jinsight => "jinsight",
            Self::ProfilerJ => "profilerj",
            Self::Mlpd => "mlpd",
            Self::TraceLog => "tracelog",
            Self::Trail => "trail",
        }
    }

    /// Returns the usual extension of the format's files, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::TptpXml => "trcxml",
            Self::TptpBinary => "trcbin",
            Self::Jinsight => "trc",
            Self::ProfilerJ => "xml",
            Self::Mlpd => "mlpd",
            Self::TraceLog => "log",
            Self::Trail => "trail",
        }
    }

    /// Returns the kinds of things that the decoder counts. At the end of a trace, the decoder
    /// makes one remark for each kind.
    pub const fn remark_kinds(self) -> &'static [RemarkKind] {
        match self {
            Self::Jinsight => jinsight::Remarked::ROWS,
            Self::ProfilerJ => profilerj::Remarked::ROWS,
            Self::Mlpd => mlpd::Remarked::ROWS,
            Self::TraceLog => tracelog::Remarked::ROWS,
            Self::TptpXml => tptp::xml::Remarked::ROWS,
            Self::TptpBinary => tptp::binary::Remarked::ROWS,
            Self::Trail => &[],
        }
    }

    /// Returns the format with the name `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Returns the format whose files have the extension `extension`.
    pub fn by_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.extension() == extension)
    }

    /// Returns the format of a trace that starts with `head`: its first [`DETECT_BYTES`] bytes, or
    /// the whole trace if it is shorter.
    pub fn detect(head: &[u8]) -> Option<Self> {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        if head.starts_with(&trail::MAGIC) {
            Some(Self::Trail)
        } else if head.starts_with(tptp::binary::MAGIC) {
            Some(Self::TptpBinary)
        } else if head.starts_with(jinsight::MAGIC) {
            Some(Self::Jinsight)
        } else if profilerj::is_snapshot(text) {
            Some(Self::ProfilerJ)
        } else if head.starts_with(mlpd::MAGIC) || head.starts_with(mlpd::GZIP_MAGIC) {
            Some(Self::Mlpd)
        } else if text.trim_ascii_start().starts_with(b"<") {
            Some(Self::TptpXml)
        } else if tracelog::is_begin(text) {
            Some(Self::TraceLog)
        } else {
            None
        }
    }

    /// Returns a new encoder.
    pub fn encoder(self) -> Box<dyn Encode> {
        match self {
            Self::TptpXml => Box::new(tptp::xml::Encoder::default()),
            Self::TptpBinary => Box::new(tptp::binary::Encoder::default()),
            Self::Jinsight => Box::new(jinsight::Encoder::default()),
            Self::ProfilerJ => Box::new(profilerj::Encoder::default()),
            Self::Mlpd => Box::new(mlpd::Encoder::default()),
            Self::TraceLog => Box::new(tracelog::Encoder::default()),
            Self::Trail => Box::new(trail::Encoder::default()),
        }
    }

    /// Returns a new decoder.
    pub fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::TptpXml => Box::new(tptp::xml::Decoder::default()),
            Self::TptpBinary => Box::new(tptp::binary::Decoder::default()),
            Self::Jinsight => Box::new(jinsight::Decoder::default()),
            Self::ProfilerJ => Box::new(profilerj::Decoder::default()),
            Self::Mlpd => Box::new(mlpd::Decoder::default()),
            Self::TraceLog => Box::new(tracelog::Decoder::default()),
            Self::Trail => Box::new(trail::Decoder::default()),
        }
    }
}
