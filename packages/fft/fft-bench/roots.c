/* Roots of unity, worked out once. */
#include "fft.h"

#include <math.h>
#include <stdlib.h>

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
