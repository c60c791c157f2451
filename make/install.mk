# install.mk -- what is installed, the single files, the source archive.

faces := src/attic.h src/attic_train.h src/attic_plot.h src/attic_op.h
# a header that needs none of the others, and no library
alone := src/attic_prove.hpp
public_h = $(sort $(filter src/%.h,$(shell $(CC) -MM -Isrc $(faces))))
into := $(DESTDIR)$(includedir)
# In attic.pc and attic-config.cmake all paths follow from where that file lies, so that the folder may be
# moved.  $(call up,FOLDER,NAME): the prefix, as seen from the folder of this name in libdir.
from_prefix = $(patsubst $(prefix)/%,$${$(2)prefix}/%,$(1))
up = $(if $(filter $(prefix)/%,$(libdir)),$${$(1)}$(subst $(empty) $(empty),,$(patsubst \
    %,/..,$(subst /, ,$(patsubst $(prefix)/%,%,$(libdir))/$(2)))),$(prefix))
cmake_dir = $(libdir)/cmake/attic

install: lib ## install under $(DESTDIR)$(prefix): headers, libraries, attic.pc, attic-config.cmake
	@for h in $(public_h); do \
	    case " $(faces) " in *" $$h "*) to=$${h#src/} ;; *) to=attic/$${h#src/} ;; esac; \
	    $(INSTALL) -d $(into)/$$(dirname $$to) && \
	    sed '/^#include "attic\.h"/!s|^#include "|&attic/|' $$h >$(into)/$$to && chmod 644 $(into)/$$to || exit 1; \
	done
	$(INSTALL) -m 644 $(alone) $(into)
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 644 $(static) $(DESTDIR)$(libdir)/libattic.a
	$(INSTALL) -m 755 $(shared) $(DESTDIR)$(libdir)/$(sofile)
	ln -sf $(sofile) $(DESTDIR)$(libdir)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(libdir)/$(solink)
	sed -e 's|@prefix@|$(call up,pcfiledir,pkgconfig)|; s|@libdir@|$(call from_prefix,$(libdir))|; s|@version@|$(VERSION)|' \
	    -e 's|@includedir@|$(call from_prefix,$(includedir))|' attic.pc.in >$(DESTDIR)$(libdir)/pkgconfig/attic.pc
	$(INSTALL) -d $(DESTDIR)$(cmake_dir)
	for f in attic-config.cmake attic-config-version.cmake; do \
	    sed -e 's|@prefix@|$(call up,CMAKE_CURRENT_LIST_DIR,cmake/attic)|; s|@libdir@|$(call from_prefix,$(libdir),attic_)|' \
	    -e 's|@includedir@|$(call from_prefix,$(includedir),attic_)|; s|@version@|$(VERSION)|; s|@abi@|$(ABI)|' \
	    -e 's|@sofile@|$(sofile)|; s|@soname@|$(soname)|' $$f.in >$(DESTDIR)$(cmake_dir)/$$f || exit 1; done
	@echo "This is a build for $(if $(ARCH),$(if $(filter native,$(ARCH)),this processor,ARCH=$(ARCH)),any processor): \
	on one that lacks what it uses, at_open reports an error."
	@echo "For others: make install ARCH=x86-64-v3 (a -march name), or ARCH= for any processor, at a lower speed."

uninstall: ## remove what install installed
	rm -rf $(addprefix $(into)/,$(notdir $(faces) $(alone)) attic_mpi.h) $(into)/attic $(DESTDIR)$(cmake_dir) \
	    $(addprefix $(DESTDIR)$(libdir)/,pkgconfig/attic.pc pkgconfig/attic_mpi.pc libattic.a libattic_mpi.a $(sofile) $(soname) $(solink))

single: ## build/single/: the library as attic.c, attic_train.c, attic_plot.c and their headers: cc -O3 -I. main.c attic.c -lm -pthread
	$(call say,JOIN,build/single)sh scripts/single.sh build/single $(library_c)
	@cd build/single && wc -l -c *.h *.c | awk '{ printf "  %6d lines %8d bytes  %s\n", $$1, $$2, $$3 }'

dist: ## a source archive: build/attic-VERSION.tar.gz, what is committed (without git: what is here)
	@rm -rf build/attic-$(VERSION) && mkdir -p build/attic-$(VERSION)
	@{ git archive HEAD 2>/dev/null || tar cf - --exclude=./build --exclude=./out --exclude=./.git .; } | \
	    tar xf - -C build/attic-$(VERSION)
	@tar czf build/attic-$(VERSION).tar.gz -C build attic-$(VERSION) && rm -r build/attic-$(VERSION)
	@echo build/attic-$(VERSION).tar.gz
.PHONY: install uninstall single dist
