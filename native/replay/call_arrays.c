/* Arrays of imperative calls: Python objects whose slots are read and set without running Python
 * code, and their chunks. */
#include "ndrt_calls.h"

static const char STATE[] = "ndarray_rt chunk", BYTES[] = "ndarray_rt bytes";

/* ---- slots of Python objects ---------------------------------------------------------------- */

typedef struct {
    PyObject *descriptor;
    descrgetfunc get;
    descrsetfunc set;
} slot;
enum { A_CHUNK, A_SHAPE, A_DTYPE, A_OFFSET, A_REUSE, A_PART, A_CTX, A_ENTRY, A_GRAD, NARRAY };
enum {
    C_ADDRESS,
    C_SHAPE,
    C_DTYPE,
    C_LAYOUT,
    C_MOVES,
    C_ZERO,
    C_PLANNED,
    C_STATE,
    C_BYTES,
    NCHUNK
};
static struct {
    PyObject *array_type, *chunk_type;
    slot array[NARRAY], chunk[NCHUNK];
    PyObject *zero;
} py;

/* A new reference, or NULL with an exception. */
static PyObject *slot_get(const slot *s, PyObject *of) {
    return s->get(s->descriptor, of, (PyObject *)Py_TYPE(of));
}

/* A borrowed reference, valid as long as the slot does not change. */
static PyObject *slot_peek(const slot *s, PyObject *of) {
    PyObject *found = slot_get(s, of);
    Py_XDECREF(found);
    return found;
}

static int slot_set(const slot *s, PyObject *of, PyObject *to) {
    return s->set(s->descriptor, of, to);
}

/* ---- what a call is given ---------------------------------------------------------------------
 */

/* Reads the rest of an array whose shape and dtype are known. */
static int operand_settle(PyObject *chunk, PyObject *offset, PyObject *reuse, PyObject *part,
                          ndrt_operand *to) {
    PyObject *address = slot_peek(&py.chunk[C_ADDRESS], chunk);
    if (!address || !to->shape || !to->dtype || !reuse || !part) return -1;
    to->chunk = PyLong_AsVoidPtr(address);
    to->offset = PyLong_AsLongLong(offset);
    if (!to->chunk || PyErr_Occurred()) return -1;
    to->layout = to->chunk->layout;
    if (!to->chunk->data) return 0;
    if (!to->layout) return 1;
    /* views see the default layout only, and reused memory may have another dtype */
    PyObject *whole = slot_peek(&py.chunk[C_SHAPE], chunk);
    if (!whole) return -1;
    if (to->offset || part != Py_False || reuse != Py_False) return 0;
    return PyObject_RichCompareBool(to->shape, whole, Py_EQ);
}

int ndrt_operand_read(PyObject *object, ndrt_operand *to) {
    if ((PyObject *)Py_TYPE(object) != py.array_type) return 0;
    PyObject *chunk = slot_peek(&py.array[A_CHUNK], object);
    PyObject *offset = chunk ? slot_peek(&py.array[A_OFFSET], object) : NULL;
    if (!offset) return -1;
    to->object = object;
    to->shape = slot_peek(&py.array[A_SHAPE], object);
    to->dtype = slot_peek(&py.array[A_DTYPE], object);
    return operand_settle(chunk, offset, slot_peek(&py.array[A_REUSE], object),
                          slot_peek(&py.array[A_PART], object), to);
}

int ndrt_operand_held(PyObject *tuple, ndrt_operand *to) {
    if (PyTuple_Size(tuple) != 7) return PyErr_Occurred() ? -1 : 0;
    PyObject *chunk = PyTuple_GetItem(tuple, 3);
    if ((PyObject *)Py_TYPE(chunk) != py.chunk_type) return 0;
    to->object = NULL;
    to->shape = PyTuple_GetItem(tuple, 0);
    to->dtype = PyTuple_GetItem(tuple, 1);
    return operand_settle(chunk, PyTuple_GetItem(tuple, 4), PyTuple_GetItem(tuple, 5),
                          PyTuple_GetItem(tuple, 6), to);
}

/* ---- outputs ------------------------------------------------------------------------------------
 */

static void state_dies(PyObject *capsule) { ndrt_chunk_free(PyCapsule_GetPointer(capsule, STATE)); }

static void bytes_die(PyObject *capsule) { ndrt_buffer_free(PyCapsule_GetPointer(capsule, BYTES)); }

/* Fills the slots of the new objects; 0: done, -1: an exception. */
static int fill(PyObject *array, PyObject *chunk, PyObject *facts, PyObject *ctx,
                const ndrt_made_output *made, PyObject *state, PyObject *bytes) {
    PyObject *shape = PyTuple_GetItem(facts, 0), *dtype = PyTuple_GetItem(facts, 1);
    PyObject *address = PyLong_FromVoidPtr(made->chunk);
    if (!address) return -1;
    PyObject *of_chunk[NCHUNK] = {address,
                                  shape,
                                  dtype,
                                  PyTuple_GetItem(facts, 2),
                                  py.zero,
                                  Py_False,
                                  PyTuple_GetItem(facts, 3),
                                  state,
                                  bytes};
    PyObject *of_array[NARRAY] = {chunk,    shape, dtype,   py.zero, Py_False,
                                  Py_False, ctx,   Py_None, Py_None};
    int failed = 0;
    for (int i = 0; i < NCHUNK; i++) failed |= slot_set(&py.chunk[i], chunk, of_chunk[i]);
    for (int i = 0; i < NARRAY; i++) failed |= slot_set(&py.array[i], array, of_array[i]);
    Py_DECREF(address);
    return failed;
}

ndrt_status ndrt_output_new(PyObject *facts, size_t nbytes, int64_t layout, PyObject *ctx,
                            ndrt_made_output *out) {
    ndrt_made_output made = {0};
    TRY(ndrt_chunk_new(&made.chunk));
    PyObject *state = PyCapsule_New(made.chunk, STATE, state_dies), *bytes = NULL;
    ndrt_status status = NDRT_INTERNAL;
    if (!state) {
        ndrt_chunk_free(made.chunk);
        return status;
    }
    status = ndrt_buffer_new_for(made.chunk->account, nbytes, 0, &made.buffer);
    if (status != NDRT_OK) {
        Py_DECREF(state);
        return status;
    }
    bytes = PyCapsule_New(made.buffer, BYTES, bytes_die);
    if (!bytes) ndrt_buffer_free(made.buffer);
    PyObject *chunk = bytes ? PyType_GenericAlloc((PyTypeObject *)py.chunk_type, 0) : NULL;
    PyObject *array = chunk ? PyType_GenericAlloc((PyTypeObject *)py.array_type, 0) : NULL;
    status = NDRT_INTERNAL;
    if (array && !fill(array, chunk, facts, ctx, &made, state, bytes)) {
        ndrt_chunk_place(made.chunk, made.buffer->data, layout);
        ndrt_chunk_add_writes(made.chunk);
        status = NDRT_OK;
    } else {
        Py_XDECREF(array);
    }
    Py_XDECREF(chunk);
    Py_XDECREF(bytes);
    Py_DECREF(state);
    made.object = array;
    if (status == NDRT_OK) *out = made;
    return status;
}

/* ---- set-up -----------------------------------------------------------------------------------
 */

static int slots_read(PyObject *descriptors, slot *to, Py_ssize_t n) {
    if (PyTuple_Size(descriptors) != n) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *d = PyTuple_GetItem(descriptors, i);
        to[i] = (slot){d, (descrgetfunc)PyType_GetSlot(Py_TYPE(d), Py_tp_descr_get),
                       (descrsetfunc)PyType_GetSlot(Py_TYPE(d), Py_tp_descr_set)};
        if (!to[i].get || !to[i].set) return -1;
    }
    return 0;
}

int ndrt_call_arrays_set(PyObject *types) {
    if (slots_read(PyTuple_GetItem(types, 2), py.array, NARRAY) ||
        slots_read(PyTuple_GetItem(types, 3), py.chunk, NCHUNK))
        return -1;
    py.array_type = PyTuple_GetItem(types, 0);
    py.chunk_type = PyTuple_GetItem(types, 1);
    py.zero = PyLong_FromLong(0);
    return 0;
}

PyObject *ndrt_context_of(PyObject *array) { return slot_get(&py.array[A_CTX], array); }
