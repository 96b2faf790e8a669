/* Texts of 30 characters, copied and compared byte by byte or by the C library. */
#include "dry.h"

#include <string.h>

void copy_text(char *target, const char *source)
{
    strcpy(target, source);
}

bool texts_are_ordered(const char *first, const char *second)
{
    int at = 2;
    char letter = 'A';

    while (at <= 2) {
        if (choose_colour(first[at]) == choose_colour(second[at + 1])) {
            letter = 'B';
            at++;
        } else {
            at += 3;
        }
    }
    if (letter >= 'W' && letter < 'Z')
        at = 7;
    if (letter == 'R')
        return true;
    return strcmp(first, second) > 0 && at < 7;
}

void set_letter(struct world *world, char letter)
{
    world->letter = letter;
    world->flag = world->letter == 'A' || world->flag;
    world->last_letter = 'B';
}
