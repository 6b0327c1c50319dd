//! The document around the data: the files of the page in one.

use std::io::{self, Write};

const HTML: &str = include_str!("../../page/dist/index.html");
const SCRIPT: &str = include_str!("../../page/dist/view.js");
const STYLE: &str = include_str!("../../page/dist/view.css");

/// SHA-256 of the script and of the style sheet in base64, a line each. The page's build writes
/// them.
const HASHES: &str = include_str!("../../page/dist/view.sha256");

/// What the document has in the places of its files.
const STYLE_LINK: &str = "<link rel=\"stylesheet\" href=\"view.css\">";
const SCRIPT_LINK: &str = "<script src=\"view.js\"></script>";
/// The policy must precede all that it is about.
const CHARSET: &str = "<meta charset=\"utf-8\">";

/// Writes the document. `data` writes the data as JSON.
///
/// # Errors
/// Those of `out` and `data`.
pub(super) fn write<W: Write>(
    out: &mut W,
    data: impl FnOnce(&mut Escaping<'_, W>) -> io::Result<()>,
) -> io::Result<()> {
    let no_place = || io::Error::other("the page has no places for its files");
    let (head, rest) = HTML.split_once(CHARSET).ok_or_else(no_place)?;
    let (before_style, rest) = rest.split_once(STYLE_LINK).ok_or_else(no_place)?;
    let (before_script, rest) = rest.split_once(SCRIPT_LINK).ok_or_else(no_place)?;
    let (script, style) = HASHES.trim_end().split_once('\n').ok_or_else(no_place)?;
    write!(
        out,
        "{head}{CHARSET}\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src \
         'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'\">{before_style}<style>{STYLE}</style>{before_script}\
         <script type=\"application/json\" id=\"jtrail-data\">"
    )?;
    data(&mut Escaping(out))?;
    write!(out, "</script>\n<script>{SCRIPT}</script>{rest}")
}

/// Writes JSON such that no text in it ends the element around it. In JSON, `<` occurs in strings
/// alone, where its escape means the same.
pub(super) struct Escaping<'a, W>(&'a mut W);

impl<W: Write> Write for Escaping<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        for (place, part) in bytes.split(|byte| *byte == b'<').enumerate() {
            if place > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_all_in_itself() {
        let mut out = Vec::new();
        write(&mut out, |out| out.write_all(b"\"</script><!--\"")).expect("written");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.contains(">\"\\u003c/script>\\u003c!--\"</script>\n<script>"));
        assert!(text.contains(&format!("<style>{STYLE}</style>")));
        assert!(text.contains(&format!("<script>{SCRIPT}</script>")));
        assert_eq!(text.matches("<script").count(), 2);
        for address in [" src=", "href=\"view", "http:", "https:", "<base"] {
            let own = text.replace(SCRIPT, "");
            assert!(!own.contains(address), "{address}");
        }
        let policy = text.find("Content-Security-Policy").expect("a policy");
        assert!(policy < text.find("<style").expect("a style sheet"));
    }

    #[test]
    fn the_files_do_not_end_their_elements() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
    }
}
