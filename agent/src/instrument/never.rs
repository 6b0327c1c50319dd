//! Code that is never instrumented, even if the filters include it, and the reasons.

/// Returns the reason why no method of the class is ever traced; `None` if methods of the class may
/// be traced. The reason is empty if the trace need not mention it. `name` is the internal name
/// (`a/b/C`).
pub(crate) fn class(name: &str) -> Option<&'static str> {
    match name {
        // Every constructor calls `Object`'s constructor, and `Object`'s empty finalizer must stay
        // empty.
        "java/lang/Object" => Some("java.lang.Object is what everything else is made of"),
        // The agent's own classes need no mention.
        "jtrail/Binder" => Some(""),
        _ if name.starts_with(crate::hook_class::HOOK_NAME) => Some(""),
        _ => None,
    }
}

/// Methods of the JDK that must stay unchanged: class, and name with descriptor. They call the
/// notifications that begin and end a virtual thread. So a call of such a method begins on one
/// thread and ends on another. In JDK 21, the methods have no annotation that says so.
pub(crate) const METHODS: [(&str, &str); 2] = [
    ("java/lang/VirtualThread", "run(Ljava/lang/Runnable;)V"),
    ("java/lang/VirtualThread$VThreadContinuation$1", "run()V"),
];

/// Annotations of the JDK that mark methods which must stay unchanged, and the reasons.
pub(crate) const ANNOTATIONS: [(&str, &str); 6] = [
    ("Ljdk/internal/vm/annotation/IntrinsicCandidate;", INTRINSIC),
    ("Ljdk/internal/HotSpotIntrinsicCandidate;", INTRINSIC),
    (
        "Ljdk/internal/vm/annotation/JvmtiMountTransition;",
        TRANSITION,
    ),
    ("Ljdk/internal/vm/annotation/JvmtiHideEvents;", TRANSITION),
    (
        "Ljdk/internal/vm/annotation/ChangesCurrentThread;",
        TRANSITION,
    ),
    (
        "Ljava/lang/invoke/LambdaForm$Compiled;",
        "compiled code takes its place",
    ),
];

pub(crate) const TRIVIAL: &str = "trivial=skip: short, without calls, loops and monitors";
pub(crate) const INTRINSIC: &str = "compiled code replaces it, and would drop the hook silently";
pub(crate) const TRANSITION: &str = "it runs while a virtual thread changes its carrier";
