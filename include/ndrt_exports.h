/* Memory exchanged with other libraries. */
#ifndef NDRT_EXPORTS_H
#define NDRT_EXPORTS_H

#include "ndrt.h"

/* cdef-begin */

/* ---- DLPack: its structs, byte for byte ------------------------------------------------ */
typedef struct {
    int32_t type, id;
} ndrt_dl_device;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} ndrt_dl_type;
typedef struct {
    void *data;
    ndrt_dl_device device;
    int32_t ndim;
    ndrt_dl_type dtype;
    int64_t *shape, *strides; /* no strides: dense row-major */
    uint64_t byte_offset;
} ndrt_dl_tensor;
enum {
    NDRT_DL_CPU = 1,
    NDRT_DL_MAJOR = 1, /* version of the structs with a version */
    NDRT_DL_MINOR = 0,
    NDRT_DL_READ_ONLY = 1,
    NDRT_DL_IS_COPIED = 2
};

typedef struct {
    ndrt_chunk *chunk;
    ndrt_dl_tensor tensor; /* shape is copied, strides are made */
    uint64_t flags;        /* NDRT_DL_..., when versioned */
    int versioned;         /* with version and flags, as consumers from DLPack 1.0 on want it */
    int writable;
} ndrt_export_spec;
int ndrt_exports_returned(void); /* is there anything to drain? */

/* These work on Python objects: with the GIL held. NULL: a Python exception is set. */

/* An export of a chunk's bytes. It pins the chunk, and keeps `owners`, a Python object that owns
 * chunk and bytes, alive. It ends when the consumer calls the deleter, possibly from any thread,
 * without the GIL, and after the interpreter's end; so the deleter unpins and queues, takes no lock
 * and calls no Python. The next drain releases the owners. */
void *ndrt_export_capsule(const ndrt_export_spec *spec, void *owners);
void ndrt_exports_drain(void);
void ndrt_exports_at_collection(void *phase, void *info); /* drains; for Python's gc.callbacks */

typedef struct {
    ndrt_dl_tensor *tensor; /* NULL: of a major version that is not ours */
    uint64_t flags;
    uint32_t major, minor; /* 0, 0: a capsule without a version */
} ndrt_import;
/* Consumes a capsule: renames it, and returns an object that calls the producer's deleter once,
 * when it is destroyed. */
void *ndrt_import_capsule(void *object, ndrt_import *out);
/* An object that pins a chunk while it lives, and keeps `owners`, another object, alive. */
void *ndrt_pin_capsule(ndrt_chunk *chunk, int writable, void *owners);

/* cdef-end */

#endif
