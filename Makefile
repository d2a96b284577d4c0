# SPDX-License-Identifier: MIT
#
# The front door. `make help` lists what there is; the work is done by the
# scripts in scripts/, qemu-device/build and tools/vm/.

BUILD ?= $(CURDIR)/build
export BUILD

# Variables that point to parts which are not to be built or fetched here.
export QEMU KERNEL KDIR BUSYBOX KSELFTEST_INC
# Where make install puts things.
export DESTDIR PREFIX
export W C V
ifneq ($(origin CC),default)
export CC
endif

.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo 'The two commands:'
	@echo '  make demo       build everything, boot two virtual chips, move data and verify it'
	@echo '  make check      every test; ends with "N passed, N failed, N skipped"'
	@echo
	@echo 'Parts:'
	@echo '  make qemu       QEMU with the device models          -> build/qemu/bin/'
	@echo '  make kernel     fetch the guest kernel and headers   -> build/kernel/'
	@echo '  make newest-kernel  that of the backports of Debian 13  -> build/kernel-newest/'
	@echo '  make debug-kernel  KASAN, lockdep, kmemleak, ...     -> build/kernel-debug/'
	@echo '  make modules    trainium.ko (KDIR= for your kernel)  -> build/modules/'
	@echo '  make runtime    libneuron and its examples           -> build/meson/'
	@echo '  make tools      the neuron-* tools                   -> build/meson/'
	@echo '  make selftests  the kselftests                       -> build/selftests/'
	@echo '  make guest      all that the guest holds             -> build/guest/'
	@echo
	@echo 'Tests and figures:'
	@echo '  make lint | qtest | unit | vm-test | packages | stack-test | kselftest | newest | debug'
	@echo '                               one level of make check'
	@echo '  make check LEVELS="qtest unit"                       some of them'
	@echo '  make check KERNEL=debug      those with a guest, on a kernel that watches'
	@echo '  make check-long              that, and all that is too long for every change'
	@echo '  make fuzz                    the model, with ASan and UBSan, for ten minutes'
	@echo '  make mutate                  faults in the tree that tests should notice'
	@echo '  make bench      one JSON object a line'
	@echo
	@echo '  make install    libneuron, tools, udev rule; DESTDIR=, PREFIX=/usr/local'
	@echo '  make uninstall  takes that away again'
	@echo '  make deb        Debian packages                      -> build/deb/'
	@echo
	@echo '  make docs       Documentation/ as HTML               -> build/docs/'
	@echo '  make clean      remove build/'
	@echo '  make distclean  and the cache (~/.cache/trainium), which checkouts share'
	@echo
	@echo 'A guest of your own: tools/vm/neuron-vm --help'

demo:
	@scripts/demo

check:
	@scripts/check $(LEVELS)

check-long:
	@KERNEL=debug TRAINIUM_TEST_LONG=1 scripts/check $(LEVELS)
	@qemu-device/fuzz/run
	@scripts/mutate

fuzz:
	@qemu-device/fuzz/run

mutate:
	@scripts/mutate

bench:
	@scripts/bench

qemu:
	@qemu-device/build

kernel:
	@scripts/guest-kernel

debug-kernel:
	@scripts/debug-kernel

newest-kernel:
	@scripts/newest-kernel

modules:
	@scripts/build-modules

runtime:
	@scripts/build-runtime runtime

tools:
	@scripts/build-runtime tools

selftests:
	@scripts/build-selftests

guest:
	@scripts/build-guest

lint qtest unit packages vm-test stack-test kselftest newest debug:
	@scripts/check $@

install:
	@scripts/install

uninstall:
	@scripts/install --remove

deb:
	@scripts/build-deb

docs:
	@scripts/build-docs

clean:
	@scripts/clean

distclean:
	@scripts/clean --dist

.PHONY: help demo check check-long fuzz mutate bench qemu kernel debug-kernel newest-kernel modules runtime tools selftests guest \
	lint qtest unit packages vm-test kselftest newest debug stack-test install uninstall deb docs clean distclean
