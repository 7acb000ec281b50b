/* Repeated imperative calls and their gradients: one native call looks up the recording, makes the
 * outputs, acquires the leases, binds the pointers and runs the steps.
 *
 * Everything here runs with the GIL held, except for large steps, so that no Python code can move
 * an array's memory between looking at it and the end of the call. Nothing waits: on any obstacle
 * the caller takes the slow path, which handles it. */
#include "ndrt_calls.h"
#include "runtime/ndrt_leases.h"

#include <stdlib.h>
#include <string.h>

enum { OUT_NONE = 0, OUT_APART = 1, OUT_IS_INPUT = 2 };
/* flags of the caller (1 and 8 are others), and of keys without the numbers that a call is given */
enum { RECORDED = 2, NUMBERED = 4 };
/* what stands in a key's number of flags above those that the caller gives */
enum { OUT_SHIFT = 8, THREADS_SHIFT = 48 };
/* and in an input's number: its layout above which input before it is the same array */
enum { ALIAS_BITS = 7 };

/* ---- entries ----------------------------------------------------------------------------------
 */

const char NDRT_CALL_ENTRY[] = "ndarray_rt call";

static void entry_dies(PyObject *capsule) {
    ndrt_call_entry *e = PyCapsule_GetPointer(capsule, NDRT_CALL_ENTRY);
    Py_DECREF(e->kept);
    Py_DECREF(e->facts);
    free(e);
}

/* keep(address of an ndrt_call_spec, facts, what to keep alive): makes an entry of a table. */
static PyObject *keep(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (nargs != 3) return PyErr_Format(PyExc_TypeError, "keep takes 3 arguments");
    const ndrt_call_spec *spec = PyLong_AsVoidPtr(args[0]);
    if (!spec) return NULL;
    if (spec->ninputs > NDRT_CALL_INPUTS || spec->noutputs < 1 ||
        spec->noutputs > NDRT_CALL_OUTPUTS || PyTuple_Size(args[1]) != spec->noutputs)
        return PyErr_Format(PyExc_ValueError, "a call of %d inputs and %d outputs", spec->ninputs,
                            spec->noutputs);
    if (spec->nnumbers > NDRT_CALL_PLACES)
        return PyErr_Format(PyExc_ValueError, "%d places of numbers", spec->nnumbers);
    size_t n = (size_t)spec->nbindings, nouts = (size_t)spec->noutputs;
    size_t own = sizeof(ndrt_call_entry) + n * sizeof(ndrt_binding);
    ndrt_call_entry *e = malloc(own + nouts * (sizeof *e->layouts + sizeof *e->nbytes));
    if (!e) return PyErr_NoMemory();
    *e = (ndrt_call_entry){.plan = spec->plan,
                           .kept = args[2],
                           .facts = args[1],
                           .frees_gil = spec->frees_gil,
                           .ninputs = spec->ninputs,
                           .noutputs = spec->noutputs,
                           .nbindings = spec->nbindings,
                           .changed = spec->changed,
                           .scratch = spec->scratch,
                           .hits = spec->hits,
                           .nnumbers = spec->nnumbers,
                           .layouts = (int64_t *)((char *)e + own)};
    e->nbytes = (size_t *)(e->layouts + nouts);
    memcpy(e->nbytes, spec->nbytes, nouts * sizeof *e->nbytes);
    memcpy(e->layouts, spec->layouts, nouts * sizeof *e->layouts);
    memcpy(e->bindings, spec->bindings, n * sizeof *e->bindings);
    if (e->nnumbers) memcpy(e->numbers, spec->numbers, (size_t)e->nnumbers * sizeof *e->numbers);
    PyObject *capsule = PyCapsule_New(e, NDRT_CALL_ENTRY, entry_dies);
    if (!capsule) {
        free(e);
        return NULL;
    }
    Py_INCREF(e->kept);
    Py_INCREF(e->facts);
    return capsule;
}

/* The relation of the given output to the inputs; -1: one that needs the slow path. */
static int place_of(const ndrt_operand *out, const ndrt_operand *ins, int n) {
    int place = OUT_APART;
    for (int i = n; i-- > 0;) {
        if (ins[i].chunk != out->chunk) continue;
        if (ins[i].offset != out->offset || ins[i].dtype != out->dtype ||
            PyObject_RichCompareBool(ins[i].shape, out->shape, Py_EQ) != 1)
            return -1;
        place = OUT_IS_INPUT + i;
    }
    return place;
}

/* The first earlier input that is the same array, counted from 1; 0: none. */
static int alias_of(const ndrt_operand *ins, int i) {
    for (int j = 0; j < i && ins[i].chunk; j++)
        if (ins[i].chunk == ins[j].chunk && ins[i].offset == ins[j].offset) return j + 1;
    return 0;
}

/* The key of a call: operator, flags, number of threads, each input's shape, dtype and layout,
 * which inputs are the same array, and the parameters without the numbers that are arguments. With
 * wishes these too, and the layouts of given outputs. */
static PyObject *key_of(PyObject *op, long flags, const ndrt_operand *ins, int n,
                        const ndrt_call_parameters *p, const ndrt_wishes *w) {
    Py_ssize_t nattrs = PyDict_Size(p->attrs), at = 2;
    flags |= p->given ? NUMBERED : 0;
    flags |= (long)ndrt_threads_get() << THREADS_SHIFT;
    PyObject *key = PyTuple_New(2 + (w ? 1 + w->ngiven : 0) + 3 * (Py_ssize_t)n + 3 * nattrs);
    if (!key) return NULL;
    ndrt_key_put(key, 0, op);
    PyTuple_SetItem(key, 1, PyLong_FromLong(flags));
    if (w) {
        PyTuple_SetItem(key, at++, PyBytes_FromStringAndSize(w->of, w->n));
        for (int i = 0; i < w->ngiven; i++)
            PyTuple_SetItem(key, at++, PyLong_FromLongLong(w->given[i].layout));
    }
    for (int i = 0; i < n; i++) {
        ndrt_key_put(key, at++, ins[i].shape);
        ndrt_key_put(key, at++, ins[i].dtype);
        PyTuple_SetItem(key, at++,
                        PyLong_FromLongLong(ins[i].layout * (1 << ALIAS_BITS) + alias_of(ins, i)));
    }
    ndrt_call_parameters_put(p, key, at);
    if (!PyErr_Occurred()) return key;
    Py_DECREF(key); /* a number could not be allocated */
    return NULL;
}

static int64_t hits;

int64_t ndrt_call_hits(void) { return __atomic_load_n(&hits, __ATOMIC_RELAXED); }
void ndrt_call_hits_reset(void) { __atomic_store_n(&hits, 0, __ATOMIC_RELAXED); }

/* ---- running ------------------------------------------------------------------------------------
 */

/* Whether everything is still as it was when the key was made: objects were made since, and a
 * garbage collection can run any code. */
static int is_unchanged(const ndrt_operand *ins, int n) {
    for (int i = 0; i < n; i++)
        if (ins[i].layout != NDRT_NO_MEMORY &&
            (ins[i].chunk->layout != ins[i].layout || !ins[i].chunk->data))
            return 0;
    return 1;
}

void ndrt_call_renumber(const ndrt_call_entry *e, const ndrt_call_parameters *p) {
    for (int i = 0; i < e->nnumbers; i++)
        if (ndrt_number_given(p, e->numbers[i].number))
            ndrt_plan_renumber(e->plan, e->numbers[i].step, e->numbers[i].scalar,
                               p->values[e->numbers[i].number]);
}

static ndrt_status execute(const ndrt_call_entry *e, const ndrt_operand *ins, char *const *outs,
                           char *scratch) {
    for (int i = 0; i < e->nbindings; i++) {
        const ndrt_binding *b = &e->bindings[i];
        char *begin = b->kind == NDRT_BIND_INPUT
                          ? (char *)ins[b->index].chunk->data + ins[b->index].offset
                      : b->kind == NDRT_BIND_OUTPUT ? outs[b->index]
                                                    : scratch;
        ndrt_plan_bind(e->plan, b->step, b->argument, begin + b->offset);
    }
    __atomic_add_fetch(&hits, e->hits, __ATOMIC_RELAXED);
    int64_t cursor = 0;
    ndrt_status status;
    if (e->frees_gil) {
        PyThreadState *thread = PyEval_SaveThread();
        status = ndrt_plan_run(e->plan, -1, &cursor);
        PyEval_RestoreThread(thread);
    } else {
        status = ndrt_plan_run(e->plan, -1, &cursor);
    }
    return status;
}

static int is_changed(const ndrt_call_entry *e, int input) { return e->changed >> input & 1; }

/* Whether an input that the call will change is exported. */
static int is_pinned(const ndrt_call_entry *e, const ndrt_operand *ins) {
    for (int i = 0; i < e->ninputs; i++)
        if (is_changed(e, i) && ins[i].chunk->pins) return 1;
    return 0;
}

/* Whether an array that the call will write is exported. */
static int is_any_pinned(const ndrt_operand *given, int n) {
    for (int i = 0; i < n; i++)
        if (given[i].chunk->pins) return 1;
    return 0;
}

ndrt_status ndrt_call_run_leased(const ndrt_call_entry *e, const ndrt_operand *ins,
                                 const ndrt_operand *given, int ngiven, char *const *outs,
                                 int *busy) {
    ndrt_lease leases[NDRT_CALL_INPUTS + NDRT_CALL_OUTPUTS];
    int n = 0;
    for (int i = 0; i < e->ninputs; i++)
        if (ins[i].chunk) leases[n++] = (ndrt_lease){ins[i].chunk, is_changed(e, i)};
    for (int i = 0; i < ngiven; i++) leases[n++] = (ndrt_lease){given[i].chunk, 1};
    ndrt_buffer *scratch = NULL;
    if (e->scratch) TRY(ndrt_buffer_new(e->scratch, 0, &scratch));
    *busy = !ndrt_leases_try(leases, &n);
    ndrt_status status = NDRT_OK;
    if (!*busy) {
        *busy = !is_unchanged(ins, e->ninputs) || is_pinned(e, ins) ||
                !is_unchanged(given, ngiven) || is_any_pinned(given, ngiven);
        if (!*busy) {
            for (int i = 0; i < n; i++)
                if (leases[i].exclusive) ndrt_chunk_add_writes(leases[i].chunk);
            status = execute(e, ins, outs, scratch ? scratch->data : NULL);
        }
        ndrt_leases_undo(leases, n);
    }
    if (scratch) ndrt_buffer_free(scratch);
    return status;
}

PyObject *ndrt_long_way(void) { Py_RETURN_NONE; }

PyObject *ndrt_call_failed(ndrt_status status) {
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
}

static PyObject *run_given(const ndrt_call_entry *e, const ndrt_operand *ins,
                           const ndrt_operand *out) {
    PyObject *facts = PyTuple_GetItem(e->facts, 0);
    if (e->noutputs != 1 || e->layouts[0] || out->layout || out->chunk->pins ||
        out->dtype != PyTuple_GetItem(facts, 1) ||
        PyObject_RichCompareBool(out->shape, PyTuple_GetItem(facts, 0), Py_EQ) != 1)
        return ndrt_long_way();
    char *bytes = (char *)out->chunk->data + out->offset;
    int busy;
    ndrt_status status = ndrt_call_run_leased(e, ins, out, 1, &bytes, &busy);
    if (status != NDRT_OK) return ndrt_call_failed(status);
    if (busy) return ndrt_long_way();
    Py_INCREF(out->object);
    return out->object;
}

/* `object`s as one Python object: the only one itself, or a list; for a call that goes on the tape,
 * a list that begins with what the entry keeps alive. Steals the references, or returns NULL with
 * an exception. */
static PyObject *given_back(const ndrt_call_entry *e, ndrt_made_output *made, int recorded) {
    if (e->noutputs == 1 && !recorded) return made[0].object;
    PyObject *list = PyList_New(e->noutputs + recorded);
    if (!list) return NULL;
    if (recorded) {
        Py_INCREF(e->kept);
        PyList_SetItem(list, 0, e->kept);
    }
    for (int i = 0; i < e->noutputs; i++) PyList_SetItem(list, i + recorded, made[i].object);
    return list;
}

static PyObject *run_new(const ndrt_call_entry *e, const ndrt_operand *ins, int recorded) {
    ndrt_made_output made[NDRT_CALL_OUTPUTS];
    char *outs[NDRT_CALL_OUTPUTS] = {0};
    PyObject *ctx = ndrt_context_of(ins[0].object);
    if (!ctx) return NULL;
    if (ndrt_exports_returned()) ndrt_exports_drain();
    ndrt_status status = NDRT_OK;
    int n = 0, busy = 0;
    while (n < e->noutputs && status == NDRT_OK) {
        status = ndrt_output_new(PyTuple_GetItem(e->facts, n), e->nbytes[n], e->layouts[n], ctx,
                                 &made[n]);
        if (status != NDRT_OK) break;
        outs[n] = made[n].buffer->data;
        n++;
    }
    Py_DECREF(ctx);
    if (status == NDRT_OK) status = ndrt_call_run_leased(e, ins, NULL, 0, outs, &busy);
    if (status == NDRT_OK && !busy) {
        PyObject *result = given_back(e, made, recorded);
        if (result) return result;
        status = NDRT_INTERNAL;
    }
    for (int i = 0; i < n; i++) Py_DECREF(made[i].object);
    return status != NDRT_OK ? ndrt_call_failed(status) : ndrt_long_way();
}

PyObject *ndrt_call_look_up(PyObject *table, PyObject *op, long flags, const ndrt_operand *ins,
                            int n, ndrt_call_parameters *p, const ndrt_wishes *w, PyObject **key) {
    PyObject *found = NULL;
    for (int turn = 0; turn < 2; turn++) {
        *key = key_of(op, flags, ins, n, p, w);
        if (!*key) return NULL;
        found = PyDict_GetItemWithError(table, *key);
        if (found != Py_True) break;
        Py_DECREF(*key);
        *key = NULL;
        p->given = 0;
        found = NULL;
    }
    return found;
}

/* run(table, operator, flags, inputs, attributes, out). Returns the output, or a list of several;
 * with the flag RECORDED a list that begins with what is kept alive; the key if the table does not
 * have it, None if the slow path is needed for another reason, or the number of a status. */
static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (nargs != 6) return PyErr_Format(PyExc_TypeError, "run takes 6 arguments");
    PyObject *inputs = args[3], *attrs = args[4], *given = args[5];
    ndrt_operand ins[NDRT_CALL_INPUTS], out;
    Py_ssize_t n = PyTuple_Size(inputs);
    if (n < 1 || n > NDRT_CALL_INPUTS) return n < 0 ? NULL : ndrt_long_way();
    for (Py_ssize_t i = 0; i < n; i++) {
        int found = ndrt_operand_read(PyTuple_GetItem(inputs, i), &ins[i]);
        if (found != 1) return found < 0 ? NULL : ndrt_long_way();
    }
    ndrt_call_parameters p;
    int simple = ndrt_call_parameters_read(args[1], attrs, &p);
    if (simple != 1) return simple ? NULL : ndrt_long_way();
    long flags = PyLong_AsLong(args[2]);
    if (given != Py_None) {
        int found = ndrt_operand_read(given, &out);
        if (found != 1) return found < 0 ? NULL : ndrt_long_way();
        int place = place_of(&out, ins, (int)n);
        if (place < 0) return PyErr_Occurred() ? NULL : ndrt_long_way();
        flags |= (long)place << OUT_SHIFT;
    }
    PyObject *key, *found = ndrt_call_look_up(args[0], args[1], flags, ins, (int)n, &p, NULL, &key);
    if (!found) {
        if (!PyErr_Occurred()) return key ? key : ndrt_long_way();
        Py_XDECREF(key);
        return NULL;
    }
    Py_DECREF(key);
    if (found == Py_None) return ndrt_long_way();
    ndrt_call_entry *e = PyCapsule_GetPointer(found, NDRT_CALL_ENTRY);
    if (!e) return NULL;
    /* keeps the entry alive, whatever happens to the table */
    Py_INCREF(found);
    ndrt_call_renumber(e, &p);
    PyObject *result =
        given == Py_None ? run_new(e, ins, (flags & RECORDED) != 0) : run_given(e, ins, &out);
    Py_DECREF(found);
    return result;
}

/* ---- copies -------------------------------------------------------------------------------------
 */

/* copies(facts, addresses, ctx): new arrays, each with the first bytes of the chunk at an address;
 * None if one of those has no memory, or a special layout. Nobody else has access to the chunks.
 * Facts are those of outputs. */
static PyObject *copies(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (nargs != 3) return PyErr_Format(PyExc_TypeError, "copies takes 3 arguments");
    Py_ssize_t n = PyTuple_Size(args[0]);
    if (n < 0 || PyTuple_Size(args[1]) != n)
        return PyErr_Format(PyExc_ValueError, "facts and addresses of another number");
    if (ndrt_exports_returned()) ndrt_exports_drain();
    PyObject *list = PyList_New(n);
    ndrt_status status = list ? NDRT_OK : NDRT_INTERNAL;
    for (Py_ssize_t i = 0; i < n && status == NDRT_OK; i++) {
        PyObject *facts = PyTuple_GetItem(args[0], i);
        const ndrt_chunk *chunk = PyLong_AsVoidPtr(PyTuple_GetItem(args[1], i));
        size_t nbytes = PyLong_AsSize_t(PyTuple_GetItem(facts, 3));
        if (!chunk || PyErr_Occurred()) {
            status = NDRT_INTERNAL;
        } else if (!chunk->data || chunk->layout) {
            Py_DECREF(list);
            return ndrt_long_way();
        } else {
            ndrt_made_output made;
            status = ndrt_output_new(facts, nbytes, 0, args[2], &made);
            if (status != NDRT_OK) break;
            memcpy(made.buffer->data, chunk->data, nbytes);
            PyList_SetItem(list, i, made.object);
        }
    }
    if (status == NDRT_OK) return list;
    Py_XDECREF(list);
    return ndrt_call_failed(status);
}

/* ---- set-up
 * --------------------------------------------------------------------------------------- */

void *ndrt_call_functions(void *setup) {
    static PyMethodDef run_def = {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL};
    static PyMethodDef keep_def = {"keep", (PyCFunction)(void (*)(void))keep, METH_FASTCALL, NULL};
    static PyMethodDef copies_def = {"copies", (PyCFunction)(void (*)(void))copies, METH_FASTCALL,
                                     NULL};
    static PyMethodDef again_def = {"again", (PyCFunction)(void (*)(void))ndrt_call_again,
                                    METH_FASTCALL, NULL};
    static PyMethodDef kinds_def = {"kinds", (PyCFunction)(void (*)(void))ndrt_number_kinds_new,
                                    METH_FASTCALL, NULL};
    PyObject *given = setup;
    if (PyTuple_Size(given) != 8 || ndrt_call_arrays_set(given))
        return PyErr_Format(PyExc_TypeError, "types and slots are not those of arrays and chunks");
    ndrt_call_marks_set(given, 4);
    Py_INCREF(given); /* it owns all of them, as long as the process lives */
    PyObject *made = PyTuple_New(5);
    if (!made) return NULL;
    PyTuple_SetItem(made, 0, PyCFunction_NewEx(&run_def, NULL, NULL));
    PyTuple_SetItem(made, 1, PyCFunction_NewEx(&keep_def, NULL, NULL));
    PyTuple_SetItem(made, 2, PyCFunction_NewEx(&kinds_def, NULL, NULL));
    PyTuple_SetItem(made, 3, PyCFunction_NewEx(&copies_def, NULL, NULL));
    PyTuple_SetItem(made, 4, PyCFunction_NewEx(&again_def, NULL, NULL));
    return made;
}
