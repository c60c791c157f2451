# mpi.mk -- libattic_mpi.a: trainings on several processes, by MPI.  Nothing else here needs MPI.
#
#   make mpi MPICC=mpicc.mpich         an MPI of your own; CC is the compiler that it calls
#   make mpi-test MPIRUN=mpirun.mpich

MPICC ?= mpicc
MPIRUN ?= $(MPICC:mpicc%=mpirun%)
mpi_B := $(B)/mpi-$(subst /,_,$(MPICC))
mpi_lib := $(mpi_B)/libattic_mpi.a
mpi_gpt := $(mpi_B)/gpt_mpi
mpi_training := $(mpi_B)/training
mpi_bench := $(mpi_B)/bench_mpi
# Both families of compilers for MPI call the one that such a variable names.
mpi_cc = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)
have_mpi = @command -v $(firstword $(MPICC)) >/dev/null || { \
    echo "There is no $(firstword $(MPICC)): on Debian, apt-get install libopenmpi-dev openmpi-bin (or MPICC=...)" >&2; exit 1; }

mpi: $(mpi_lib) $(mpi_gpt) ## the library for several processes and machines, and gpt_mpi; MPICC=mpicc, docs/machines.md

$(mpi_B)/flags: FORCE
	$(have_mpi)
	$(call keep,$(MPICC) $(CC) $(flags) $(arch) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))
$(mpi_B)/%.o: %.c $(mpi_B)/flags
	@mkdir -p $(@D)
	$(call say,MPICC,$<)$(mpi_cc) $(flags) $(arch) $(if $(WERROR),-Werror) -Isrc -Impi -Iexamples -Itests -MMD -MP $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(mpi_lib): $(mpi_B)/mpi/attic_mpi.o
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $<
mpi_link = $(call say,LINK,$@)$(mpi_cc) $(flags) $(arch) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(mpi_lib) $(static) $(libs)
$(mpi_gpt): $(mpi_B)/examples/gpt_mpi.o $(call objects,$(common_c)) $(mpi_lib) $(static)
	$(mpi_link)
$(mpi_training): $(mpi_B)/tests/mpi/training.o $(B)/examples/common/options.o $(mpi_lib) $(static)
	$(mpi_link)
$(mpi_bench): $(mpi_B)/mpi/bench_mpi.o $(B)/examples/common/options.o $(mpi_lib) $(static)
	$(mpi_link)
-include $(wildcard $(mpi_B)/*/*.d $(mpi_B)/*/*/*.d)

mpi-test: $(mpi_training) $(mpi_gpt) $(B)/examples/gpt ## the same bits on 1, 2, 4 and 8 processes; kills, signals, errors in one of them
	@MPIRUN='$(MPIRUN)' MPICC='$(MPICC)' MAKE='$(MAKE)' sh tests/mpi/run.sh $(mpi_training) $(mpi_gpt) $(B)/examples/gpt '$(CASE)'

mpi-built: $(mpi_training)

mpi-bench: $(mpi_bench) ## how long a step takes on 1 and 2 processes here, into docs/machines.md; DRY=1 only prints
	@MPIRUN='$(MPIRUN)' sh mpi/bench.sh $(mpi_bench) $(if $(DRY),,docs/machines.md)

install-mpi: install $(mpi_lib) ## what `install` installs, and attic_mpi.h, libattic_mpi.a, attic_mpi.pc
	$(INSTALL) -m 644 mpi/attic_mpi.h $(into)/attic_mpi.h
	$(INSTALL) -m 644 $(mpi_lib) $(DESTDIR)$(libdir)/libattic_mpi.a
	sed -e 's|@prefix@|$(call up,pcfiledir,pkgconfig)|; s|@libdir@|$(call from_prefix,$(libdir))|; s|@version@|$(VERSION)|' \
	    -e 's|@includedir@|$(call from_prefix,$(includedir))|; s|@mpicc@|$(notdir $(MPICC))|' mpi/attic_mpi.pc.in \
	    >$(DESTDIR)$(libdir)/pkgconfig/attic_mpi.pc
.PHONY: mpi mpi-built mpi-test mpi-bench install-mpi
