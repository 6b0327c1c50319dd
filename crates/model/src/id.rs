//! Ids: 1, 2, 3 … in the order in which things were defined; 0 means none.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u64);

        impl $name {
            /// The id of nothing, or of something unknown.
            pub const NONE: Self = Self(0);

            /// Returns true if this is [`Self::NONE`].
            pub const fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// Id of a thread: a platform thread, a virtual thread, or one that native code attached.
    ThreadId;
    /// Id of a class. Classes with one name from different loaders have different ids.
    ClassId;
    /// Id of a method of one class.
    MethodId;
    /// Id of an object.
    ObjectId;
    /// Id of a heap dump.
    HeapDumpId;
}
