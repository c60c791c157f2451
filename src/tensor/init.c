/* init.c -- what a new tensor is filled with; see init.h. */
#include "tensor/init.h"

#include <math.h>

#include "tensor/layout.h"

at_init at_fill(double value)
{
    return (at_init){.kind = ATTIC_INIT_CONSTANT, .scale = value};
}

at_init at_zeros(void)
{
    return at_fill(0);
}

at_init at_ones(void)
{
    return at_fill(1);
}

at_init at_values(const double *values)
{
    return (at_init){.kind = ATTIC_INIT_VALUES, .values = values};
}

at_init at_uniform(double a)
{
    return (at_init){.kind = ATTIC_INIT_UNIFORM, .scale = a};
}

at_init at_normal(double sigma)
{
    return (at_init){.kind = ATTIC_INIT_NORMAL, .scale = sigma};
}

/* U(-a, a) has variance a^2 / 3: hence the factor sqrt(3). */

at_init at_xavier_uniform(double gain)
{
    return (at_init){ATTIC_INIT_UNIFORM, ATTIC_FAN_BOTH, gain * sqrt(3), NULL};
}

at_init at_xavier_normal(double gain)
{
    return (at_init){ATTIC_INIT_NORMAL, ATTIC_FAN_BOTH, gain, NULL};
}

at_init at_he_uniform(double gain)
{
    return (at_init){ATTIC_INIT_UNIFORM, ATTIC_FAN_IN, gain * sqrt(3), NULL};
}

at_init at_he_normal(double gain)
{
    return (at_init){ATTIC_INIT_NORMAL, ATTIC_FAN_IN, gain, NULL};
}

/* The standard deviation that the fans ask for, for gain 1. */
static double fan_sigma(at_shape s, int fan)
{
    double out = at_last(s), in = s.ndim >= 2 ? s.dim[s.ndim - 2] : out;
    double n = fan == ATTIC_FAN_NONE ? 1 : fan == ATTIC_FAN_IN ? in : (in + out) / 2;
    return n > 0 ? 1 / sqrt(n) : 0;
}

void at_init_fill(at_tensor *x, at_init init, at_stream stream)
{
    if (!x || !at_has_data(x)) return;
    double scale = init.scale * fan_sigma(x->shape, (int)init.fan);
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        double v = scale;
        if (init.kind == ATTIC_INIT_VALUES) v = init.values ? init.values[i] : (double)NAN;
        if (init.kind == ATTIC_INIT_UNIFORM) v *= 2 * at_random_unit(stream, (uint64_t)i) - 1;
        if (init.kind == ATTIC_INIT_NORMAL) v *= at_random_normal(stream, (uint64_t)i);
        at_store(x->dtype, x->data, i, v);
    }
}
