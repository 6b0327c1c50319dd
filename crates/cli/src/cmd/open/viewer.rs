//! The tools in the browser, and how their pages load a file.

use jtrail_export::Target;

/// A tool in the browser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Viewer {
    Perfetto,
    Firefox,
    Speedscope,
}

impl Viewer {
    pub(super) const ALL: [Self; 3] = [Self::Perfetto, Self::Firefox, Self::Speedscope];

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|viewer| viewer.name() == name)
    }

    /// Returns the name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Firefox => "firefox",
            Self::Speedscope => "speedscope",
        }
    }

    /// Returns the name for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Perfetto => "Perfetto",
            Self::Firefox => "the Firefox Profiler",
            Self::Speedscope => "speedscope",
        }
    }

    /// Returns the format that the tool loads.
    pub(super) const fn target(self) -> Target {
        match self {
            Self::Perfetto => Target::Perfetto,
            Self::Firefox => Target::Firefox,
            Self::Speedscope => Target::Speedscope,
        }
    }

    /// Returns the address of the tool's public page.
    pub(super) const fn page(self) -> &'static str {
        match self {
            Self::Perfetto => "https://ui.perfetto.dev",
            Self::Firefox => "https://profiler.firefox.com",
            Self::Speedscope => "https://www.speedscope.app",
        }
    }

    /// Returns the only port that the page may load from. `None` for any.
    pub(super) const fn port(self) -> Option<u16> {
        match self {
            Self::Perfetto => Some(9001), // by its content security policy
            Self::Firefox | Self::Speedscope => None,
        }
    }

    /// Returns the address at which the page loads the file that `url` names.
    pub(super) fn address(self, page: &str, url: &str, title: &str) -> String {
        let url = escaped(url);
        match self {
            Self::Perfetto => format!("{page}/#!/?url={url}"),
            Self::Firefox => format!("{page}/from-url/{url}"),
            Self::Speedscope => format!("{page}/#profileURL={url}&title={}", escaped(title)),
        }
    }
}

/// Returns the text as a part of an address.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// Parses the address of a page: `http://` or `https://`, a host, and perhaps a port.
pub(super) fn page(text: &str) -> Result<String, String> {
    let wrong = || "write the address of a page, like http://localhost:10000".to_owned();
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = host.ok_or_else(wrong)?.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    match !host.is_empty() && host.chars().all(is_plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_the_file() {
        let url = "http://127.0.0.1:9001/0a/app.x";
        let address = |viewer: Viewer| viewer.address(viewer.page(), url, "a b");
        let escaped = "http%3A%2F%2F127.0.0.1%3A9001%2F0a%2Fapp.x";
        assert_eq!(
            address(Viewer::Perfetto),
            format!("https://ui.perfetto.dev/#!/?url={escaped}")
        );
        assert_eq!(
            address(Viewer::Firefox),
            format!("https://profiler.firefox.com/from-url/{escaped}")
        );
        assert_eq!(
            address(Viewer::Speedscope),
            format!("https://www.speedscope.app/#profileURL={escaped}&title=a%20b")
        );
    }

    #[test]
    fn pages_have_a_scheme_and_a_host() {
        assert_eq!(
            page("http://[::1]:10000/").as_deref(),
            Ok("http://[::1]:10000")
        );
        for wrong in [
            "",
            "localhost",
            "http://",
            "file:///tmp",
            "http://a/b",
            "http://a b",
        ] {
            assert!(page(wrong).is_err(), "{wrong}");
        }
    }
}
