/* Repeated imperative calls: shared by the files that implement them. */
#ifndef NDRT_CALLS_H
#define NDRT_CALLS_H

#include <Python.h>

#include "ndrt_plan.h"

/* An array given to a call; its references are valid as long as the array does not change. */
typedef struct {
    PyObject *object, *shape, *dtype;
    ndrt_chunk *chunk;
    int64_t offset, layout;
} ndrt_operand;
/* in place of a layout: only the shape counts */
enum { NDRT_NO_MEMORY = -1 };
/* 1: found; 0: take the slow path; -1: a Python exception. */
int ndrt_operand_read(PyObject *object, ndrt_operand *to);
/* The same for an array as a tuple: shape, dtype, context, chunk, offset, whether it is reused,
 * whether it is a part of one that is. */
int ndrt_operand_held(PyObject *tuple, ndrt_operand *to);
PyObject *ndrt_context_of(PyObject *array); /* a new reference, or NULL with an exception */

typedef struct {
    PyObject *object; /* a new reference */
    ndrt_chunk *chunk;
    ndrt_buffer *buffer;
} ndrt_made_output;
/* An array with memory of its own; facts are its shape, dtype, layout and bytes. On failure nothing
 * remains; with NDRT_INTERNAL there is a Python exception. */
ndrt_status ndrt_output_new(PyObject *facts, size_t nbytes, int64_t layout, PyObject *ctx,
                            ndrt_made_output *out);
/* The types of arrays and chunks, and tuples of their slots; -1: they are not what they should be.
 */
int ndrt_call_arrays_set(PyObject *types);

enum { NDRT_CALL_NUMBERS = 8 };

/* The parameters of one operator that are numbers which a recorded call reads at each run. */
typedef struct ndrt_number_kinds ndrt_number_kinds;
/* kinds(names, least values, greatest values, (least size, greatest size, is there 0, is there
 * NaN), values that count as none of these). A capsule, or NULL with an exception. */
PyObject *ndrt_number_kinds_new(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

/* What stands in keys: of a tuple, from its item `first` on, the numbers' kinds by operator, and
 * the marks for a number that is an argument, for -0.0 and for NaN (value_key.py). */
void ndrt_call_marks_set(PyObject *tuple, Py_ssize_t first);

/* The parameters of a call, and the numbers among them that a recording takes as arguments. */
typedef struct {
    PyObject *attrs;
    const ndrt_number_kinds *kinds; /* NULL: no numbers */
    uint32_t given;                 /* which */
    double values[NDRT_CALL_NUMBERS];
} ndrt_call_parameters;
/* 1: found; 0: take the slow path; -1: a Python exception. */
int ndrt_call_parameters_read(PyObject *op, PyObject *attrs, ndrt_call_parameters *to);
/* Whether the number of this place is one of those arguments; -1: no place. */
int ndrt_number_given(const ndrt_call_parameters *p, int place);
/* Stores three items per parameter, from `at` on: its name, its type, its value. */
void ndrt_call_parameters_put(const ndrt_call_parameters *p, PyObject *key, Py_ssize_t at);
void ndrt_key_put(PyObject *key, Py_ssize_t at, PyObject *item);

/* ---- calls that are recorded
 * --------------------------------------------------------------------- */

enum { NDRT_CALL_OUTPUTS = 64, NDRT_CALL_PLACES = 16 /* of numbers among the steps */ };

typedef struct {
    ndrt_plan *plan;
    PyObject *kept;  /* what the plan points into */
    PyObject *facts; /* for each output: shape, dtype, layout, bytes */
    int frees_gil, ninputs, noutputs, nbindings;
    uint64_t changed; /* inputs that are written to, a bit each */
    size_t scratch;
    int hits;
    size_t *nbytes;   /* of each output's memory */
    int64_t *layouts; /* special ones, 0: the default one */
    int nnumbers;
    ndrt_numbering numbers[NDRT_CALL_PLACES];
    ndrt_binding bindings[];
} ndrt_call_entry;
/* What capsules with one are called. */
extern const char NDRT_CALL_ENTRY[];

/* The wishes for the outputs of a call that does not make all of them. */
typedef enum { NDRT_NOT_WANTED, NDRT_MADE, NDRT_WRITTEN, NDRT_ADDED } ndrt_wish;
typedef struct {
    int n, ngiven;
    char of[NDRT_CALL_OUTPUTS]; /* an ndrt_wish each */
    ndrt_operand given[NDRT_CALL_OUTPUTS];
    int places[NDRT_CALL_OUTPUTS]; /* which outputs these are */
} ndrt_wishes;

/* The table's entry for a call, or NULL; its key is stored in *key. `w`: NULL if all outputs are
 * made. For operators whose numbers are part of primitives, keys include them. */
PyObject *ndrt_call_look_up(PyObject *table, PyObject *op, long flags, const ndrt_operand *ins,
                            int n, ndrt_call_parameters *p, const ndrt_wishes *w, PyObject **key);
/* Nobody else runs the plan: a table belongs to its thread, and a run ends before the thread
 * continues in Python. */
void ndrt_call_renumber(const ndrt_call_entry *e, const ndrt_call_parameters *p);
/* Runs the call under its leases; `given` are arrays for outputs. *busy: nothing was done because
 * of a conflicting lease. */
ndrt_status ndrt_call_run_leased(const ndrt_call_entry *e, const ndrt_operand *ins,
                                 const ndrt_operand *given, int ngiven, char *const *outs,
                                 int *busy);
PyObject *ndrt_long_way(void); /* None */
/* The number of a status, or NULL if there is a Python exception. */
PyObject *ndrt_call_failed(ndrt_status status);
/* again(table, operator, flags, inputs, parameters, outputs, bits of those that are added to,
 * context). Returns a list of the outputs, or what `run` returns in place of them. */
PyObject *ndrt_call_again(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
