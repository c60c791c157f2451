# machines.awk -- how much faster P machines are than one, by the formula of docs/machines.md: its table.
#
#     T(P) = T(1) / P  +  2 (P - 1) / P  4 N / b  +  6 log2(P) 50 us,      T(1) = 6 N B / R
#
# N parameters, B tokens in a step, b bytes a second, R operations a second of one machine (-v rate=5e11).
BEGIN {
    if (!rate) rate = 5e11
    n = split("1e6 8192 1e7 32768 1.24e8 262144", model, " ")
    print "| parameters, tokens in a step | one machine | machines | 1 Gb/s | 10 Gb/s | 100 Gb/s |"
    print "|---|--:|--:|--:|--:|--:|"
    for (i = 1; i < n; i += 2)
        for (machines = 4; machines <= 64; machines *= 4) row(model[i], model[i + 1], machines)
}
function row(N, B, P,    alone, k, line, b) {
    alone = 6 * N * B / rate
    line = machines == 4 ? "| " N / 1e6 " M, " B " | " seconds(alone) " |" : "| | |"
    line = line " " P " |"
    for (k = 0; k < 3; k++) {
        b = 10 ^ k * 1e9 / 8
        line = line " " speedup(alone, N, P, b) " |"
    }
    print line
}
# How often as fast; in brackets where the exchange takes more than half of a step
function speedup(alone, N, P, b,    exchange, x) {
    exchange = 2 * (P - 1) / P * 4 * N / b + 6 * log(P) / log(2) * 50e-6
    x = alone / (alone / P + exchange)
    x = x < 10 ? sprintf("%.1f", x) : sprintf("%.0f", x)
    return exchange > alone / P ? "(" x ")" : x
}
function seconds(t) { return t < 1 ? sprintf("%.2g s", t) : sprintf("%.0f s", t) }
