/* Whole numbers: sums through pointers, and tables of one and two dimensions. */
#include "dry.h"

void add_two(long low, long high, long *sum)
{
    long part = low + 2;

    *sum = high + part;
}

void fill_tables(long *row, long (*table)[ROWS], long index, long value)
{
    long at = index + 5;

    row[at] = value;
    row[at + 1] = row[at];
    row[at + 30] = at;
    for (long column = at; column <= at + 1; column++)
        table[at][column] = at;
    table[at][at - 1] += 1;
    table[at + 20][at] = row[at];
    row[8] = table[at][at - 1] & 255;
}

void adjust(struct world *world, long *number)
{
    long at = *number + 10;

    for (;;) {
        if (world->letter != 'Z') {
            at--;
            *number = at - world->number;
            world->number = (world->number + 5) & 1023;
        }
        if (is_blue(world->colour) || world->letter >= 'A')
            break;
    }
}
