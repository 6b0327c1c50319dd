//! All formats of a trace, with their variants.

use jtrail_formats::Format;

/// A way to write a trace: options, the extension of the default file, and the format that a reader
/// detects.
pub(crate) struct Spelling {
    pub(crate) options: &'static str,
    pub(crate) ending: &'static str,
    pub(crate) format: Format,
}

const fn spelling(options: &'static str, ending: &'static str, format: Format) -> Spelling {
    Spelling {
        options,
        ending,
        format,
    }
}

pub(crate) const SPELLINGS: [Spelling; 8] = [
    spelling("format=xml", "trcxml", Format::TptpXml),
    spelling("format=binary", "trcbin", Format::TptpBinary),
    spelling("format=jinsight", "trc", Format::Jinsight),
    spelling("format=mlpd", "mlpd", Format::Mlpd),
    spelling("format=mlpd,mlpd.version=17", "mlpd", Format::Mlpd),
    spelling("format=tracelog", "log", Format::TraceLog),
    spelling("format=trail", "trail", Format::Trail),
    spelling("format=profilerj", "xml", Format::ProfilerJ),
];
