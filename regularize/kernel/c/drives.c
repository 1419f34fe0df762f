/* Prescribed motions: positions, rates and accelerations over time, and states that follow them.
 *
 * Of every drive there is a row, the last ones: the velocity is as prescribed, and the row's
 * multiplier is the drive's force. Drives are numbers, one behind the other: how many there are, and
 * of each the numbers below. An expression is a list of operations on a stack, as in
 * regularize/dynamics/expression.py, in Taylor arithmetic (Griewank, Walther, Evaluating
 * Derivatives, 13.2); a table has n times and 4 (n - 1) coefficients, the cubic ones first. A function
 * is one of C by its address, whose bits stand among the numbers: it writes position, rate and
 * acceleration, and returns 0, or another number where there are none:
 *     int motion(double t, double *motion, void *data)
 */
#include <math.h>
#include <string.h>

#include "algebra.h"
#include "tables.h"

/* Of each drive: its velocity and coordinate, form, and how many numbers follow. */
enum { DRIVEN_VELOCITY, DRIVEN_COORDINATE, FORM, LENGTH_OF_FORM, HEAD };
enum { EXPRESSION, TABLE, FUNCTION };

/* Operations, as in expression.py: the number of a constant follows its code. */
enum {
    NUMBER, TIME_ITSELF, PLUS, MINUS, TIMES, BY, POWER, NEGATIVE,
    SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, EXP, LOG, SQRT, ABS
};

/* Values on the stack, and the largest position and rate of a drive, as in prescribed.py. */
enum { DEPTH = 32 };
static const double fastest = 1e6;

typedef int (*Prescribed)(double, double *, void *);

/* A value that changes over time: itself, its rate and its acceleration. */
typedef struct {
    double value, rate, acceleration;
} Taylor;

static inline int drives_of(const Motion *m) { return (int)m->drives[0]; }

/* A function of a value by its own and its derivatives there. */
static Taylor through(Taylor x, double value, double slope, double bend) {
    const double bent = x.rate != 0.0 ? bend * x.rate * x.rate : 0.0;
    const double moved = x.acceleration != 0.0 ? slope * x.acceleration : 0.0;
    const Taylor found = {value, x.rate != 0.0 ? slope * x.rate : 0.0, bent + moved};
    return found;
}

static Taylor product(Taylor a, Taylor b) {
    const Taylor found = {
        a.value * b.value, a.rate * b.value + a.value * b.rate,
        a.acceleration * b.value + 2.0 * a.rate * b.rate + a.value * b.acceleration};
    return found;
}

/* A function of one value. */
static Taylor function_of(int code, Taylor a) {
    const double x = a.value, s = 1.0 - x * x, c = cos(x), h = tanh(x);
    switch (code) {
    case NEGATIVE: return through(a, -x, -1.0, 0.0);
    case SIN: return through(a, sin(x), c, -sin(x));
    case COS: return through(a, c, -sin(x), -c);
    case TAN: return through(a, tan(x), 1.0 / (c * c), 2.0 * tan(x) / (c * c));
    case ASIN: return through(a, asin(x), 1.0 / sqrt(s), x / (s * sqrt(s)));
    case ACOS: return through(a, acos(x), -1.0 / sqrt(s), -x / (s * sqrt(s)));
    case ATAN: return through(a, atan(x), 1.0 / (1.0 + x * x),
                              -2.0 * x / ((1.0 + x * x) * (1.0 + x * x)));
    case SINH: return through(a, sinh(x), cosh(x), sinh(x));
    case COSH: return through(a, cosh(x), sinh(x), cosh(x));
    case TANH: return through(a, h, 1.0 - h * h, -2.0 * h * (1.0 - h * h));
    case EXP: return through(a, exp(x), exp(x), exp(x));
    case LOG: return through(a, log(x), 1.0 / x, -1.0 / (x * x));
    case SQRT: return through(a, sqrt(x), 0.5 / sqrt(x), -0.25 / (x * sqrt(x)));
    default: return through(a, fabs(x), copysign(1.0, x), 0.0);
    }
}

/* A power; the exponent may change over time where the base is positive. */
static Taylor power_of(Taylor base, Taylor exponent) {
    const double x = base.value, n = exponent.value;
    if (exponent.rate != 0.0 || exponent.acceleration != 0.0) {
        return function_of(EXP, product(exponent, function_of(LOG, base)));
    }
    const double slope = n != 0.0 ? n * pow(x, n - 1.0) : 0.0;
    const double bend = n != 0.0 && n != 1.0 ? n * (n - 1.0) * pow(x, n - 2.0) : 0.0;
    return through(base, pow(x, n), slope, bend);
}

/* An operation on two values. */
static Taylor operation_on(int code, Taylor a, Taylor b) {
    const double x = b.value, sign = code == PLUS ? 1.0 : -1.0;
    if (code == TIMES) return product(a, b);
    if (code == BY) return product(a, through(b, 1.0 / x, -1.0 / (x * x), 2.0 / (x * x * x)));
    if (code == POWER) return power_of(a, b);
    const Taylor sum = {a.value + sign * b.value, a.rate + sign * b.rate,
                        a.acceleration + sign * b.acceleration};
    return sum;
}

/* An expression at a time. */
static void evaluate(const double *code, int length, double time, double *motion) {
    const double *end = code + length;
    Taylor stack[DEPTH] = {{0.0, 0.0, 0.0}};
    int depth = 0;
    while (code < end) {
        const int operation = (int)*code++;
        if (operation == NUMBER || operation == TIME_ITSELF) {
            const Taylor leaf = {operation == NUMBER ? *code++ : time,
                                 operation == NUMBER ? 0.0 : 1.0, 0.0};
            stack[depth++] = leaf;
        } else if (operation < NEGATIVE) {
            --depth;
            stack[depth - 1] = operation_on(operation, stack[depth - 1], stack[depth]);
        } else {
            stack[depth - 1] = function_of(operation, stack[depth - 1]);
        }
    }
    motion[0] = stack[0].value, motion[1] = stack[0].rate, motion[2] = stack[0].acceleration;
}

/* A cubic spline: n times, and the coefficients of its pieces. */
static void look_up(const double *numbers, int length, double time, double *motion) {
    const int n = (length + 4) / 5, pieces = n - 1;
    int low = 0, high = pieces;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (numbers[middle] <= time) low = middle; else high = middle;
    }
    const double *c = numbers + n + low, x = time - numbers[low];
    const double a = c[0], b = c[pieces], first = c[2 * pieces];
    motion[0] = ((a * x + b) * x + first) * x + c[3 * pieces];
    motion[1] = (3.0 * a * x + 2.0 * b) * x + first;
    motion[2] = 6.0 * a * x + 2.0 * b;
}

/* Position, rate and acceleration of every drive at a time; 1 where one has none. */
static int drive(const Motion *m, double time) {
    const double *drive = m->drives + 1;
    for (int k = 0; k < drives_of(m); ++k) {
        const int length = (int)drive[LENGTH_OF_FORM];
        double *motion = m->w->driven + 3 * k;
        const double *numbers = drive + HEAD;
        if (drive[FORM] == EXPRESSION) {
            evaluate(numbers, length, time, motion);
        } else if (drive[FORM] == TABLE) {
            look_up(numbers, length, time, motion);
        } else {
            Prescribed function;
            memcpy(&function, numbers, sizeof function);
            if (function(time, motion, data_of(numbers + 1))) return 1;
        }
        for (int i = 0; i < 2; ++i) {
            if (!(fabs(motion[i]) <= fastest)) return 1;
        }
        if (!isfinite(motion[2])) return 1;
        drive = numbers + length;
    }
    return 0;
}

/* Close the loops with driven coordinates where they are to be, after drive(). */
static int close_driven(const Motion *m, int careful, double *q, double *v) {
    const double *drive = m->drives + 1, *motion = m->w->driven;
    for (int k = 0; k < drives_of(m); ++k, motion += 3) {
        q[(int)drive[DRIVEN_COORDINATE]] = motion[0];
        v[(int)drive[DRIVEN_VELOCITY]] = motion[1];
        drive += HEAD + (int)drive[LENGTH_OF_FORM];
    }
    return close_state(m->t, m->w, m->options + CLOSED, careful, drives_of(m), q, v);
}

/* Whether driven coordinates or their rates are farther from where they are to be than is borne. */
static int are_astray(const Motion *m, const double *q, const double *v) {
    const double *drive = m->drives + 1, *motion = m->w->driven;
    const double borne = m->options[TOLERATED] * (m->options[ABSOLUTE] + m->options[RELATIVE]);
    for (int k = 0; k < drives_of(m); ++k, motion += 3) {
        const double found[] = {q[(int)drive[DRIVEN_COORDINATE]], v[(int)drive[DRIVEN_VELOCITY]]};
        for (int i = 0; i < 2; ++i) {
            const double away = fabs(found[i] - motion[i]);
            if (!(away <= borne * fmax(1.0, fabs(motion[i])))) return 1;
        }
        drive += HEAD + (int)drive[LENGTH_OF_FORM];
    }
    return 0;
}

/* What is asked of the rows beside their rates: the accelerations of the drives. */
static void ask_of_rows(const Motion *m) {
    double *wanted = m->w->wanted, *of_drives = wanted + m->t->size[rows_size] - drives_of(m);
    fill(0.0, m->t->size[rows_size], wanted);
    m->w->given[0] = 0.0; /* nothing of the loops */
    for (int k = 0; k < drives_of(m); ++k) of_drives[k] = -m->w->driven[3 * k + 2];
}

/* Power of the drives by the multipliers of their rows. */
static double power_of_drives(const Motion *m, const double *v) {
    const double *drive = m->drives + 1;
    const double *force = m->w->multiplier + m->t->size[rows_size] - drives_of(m);
    double power = 0.0;
    for (int k = 0; k < drives_of(m); ++k) {
        power += force[k] * v[(int)drive[DRIVEN_VELOCITY]];
        drive += HEAD + (int)drive[LENGTH_OF_FORM];
    }
    return power;
}
