//! Checks that the agent's modules are layers: each imports only itself and the modules below it.

use std::fs;
use std::path::Path;

/// The modules, from the uppermost to the lowest.
const LAYERS: [&str; 12] = [
    "startup",
    "agent",
    "control",
    "callbacks",
    "sources",
    "instrument",
    "objects",
    "session",
    "hook_class",
    "error",
    "allocated",
    "java_constants",
];

fn depth(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| *layer == module);
    found.unwrap_or_else(|| panic!("{module} is in no layer"))
}

/// Checks the imports of all files of a module. Returns the number of imports.
fn check(module: &str, path: &Path) -> usize {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder");
        let entries = entries.map(|entry| entry.expect("an entry").path());
        return entries.map(|entry| check(module, &entry)).sum();
    }
    let text = fs::read_to_string(path).expect("a source file");
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.flat_map(|line| [line, "\n"]).collect();
    let imports = code.split("crate::").skip(1);
    let imports = imports.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let imported = imports.filter_map(|mut words| words.next());
    let check = |imported: &str| {
        let place = path.display();
        let is_below = depth(imported) >= depth(module);
        assert!(is_below, "{place}: {module} imports {imported}");
    };
    imported.inspect(|imported| check(imported)).count()
}

#[test]
fn each_module_imports_only_what_is_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut imports = 0;
    for entry in fs::read_dir(source).expect("the sources") {
        let path = entry.expect("an entry").path();
        let module = path.file_stem().and_then(|stem| stem.to_str());
        match module.expect("a name") {
            "lib" | "layers" | "java" => {}
            module => imports += check(module, &path),
        }
    }
    assert!(imports > 100, "{imports} imports");
}
