/* Stockham's transform, radix 2. */
#include "fft.h"

#include <string.h>

void transform(const struct roots *roots, double complex *signal, double complex *spare, bool inverse)
{
    size_t points = roots->points;
    double complex *from = signal, *to = spare;

    for (size_t length = points / 2, stride = 1; length >= 1; length /= 2, stride *= 2) {
        (inverse ? step_back : step_forth)(roots, from, to, length, stride);
        double complex *swap = from;
        from = to;
        to = swap;
    }
    if (from != signal)
        memcpy(signal, from, points * sizeof *signal);
    if (inverse)
        scale(signal, points);
}
