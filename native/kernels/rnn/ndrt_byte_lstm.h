/* How the weights of an LSTM on numbers of 8 bits lie in memory for NDRT_KERNEL_BYTE_LSTM.
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

static inline int64_t ndrt_lstm_unit(int64_t size, int lanes) {
    return (size + 1) / 2 * 2 * NDRT_LSTM_GATES * lanes;
}

/* Those of weights that begin there. */
static inline ndrt_lstm_rows ndrt_lstm_rows_of(char *weights, int64_t size, int lanes) {
    const int64_t units = (size + lanes - 1) / lanes, rows = NDRT_LSTM_GATES * size;
    char *behind = weights + units * ndrt_lstm_unit(size, lanes);
    return (ndrt_lstm_rows){(float *)behind, (int32_t *)behind + rows, (float *)behind + 2 * rows};
}

#endif
