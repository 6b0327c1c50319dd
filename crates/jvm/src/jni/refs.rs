//! References to Java objects: local ones live as long as their frame, global and weak ones until
//! they are dropped.

use super::env::{Env, Vm};
use jni::sys::{_jobject, JavaVM, jobject};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a reference refers to.
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

/// A reference to an object of the kind `K`, never null, which lives at least as long as `'e`.
///
/// It refers to a slot that the JVM holds on to: a local reference, or one borrowed from a
/// [`GlobalRef`].
#[repr(transparent)]
pub struct Handle<'e, K> {
    raw: NonNull<_jobject>,
    /// Neither `Send` nor `Sync`: a local reference belongs to its thread.
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
    /// The reference at `raw`, which lives as long as the frame of `env`; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a reference to an object of the kind `K` that stays valid during `'e`: an
    /// argument of the callback or native method that got `env`, or a local reference of its frame.
    pub unsafe fn from_raw(_env: &Env<'e>, raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// As [`Self::from_raw`], where the environment is not at hand.
    ///
    /// # Safety
    /// `raw` is null, or a reference to an object of the kind `K` that stays valid during `'e`.
    pub(crate) unsafe fn from_raw_for(raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// The raw reference.
    pub fn as_raw(self) -> jobject {
        self.raw.as_ptr()
    }

    /// The same reference, without its kind.
    pub fn as_object(self) -> ObjectRef<'e> {
        // SAFETY: everything is an object.
        unsafe { self.cast() }
    }

    /// The same reference, as one to another kind.
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
    /// The address of the object at this moment; any collection may move it.
    ///
    /// References of HotSpot are addresses of slots that hold the object's address. Their two
    /// lowest bits tell the kind of the slot.
    pub fn address(self) -> u64 {
        const KIND_OF_SLOT: usize = 3;
        let slot = self.as_raw().map_addr(|address| address & !KIND_OF_SLOT);
        // SAFETY: the reference is valid, so its slot is readable. The collector may write it at
        // the same time, hence volatile.
        unsafe { slot.cast::<u64>().read_volatile() }
    }
}

/// The raw form of an optional reference.
pub(crate) fn raw_or_null<K>(handle: Option<Handle<'_, K>>) -> jobject {
    handle.map_or(ptr::null_mut(), Handle::as_raw)
}

/// The JVM of the process, for destructors.
pub(super) struct StaticVm;

static VM: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());

impl StaticVm {
    pub(super) fn set(vm: Vm) {
        VM.store(vm.as_ptr(), Ordering::Relaxed);
    }

    /// Runs `f` with the running thread's environment, if it has one.
    fn with_env<T>(f: impl FnOnce(&Env<'_>) -> T) -> Option<T> {
        // SAFETY: the pointer was given to `Vm::new`.
        unsafe { Vm::new(VM.load(Ordering::Relaxed)) }?.with_env(f)
    }
}

/// A global reference. It is deleted when it is dropped on a thread that is attached to the JVM;
/// else it stays, with its object.
pub struct GlobalRef<K = kind::Object> {
    raw: NonNull<_jobject>,
    kind: PhantomData<*mut K>,
}

// SAFETY: JNI lets any thread use a global reference.
unsafe impl<K> Send for GlobalRef<K> {}
// SAFETY: as for `Send`; several threads may do so at the same time.
unsafe impl<K> Sync for GlobalRef<K> {}

impl<K> GlobalRef<K> {
    /// A global reference to the object; `None` if there is no memory for one.
    pub fn new(env: &Env<'_>, object: Handle<'_, K>) -> Option<Self> {
        // SAFETY: the environment is the running thread's, and the handle is valid.
        let raw = unsafe { (env.functions().NewGlobalRef)(env.as_ptr(), object.as_raw()) };
        Some(Self {
            raw: NonNull::new(raw)?,
            kind: PhantomData,
        })
    }

    /// Takes over a global reference that the `jni` crate has created.
    ///
    /// # Safety
    /// `raw` is a global reference to an object of the kind `K`, which nobody else deletes, or
    /// null.
    pub(crate) unsafe fn from_raw(raw: jobject) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            kind: PhantomData,
        })
    }

    /// The object.
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
            // SAFETY: the environment is the running thread's; nobody can use the reference after
            // its owner.
            unsafe { (env.functions().DeleteGlobalRef)(env.as_ptr(), self.raw.as_ptr()) };
        });
    }
}

/// A weak global reference: it does not keep its object. It is deleted as a [`GlobalRef`] is.
pub struct WeakRef<K = kind::Object> {
    raw: RawWeak,
    kind: PhantomData<*mut K>,
}

// SAFETY: JNI lets any thread use a weak global reference.
unsafe impl<K> Send for WeakRef<K> {}

impl<K> WeakRef<K> {
    /// A weak reference to the object; `None` if there is no memory for one.
    pub fn new(env: &Env<'_>, object: Handle<'_, K>) -> Option<Self> {
        Some(Self {
            raw: RawWeak::new(env, object.as_object())?,
            kind: PhantomData,
        })
    }

    /// Returns true if the object was collected. To ask does not keep it alive.
    pub fn is_cleared(&self, env: &Env<'_>) -> bool {
        self.raw.is_cleared(env)
    }

    /// A local reference to the object; `None` if it was collected.
    pub fn upgrade<'e>(&self, env: &Env<'e>) -> Option<Handle<'e, K>> {
        // SAFETY: the environment is the running thread's, and the reference was not deleted. The
        // JVM returns a new local reference to the same object, or null.
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

/// A weak global reference whose owner deletes it.
#[derive(Clone, Copy)]
pub(crate) struct RawWeak(NonNull<_jobject>);

impl RawWeak {
    /// A weak reference to the object; `None` if there is no memory for one.
    pub(crate) fn new(env: &Env<'_>, object: ObjectRef<'_>) -> Option<Self> {
        // SAFETY: the environment is the running thread's, and the handle is valid.
        let raw = unsafe { (env.functions().NewWeakGlobalRef)(env.as_ptr(), object.as_raw()) };
        if raw.is_null() {
            env.clear_exception();
        }
        NonNull::new(raw).map(Self)
    }

    /// The reference as a number that is not 0.
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

    /// Returns true if that is the object.
    pub(crate) fn is(self, env: &Env<'_>, object: ObjectRef<'_>) -> bool {
        // SAFETY: the environment is the running thread's; the owner has not deleted the reference,
        // and the handle is valid.
        unsafe { (env.functions().IsSameObject)(env.as_ptr(), object.as_raw(), self.0.as_ptr()) }
    }

    /// Deletes it. The owner does not use it again.
    pub(crate) fn delete(self, env: &Env<'_>) {
        // SAFETY: the environment is the running thread's; the owner deletes the reference once.
        unsafe { (env.functions().DeleteWeakGlobalRef)(env.as_ptr(), self.0.as_ptr()) }
    }
}

/// A place for a weak global reference, which threads look at without a lock. It is set once.
pub struct WeakSlot(std::sync::atomic::AtomicUsize);

impl WeakSlot {
    /// A place without a reference.
    pub const fn empty() -> Self {
        Self(std::sync::atomic::AtomicUsize::new(0))
    }

    /// Returns true if the reference was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the reference was set, and refers to that object.
    #[inline]
    pub fn is<K>(&self, env: &Env<'_>, object: Handle<'_, K>) -> bool {
        RawWeak::from_word(self.0.load(Ordering::Acquire))
            .is_some_and(|weak| weak.is(env, object.as_object()))
    }

    /// Sets the reference, unless it was set before, or there is no memory for one.
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
