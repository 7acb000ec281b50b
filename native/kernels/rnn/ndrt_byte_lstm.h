/* How the weights of an LSTM on numbers of 8 bits, and its scratch, lie in memory for
 * NDRT_KERNEL_BYTE_LSTM.
 *
 * Weights between the states for each vector of state elements: for each pair of states (4 gates,
 * lanes, 2), int8, padded with zeros. Behind them, of each row of a gate, what its weights were
 * multiplied by, the sum of all its weights, those of the inputs too, and the sum of both biases.
 */
#ifndef NDRT_BYTE_LSTM_H
#define NDRT_BYTE_LSTM_H

#include <stdint.h>

enum { NDRT_LSTM_GATES = 4 };

typedef struct {
    float *scales;
    int32_t *sums;
    float *biases;
} ndrt_lstm_rows;

/* Numbers of a state: they come in pairs. */
static inline int64_t ndrt_lstm_state(int64_t size) { return (size + 1) / 2 * 2; }

static inline int64_t ndrt_lstm_unit(int64_t size, int lanes) {
    return ndrt_lstm_state(size) * NDRT_LSTM_GATES * lanes;
}

/* Bytes of all units. */
static inline int64_t ndrt_lstm_units(int64_t size, int lanes) {
    return (size + lanes - 1) / lanes * ndrt_lstm_unit(size, lanes);
}

/* Those of weights that begin there. */
static inline ndrt_lstm_rows ndrt_lstm_rows_of(char *weights, int64_t size, int lanes) {
    const int64_t rows = NDRT_LSTM_GATES * size;
    char *behind = weights + ndrt_lstm_units(size, lanes);
    return (ndrt_lstm_rows){(float *)behind, (int32_t *)behind + rows, (float *)behind + 2 * rows};
}
static inline int64_t ndrt_lstm_packed(int64_t size, int lanes) {
    const int64_t row = 2 * sizeof(float) + sizeof(int32_t);
    return ndrt_lstm_units(size, lanes) + NDRT_LSTM_GATES * size * row;
}

/* Of scratch: two numbers of each row of a gate, and the states of all samples before and after a
 * step. */
typedef struct {
    double *around, *step;
    int16_t *states;
} ndrt_lstm_room;

static inline ndrt_lstm_room ndrt_lstm_room_of(void *scratch, int64_t size) {
    const int64_t rows = NDRT_LSTM_GATES * size;
    double *numbers = scratch;
    return (ndrt_lstm_room){numbers, numbers + rows, (int16_t *)(numbers + 2 * rows)};
}
static inline int64_t ndrt_lstm_scratch(int64_t size, int64_t batch) {
    return 2 * NDRT_LSTM_GATES * size * (int64_t)sizeof(double) +
           2 * batch * ndrt_lstm_state(size) * (int64_t)sizeof(int16_t);
}

#endif
