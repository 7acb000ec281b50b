/* DLPack capsules: exports of a chunk's bytes, and owners of imported ones. */
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

static const char PLAIN[] = "dltensor", VERSIONED[] = "dltensor_versioned";
static const char USED_PLAIN[] = "used_dltensor", USED_VERSIONED[] = "used_dltensor_versioned";

typedef struct plain_tensor {
    ndrt_dl_tensor tensor;
    void *context;
    void (*deleter)(struct plain_tensor *self);
} plain_tensor;

typedef struct versioned_tensor {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct versioned_tensor *self);
    uint64_t flags;
    ndrt_dl_tensor tensor;
} versioned_tensor;

/* ---- exports ------------------------------------------------------------------------------- */

typedef struct ndrt_export {
    union {
        plain_tensor plain;
        versioned_tensor versioned;
    } managed; /* what the consumer sees */
    ndrt_chunk *chunk;
    int writable;
    PyObject *owners;
    struct ndrt_export *next;
    int64_t shape[NDRT_MAX_DIMS], strides[NDRT_MAX_DIMS];
} ndrt_export;

static ndrt_export *returned; /* a stack, linked by `next` */

static void give_back(ndrt_export *export) {
    ndrt_chunk_add_pins(export->chunk, -1, -export->writable);
    export->next = __atomic_load_n(&returned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&returned, &export->next, export, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

int ndrt_exports_returned(void) { return __atomic_load_n(&returned, __ATOMIC_RELAXED) != NULL; }

static void delete_plain(plain_tensor *self) { give_back(self->context); }

static void delete_versioned(versioned_tensor *self) { give_back(self->context); }

static ndrt_export *export_new(const ndrt_export_spec *spec) {
    ndrt_export *made = ndrt_calloc(1, sizeof *made);
    if (!made) return NULL;
    ndrt_dl_tensor tensor = spec->tensor;
    int64_t stride = 1;
    for (int i = tensor.ndim - 1; i >= 0; i--) {
        made->shape[i] = tensor.shape[i];
        made->strides[i] = stride;
        stride *= made->shape[i] ? made->shape[i] : 1;
    }
    tensor.shape = made->shape;
    tensor.strides = made->strides;
    if (spec->versioned)
        made->managed.versioned = (versioned_tensor){.major = NDRT_DL_MAJOR,
                                                     .minor = NDRT_DL_MINOR,
                                                     .context = made,
                                                     .deleter = delete_versioned,
                                                     .flags = spec->flags,
                                                     .tensor = tensor};
    else
        made->managed.plain =
            (plain_tensor){.tensor = tensor, .context = made, .deleter = delete_plain};
    made->chunk = spec->chunk;
    made->writable = spec->writable != 0;
    return made;
}

/* ---- capsules; the GIL is held ----------------------------------------------------------------
 */

/* Calls the deleter of a capsule, which may run Python, while an exception may be pending. */
static void call_deleter(PyObject *capsule, const char *name) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    void *managed = PyCapsule_GetPointer(capsule, name);
    if (!strcmp(name, VERSIONED) || !strcmp(name, USED_VERSIONED)) {
        versioned_tensor *tensor = managed;
        if (tensor && tensor->deleter) tensor->deleter(tensor);
    } else {
        plain_tensor *tensor = managed;
        if (tensor && tensor->deleter) tensor->deleter(tensor);
    }
    PyErr_Restore(type, value, trace);
}

/* A consumed capsule has another name, and its deleter is called by the consumer. */
static void capsule_dies(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, PLAIN))
        call_deleter(capsule, PLAIN);
    else if (PyCapsule_IsValid(capsule, VERSIONED))
        call_deleter(capsule, VERSIONED);
}

static void owner_dies(PyObject *owner) { call_deleter(owner, PyCapsule_GetName(owner)); }

void *ndrt_export_capsule(const ndrt_export_spec *spec, void *owners) {
    ndrt_export *made = export_new(spec);
    if (!made) return PyErr_NoMemory();
    PyObject *capsule =
        PyCapsule_New(&made->managed, spec->versioned ? VERSIONED : PLAIN, capsule_dies);
    if (!capsule) {
        free(made);
        return NULL;
    }
    made->owners = owners;
    Py_INCREF(made->owners);
    ndrt_chunk_add_pins(made->chunk, 1, made->writable);
    return capsule;
}

void ndrt_exports_drain(void) {
    ndrt_export *export = __atomic_exchange_n(&returned, NULL, __ATOMIC_ACQUIRE);
    while (export) {
        ndrt_export *over = export;
        export = over->next;
        Py_DECREF(over->owners); /* may come here again, which is fine: the list is ours alone */
        free(over);
    }
}

void ndrt_exports_at_collection(void *phase, void *info) {
    (void)phase, (void)info;
    if (ndrt_exports_returned()) ndrt_exports_drain();
}

static void refuse_capsule(PyObject *object) {
    if (!PyCapsule_CheckExact(object)) {
        PyErr_Format(PyExc_TypeError,
                     "from_dlpack: expected an object with __dlpack__, or a capsule, got %R",
                     (PyObject *)Py_TYPE(object));
        return;
    }
    const char *name = PyCapsule_GetName(object);
    if (name && !strncmp(name, "used_", 5))
        PyErr_SetString(PyExc_ValueError,
                        "from_dlpack: this capsule was used already: each can be used once");
    else
        PyErr_Format(PyExc_ValueError,
                     "from_dlpack: the capsule is called '%s', expected '%s' or '%s'",
                     name ? name : "", PLAIN, VERSIONED);
}

void *ndrt_import_capsule(void *object, ndrt_import *out) {
    PyObject *capsule = object;
    int is_versioned = PyCapsule_IsValid(capsule, VERSIONED);
    if (!is_versioned && !PyCapsule_IsValid(capsule, PLAIN)) {
        refuse_capsule(capsule);
        return NULL;
    }
    void *managed = PyCapsule_GetPointer(capsule, is_versioned ? VERSIONED : PLAIN);
    const char *used = is_versioned ? USED_VERSIONED : USED_PLAIN;
    PyObject *owner = PyCapsule_New(managed, used, owner_dies);
    if (!owner) return NULL;
    if (PyCapsule_SetName(capsule, used)) {
        PyCapsule_SetDestructor(owner, NULL);
        Py_DECREF(owner);
        return NULL;
    }
    *out = (ndrt_import){0};
    if (is_versioned) {
        versioned_tensor *tensor = managed;
        out->major = tensor->major;
        out->minor = tensor->minor;
        if (tensor->major == NDRT_DL_MAJOR) {
            out->flags = tensor->flags;
            out->tensor = &tensor->tensor;
        }
    } else {
        out->tensor = &((plain_tensor *)managed)->tensor;
    }
    return owner;
}

/* ---- pins owned by Python objects --------------------------------------------------------------
 */

static const char READS[] = "ndarray_rt pin", WRITES[] = "ndarray_rt writable pin";

static void pin_dies(PyObject *capsule) {
    int writable = PyCapsule_IsValid(capsule, WRITES);
    ndrt_chunk *chunk = PyCapsule_GetPointer(capsule, writable ? WRITES : READS);
    PyObject *owners = PyCapsule_GetContext(capsule);
    ndrt_chunk_add_pins(chunk, -1, -writable);
    Py_DECREF(owners);
}

void *ndrt_pin_capsule(ndrt_chunk *chunk, int writable, void *owners) {
    PyObject *capsule = PyCapsule_New(chunk, writable ? WRITES : READS, NULL);
    if (!capsule || PyCapsule_SetContext(capsule, owners) ||
        PyCapsule_SetDestructor(capsule, pin_dies)) {
        Py_XDECREF(capsule);
        return NULL;
    }
    Py_INCREF((PyObject *)owners);
    ndrt_chunk_add_pins(chunk, 1, writable != 0);
    return capsule;
}
