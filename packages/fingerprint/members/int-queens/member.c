/* Counts ways to place queens on a board: calls and branches, with nothing in memory but the stack. */
#include <stdio.h>
#include <stdlib.h>

enum { BOARD = 12, WAYS = 14200 };

static long place(unsigned full, unsigned columns, unsigned left, unsigned right)
{
    if (columns == full)
        return 1;
    long ways = 0;
    for (unsigned free = full & ~(columns | left | right); free; free &= free - 1) {
        unsigned at = free & -free;
        ways += place(full, columns | at, (left | at) << 1, (right | at) >> 1);
    }
    return ways;
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0, ways = 0;
    if (size < 1)
        return 2;
    for (long turn = 0; turn < size; turn++)
        ways += place((1u << BOARD) - 1, 0, 0, 0);
    printf("%ld\n", ways);
    return ways != WAYS * size;
}
