//! Objects and arrays: creation, classes, elements and fields.

use super::{ClassRef, Env, GlobalRef, Handle, ObjectArrayRef, ObjectRef, kind};
use jni::sys::{jfieldID, jint};
use std::ptr;

impl<'e> Env<'e> {
    /// Returns an object's class.
    #[inline]
    pub fn class_of(&self, object: ObjectRef<'_>) -> ClassRef<'e> {
        // SAFETY: the environment is the running thread's, and the handle is valid. Every object
        // has a class, so the JVM returns a new local reference.
        unsafe {
            let class = (self.functions().GetObjectClass)(self.as_ptr(), object.as_raw());
            self.local(class).unwrap_unchecked()
        }
    }

    /// Runs `f` with an object's class, and deletes the reference to the class afterwards.
    pub fn with_class_of<T>(
        &mut self,
        object: ObjectRef<'_>,
        f: impl for<'f> FnOnce(&mut Self, ClassRef<'f>) -> T,
    ) -> T {
        let class = self.class_of(object);
        let result = f(self, class);
        self.delete_local(class);
        result
    }

    /// Deletes a local reference before its frame ends. Nothing may use the reference afterwards:
    /// the callers, all in this file, pass it only to closures that can't keep it.
    fn delete_local<K>(&self, reference: Handle<'_, K>) {
        // SAFETY: the environment is the running thread's, and the caller created the reference.
        unsafe { (self.functions().DeleteLocalRef)(self.as_ptr(), reference.as_raw()) }
    }

    /// Returns a class's superclass; `None` for an interface, `Object` and a primitive type.
    pub fn superclass_of(&self, class: ClassRef<'_>) -> Option<ClassRef<'e>> {
        // SAFETY: the environment is the running thread's, and the handle refers to a class. The
        // JVM returns a new local reference to a class, or null.
        unsafe {
            self.local((self.functions().GetSuperclass)(
                self.as_ptr(),
                class.as_raw(),
            ))
        }
    }

    /// Passes a class to `f`, then its superclass, and so on up to `Object`, until `f` returns
    /// false. Deletes the reference to each superclass after the call of `f`.
    pub fn for_superclasses(
        &mut self,
        class: ClassRef<'_>,
        mut f: impl for<'f> FnMut(&mut Self, ClassRef<'f>) -> bool,
    ) {
        if !f(self, class) {
            return;
        }
        let mut next = self.superclass_of(class);
        while let Some(class) = next {
            let goes_on = f(self, class);
            next = match goes_on {
                true => self.superclass_of(class),
                false => None,
            };
            self.delete_local(class);
        }
    }

    /// Returns true if both references refer to the same object.
    pub fn is_same(&self, one: ObjectRef<'_>, other: ObjectRef<'_>) -> bool {
        // SAFETY: the environment is the running thread's, and the handles are valid.
        unsafe { (self.functions().IsSameObject)(self.as_ptr(), one.as_raw(), other.as_raw()) }
    }

    /// Returns true if an object is an instance of a class.
    pub fn is_instance(&self, object: ObjectRef<'_>, class: ClassRef<'_>) -> bool {
        // SAFETY: the environment is the running thread's, both handles are valid, and the second
        // one refers to a class.
        unsafe { (self.functions().IsInstanceOf)(self.as_ptr(), object.as_raw(), class.as_raw()) }
    }

    /// Creates a `byte[]` of length `bytes`, passes it to `look`, and deletes the reference.
    /// Returns `None` if the JVM has no memory for the array.
    pub fn with_garbage<T>(
        &mut self,
        bytes: jint,
        look: impl for<'f> FnOnce(ObjectRef<'f>) -> T,
    ) -> Option<T> {
        // SAFETY: the environment is the running thread's. The JVM returns a new local reference,
        // or null.
        let array: Option<ObjectRef<'_>> =
            unsafe { self.local((self.functions().NewByteArray)(self.as_ptr(), bytes)) };
        let Some(array) = array else {
            self.clear_exception();
            return None;
        };
        let result = look(array);
        self.delete_local(array);
        Some(result)
    }

    /// Creates an array of length `length` and passes it to `look`. `element` is the first
    /// character of the element type's descriptor; for references, `class` is the element type.
    /// Returns `None` if the JVM has no memory for the array.
    pub fn with_new_array<T>(
        &mut self,
        element: u8,
        length: jint,
        class: ClassRef<'_>,
        look: impl for<'f> FnOnce(ObjectRef<'f>) -> T,
    ) -> Option<T> {
        let (env, functions) = (self.as_ptr(), self.functions());
        // SAFETY: the environment is the running thread's, and the handle refers to a class. The
        // JVM returns a new local reference, or null.
        let array: Option<ObjectRef<'_>> = unsafe {
            self.local(match element {
                b'Z' => (functions.NewBooleanArray)(env, length),
                b'B' => (functions.NewByteArray)(env, length),
                b'C' => (functions.NewCharArray)(env, length),
                b'S' => (functions.NewShortArray)(env, length),
                b'I' => (functions.NewIntArray)(env, length),
                b'J' => (functions.NewLongArray)(env, length),
                b'F' => (functions.NewFloatArray)(env, length),
                b'D' => (functions.NewDoubleArray)(env, length),
                _ => (functions.NewObjectArray)(env, length, class.as_raw(), ptr::null_mut()),
            })
        };
        let Some(array) = array else {
            self.clear_exception();
            return None;
        };
        let result = look(array);
        self.delete_local(array);
        Some(result)
    }

    /// Creates an object of a class without running a constructor; `None` if that is impossible.
    /// The class must be initialized, or the running thread must be initializing it.
    pub fn allocate(&self, class: ClassRef<'_>) -> Option<ObjectRef<'e>> {
        // SAFETY: the environment is the running thread's, and the handle refers to a class. The
        // JVM returns a new local reference; or null and an exception, also for a class that can't
        // be instantiated.
        let object = unsafe {
            self.local((self.functions().AllocObject)(
                self.as_ptr(),
                class.as_raw(),
            ))
        };
        if object.is_none() {
            self.clear_exception();
        }
        object
    }

    /// Returns the class `java.lang.Object`; `None` if the JVM has no memory for the reference.
    pub fn object_class(&self) -> Option<ClassRef<'e>> {
        // SAFETY: the environment is the running thread's. The JVM returns a new local reference to
        // a class, or null.
        unsafe {
            let name = c"java/lang/Object".as_ptr();
            self.local((self.functions().FindClass)(self.as_ptr(), name))
        }
    }
}

/// A test for arrays of references.
pub struct ObjectArrays(GlobalRef<kind::Class>);

impl ObjectArrays {
    /// Creates the test; `None` if the JVM has no memory for a reference.
    pub fn new(env: &mut Env<'_>) -> Option<Self> {
        let object = env.object_class()?;
        // SAFETY: the environment is the running thread's, and the handle refers to a class. The
        // JVM returns a new local reference, or null.
        let array: Option<ObjectRef<'_>> = unsafe {
            let create = env.functions().NewObjectArray;
            env.local(create(env.as_ptr(), 0, object.as_raw(), ptr::null_mut()))
        };
        let Some(array) = array else {
            env.clear_exception();
            return None;
        };
        GlobalRef::new(env, env.class_of(array)).map(Self)
    }

    /// Returns the object as an array of references, if it is one.
    pub fn downcast<'o>(&self, env: &Env<'_>, object: ObjectRef<'o>) -> Option<ObjectArrayRef<'o>> {
        if !env.is_instance(object, self.0.get()) {
            return None;
        }
        // SAFETY: all instances of `Object[]` are arrays of references. The new handle has the
        // lifetime of the one it is made from.
        Some(unsafe { object.cast() })
    }
}

impl<'e> Env<'e> {
    /// Returns the number of elements of an array.
    pub fn array_length(&self, array: ObjectArrayRef<'_>) -> usize {
        // SAFETY: the environment is the running thread's, and the handle refers to an array.
        let length = unsafe { (self.functions().GetArrayLength)(self.as_ptr(), array.as_raw()) };
        usize::try_from(length).unwrap_or_default()
    }

    /// Passes the first `most` elements of an array to `f`. Stops at the first null element.
    /// Deletes the reference to each element after the call of `f`.
    pub fn for_elements(
        &mut self,
        array: ObjectArrayRef<'_>,
        most: usize,
        mut f: impl for<'f> FnMut(&mut Self, ObjectRef<'f>),
    ) {
        for index in 0..self.array_length(array).min(most) {
            // SAFETY: the environment is the running thread's, and the handle refers to an array of
            // references with more than `index` elements. The JVM returns null or a new local
            // reference.
            let element: Option<ObjectRef<'_>> = unsafe {
                let element = self.functions().GetObjectArrayElement;
                self.local(element(self.as_ptr(), array.as_raw(), index as jint))
            };
            let Some(element) = element else { return };
            f(self, element);
            self.delete_local(element);
        }
    }
}

/// A test for virtual threads with a continuation.
pub struct Continuations<'e> {
    class: ClassRef<'e>,
    field: jfieldID,
}

impl<'e> Continuations<'e> {
    /// Creates the test for the class of virtual threads, `class`; `None` if it has no continuation
    /// field.
    pub fn of(env: &Env<'e>, class: ClassRef<'e>) -> Option<Self> {
        let (name, descriptor) = (c"cont", c"Ljdk/internal/vm/Continuation;");
        // SAFETY: the environment is the running thread's, and the handle refers to a class.
        let field = unsafe {
            let (name, descriptor) = (name.as_ptr(), descriptor.as_ptr());
            (env.functions().GetFieldID)(env.as_ptr(), class.as_raw(), name, descriptor)
        };
        if field.is_null() {
            env.clear_exception();
            return None;
        }
        Some(Self { class, field })
    }

    /// Returns true if the object is a virtual thread that has a continuation.
    pub fn has_one(&self, env: &Env<'_>, thread: ObjectRef<'_>) -> bool {
        if !env.is_instance(thread, self.class) {
            return false;
        }
        // SAFETY: the environment is the running thread's. The object is an instance of the class
        // that declares the field.
        let continuation: Option<ObjectRef<'_>> = unsafe {
            let field = env.functions().GetObjectField;
            env.local(field(env.as_ptr(), thread.as_raw(), self.field))
        };
        if let Some(continuation) = continuation {
            env.delete_local(continuation);
        }
        continuation.is_some()
    }
}
