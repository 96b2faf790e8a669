/* A transform, its tables, and where its working memory comes from. */
#ifndef FFT_H
#define FFT_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

/* Roots of unity for transforms of `points`, a power of two. */
struct roots {
    size_t points;
    double complex *values;
};

bool make_roots(struct roots *roots, size_t points);

/* Transforms `signal` in place; `spare` holds as many points. `inverse` scales by 1/points, too. */
void transform(const struct roots *roots, double complex *signal, double complex *spare, bool inverse);

/* Working memory of so many points: made anew and given back each time when `allocate`, else always the same. */
double complex *take_spare(size_t points, bool allocate);
void give_spare(double complex *spare, bool allocate);

#endif
