/* Moves bodies under gravity: roots and divisions, each of which waits for the one before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5, STEPS = 100000 };

static double place[BODIES][3], speed[BODIES][3];
static const double mass[BODIES] = {40, 0.04, 0.01, 0.002, 0.003};

static double find_energy(void)
{
    double energy = 0;
    for (int one = 0; one < BODIES; one++) {
        for (int axis = 0; axis < 3; axis++)
            energy += mass[one] * speed[one][axis] * speed[one][axis] / 2;
        for (int other = one + 1; other < BODIES; other++) {
            double square = 0;
            for (int axis = 0; axis < 3; axis++)
                square += pow(place[one][axis] - place[other][axis], 2);
            energy -= mass[one] * mass[other] / sqrt(square);
        }
    }
    return energy;
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    if (size < 1)
        return 2;
    for (int body = 1; body < BODIES; body++) {
        place[body][0] = 4.0 * body;
        place[body][2] = 0.1 * body;
        speed[body][1] = sqrt(mass[0] / place[body][0]);
    }
    double before = find_energy(), step = 0.001;
    for (long turn = 0; turn < size * STEPS; turn++) {
        for (int one = 0; one < BODIES; one++)
            for (int other = one + 1; other < BODIES; other++) {
                double way[3], square = 0;
                for (int axis = 0; axis < 3; axis++) {
                    way[axis] = place[one][axis] - place[other][axis];
                    square += way[axis] * way[axis];
                }
                double pull = step / (square * sqrt(square));
                for (int axis = 0; axis < 3; axis++) {
                    speed[one][axis] -= way[axis] * mass[other] * pull;
                    speed[other][axis] += way[axis] * mass[one] * pull;
                }
            }
        for (int body = 0; body < BODIES; body++)
            for (int axis = 0; axis < 3; axis++)
                place[body][axis] += step * speed[body][axis];
    }
    double after = find_energy();
    printf("%.9g %.9g\n", before, after);
    return !(fabs(after - before) < 1e-3 * fabs(before));
}
