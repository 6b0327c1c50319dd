//! A native program with an embedded JVM. It attaches threads of its own, which call Java and
//! detach.
//!
//! The test program starts itself again for this, with [`ARGUMENTS`] set.

use jni::sys::{
    JNI_VERSION_1_8, JNIEnv, JavaVM, JavaVMAttachArgs, JavaVMInitArgs, JavaVMOption, jint, jobject,
    jvalue,
};
use jtrail_testkit::Jdk;
use std::ffi::{CString, c_void};
use std::io::Read;
use std::process::{Command, Output};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Name of the variable that holds the path of `libjvm` and the options of the JVM, one per line.
pub(crate) const ARGUMENTS: &str = "JTRAIL_TEST_EMBED";

/// Returns the value of [`ARGUMENTS`] for a JVM with the harness and these options.
pub(crate) fn arguments(jdk: &Jdk, more: &[String]) -> String {
    let classes = crate::support::harness().class_path(jdk);
    let library = jdk.home.join("lib/server/libjvm.so").display().to_string();
    let classes = format!("-Djava.class.path={}", classes.display());
    [&[library, classes], more].concat().join("\n")
}

/// Runs one of the tests below in a process of its own, with the agent in its JVM. It must succeed.
pub(crate) fn run(jdk: &Jdk, test: &str, options: &str) {
    let loaded = format!("-agentpath:{}={options}", crate::support::agent().display());
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(std::env::current_exe().expect("a path"))
        .args([
            "--ignored",
            "--exact",
            &format!("support::embedded::{test}"),
        ])
        .env(ARGUMENTS, arguments(jdk, &[loaded]))
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    assert!(status.success(), "JDK {}: {text}", jdk.feature);
}

/// What native code creates in [`objects`].
pub(crate) struct NativeObjects;

impl NativeObjects {
    /// A class whose objects have an `int` and a `long`.
    pub(crate) const CLASS: &str = "harness/Allocations$Plain";
    pub(crate) const OBJECTS: u64 = 300;
    /// Number of arrays of [`Self::CLASS`].
    pub(crate) const ARRAYS: u64 = 200;
    /// Number of arrays of `int`.
    pub(crate) const NUMBERS: u64 = 100;
    /// Number of elements of each array.
    pub(crate) const LENGTH: i32 = 1001;
}

type CreateJavaVm =
    unsafe extern "system" fn(*mut *mut JavaVM, *mut *mut c_void, *mut c_void) -> jint;

/// The JVM, for use on other threads.
#[derive(Clone, Copy)]
struct Vm(*mut JavaVM);

// SAFETY: the JNI specification lets any thread call the functions of the invocation interface.
unsafe impl Send for Vm {}

fn text(s: &str) -> CString {
    CString::new(s).expect("no zero inside")
}

impl Vm {
    /// Attaches a thread of this name, runs `body` with its environment, and detaches.
    fn attached(self, name: &str, body: impl FnOnce(*mut JNIEnv)) {
        let name = text(name);
        let mut args = JavaVMAttachArgs {
            version: JNI_VERSION_1_8,
            name: name.as_ptr().cast_mut(),
            group: ptr::null_mut(),
        };
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: the tests destroy the JVM after they have joined the threads that call this.
        // `args` and the name live during the call, and `body` gets the environment of this thread
        // before it detaches.
        unsafe {
            let attached =
                ((**self.0).v1_2.AttachCurrentThread)(self.0, &mut env, (&raw mut args).cast());
            assert_eq!(attached, 0);
            body(env.cast());
            assert_eq!(((**self.0).v1_2.DetachCurrentThread)(self.0), 0);
        }
    }

    /// Attaches, calls `harness.Threads.step` `calls` times, and detaches.
    fn work(self, name: &str, calls: i32) {
        let (class, method, descriptor) = (text("harness/Threads"), text("step"), text("(I)I"));
        // SAFETY: `env` is this thread's environment, and the names are C strings. `step` is a
        // static method of the class, which takes an int and returns one.
        self.attached(name, |env| unsafe {
            let class = ((**env).v1_1.FindClass)(env, class.as_ptr());
            assert!(!class.is_null());
            let step =
                ((**env).v1_1.GetStaticMethodID)(env, class, method.as_ptr(), descriptor.as_ptr());
            assert!(!step.is_null());
            for i in 0..calls {
                ((**env).v1_1.CallStaticIntMethodA)(env, class, step, &jvalue { i });
            }
        });
    }

    /// Attaches as `maker`, creates the objects of [`NativeObjects`], and detaches.
    fn make(self) {
        let (class, constructor, descriptor) =
            (text(NativeObjects::CLASS), text("<init>"), text("()V"));
        // SAFETY: `env` is this thread's environment, and the names are C strings. The constructor
        // takes no arguments, and each local reference is deleted once, after its last use.
        self.attached("maker", |env| unsafe {
            let class = ((**env).v1_1.FindClass)(env, class.as_ptr());
            assert!(!class.is_null());
            let constructor =
                ((**env).v1_1.GetMethodID)(env, class, constructor.as_ptr(), descriptor.as_ptr());
            assert!(!constructor.is_null());
            let forget = |object: jobject| {
                assert!(!object.is_null());
                ((**env).v1_1.DeleteLocalRef)(env, object);
            };
            for _ in 0..NativeObjects::OBJECTS {
                forget(((**env).v1_1.NewObjectA)(
                    env,
                    class,
                    constructor,
                    ptr::null(),
                ));
            }
            for _ in 0..NativeObjects::ARRAYS {
                forget(((**env).v1_1.NewObjectArray)(
                    env,
                    NativeObjects::LENGTH,
                    class,
                    ptr::null_mut(),
                ));
            }
            for _ in 0..NativeObjects::NUMBERS {
                forget(((**env).v1_1.NewIntArray)(env, NativeObjects::LENGTH));
            }
        });
    }
}

/// Starts the JVM that [`ARGUMENTS`] describes.
fn start() -> Vm {
    let arguments = std::env::var(ARGUMENTS).expect("set by the test that starts this one");
    let mut args = arguments.lines();
    let library = text(args.next().expect("the path of libjvm"));
    let texts: Vec<CString> = args.map(text).collect();
    let mut options: Vec<JavaVMOption> = texts
        .iter()
        .map(|t| JavaVMOption {
            optionString: t.as_ptr().cast_mut(),
            extraInfo: ptr::null_mut(),
        })
        .collect();
    let mut init = JavaVMInitArgs {
        version: JNI_VERSION_1_8,
        nOptions: options.len() as jint,
        options: options.as_mut_ptr(),
        ignoreUnrecognized: false,
    };
    let (mut vm, mut env) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the library is a JVM, whose entry point has this type. The arguments live during the
    // call.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        assert!(!handle.is_null(), "{library:?} can't be opened");
        let create = libc::dlsym(handle, text("JNI_CreateJavaVM").as_ptr());
        assert!(!create.is_null(), "no JNI_CreateJavaVM");
        let create: CreateJavaVm = std::mem::transmute(create);
        assert_eq!(
            create(&mut vm, &mut env, (&raw mut init).cast()),
            0,
            "no JVM"
        );
    }
    Vm(vm)
}

/// Destroys the JVM.
fn destroy(vm: Vm) {
    // SAFETY: this thread created the JVM, and the callers have joined the threads that were
    // attached.
    assert_eq!(unsafe { ((**vm.0).v1_2.DestroyJavaVM)(vm.0) }, 0);
}

/// Two threads attach as `native-1` and `native-2`, and call `harness.Threads.step(int)` 10 and 20
/// times. The second one detaches, attaches again as `again`, and calls it 5 times.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn child() {
    let vm = start();
    let first = std::thread::spawn(move || vm.work("native-1", 10));
    let second = std::thread::spawn(move || {
        vm.work("native-2", 20);
        vm.work("again", 5);
    });
    first.join().expect("no panic");
    second.join().expect("no panic");
    destroy(vm);
}

/// A thread attaches, creates the objects of [`NativeObjects`], and detaches.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn objects() {
    let vm = start();
    let maker = std::thread::spawn(move || vm.make());
    maker.join().expect("no panic");
    destroy(vm);
}

/// Until the input ends, threads attach, three at a time, call `harness.Threads.step(int)` a few
/// times, and detach.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn comings_and_goings() {
    let vm = start();
    let is_over = Arc::<AtomicBool>::default();
    let lanes: Vec<_> = (0..3)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let guest = std::thread::spawn(move || vm.work("guest", 3));
                    guest.join().expect("no panic");
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
        })
        .collect();
    println!("[ready]");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    is_over.store(true, Ordering::Relaxed);
    for lane in lanes {
        lane.join().expect("no panic");
    }
    destroy(vm);
}
