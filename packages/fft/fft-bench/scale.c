/* What an inverse transform has to do besides. */
#include "fft.h"

void scale(double complex *signal, size_t points)
{
    for (size_t at = 0; at < points; at++)
        signal[at] /= (double)points;
}
