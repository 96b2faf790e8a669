/* Multiplies matrices that the first caches hold: products and sums that a compiler can put into vectors. */
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 96, TURNS = 100 };

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    if (size < 1)
        return 2;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            a[row][column] = (row * 7 + column) % 11 / 11.0;
            b[row][column] = (row + column * 5) % 13 / 13.0 / SIDE;
        }
    for (long turn = 0; turn < size * TURNS; turn++) {
        for (int row = 0; row < SIDE; row++) {
            for (int column = 0; column < SIDE; column++)
                c[row][column] = 0;
            for (int inner = 0; inner < SIDE; inner++) {
                double factor = a[row][inner];
                for (int column = 0; column < SIDE; column++)
                    c[row][column] += factor * b[inner][column];
            }
        }
        a[turn % SIDE][0] = c[0][turn % SIDE];
    }
    printf("%.9g\n", c[SIDE / 2][SIDE / 3]);
    return !(c[SIDE / 2][SIDE / 3] > 0);
}
