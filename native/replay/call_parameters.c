/* The parameters of an imperative call as part of its key, and the numbers among them, with which a
 * recorded call can be repeated, as its kernels read them at each run. */
#include "ndrt_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* longest strings and tuples in keys; as in imperative/call.py */
enum { MOST_LETTERS = 256, MOST_ITEMS = 64 };

static const char KINDS[] = "ndrt numbers";

/* The names of one operator's numbers, and the values that a recording serves. */
struct ndrt_number_kinds {
    int n, napart;
    PyObject *names[NDRT_CALL_NUMBERS]; /* interned, so that they are compared by address */
    double low[NDRT_CALL_NUMBERS], high[NDRT_CALL_NUMBERS];
    double least, most; /* sizes of those that are not 0 */
    int zero, nan;
    double apart[NDRT_CALL_NUMBERS];
};

static void kinds_die(PyObject *capsule) {
    ndrt_number_kinds *kinds = PyCapsule_GetPointer(capsule, KINDS);
    for (int i = 0; i < kinds->n; i++) Py_XDECREF(kinds->names[i]);
    free(kinds);
}

/* The numbers in a tuple, at most `room`; -1 with an exception. */
static int doubles(PyObject *tuple, double *to, Py_ssize_t room) {
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > room) {
        PyErr_Format(PyExc_ValueError, "%zd numbers, expected at most %zd", n, room);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) to[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, i));
    return n < 0 || PyErr_Occurred() ? -1 : (int)n;
}

PyObject *ndrt_number_kinds_new(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (nargs != 5) return PyErr_Format(PyExc_TypeError, "kinds takes 5 arguments");
    Py_ssize_t n = PyTuple_Size(args[0]);
    if (n < 1 || n > NDRT_CALL_NUMBERS)
        return PyErr_Format(PyExc_ValueError, "an operator with %zd numbers", n);
    ndrt_number_kinds *made = calloc(1, sizeof *made);
    if (!made) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(made, KINDS, kinds_die);
    if (!capsule) {
        free(made);
        return NULL;
    }
    double sizes[4];
    int failed = doubles(args[1], made->low, n) != n || doubles(args[2], made->high, n) != n ||
                 doubles(args[3], sizes, 4) != 4;
    made->napart = failed ? -1 : doubles(args[4], made->apart, NDRT_CALL_NUMBERS);
    if (failed || made->napart < 0) {
        Py_DECREF(capsule);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "too few numbers");
    }
    made->least = sizes[0];
    made->most = sizes[1];
    made->zero = sizes[2] != 0;
    made->nan = sizes[3] != 0;
    for (; made->n < n; made->n++) {
        PyObject *name = PyTuple_GetItem(args[0], made->n);
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        made->names[made->n] = name;
    }
    return capsule;
}

static const ndrt_number_kinds *kinds_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, KINDS);
}

static int place_of(const ndrt_number_kinds *kinds, PyObject *name) {
    for (int i = 0; i < kinds->n; i++)
        if (kinds->names[i] == name) return i;
    return -1;
}

/* The value as Python's float() returns it; 0: not a number, or too large for one. */
static int read_number(PyObject *value, double *to) {
    if (PyFloat_Check(value)) {
        *to = PyFloat_AsDouble(value);
    } else if (PyLong_Check(value)) {
        *to = PyLong_AsDouble(value);
    } else {
        return 0;
    }
    if (*to == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static int admitted(const ndrt_number_kinds *kinds, int place, PyObject *value, double *to) {
    if (!read_number(value, to)) return 0;
    double number = *to, size = fabs(number);
    if (isnan(number))
        return kinds->nan && kinds->low[place] == -INFINITY && kinds->high[place] == INFINITY;
    if (number < kinds->low[place] || number > kinds->high[place]) return 0;
    for (int i = 0; i < kinds->napart; i++)
        if (number == kinds->apart[i]) return 0;
    return number == 0 ? kinds->zero : size >= kinds->least && size <= kinds->most;
}

/* ---- parameters -------------------------------------------------------------------------------
 */

static struct {
    PyObject *numbers; /* operator -> what ndrt_number_kinds_new gave */
    PyObject *number, *negative_zero, *nan;
} marks;

void ndrt_call_marks_set(PyObject *tuple, Py_ssize_t first) {
    marks.numbers = PyTuple_GetItem(tuple, first);
    marks.number = PyTuple_GetItem(tuple, first + 1);
    marks.negative_zero = PyTuple_GetItem(tuple, first + 2);
    marks.nan = PyTuple_GetItem(tuple, first + 3);
}

/* Whether equal keys and types imply equal meaning of a value, and whether it is short enough to be
 * kept in a key. */
static int is_simple(PyObject *value) {
    if (value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
        PyFloat_CheckExact(value))
        return 1;
    if (PyUnicode_CheckExact(value)) return PyUnicode_GetLength(value) <= MOST_LETTERS;
    if (!PyTuple_CheckExact(value)) return 0;
    Py_ssize_t n = PyTuple_Size(value);
    for (Py_ssize_t i = 0; i < n && n <= MOST_ITEMS; i++)
        if (!PyLong_CheckExact(PyTuple_GetItem(value, i))) return 0;
    return n <= MOST_ITEMS;
}

/* The key of a simple value; borrowed. */
static PyObject *value_key(PyObject *value) {
    if (!PyFloat_CheckExact(value)) return value;
    double number = PyFloat_AsDouble(value);
    if (isnan(number)) return marks.nan;
    return number == 0 && signbit(number) ? marks.negative_zero : value;
}

int ndrt_number_given(const ndrt_call_parameters *p, int place) {
    return place >= 0 && p->given >> place & 1;
}

int ndrt_call_parameters_read(PyObject *op, PyObject *attrs, ndrt_call_parameters *to) {
    *to = (ndrt_call_parameters){.attrs = attrs};
    if (!PyDict_Size(attrs)) return 1;
    PyObject *kinds = PyDict_GetItemWithError(marks.numbers, op), *name, *value;
    if (kinds && !(to->kinds = kinds_of(kinds))) return -1;
    for (Py_ssize_t next = 0; PyDict_Next(attrs, &next, &name, &value);) {
        int place = to->kinds ? place_of(to->kinds, name) : -1;
        if (place >= 0 && admitted(to->kinds, place, value, &to->values[place]))
            to->given |= 1u << place;
        else if (!is_simple(value))
            return 0;
    }
    return PyErr_Occurred() ? -1 : 1;
}

void ndrt_key_put(PyObject *key, Py_ssize_t at, PyObject *item) {
    Py_INCREF(item);
    PyTuple_SetItem(key, at, item);
}

void ndrt_call_parameters_put(const ndrt_call_parameters *p, PyObject *key, Py_ssize_t at) {
    PyObject *name, *value;
    for (Py_ssize_t next = 0; PyDict_Next(p->attrs, &next, &name, &value);) {
        int given = p->given && ndrt_number_given(p, place_of(p->kinds, name));
        ndrt_key_put(key, at++, name);
        ndrt_key_put(key, at++, given ? marks.number : (PyObject *)Py_TYPE(value));
        ndrt_key_put(key, at++, given ? marks.number : value_key(value));
    }
}
