/* Sums values of the mathematical library: exponentials, logarithms and sines of changing arguments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TERMS = 1000000 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    double sum = 0;
    if (size < 1)
        return 2;
    for (long turn = 0; turn < size; turn++)
        for (int term = 1; term <= TERMS; term++) {
            double x = term * 1e-3;
            sum += sin(x) * exp(-x * 1e-3) + log(x + (double)turn);
        }
    printf("%.9g\n", sum);
    return !isfinite(sum);
}
