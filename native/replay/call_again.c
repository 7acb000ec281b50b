/* Repeated calls of which each output is made, written, added to or left out, as in gradients of
 * imperative calls: looked up and run like those in fast_call.c. */
#include "ndrt_calls.h"

/* An input is an array, what the tape holds of one, or, if only its shape is read, (shape, dtype,
 * context). Returns like ndrt_operand_read. */
static int input_read(PyObject *object, ndrt_operand *to) {
    if (!PyTuple_Check(object)) return ndrt_operand_read(object, to);
    if (PyTuple_Size(object) != 3) return ndrt_operand_held(object, to);
    *to = (ndrt_operand){.shape = PyTuple_GetItem(object, 0),
                         .dtype = PyTuple_GetItem(object, 1),
                         .layout = NDRT_NO_MEMORY};
    return 1;
}

static int is_chunk_of(const ndrt_chunk *chunk, const ndrt_operand *among, int n) {
    for (int i = 0; i < n; i++)
        if (among[i].chunk == chunk) return 1;
    return 0;
}

/* For each output: None if it is not wanted, True to make it, or the array to store it in.
 * 1: read; 0: take the slow path; -1: a Python exception. */
static int wishes_read(PyObject *outs, uint64_t adds, const ndrt_operand *ins, int nins,
                       ndrt_wishes *to) {
    Py_ssize_t n = PyTuple_Size(outs);
    if (n < 1 || n > NDRT_CALL_OUTPUTS) return n < 0 ? -1 : 0;
    to->n = (int)n;
    to->ngiven = 0;
    for (int i = 0; i < to->n; i++) {
        PyObject *out = PyTuple_GetItem(outs, i);
        ndrt_wish wish = NDRT_NOT_WANTED;
        if (out == Py_True) {
            wish = NDRT_MADE;
        } else if (out != Py_None) {
            ndrt_operand *given = &to->given[to->ngiven];
            int found = ndrt_operand_read(out, given);
            if (found != 1) return found < 0 ? -1 : 0;
            if (given->chunk->pins || is_chunk_of(given->chunk, ins, nins) ||
                is_chunk_of(given->chunk, to->given, to->ngiven))
                return 0;
            to->places[to->ngiven++] = i;
            wish = adds >> i & 1 ? NDRT_ADDED : NDRT_WRITTEN;
        }
        to->of[i] = (char)wish;
    }
    return 1;
}

/* Whether given arrays have the properties of those when the call was recorded. */
static int wishes_fit(const ndrt_call_entry *e, const ndrt_wishes *w) {
    if (e->noutputs != w->n) return 0;
    for (int i = 0; i < w->ngiven; i++) {
        PyObject *facts = PyTuple_GetItem(e->facts, w->places[i]);
        if (w->given[i].dtype != PyTuple_GetItem(facts, 1) ||
            PyObject_RichCompareBool(w->given[i].shape, PyTuple_GetItem(facts, 0), Py_EQ) != 1)
            return 0;
    }
    return 1;
}

/* The list of outputs, with None for those that are not wanted. */
static PyObject *run_wished(const ndrt_call_entry *e, const ndrt_operand *ins, const ndrt_wishes *w,
                            PyObject *ctx) {
    if (!wishes_fit(e, w)) return PyErr_Occurred() ? NULL : ndrt_long_way();
    PyObject *objects[NDRT_CALL_OUTPUTS];
    char *outs[NDRT_CALL_OUTPUTS] = {0};
    if (ndrt_exports_returned()) ndrt_exports_drain();
    ndrt_status status = NDRT_OK;
    int n = 0, given = 0, busy = 0;
    for (; n < w->n; n++) {
        ndrt_wish wish = (ndrt_wish)w->of[n];
        if (wish == NDRT_MADE) {
            ndrt_made_output made;
            status = ndrt_output_new(PyTuple_GetItem(e->facts, n), e->nbytes[n], e->layouts[n], ctx,
                                     &made);
            if (status != NDRT_OK) break;
            objects[n] = made.object;
            outs[n] = made.buffer->data;
            continue;
        }
        objects[n] = wish == NDRT_NOT_WANTED ? Py_None : w->given[given].object;
        if (wish != NDRT_NOT_WANTED) {
            outs[n] = (char *)w->given[given].chunk->data + w->given[given].offset;
            given++;
        }
        Py_INCREF(objects[n]);
    }
    if (status == NDRT_OK) status = ndrt_call_run_leased(e, ins, w->given, w->ngiven, outs, &busy);
    PyObject *list = status == NDRT_OK && !busy ? PyList_New(n) : NULL;
    for (int i = 0; i < n; i++)
        if (list)
            PyList_SetItem(list, i, objects[i]);
        else
            Py_DECREF(objects[i]);
    if (list || (status == NDRT_OK && !busy)) return list;
    return status != NDRT_OK ? ndrt_call_failed(status) : ndrt_long_way();
}

PyObject *ndrt_call_again(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (nargs != 8) return PyErr_Format(PyExc_TypeError, "again takes 8 arguments");
    PyObject *inputs = args[3];
    ndrt_operand ins[NDRT_CALL_INPUTS];
    Py_ssize_t n = PyTuple_Size(inputs);
    if (n < 1 || n > NDRT_CALL_INPUTS) return n < 0 ? NULL : ndrt_long_way();
    for (Py_ssize_t i = 0; i < n; i++) {
        int found = input_read(PyTuple_GetItem(inputs, i), &ins[i]);
        if (found != 1) return found < 0 ? NULL : ndrt_long_way();
    }
    ndrt_call_parameters p;
    int simple = ndrt_call_parameters_read(args[1], args[4], &p);
    if (simple != 1) return simple ? NULL : ndrt_long_way();
    long flags = PyLong_AsLong(args[2]);
    uint64_t adds = PyLong_AsUnsignedLongLong(args[6]);
    ndrt_wishes w;
    int found = wishes_read(args[5], adds, ins, (int)n, &w);
    if (found != 1) return found < 0 || PyErr_Occurred() ? NULL : ndrt_long_way();
    PyObject *key, *kept = ndrt_call_look_up(args[0], args[1], flags, ins, (int)n, &p, &w, &key);
    if (!kept) {
        if (!PyErr_Occurred()) return key ? key : ndrt_long_way();
        Py_XDECREF(key);
        return NULL;
    }
    Py_DECREF(key);
    if (kept == Py_None) return ndrt_long_way();
    ndrt_call_entry *e = PyCapsule_GetPointer(kept, NDRT_CALL_ENTRY);
    if (!e) return NULL;
    Py_INCREF(kept); /* as in `run` */
    ndrt_call_renumber(e, &p);
    PyObject *result = run_wished(e, ins, &w, args[7]);
    Py_DECREF(kept);
    return result;
}
