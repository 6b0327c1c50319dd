//! `jtrail convert`.

use crate::common::{Folder, encode, jtrail, sample, time};
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_formats::{Encode, Format};
use jtrail_model::*;
use std::fs;

#[test]
fn there_and_back_is_the_same() {
    let folder = Folder::new();
    for (from, to) in [
        (Format::TptpBinary, Format::TptpXml),
        (Format::TptpXml, Format::TptpBinary),
    ] {
        let first = folder.sample(from);
        let path = |name: &str, format: Format| {
            folder
                .at(name)
                .with_extension(format.extension())
                .to_str()
                .expect("UTF-8")
                .to_owned()
        };
        let (second, third) = (path("second", to), path("third", from));
        for (input, output) in [(&first, &second), (&second, &third)] {
            let done = jtrail(&["convert", input, output]);
            assert_eq!(
                (done.code, done.out.as_str(), done.err.as_str()),
                (0, "", "")
            );
        }
        assert_eq!(fs::read(&second).expect("there"), encode(to, &sample()));
        assert_eq!(
            fs::read(&first).expect("there"),
            fs::read(&third).expect("there")
        );
    }
}

#[test]
fn the_format_is_as_asked_whatever_the_name() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let output = folder.at("x.trcbin");
    let output = output.to_str().expect("UTF-8");
    assert_eq!(jtrail(&["convert", &file, output, "--to", "xml"]).code, 0);
    assert_eq!(
        fs::read(output).expect("there"),
        encode(Format::TptpXml, &sample())
    );
    let done = jtrail(&["convert", &file, "-", "--to", "xml"]);
    assert_eq!(done.out.as_bytes(), encode(Format::TptpXml, &sample()));
}

#[test]
fn a_log_profile_has_the_data_version_that_is_asked_for() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let output = folder.at("x.mlpd");
    let output = output.to_str().expect("UTF-8");
    for (asked, version) in [
        (&[][..], DataVersion::V1),
        (&["--mlpd.version", "1"], DataVersion::V1),
        (&["--mlpd.version", "17"], DataVersion::V17),
    ] {
        let done = jtrail(&[&["convert", &file, output][..], asked].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        let mut encoder = mlpd::Encoder::new(version);
        let mut expected = Vec::new();
        encoder.begin(&mut expected);
        for event in sample() {
            encoder.event(&event, &mut expected);
        }
        encoder.end(&mut expected);
        assert_eq!(fs::read(output).expect("there"), expected, "{asked:?}");
    }
    for (args, message) in [
        (
            ["convert", &file, output, "--mlpd.version", "13"],
            "[possible values: 1, 17]",
        ),
        (
            ["convert", &file, "x.trcxml", "--mlpd.version", "17"],
            "--mlpd.version goes with mlpd, and not with xml",
        ),
    ] {
        let done = jtrail(&args);
        assert_eq!(done.code, 2);
        assert!(done.err.contains(message), "{}", done.err);
    }
}

/// The log profile of a truncated trace counts as truncated, although its file is complete.
#[test]
fn a_log_profile_of_a_part_is_reported_as_a_part() {
    let folder = Folder::new();
    let whole = encode(Format::TptpBinary, &sample());
    for (name, bytes, code) in [
        ("whole", &whole[..], 0),
        ("cut", &whole[..whole.len() - 10], 3),
    ] {
        let from = folder.put(&format!("{name}.trcbin"), bytes);
        let to = folder.at(&format!("{name}.mlpd"));
        let to = to.to_str().expect("UTF-8");
        assert_eq!(jtrail(&["convert", &from, to]).code, code);
        let done = jtrail(&["verify", to]);
        assert_eq!(done.code, code, "{}", done.out);
        let reported = done
            .out
            .contains("the trace is truncated: the end is missing");
        assert_eq!(reported, code == 3, "{}", done.out);
    }
}

#[test]
fn a_trace_is_not_written_over_itself() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let before = fs::read(&file).expect("there");
    let same = folder.path().join(".").join("sample.trcbin");
    let done = jtrail(&[
        "convert",
        &file,
        same.to_str().expect("UTF-8"),
        "--to",
        "xml",
    ]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("can't be read and written at once"),
        "{}",
        done.err
    );
    assert_eq!(fs::read(&file).expect("there"), before);
}

#[test]
fn what_comes_before_damage_is_converted() {
    let folder = Folder::new();
    let whole = encode(Format::TptpBinary, &sample());
    let cut = folder.put("cut.trcbin", &whole[..whole.len() - 10]);
    let output = folder.at("cut.trcxml");
    let done = jtrail(&["convert", &cut, output.to_str().expect("UTF-8")]);
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.err.contains(&cut), "{}", done.err);
    let text = fs::read_to_string(&output).expect("there");
    assert!(text.contains("<traceEnd"), "{text}");
    // The converted trace is truncated too. No end is invented.
    assert!(
        !text.contains("</TRACE>") && !text.contains("<agentDestroy"),
        "{text}"
    );
    assert!(!folder.at("cut.trcxml.part").exists());
}

#[test]
fn a_target_that_can_not_be_written_is_an_error() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let output = folder.at("no/such/folder/x.trcxml");
    let done = jtrail(&["convert", &file, output.to_str().expect("UTF-8")]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("can't write") && done.err.contains("No such file"),
        "{}",
        done.err
    );
}

#[cfg(unix)]
#[test]
fn special_files_are_written_to_directly() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    assert_eq!(
        jtrail(&["convert", &file, "/dev/null", "--to", "xml"]).code,
        0
    );
    assert!(!std::path::Path::new("/dev/null.part").exists());
}

/// JinsightLive has only sizes of arrays. If the target format also stores sizes of plain objects,
/// the user is informed that they are missing.
#[test]
fn sizes_that_a_trace_does_not_have_are_reported() {
    let folder = Folder::new();
    let objects = [
        (1, ObjectKind::PLAIN),
        (2, ObjectKind::INT),
        (3, ObjectKind::PLAIN),
    ];
    let mut events = sample();
    let end = events.split_off(events.len() - 2);
    events.push(Event::ClassDef(ClassDef {
        class: ClassId(99),
        name: "[I".into(),
        ..ClassDef::default()
    }));
    for (object, kind) in objects {
        let class = if kind == ObjectKind::PLAIN { 3 } else { 99 };
        events.push(Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: time(40_000_000),
            kind,
            object: ObjectId(object),
            size: 24,
            class: ClassId(class),
            ..ObjectAlloc::default()
        }));
    }
    // An object that is older than the trace. Log profiles don't store such objects, so its size
    // does not count as missing.
    events.push(Event::ObjectDef(ObjectDef {
        object: ObjectId(4),
        time: time(40_000_000),
        kind: ObjectKind::PLAIN,
        size: 24,
        class: ClassId(3),
    }));
    events.extend(end);
    let trace = folder.put("x.trc", &encode(Format::Jinsight, &events));
    for to in Format::ALL {
        let out = folder.at("out");
        let out = out.to_str().expect("UTF-8");
        let done = jtrail(&["convert", &trace, out, "--to", to.name()]);
        assert_eq!(done.code, 0, "{}", done.err);
        let said = match to {
            Format::Jinsight | Format::ProfilerJ => None,
            Format::Mlpd => Some("jtrail: jinsight: missing: sizes of plain objects (2)\n"),
            _ => Some("jtrail: jinsight: missing: sizes of plain objects (3)\n"),
        };
        let (err, has_sizes) = (&done.err, done.err.contains(": missing: "));
        assert_eq!(has_sizes, said.is_some(), "{to:?}: {err}");
        assert!(said.is_none_or(|said| err.ends_with(said)), "{to:?}: {err}");
    }
    let verified = jtrail(&["verify", &trace]);
    assert!(!verified.err.contains("sizes"), "{}", verified.err);
}

/// A terminal shows progress if reading takes longer than a second. Other outputs don't.
#[cfg(unix)]
#[test]
fn progress_is_for_terminals() {
    use crate::common::terminal::Terminal;
    use std::io::{Read as _, Write as _};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    const PAUSE: Duration = Duration::from_millis(100);
    let convert = |err: Stdio| -> Child {
        Command::new(env!("CARGO_BIN_EXE_jtrail"))
            .args(["convert", "-", "/dev/null", "--to", "xml"])
            .stdin(Stdio::piped())
            .stderr(err)
            .env("TERM", "xterm")
            .spawn()
            .expect("run")
    };
    let trace = encode(Format::TptpBinary, &sample());
    // Writes the trace byte by byte until `is_enough` is true, then the rest.
    let feed = |child: &mut Child, is_enough: &dyn Fn() -> bool| {
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut bytes = trace.iter();
        while !is_enough() {
            let byte = bytes.next().expect("enough before the trace ends");
            stdin.write_all(&[*byte]).expect("taken");
            std::thread::sleep(PAUSE);
        }
        stdin.write_all(bytes.as_slice()).expect("taken");
    };

    let (terminal, begun) = (Terminal::new(), Instant::now());
    let mut child = convert(terminal.open().into());
    feed(&mut child, &|| terminal.shown().contains(" B, "));
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    let shown = terminal.end();
    // The bar is removed completely.
    assert!(shown.ends_with("\u{1b}[2K"), "{shown:?}");

    let (long, begun) = (2 * begun.elapsed(), Instant::now());
    let mut child = convert(Stdio::piped());
    feed(&mut child, &|| begun.elapsed() > long);
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    let mut said = String::new();
    let mut err = child.stderr.take().expect("a pipe");
    err.read_to_string(&mut said).expect("UTF-8");
    assert_eq!(said, "");
}

#[cfg(unix)]
mod outputs {
    use super::*;
    use jtrail_records::ownership;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &std::path::Path) -> u32 {
        let about = fs::metadata(path).expect("there");
        about.permissions().mode() & 0o777
    }

    #[test]
    fn files_with_the_temporary_name_are_not_touched() {
        for (subcommand, name) in [("convert", "x.trcxml"), ("export", "x.pftrace")] {
            let folder = Folder::new();
            let bytes = encode(Format::TptpBinary, &sample());
            let file = folder.put(&format!("{name}.part"), &bytes);
            let output = folder.at(name);
            let path = output.to_str().expect("UTF-8");
            let args = match subcommand {
                "convert" => vec![subcommand, &file, path],
                _ => vec![subcommand, &file, "-o", path],
            };
            let done = jtrail(&args);
            assert_eq!((done.code, done.err.as_str()), (0, ""), "{subcommand}");
            assert_eq!(fs::read(&file).expect("there"), bytes, "{subcommand}");
            assert!(output.exists(), "{subcommand}");
        }
    }

    #[test]
    fn an_output_that_another_process_writes_is_refused() {
        let folder = Folder::new();
        let file = folder.sample(Format::TptpBinary);
        let output = folder.at("x.trcxml");
        let path = output.to_str().expect("UTF-8");
        let message = format!("jtrail: can't write {path}: another process writes it\n");
        // The second name is the one that the other process took if the first one was in use.
        folder.put("x.trcxml.part", b"left by a killed process");
        for name in ["x.trcxml.part", "x.trcxml-2.part"] {
            let other = ownership::open(&folder.at(name)).expect("free");
            let done = jtrail(&["convert", &file, path]);
            assert_eq!((done.code, &done.err), (2, &message), "{name}");
            assert!(!output.exists());
            drop(other);
        }
        assert_eq!(jtrail(&["convert", &file, path]).code, 0);
    }

    #[test]
    fn links_and_permissions_remain() {
        let folder = Folder::new();
        let file = folder.sample(Format::TptpBinary);
        fs::create_dir(folder.at("other")).expect("made");
        let (old, new) = (folder.at("other/old.trcxml"), folder.at("other/new.trcxml"));
        fs::write(&old, "old").expect("written");
        for (link, target) in [
            ("old.trcxml", "other/old.trcxml"),
            ("new.trcxml", "other/new.trcxml"),
            ("link.trcxml", "old.trcxml"),
        ] {
            symlink(target, folder.at(link)).expect("a link");
        }
        for bits in [0o600, 0o666, 0o640] {
            fs::set_permissions(&old, fs::Permissions::from_mode(bits)).expect("ours");
            for link in ["old.trcxml", "new.trcxml", "link.trcxml"] {
                let link = folder.at(link);
                let done = jtrail(&["convert", &file, link.to_str().expect("UTF-8")]);
                assert_eq!(done.code, 0, "{}", done.err);
                assert!(link.is_symlink());
            }
            assert_eq!(mode(&old), bits);
        }
        let expected = encode(Format::TptpXml, &sample());
        for path in [old, new] {
            assert_eq!(fs::read(path).expect("there"), expected);
        }
        let names = fs::read_dir(folder.at("other")).expect("there");
        assert_eq!(names.count(), 2);

        symlink("round.trcxml", folder.at("round.trcxml")).expect("a link");
        let round = folder.at("round.trcxml");
        let done = jtrail(&["convert", &file, round.to_str().expect("UTF-8")]);
        assert_eq!(done.code, 2, "{}", done.err);
        // A link to the input is the input.
        symlink(&file, folder.at("in.trcxml")).expect("a link");
        let input = folder.at("in.trcxml");
        let done = jtrail(&["convert", &file, input.to_str().expect("UTF-8")]);
        assert_eq!(done.code, 2, "{}", done.err);
    }

    #[test]
    fn long_and_odd_names() {
        let folder = Folder::new();
        let file = folder.sample(Format::TptpBinary);
        for (length, code) in [(250, 0), (251, 0), (255, 0), (256, 2)] {
            let name = format!("{}.trcxml", "x".repeat(length - 7));
            let output = folder.at(&name);
            let done = jtrail(&["convert", &file, output.to_str().expect("UTF-8")]);
            assert_eq!(done.code, code, "{length}: {}", done.err);
            assert_eq!(output.exists(), code == 0);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 4);

        // Names need not be UTF-8.
        let name = |end: &str| {
            let bytes = [b"caf\xe9", end.as_bytes()].concat();
            folder.path().join(std::ffi::OsString::from_vec(bytes))
        };
        for (subcommand, end) in [
            ("convert", ".trcxml"),
            ("convert", ".pftrace"),
            ("export", ".pftrace"),
            ("export", ".trace.json"),
        ] {
            let mut args = vec!["jtrail".into(), subcommand.into(), file.clone().into()];
            args.extend((subcommand == "export").then(|| "-o".into()));
            args.push(name(end).into_os_string());
            let (mut out, mut err) = (Vec::new(), Vec::new());
            jtrail_cli::main_with(args, &mut out, &mut err);
            let err = String::from_utf8_lossy(&err).into_owned();
            assert_eq!(err, "", "{subcommand}");
            fs::remove_file(name(end)).expect("written");
        }
    }

    #[test]
    fn what_can_not_be_written_or_read_is_said_once() {
        let folder = Folder::new();
        let file = folder.sample(Format::TptpBinary);
        let missing = folder.at("none/x.trcxml");
        let missing = missing.to_str().expect("UTF-8");
        let slash = format!("{}/", folder.at("x").display());
        for (args, message) in [
            (
                vec!["convert", &file, missing],
                format!("can't write {missing}: No such file or directory (os error 2)"),
            ),
            (
                vec!["export", &file, "--to", "perfetto", "-o", missing],
                format!("can't write {missing}: No such file or directory (os error 2)"),
            ),
            (
                vec!["export", &file, "--to", "perfetto", "-o", "/dev/full"],
                "can't write /dev/full: No space left on device (os error 28)".to_owned(),
            ),
            (
                vec!["export", missing, "-o", "x.pftrace"],
                format!("can't read {missing}: No such file or directory (os error 2)"),
            ),
            (
                vec!["convert", &file, &slash, "--to", "xml"],
                format!("can't write {slash}: is a directory"),
            ),
        ] {
            let done = jtrail(&args);
            let message = format!("jtrail: {message}\n");
            assert_eq!((done.code, done.err), (2, message), "{args:?}");
        }
    }
}
