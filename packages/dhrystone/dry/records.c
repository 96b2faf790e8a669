/* Records behind pointers: made once, assigned whole, linked and followed. */
#include "dry.h"

#include <stdlib.h>

bool make_world(struct world *world)
{
    struct record *record = calloc(1, sizeof *record), *spare = calloc(1, sizeof *spare);

    *world = (struct world){.record = record, .spare = spare, .colour = RED, .letter = 'A'};
    if (!record || !spare)
        return false;
    copy_text(world->text, "A PROGRAM OF MANY SMALL STEPS,");
    *spare = (struct record){.next = spare, .colour = GREEN, .number = 10};
    *record = (struct record){.next = spare, .other = BLUE, .colour = GREEN, .number = 40};
    copy_text(record->text, "A PROGRAM OF RECORDS AND TEXT,");
    return true;
}

void walk_records(struct world *world)
{
    struct record *record = world->record, *next = record->next;

    *next = *record;
    record->number = 5 + (world->number & 3);
    next->number = record->number;
    next->next = record->next;
    follow(world, next);
    if (next->colour == GREEN) {
        next->number = 6;
        next->other = choose_other(record->other);
        next->next = world->spare->next;
        add_two(next->number, 10, &next->number);
    } else {
        *record = *next;
    }
}

void follow(struct world *world, struct record *record)
{
    if (world->record)
        record->next = world->record->next;
    add_two(10, world->number & 31, &world->record->number);
}
