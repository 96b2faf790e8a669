/* The same steps backwards: they read one array and write the other, in order. */
#include "fft.h"

/* Products written out: C's own multiplication of complex numbers calls a function for infinities. */
static double complex multiply(double complex a, double complex b)
{
    double real = creal(a) * creal(b) - cimag(a) * cimag(b);
    double imaginary = creal(a) * cimag(b) + cimag(a) * creal(b);

    return CMPLX(real, imaginary);
}

void step_back(const struct roots *roots, const double complex *from, double complex *to, size_t length,
                size_t stride)
{
    for (size_t block = 0; block < length; block++) {
        double complex root = conj(roots->values[block * stride]);
        for (size_t at = 0; at < stride; at++) {
            double complex a = from[at + stride * block], b = from[at + stride * (block + length)];
            to[at + stride * 2 * block] = a + b;
            to[at + stride * (2 * block + 1)] = multiply(a - b, root);
        }
    }
}
