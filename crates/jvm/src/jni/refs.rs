//! References to Java objects. Local references live as long as their frame, global and weak ones
//! until they are dropped.

use super::env::{Env, Vm};
use jni::sys::{_jobject, JavaVM, jobject};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Marker types for the kinds of objects that references refer to.
pub mod kind {
    /// Any object.
    pub enum Object {}
    /// A `java.lang.Class`.
    pub enum Class {}
    /// A `java.lang.Thread`.
    pub enum Thread {}
    /// A `java.lang.ClassLoader`.
    pub enum Loader {}
    /// A `java.lang.String`.
    pub enum Text {}
    /// An array of references.
    pub enum ObjectArray {}
}

/// A non-null reference to an object of the kind `K`, valid at least during `'e`.
///
/// It is a local reference, or is borrowed from a [`GlobalRef`]; so the JVM keeps the object alive.
#[repr(transparent)]
pub struct Handle<'e, K> {
    raw: NonNull<_jobject>,
    /// Makes the type neither `Send` nor `Sync`: a local reference belongs to its thread.
    lifetime: PhantomData<(&'e (), *mut K)>,
}

/// A reference to any object.
pub type ObjectRef<'e> = Handle<'e, kind::Object>;
/// A reference to a class.
pub type ClassRef<'e> = Handle<'e, kind::Class>;
/// A reference to a thread.
pub type ThreadRef<'e> = Handle<'e, kind::Thread>;
/// A reference to a class loader.
pub type LoaderRef<'e> = Handle<'e, kind::Loader>;
/// A reference to a string.
pub type TextRef<'e> = Handle<'e, kind::Text>;
/// A reference to an array of references.
pub type ObjectArrayRef<'e> = Handle<'e, kind::ObjectArray>;

impl<K> Clone for Handle<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Handle<'_, K> {}

impl<'e, K> Handle<'e, K> {
    /// Wraps the reference `raw`, which lives as long as the frame of `env`; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a reference to an object of the kind `K` that is valid during `'e`: an
    /// argument of the callback or native method that got `env`, or a local reference of its frame.
    pub unsafe fn from_raw(_env: &Env<'e>, raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// Like [`Self::from_raw`], but without an environment.
    ///
    /// # Safety
    /// `raw` is null, or a reference to an object of the kind `K` that is valid during `'e`.
    pub(crate) unsafe fn from_raw_for(raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// Returns the raw reference.
    pub fn as_raw(self) -> jobject {
        self.raw.as_ptr()
    }

    /// Returns the same reference as an [`ObjectRef`].
    pub fn as_object(self) -> ObjectRef<'e> {
        // SAFETY: everything is an object.
        unsafe { self.cast() }
    }

    /// Returns the same reference as a `Handle` of the kind `J`.
    ///
    /// # Safety
    /// The object is of the kind `J`.
    pub(crate) unsafe fn cast<J>(self) -> Handle<'e, J> {
        Handle {
            raw: self.raw,
            lifetime: PhantomData,
        }
    }
}

impl ObjectRef<'_> {
    /// Returns the current address of the object. Any garbage collection may move the object.
    ///
    /// In HotSpot, a slot holds the object's address, and a reference is the address of the slot.
    /// The two lowest bits of the reference tell the kind of the slot.
    pub fn address(self) -> u64 {
        const KIND_OF_SLOT: usize = 3;
        let slot = self.as_raw().map_addr(|address| address & !KIND_OF_SLOT);
        // SAFETY: the reference is valid, so its slot is readable. The read is volatile because the
        // collector may write the slot at the same time.
        unsafe { slot.cast::<u64>().read_volatile() }
    }
}

/// Returns the raw form of an optional reference: null for `None`.
pub(crate) fn raw_or_null<K>(handle: Option<Handle<'_, K>>) -> jobject {
    handle.map_or(ptr::null_mut(), Handle::as_raw)
}

/// The JVM of the process, which destructors need.
pub(super) struct StaticVm;

static VM: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());

impl StaticVm {
    pub(super) fn set(vm: Vm) {
        VM.store(vm.as_ptr(), Ordering::Relaxed);
    }

    /// Runs `f` with the running thread's environment, if the thread is attached to the JVM.
    fn with_env<T>(f: impl FnOnce(&Env<'_>) -> T) -> Option<T> {
        // SAFETY: the pointer is null, or was passed to `Vm::new` before, by a caller that ensured
        // its validity.
        unsafe { Vm::new(VM.load(Ordering::Relaxed)) }?.with_env(f)
    }
}

/// A global reference. Dropping it on a thread that is attached to the JVM deletes the reference.
/// On any other thread, the reference leaks and keeps its object alive.
pub struct GlobalRef<K = kind::Object> {
    raw: NonNull<_jobject>,
    kind: PhantomData<*mut K>,
}

// SAFETY: JNI lets any thread use a global reference.
unsafe impl<K> Send for GlobalRef<K> {}
// SAFETY: several threads may use a global reference at the same time, says JNI.
unsafe impl<K> Sync for GlobalRef<K> {}

impl<K> GlobalRef<K> {
    /// Creates a global reference to the object; `None` if the JVM has no memory for one.
    pub fn new(env: &Env<'_>, object: Handle<'_, K>) -> Option<Self> {
        // SAFETY: the environment is the running thread's, and the handle is valid.
        let raw = unsafe { (env.functions().NewGlobalRef)(env.as_ptr(), object.as_raw()) };
        Some(Self {
            raw: NonNull::new(raw)?,
            kind: PhantomData,
        })
    }

    /// Takes ownership of a global reference that the `jni` crate has created; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a global reference to an object of the kind `K` that no other code
    /// deletes.
    pub(crate) unsafe fn from_raw(raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            kind: PhantomData,
        })
    }

    /// Returns a handle that borrows this reference.
    pub fn get(&self) -> Handle<'_, K> {
        Handle {
            raw: self.raw,
            lifetime: PhantomData,
        }
    }
}

impl<K> Drop for GlobalRef<K> {
    fn drop(&mut self) {
        StaticVm::with_env(|env| {
            // SAFETY: the environment is the running thread's. All handles that borrow from this
            // reference have ended.
            unsafe { (env.functions().DeleteGlobalRef)(env.as_ptr(), self.raw.as_ptr()) };
        });
    }
}

/// A weak global reference, which does not keep its object alive. Dropping it works as for
/// [`GlobalRef`].
pub struct WeakRef<K = kind::Object> {
    raw: RawWeak,
    kind: PhantomData<*mut K>,
}

// SAFETY: JNI lets any thread use a weak global reference.
unsafe impl<K> Send for WeakRef<K> {}

impl<K> WeakRef<K> {
    /// Creates a weak reference to the object; `None` if the JVM has no memory for one.
    pub fn new(env: &Env<'_>, object: Handle<'_, K>) -> Option<Self> {
        Some(Self {
            raw: RawWeak::new(env, object.as_object())?,
            kind: PhantomData,
        })
    }

    /// Returns true if the object was collected. This check does not keep the object alive.
    pub fn is_cleared(&self, env: &Env<'_>) -> bool {
        self.raw.is_cleared(env)
    }

    /// Returns a local reference to the object; `None` if the object was collected.
    pub fn upgrade<'e>(&self, env: &Env<'e>) -> Option<Handle<'e, K>> {
        // SAFETY: the environment is the running thread's, and the weak reference is deleted only
        // when it is dropped. The JVM returns null or a new local reference to the same object.
        unsafe {
            env.local((env.functions().NewLocalRef)(
                env.as_ptr(),
                self.raw.0.as_ptr(),
            ))
        }
    }
}

impl<K> Drop for WeakRef<K> {
    fn drop(&mut self) {
        StaticVm::with_env(|env| self.raw.delete(env));
    }
}

/// A weak global reference that its owner deletes explicitly.
#[derive(Clone, Copy)]
pub(crate) struct RawWeak(NonNull<_jobject>);

impl RawWeak {
    /// Creates a weak reference to the object; `None` if the JVM has no memory for one.
    pub(crate) fn new(env: &Env<'_>, object: ObjectRef<'_>) -> Option<Self> {
        // SAFETY: the environment is the running thread's, and the handle is valid.
        let raw = unsafe { (env.functions().NewWeakGlobalRef)(env.as_ptr(), object.as_raw()) };
        if raw.is_null() {
            env.clear_exception();
        }
        NonNull::new(raw).map(Self)
    }

    /// Returns the reference as a number other than 0.
    pub(crate) fn to_word(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// Reverses [`Self::to_word`]; `None` for 0.
    pub(crate) fn from_word(word: usize) -> Option<Self> {
        NonNull::new(ptr::with_exposed_provenance_mut(word)).map(Self)
    }

    /// Returns true if the object was collected.
    pub(crate) fn is_cleared(self, env: &Env<'_>) -> bool {
        // SAFETY: the environment is the running thread's; the owner has not deleted the reference.
        unsafe { (env.functions().IsSameObject)(env.as_ptr(), self.0.as_ptr(), ptr::null_mut()) }
    }

    /// Returns true if the reference refers to `object`.
    pub(crate) fn is(self, env: &Env<'_>, object: ObjectRef<'_>) -> bool {
        // SAFETY: the environment is the running thread's; the owner has not deleted the reference,
        // and the handle is valid.
        unsafe { (env.functions().IsSameObject)(env.as_ptr(), object.as_raw(), self.0.as_ptr()) }
    }

    /// Deletes the reference. The owner must not use it again.
    pub(crate) fn delete(self, env: &Env<'_>) {
        // SAFETY: the environment is the running thread's; the owner deletes the reference once.
        unsafe { (env.functions().DeleteWeakGlobalRef)(env.as_ptr(), self.0.as_ptr()) }
    }
}

/// A slot for a weak global reference, which is set at most once and read without a lock.
pub struct WeakSlot(std::sync::atomic::AtomicUsize);

impl WeakSlot {
    /// Creates an empty slot.
    pub const fn empty() -> Self {
        Self(std::sync::atomic::AtomicUsize::new(0))
    }

    /// Returns true if the reference was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the reference was set and refers to `object`.
    #[inline]
    pub fn is<K>(&self, env: &Env<'_>, object: Handle<'_, K>) -> bool {
        RawWeak::from_word(self.0.load(Ordering::Acquire))
            .is_some_and(|weak| weak.is(env, object.as_object()))
    }

    /// Sets the reference, unless it was set before or the JVM has no memory for one.
    pub fn set<K>(&self, env: &Env<'_>, object: Handle<'_, K>) {
        let Some(weak) = RawWeak::new(env, object.as_object()) else {
            return;
        };
        let (old, new) = (0, weak.to_word());
        let set = (self.0).compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
        if set.is_err() {
            weak.delete(env);
        }
    }
}

impl Drop for WeakSlot {
    fn drop(&mut self) {
        if let Some(weak) = RawWeak::from_word(*self.0.get_mut()) {
            StaticVm::with_env(|env| weak.delete(env));
        }
    }
}
