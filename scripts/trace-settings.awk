# trace-settings.awk -v seed=1 -v count=1000 -- random settings of course/trace, one in each line: sizes,
# matrices, masks, all options; every tenth is a block.  The same seed gives the same settings with every awk.
function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
function below(n) { return int(random() * n) }
function one_of(list,    part) { return part[1 + below(split(list, part, " "))] }
function number() { return one_of("0 1 -1 0.5 2 -2.5 3e-3 7 -40 1e3 1e5 ln7 ln2") }
# "1,0/0,1"; with holes, some elements are -inf
function matrix(rows, columns, holes,    i, j, s) {
    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++)
            s = s (j ? "," : i ? "/" : "") (holes && below(6) == 0 ? "-inf" : number())
    return s
}
function mask(rows, columns,    i, j, s) {
    for (i = 0; i < rows; i++) {
        if (i) s = s "/"
        for (j = 0; j < columns; j++) s = s (below(3) > 0)
    }
    return s
}
BEGIN {
    for (k = 0; k < count; k++) {
        if (below(10) == 0) {
            H = 1 + below(4); G = H % 2 ? (below(2) ? 1 : H) : H / (1 + below(2))
            most = int(8 / H)
            s = "--block --seed " below(1000) " --queries " 1 + below(8) " --heads " H " --kv-heads " G
            s = s " --dim " 1 + below(most) " --value-dim " 1 + below(most) " --width " 1 + below(8)
            if (below(2)) s = s " --causal"
            if (below(2)) s = s " --scale " one_of("0.001 1 -3 8 20 100")
            print s
            continue
        }
        most = below(10) ? 4 : 8
        T = 1 + below(most); N = 1 + below(most); D = 1 + below(most); Dv = 1 + below(most)
        self = below(8) == 0
        if (self) { N = T; Dv = D }
        s = "--seed " below(1000) " --queries " T " --keys " N " --dim " D " --value-dim " Dv
        if (self) s = s " --self"
        if (below(4) == 0) s = s " --Q " matrix(T, D)
        if (!self && below(4) == 0) s = s " --K " matrix(N, D)
        if (!self && below(4) == 0) s = s " --V " matrix(N, Dv)
        if (below(4) == 0) s = s " --dO " matrix(T, Dv)
        if (below(2)) s = s " --scale " one_of("0.001 1 -3 8 10 15 20 40 -70 100")
        if (below(3) == 0) s = s " --temperature " one_of("0.01 0.1 0.7 2 100")
        if (below(3) == 0) s = s " --softcap " one_of("0.001 0.1 1 3 50 1e6")
        if (below(3) == 0)
            s = s " --bias " (below(2) ? "random" : matrix(below(3) ? T : 1, below(3) ? N : 1, 1))
        if (below(3) == 0) s = s " --mask " mask(below(2) ? T : 1, N)
        if (below(3) == 0) s = s " --causal"
        if (below(3) == 0) s = s " --window " below(4) (below(2) ? "," below(4) : "")
        if (below(2)) s = s " --dropout " one_of("0.1 0.25 0.5 0.9 0.99")
        if (below(2)) s = s " --cell q" below(T) ",k" below(N)
        print s
    }
}
