/* Stockham's transform, radix 2: each step reads one array and writes the other, in order. */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool make_roots(struct roots *roots, size_t points)
{
    roots->points = points;
    roots->values = malloc(points / 2 * sizeof *roots->values);
    if (!roots->values)
        return false;
    for (size_t at = 0; at < points / 2; at++) {
        double angle = -2 * acos(-1) * (double)at / (double)points;
        roots->values[at] = cos(angle) + I * sin(angle);
    }
    return true;
}

/* Products written out: C's own multiplication of complex numbers calls a function for infinities. */
static double complex multiply(double complex a, double complex b)
{
    double real = creal(a) * creal(b) - cimag(a) * cimag(b);
    double imaginary = creal(a) * cimag(b) + cimag(a) * creal(b);

    return CMPLX(real, imaginary);
}

void transform(const struct roots *roots, double complex *signal, double complex *spare, bool inverse)
{
    size_t points = roots->points;
    double complex *from = signal, *to = spare;

    for (size_t length = points / 2, stride = 1; length >= 1; length /= 2, stride *= 2) {
        for (size_t block = 0; block < length; block++) {
            double complex root = roots->values[block * stride];
            if (inverse)
                root = conj(root);
            for (size_t at = 0; at < stride; at++) {
                double complex a = from[at + stride * block], b = from[at + stride * (block + length)];
                to[at + stride * 2 * block] = a + b;
                to[at + stride * (2 * block + 1)] = multiply(a - b, root);
            }
        }
        double complex *swap = from;
        from = to;
        to = swap;
    }
    if (from != signal)
        memcpy(signal, from, points * sizeof *signal);
    if (inverse)
        for (size_t at = 0; at < points; at++)
            signal[at] /= (double)points;
}
