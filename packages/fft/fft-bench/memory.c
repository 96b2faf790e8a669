/* Working memory of a transform: the one difference between the two packages. */
#include "fft.h"

#include <stdio.h>
#include <stdlib.h>

static double complex *kept;
static size_t kept_points;

static double complex *allocate_points(size_t points)
{
    double complex *spare = malloc(points * sizeof *spare);

    if (!spare) {
        perror("fft");
        exit(1);
    }
    return spare;
}

double complex *take_spare(size_t points, bool allocate)
{
    if (allocate)
        return allocate_points(points);
    if (kept_points < points) {
        free(kept);
        kept = allocate_points(points);
        kept_points = points;
    }
    return kept;
}

void give_spare(double complex *spare, bool allocate)
{
    if (allocate)
        free(spare);
}
