/* Adds long vectors: as many bytes in a second as the memory gives, in order. */
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 22, TURNS = 5 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    double *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b), *c = malloc(COUNT * sizeof *c);
    if (size < 1 || !a || !b || !c)
        return 2;
    for (int at = 0; at < COUNT; at++) {
        a[at] = 0;
        b[at] = at % 7;
        c[at] = at % 5;
    }
    for (long turn = 0; turn < size * TURNS; turn++) {
        double factor = (double)(turn % 3) + 1;
        for (int at = 0; at < COUNT; at++)
            a[at] = b[at] + factor * c[at];
        double *kept = a;
        a = b;
        b = kept;
        b[turn % COUNT] = 1;
    }
    printf("%g\n", a[COUNT / 3] + b[COUNT / 2]);
    return 0;
}
