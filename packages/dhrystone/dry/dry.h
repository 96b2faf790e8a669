/* What the files of the benchmark share. Calls between files cannot be inlined, which is the point of having them. */
#ifndef DRY_H
#define DRY_H

#include <stdbool.h>

enum { TEXT_BYTES = 31, ROWS = 50 };
enum colour { RED, GREEN, BLUE, YELLOW, WHITE };

struct record {
    struct record *next;
    enum colour colour, other;
    long number;
    char text[TEXT_BYTES];
};

struct world {
    struct record *record, *spare;
    char text[TEXT_BYTES];
    char letter, last_letter;
    bool flag;
    enum colour colour;
    long number;
    long row[ROWS];
    long table[ROWS][ROWS];
};

bool make_world(struct world *world);

void walk_records(struct world *world);
void follow(struct world *world, struct record *record);

void copy_text(char *target, const char *source);
bool texts_are_ordered(const char *first, const char *second);
void set_letter(struct world *world, char letter);

void add_two(long low, long high, long *sum);
void fill_tables(long *row, long (*table)[ROWS], long index, long value);
void adjust(struct world *world, long *number);

enum colour choose_colour(char letter);
enum colour choose_other(enum colour colour);
bool is_blue(enum colour colour);

#endif
