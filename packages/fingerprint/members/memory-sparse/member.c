/* Multiplies a sparse matrix by a vector: numbers in order, places in the vector at random. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1 << 18, EACH = 12 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    float *values = malloc((size_t)ROWS * EACH * sizeof *values);
    uint32_t *columns = malloc((size_t)ROWS * EACH * sizeof *columns), state = 5;
    double *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    if (size < 1 || !values || !columns || !x || !y)
        return 2;
    for (long at = 0; at < (long)ROWS * EACH; at++) {
        state = state * 1664525u + 1013904223u;
        columns[at] = state % ROWS;
        values[at] = 1.0f / EACH;
    }
    for (long row = 0; row < ROWS; row++)
        x[row] = (double)(row % 17);
    for (long turn = 0; turn < size; turn++) {
        for (long row = 0; row < ROWS; row++) {
            double sum = 0;
            for (int at = 0; at < EACH; at++)
                sum += (double)values[row * EACH + at] * x[columns[row * EACH + at]];
            y[row] = sum;
        }
        double *kept = x;
        x = y;
        y = kept;
    }
    printf("%.9g\n", x[ROWS / 2]);
    return !(x[ROWS / 2] > 0);
}
