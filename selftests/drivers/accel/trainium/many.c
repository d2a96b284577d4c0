// SPDX-License-Identifier: GPL-2.0-only
/* A machine full of chips: all are there, each is itself, and each works. */
#include <dirent.h>
#include <fcntl.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define MAX_CHIPS	256

static bool is_chip(const char *bdf)
{
	static const unsigned int ids[] = { 0x7164, 0x7364, 0x7564, 0x7565, 0x7664 };
	unsigned int i, vendor, device;
	char text[32];

	if (trn_read_sysfs(bdf, "vendor", text, sizeof(text)) <= 0)
		return false;
	vendor = strtoul(text, NULL, 16);
	if (trn_read_sysfs(bdf, "device", text, sizeof(text)) <= 0)
		return false;
	device = strtoul(text, NULL, 16);
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		if (vendor == 0x1d0f && device == ids[i])
			return true;
	return false;
}

static unsigned int chips_on_the_bus(void)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir)))
		n += is_chip(entry->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* To a stack and back; the byte says which chip it was. */
static const char *copy_works(int fd, unsigned int stack, unsigned int chip)
{
	struct trn_bo in, out, hbm;
	const char *error = NULL;
	__u32 queue;

	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 1, &queue) ||
	    trn_host_new(fd, TRN_KIB(64), &in) || trn_host_new(fd, TRN_KIB(64), &out) ||
	    trn_hbm_new(fd, stack, TRN_KIB(64), &hbm))
		return "set-up failed";
	trn_pattern(in.map, 0, TRN_KIB(64), chip);
	if (trn_copy(fd, queue, hbm.handle, 0, in.handle, 0, TRN_KIB(64)) ||
	    trn_copy(fd, queue, out.handle, 0, hbm.handle, 0, TRN_KIB(64)))
		error = "copy failed";
	else if (trn_check(out.map, 0, TRN_KIB(64), chip) != -1)
		error = "wrong data";
	trn_bo_put(fd, &in);
	trn_bo_put(fd, &out);
	trn_bo_put(fd, &hbm);
	return error;
}

FIXTURE(many) {
	unsigned int chips;
};

FIXTURE_SETUP(many)
{
	self->chips = chips_on_the_bus();
	ASSERT_LT(1, self->chips);
	ASSERT_GE(MAX_CHIPS, self->chips);
}

FIXTURE_TEARDOWN(many)
{
}

TEST_F(many, all_there)
{
	static bool routing_id[MAX_CHIPS];
	static __u64 serial[MAX_CHIPS];
	unsigned int n = self->chips, i, k, vectors = 0, polling = 0;
	static int fd[MAX_CHIPS];

	for (i = 0; i < n; i++) {
		struct drm_trainium_query_device d;
		char path[64];

		snprintf(path, sizeof(path), "/dev/accel/accel%u", i);
		fd[i] = open(path, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd[i]) TH_LOG("chip %u of %u", i, n);
		ASSERT_EQ(0, trn_device(fd[i], &d));
		ASSERT_GT(MAX_CHIPS, d.routing_id);
		EXPECT_FALSE(routing_id[d.routing_id]);
		routing_id[d.routing_id] = true;
		for (k = 0; k < i; k++)
			EXPECT_NE(serial[k], d.serial);
		serial[i] = d.serial;
		vectors += d.num_vectors;
		polling += !d.num_vectors;
	}
	/* All are open at the same time. */
	for (i = 0; i < n; i++) {
		const char *error = copy_works(fd[i], i % 2, i);

		EXPECT_EQ(NULL, error) TH_LOG("chip %u: %s", i, error);
	}
	for (i = 0; i < n; i++)
		close(fd[i]);
	TH_LOG("%u chips, %u interrupt vectors, %u without", n, vectors, polling);
}

TEST_HARNESS_MAIN
