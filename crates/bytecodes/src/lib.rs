//! A test agent that lists the bytecode which the JVM runs, as JVMTI's GetBytecodes shows it. The
//! tests compare the lists before and after a run of the jtrail agent.
//!
//! The agent is loaded into a running JVM, writes a file and does nothing else. Its options are a
//! list of pairs; only `file=PATH` is used. The file has one line for each method of a class whose
//! signature begins with one of [`PREFIXES`].

use jni::sys::{JavaVM, jclass, jint, jmethodID};
use jtrail_jvm::jvmti::abi::{self as jvmti, Capabilities, RawEnv};
use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::fmt::Write;
use std::{fs, ptr, slice};

const PREFIXES: [&str; 4] = [
    "Lharness/",
    "Ljava/lang/Object;",
    "Ljava/util/ArrayList;",
    "Ljava/util/concurrent/locks/LockSupport;",
];
/// The bit of the capability `can_get_bytecodes`.
const GET_BYTECODES: usize = 3;
/// The slot of GetBytecodes, which jtrail's own bindings lack.
const GET_BYTECODES_SLOT: usize = 75;

type GetBytecodes =
    unsafe extern "system" fn(RawEnv, jmethodID, *mut jint, *mut *mut c_uchar) -> jvmti::Error;

/// Copies a C string that the JVM allocated. The string is never freed, because this agent is
/// loaded a few times at most.
///
/// # Safety
/// `string` points to a C string that the JVM neither frees nor changes during the call.
unsafe fn text(string: *const c_char) -> String {
    // SAFETY: `string` is a C string, as the caller ensures; it is copied before this function
    // returns.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

/// Appends a line for each method of the class that has code.
///
/// # Safety
/// `env` is an environment that has `can_get_bytecodes` and is not disposed of. `class` is a valid
/// reference of the running thread.
unsafe fn class_lines(env: RawEnv, class: jclass, out: &mut Vec<String>) {
    let mut signature = ptr::null_mut();
    // SAFETY: `env` and `class` are valid, as the caller ensures. If a function returns 0, the JVM
    // has set the count, and the pointer to an array of that length or to a C string; nothing
    // deallocates these. The slot of GetBytecodes holds a function of this type (JVMTI
    // specification, "Function Table").
    unsafe {
        if jvmti::get_class_signature(env, class, &mut signature, ptr::null_mut()).0 != 0 {
            return;
        }
        let signature = text(signature);
        if !PREFIXES.iter().any(|prefix| signature.starts_with(prefix)) {
            return;
        }
        let (mut count, mut methods) = (0, ptr::null_mut());
        if jvmti::get_class_methods(env, class, &mut count, &mut methods).0 != 0 {
            return;
        }
        for method in slice::from_raw_parts(methods, count as usize) {
            let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
            jvmti::get_method_name(env, *method, &mut name, &mut descriptor, ptr::null_mut());
            let get: GetBytecodes = std::mem::transmute((**env)[GET_BYTECODES_SLOT - 1]);
            let (mut length, mut code) = (0, ptr::null_mut());
            if get(env, *method, &mut length, &mut code).0 != 0 {
                continue; // abstract or native
            }
            let mut line = format!("{signature}{}{} ", text(name), text(descriptor));
            for byte in slice::from_raw_parts(code, length as usize) {
                let _ = write!(line, "{byte:02x}");
            }
            out.push(line);
        }
    }
}

/// Entry point: the JVM calls it when the agent is loaded into a running JVM.
///
/// # Safety
/// Only the JVM may call this: `vm` is its own interface, and `options` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the JVM passes a C string, which is valid during this call.
    let options = unsafe { text(options) };
    let Some(file) = options
        .split(',')
        .find_map(|pair| pair.strip_prefix("file="))
    else {
        return -1;
    };
    let mut env: *mut c_void = ptr::null_mut();
    const VERSION: jint = 0x3001_0200;
    // SAFETY: `vm` is the interface that the JVM passed to this call; `env` receives the result.
    if unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, VERSION) } != 0 {
        return -1;
    }
    let env: RawEnv = env.cast();
    let mut lines = Vec::new();
    // SAFETY: GetEnv has just created the environment. Only this function uses it, and disposes of
    // it last. The capabilities are a table of 16 bytes. If GetLoadedClasses returns 0, `classes`
    // has `count` local references of this thread.
    unsafe {
        // `Capability`, the crate's enum, only has the capabilities that jtrail requests.
        let capabilities: Capabilities = std::mem::transmute([1_u32 << GET_BYTECODES, 0, 0, 0]);
        if jvmti::add_capabilities(env, &capabilities).0 != 0 {
            return -1;
        }
        let (mut count, mut classes) = (0, ptr::null_mut());
        if jvmti::get_loaded_classes(env, &mut count, &mut classes).0 != 0 {
            return -1;
        }
        for class in slice::from_raw_parts(classes, count as usize) {
            class_lines(env, *class, &mut lines);
        }
        jvmti::dispose_environment(env);
    }
    lines.sort();
    match fs::write(file, lines.join("\n") + "\n") {
        Ok(()) => 0,
        Err(_) => -1,
    }
}
