/* Prescribed motions: positions, rates and accelerations over time, and states that follow them.
 *
 * Of every drive there is a row, the last ones: the velocity is as prescribed, and the row's
 * multiplier is the drive's force. Drives are numbers, one behind the other: how many there are, and
 * of each the numbers below. An expression is three programs, of value, rate and acceleration, as in
 * regularize/dynamics/simulation/prescribed.py: their lengths, and operations on a stack; a table has n times
 * and 4 (n - 1) coefficients, the cubic ones first. A function is one of C by its number,
 * as in loads.c: it writes position, rate and acceleration, and returns 0, or another
 * number where there are none:
 *     int motion(double t, double *motion, void *data)
 */

/* Of each drive: its velocity and coordinate, form, and how many numbers follow. */
enum { DRIVEN_VELOCITY, DRIVEN_COORDINATE, FORM, LENGTH_OF_FORM, HEAD };
enum { EXPRESSION, TABLE, FUNCTION };

/* Operations, as in prescribed.py: the number of a constant follows its code. */
enum {
    NUMBER, TIME_ITSELF, PLUS, MINUS, TIMES, BY, POWER, NEGATIVE,
    SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, EXP, LOG, SQRT, ABS, SIGN
};

/* Values on the stack, and the largest position and rate of a drive, as in prescribed.py. */
enum { DEPTH = 32 };
static const double fastest = 1e6;

typedef int (*Prescribed)(double, double *, void *);

static inline int drives_of(const Motion *m) { return (int)m->drives[0]; }

static double minus(double x) { return -x; }
static double sign_of(double x) { return copysign(1.0, x); }

/* Functions of one value, from NEGATIVE on. */
static double (*const functions_of_one[])(double) = {
    minus, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, log, sqrt, fabs, sign_of};

/* An operation on two values. */
static double operation_on(int code, double a, double b) {
    switch (code) {
    case PLUS: return a + b;
    case MINUS: return a - b;
    case TIMES: return a * b;
    case BY: return a / b;
    default: return pow(a, b);
    }
}

/* A program at a time; not a number where the stack or the program ends too early. */
static double evaluate(const double *code, const double *end, double time) {
    double stack[DEPTH] = {0.0};
    int depth = 0;
    while (code < end) {
        const int operation = *code >= NUMBER && *code <= SIGN ? (int)*code : POWER, taken =
            operation <= TIME_ITSELF ? 0 : operation < NEGATIVE ? 2 : 1;
        if (++code == end && operation == NUMBER) return NAN;
        if (depth < taken || depth + !taken > DEPTH) return NAN;
        if (operation == NUMBER || operation == TIME_ITSELF) {
            stack[depth++] = operation == NUMBER ? *code++ : time;
        } else if (operation < NEGATIVE) {
            --depth;
            stack[depth - 1] = operation_on(operation, stack[depth - 1], stack[depth]);
        } else {
            stack[depth - 1] = functions_of_one[operation - NEGATIVE](stack[depth - 1]);
        }
    }
    return stack[0];
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
            const double *code = numbers + 3;
            for (int i = 0; i < 3; code += (int)numbers[i++]) {
                motion[i] = evaluate(code, code + (int)numbers[i], time);
            }
        } else if (drive[FORM] == TABLE) {
            look_up(numbers, length, time, motion);
        } else {
            Prescribed function;
            const Function *found = function_at(m, *numbers, MOTION_FUNCTION, &function);
            if (!found || function(time, motion, found->data)) return 1;
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
