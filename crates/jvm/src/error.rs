//! Why something of the JVM could not be had.

use crate::jvmti::Failure;

/// Why something of the JVM could not be had. Its text is for users, and begins in small letters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The JVM has no JVMTI 1.2; with what `GetEnv` returned.
    #[error("this JVM has no tool interface (GetEnv answered {0})")]
    NoInterface(i32),
    /// The running thread has no environment.
    #[error("the JVM gave no environment")]
    NoEnvironment,
    /// There is no memory for a reference.
    #[error("the JVM has no memory for a reference")]
    NoMemory,
    /// A function of JVMTI failed.
    #[error(transparent)]
    Jvmti(#[from] Failure),
    /// Java code threw, or a function of JNI failed. No exception stays behind.
    #[error(transparent)]
    Jni(#[from] jni::errors::Error),
}
