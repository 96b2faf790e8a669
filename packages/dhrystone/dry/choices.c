/* Choices: enumerations in and out of a switch, conditions on characters. */
#include "dry.h"

enum colour choose_colour(char letter)
{
    return letter == 'A' ? RED : letter == 'B' ? GREEN : letter < 'M' ? BLUE : YELLOW;
}

enum colour choose_other(enum colour colour)
{
    switch (colour) {
    case RED:
        return GREEN;
    case GREEN:
        return is_blue(colour) ? RED : YELLOW;
    case BLUE:
        return WHITE;
    case YELLOW:
        return BLUE;
    case WHITE:
        return RED;
    }
    return WHITE;
}

bool is_blue(enum colour colour)
{
    enum colour known = colour;

    return known == BLUE;
}
