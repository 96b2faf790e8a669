/* A transform, its tables, where its working memory comes from, and what is measured of it. */
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

/* One of the steps of a transform: blocks of `length`, whose points are `stride` apart. */
void step_forth(const struct roots *roots, const double complex *from, double complex *to, size_t length,
                size_t stride);
void step_back(const struct roots *roots, const double complex *from, double complex *to, size_t length,
               size_t stride);
void scale(double complex *signal, size_t points);

/* Working memory of so many points: made anew and given back each time when `allocate`, else always the same. */
double complex *take_spare(size_t points, bool allocate);
void give_spare(double complex *spare, bool allocate);

/* How often the clock is read: once for each batch of transforms. */
struct plan {
    long batch, measurements;
};

/* As many batches as the experiment asks for in the environment, else all transforms as one. */
struct plan read_plan(long transforms, long batch);
long read_number(const char *name, const char *text, long least, long most);
/* Time passed, and processor time of this process, since some moment. */
double now_s(void);
double processor_s(void);

#endif
