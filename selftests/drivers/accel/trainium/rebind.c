// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two drivers take turns, 200 times or for as long as there is time: ours and,
 * where there is an IOMMU, vfio-pci. No memory and no handle is lost on the way.
 */
#include <limits.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define ROUNDS 200
#define TIME (80 * TRN_SEC)
/* When all caches of the kernel have what they want */
#define WARM 20
#define SIZE TRN_KIB(256)

static int driver(const char *name, const char *file, const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/%s", name, file);
	return trn_write_file(path, bdf);
}

/* Works at once after it was bound: probe ends before the write returns. */
static int use(const char *bdf, __u64 seed)
{
	struct trn_bo in, out, hbm;
	int fd = trn_open_bdf(bdf), ret;
	__u32 queue;

	if (fd < 0)
		return fd;
	ret = trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue) ?:
	      trn_host_new(fd, SIZE, &in) ?: trn_host_new(fd, SIZE, &out) ?:
	      trn_hbm_new(fd, seed % 4, SIZE, &hbm);
	if (!ret) {
		trn_pattern(in.map, 0, SIZE, seed);
		ret = trn_copy(fd, queue, hbm.handle, 0, in.handle, 0, SIZE) ?:
		      trn_copy(fd, queue, out.handle, 0, hbm.handle, 0, SIZE);
		if (!ret && trn_check(out.map, 0, SIZE, seed) != -1)
			ret = -EILSEQ;
		trn_bo_put(fd, &in);
		trn_bo_put(fd, &out);
		trn_bo_put(fd, &hbm);
	}
	close(fd);
	return ret;
}

/* The first number of a file of /proc/sys/fs: what is open in all */
static __u64 open_files(void)
{
	char text[64];

	return trn_read_file("/proc/sys/fs/file-nr", text, sizeof(text)) > 0 ?
	       strtoull(text, NULL, 10) : 0;
}

static __u64 slab(void)
{
	return trn_number_in("/proc/meminfo", "SUnreclaim:") +
	       trn_number_in("/proc/meminfo", "VmallocUsed:");
}

FIXTURE(rebind) {
	int log;
};

FIXTURE_SETUP(rebind)
{
	self->log = trn_log_open();
}

FIXTURE_TEARDOWN(rebind)
{
	char line[1024];

	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F_TIMEOUT(rebind, turns, 110)
{
	__u64 memory = 0, files = 0;
	char bdf[32], override[64] = "";
	bool vfio = false;
	__s64 begin = trn_now(), start = 0;
	unsigned int i;

	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(bdf, sizeof(bdf), "%s", trn_bdf(0));
	if (!access("/sys/kernel/iommu_groups/0", F_OK) && !system("modprobe vfio-pci"))
		vfio = !access("/sys/bus/pci/drivers/vfio-pci/bind", F_OK);
	for (i = 0; i < ROUNDS && (i < 2 * WARM || trn_now() - begin < TIME); i++) {
		ASSERT_EQ(0, driver("trainium", "unbind", bdf)) TH_LOG("round %u", i);
		EXPECT_EQ(-1, trn_minor_of(bdf));
		if (vfio) {
			ASSERT_EQ(0, trn_write_sysfs(bdf, "driver_override", "vfio-pci"));
			ASSERT_EQ(0, driver("vfio-pci", "bind", bdf)) TH_LOG("round %u", i);
			ASSERT_EQ(0, driver("vfio-pci", "unbind", bdf));
			ASSERT_EQ(0, trn_write_sysfs(bdf, "driver_override", "\n"));
		}
		ASSERT_EQ(0, driver("trainium", "bind", bdf)) TH_LOG("round %u", i);
		ASSERT_EQ(0, use(bdf, i)) TH_LOG("round %u", i);
		if (i == WARM) {
			memory = slab();
			files = open_files();
			start = trn_now();
		}
	}
	TH_LOG("%s: %u rounds, %lld ms each, kernel memory %lld KiB more, open files %lld more",
	       vfio ? "with vfio-pci" : "alone", i,
	       (long long)((trn_now() - start) / TRN_MSEC / (i - WARM)),
	       (long long)(slab() - memory), (long long)(open_files() - files));
	/* What is lost in each round would be more, over 180 rounds. */
	EXPECT_GE(memory + 720, slab());
	EXPECT_GE(files + 16, open_files());
	trn_read_sysfs(bdf, "driver_override", override, sizeof(override));
	EXPECT_EQ(0, strncmp(override, "(null)", 6));
}

TEST_HARNESS_MAIN
