//! Errors of the JVM's interfaces, JNI and JVMTI.

use crate::jvmti::Failure;

/// An error of JNI or JVMTI. Its text is for users and begins with a small letter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The JVM has no JVMTI 1.2. Holds what `GetEnv` returned.
    #[error("this JVM has no tool interface (GetEnv answered {0})")]
    NoInterface(i32),
    /// JVMTI created no environment.
    #[error("the JVM gave no environment")]
    NoEnvironment,
    /// The JVM has no memory for a reference.
    #[error("the JVM has no memory for a reference")]
    NoMemory,
    /// A JVMTI function failed.
    #[error(transparent)]
    Jvmti(#[from] Failure),
    /// Java code threw an exception, which was cleared, or a JNI function failed.
    #[error(transparent)]
    Jni(#[from] jni::errors::Error),
}
