# programs.mk -- programs to run, and the benchmarks.

gpt: ## train a language model and keep it in out/gpt; TEXT="files...", VOCAB=2048 (tokens learned from it) or ARGS="--help"
	+@$(on_all_cores) $(B)/examples/gpt
	@$(B)/examples/gpt train $(if $(VOCAB),--vocab $(VOCAB)) $(ARGS) $(TEXT)

patterns: ## which patterns have the heads of the model that `make gpt` trained?  Their picture in out/patterns.svg
	+@$(on_all_cores) $(B)/examples/patterns
	@$(B)/examples/patterns $(ARGS) out/gpt/best.safetensors out/patterns.svg

# Its time with the start of the process: the median of 31 runs on one core, in float and in double.
microgpt-time: $(B)/examples/microgpt ## the time of 1000 steps of microgpt, the start of the process included
	@sh scripts/microgpt-time.sh $<

story: ## a model of 3 M parameters that tells stories, eight minutes of two cores: docs/tasks.md
	+@$(on_all_cores) $(B)/examples/gpt $(B)/examples/stories
	@mkdir -p out/story && $(B)/examples/stories 30000 >out/story/stories.txt
	@$(B)/examples/gpt train --out out/story --vocab 2048 --layers 6 --heads 6 --dim 192 --context 192 --rows 16 \
	    --steps 1200 --lr 2e-3 --eval-every 300 $(ARGS) out/story/stories.txt
	@sha256sum out/story/best.safetensors

lora_texts = docs/attention.md $(wildcard src/attention/*.c)
lora: ## train a small model on English, fine-tune it on C by adapters; others: make run-lora ARGS="FIRST OTHER"
	+@$(on_all_cores) $(B)/examples/lora
	@$(B)/examples/lora $(ARGS) $(lora_texts)

graph: $(B)/examples/graph ## draw a tape: out/graph.dot, and out/graph.svg if Graphviz is installed
	@$< $(ARGS)
	@if command -v dot >/dev/null; then dot -Tsvg out/graph.dot -o out/graph.svg; \
	else echo "With Graphviz installed, out/graph.dot would have been drawn as out/graph.svg."; fi

# The peers must be installed, here or in the root folder of a system that PEER_ROOT names.
bench_args = $(if $(PEER),--peer $(PEER)) $(if $(THREADS),--threads $(THREADS)) \
    $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),--only '$(ONLY)') $(ARGS)
bench_run = $(filter $(B)/bench/bench_%,$(if $(BENCH),$(BENCH:%=$(B)/bench/bench_%),$(benches)))

bench: benches ## measure speed; BENCH=sdpa ONLY=causal THREADS=1 PEER=torch|torch-compile|openblas|blis|onednn|all
# BEFORE=folder: beside another build of the same benchmarks, in turn (build/cc-native-release elsewhere)
	@for b in $(bench_run); do \
	    $$b $(bench_args) $(if $(BEFORE),--before $(BEFORE)/bench/$${b##*/}) || exit 1; done

speedrun: $(B)/bench/board ## the board: core-seconds to a loss, by recipe (docs/board.md); ONLY="text_record names_*" SEEDS=10 THREADS=2
# AGAIN=1 measures what is there again, WRITE=1 puts the tables into docs/board.md
	@ONLY='$(ONLY)' SEEDS='$(SEEDS)' THREADS='$(THREADS)' sh scripts/board.sh $< $(if $(AGAIN),again,$(if $(WRITE),write))

performance: $(B)/bench/pictures ## put what make bench measured into docs/performance.md and its pictures
	@sh scripts/performance.sh $(B)/results docs/performance.md
	@$< $(B)/results docs/images

check-benches: benches ## run the small rows of every benchmark once: do they still work?  Does `make performance` fill a page?
	@sh scripts/check-performance.sh
	@for b in $(bench_run); do $$b --smoke >/dev/null || { echo "$$b --smoke fails"; exit 1; }; done
	@sh scripts/board.sh $(B)/bench/board smoke
	@for n in '' 0 0x1 1e0 ' 1' 1,,2; do \
	    $(B)/bench/bench_gemm --smoke --threads "$$n" 2>&1 | grep -q 'must be whole numbers' || \
	        { echo "bench_gemm takes --threads '$$n'"; exit 1; }; done
.PHONY: speedrun gpt story microgpt-time patterns lora graph bench performance check-benches
