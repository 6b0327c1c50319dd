//! The page of the viewer, which `crates/view/page` is built to.

/// A file of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageFile {
    /// Path in addresses.
    pub path: &'static str,
    /// The type, as HTTP has it.
    pub content_type: &'static str,
    /// The contents.
    pub body: &'static [u8],
}

/// The files of the page.
pub const FILES: [PageFile; 3] = [
    PageFile {
        path: "/",
        content_type: "text/html; charset=utf-8",
        body: include_bytes!("../page/dist/index.html"),
    },
    PageFile {
        path: "/view.js",
        content_type: "text/javascript; charset=utf-8",
        body: include_bytes!("../page/dist/view.js"),
    },
    PageFile {
        path: "/view.css",
        content_type: "text/css; charset=utf-8",
        body: include_bytes!("../page/dist/view.css"),
    },
];

/// What the page may do: it needs nothing but its own files and answers.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                          connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";
