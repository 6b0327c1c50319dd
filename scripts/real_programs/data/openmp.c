// A team of OpenMP threads that call Java. Each has variables of its own in the static TLS block, as OpenMP's runtime has.
#include <jni.h>
#include <omp.h>

static _Thread_local jlong own[32] __attribute__((tls_model("initial-exec")));

JNIEXPORT jlong JNICALL Java_OpenMpDriver_sum(JNIEnv *env, jclass type, jint from, jint to, jint threads) {
    JavaVM *vm;
    (*env)->GetJavaVM(env, &vm);
    jmethodID square = (*env)->GetStaticMethodID(env, type, "square", "(I)J");
    jclass global = (*env)->NewGlobalRef(env, type);
    jlong total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        JNIEnv *mine;
        int attached = (*vm)->GetEnv(vm, (void **)&mine, JNI_VERSION_1_8) == JNI_EDETACHED;
        if (attached) {
            (*vm)->AttachCurrentThread(vm, (void **)&mine, NULL);
        }
        own[0] = 0;
#pragma omp for schedule(dynamic, 64)
        for (jint n = from; n < to; n++) {
            own[0] += (*mine)->CallStaticLongMethod(mine, global, square, n);
            if ((*mine)->ExceptionCheck(mine)) {
                (*mine)->ExceptionClear(mine);
            }
        }
        total += own[0];
        if (attached) {
            (*vm)->DetachCurrentThread(vm);
        }
    }
    (*env)->DeleteGlobalRef(env, global);
    return total;
}
