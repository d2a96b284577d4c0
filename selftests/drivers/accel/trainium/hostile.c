// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chip that lies: registers that read as anything, DMA that leaves wrong
 * bytes, events for work that was never given. Whatever the driver is told, it
 * stays within its own memory, every call ends, and with an honest chip again all
 * is as it was. On the debug kernel a step aside is seen.
 *
 * TRAINIUM_TEST_LONG makes more rounds of it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "trainium_fabric_util.h"
#include "trainium_fault_util.h"

#define SIZE		TRN_KIB(64)
#define ROUND		(2 * TRN_SEC)
/* The longest that anything waits for: all steps of recovery, each in vain */
#define LONGEST		trn_limit(60 * TRN_SEC)

FIXTURE(hostile) {
	char bdf[32];
	int log;
};

FIXTURE_SETUP(hostile)
{
	ASSERT_LT(0, trn_num_devices());
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	if (!trn_can_fault(self->bdf))
		SKIP(return, "wants a chip with fault-window=on");
	self->log = trn_log_open();
}

FIXTURE_TEARDOWN(hostile)
{
	char line[1024];

	if (!self->log)
		return;
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int driver(const char *file, const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/trainium/%s", file);
	return trn_write_file(path, bdf);
}

static bool bound(const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/trainium/%s", bdf);
	return !access(path, F_OK);
}

/* Everything that can be read of the device: attributes, hwmon, debugfs */
static void read_all(const char *dir, int depth)
{
	char path[PATH_MAX], text[4096];
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		/* The BARs themselves are no attributes. */
		if (e->d_name[0] == '.' || !strncmp(e->d_name, "resource", 8) ||
		    !strcmp(e->d_name, "rom"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_type == DT_DIR && depth)
			read_all(path, depth - 1);
		else if (e->d_type == DT_REG)
			trn_read_file(path, text, sizeof(text));
	}
	if (d)
		closedir(d);
}

static void ask_all(int fd)
{
	struct drm_trainium_fabric_port port;
	__u64 room[256];
	__u32 type, i;

	for (type = 0; type < 10; type++)
		for (i = 0; i < 4; i++)
			trn_query(fd, type, i, room, sizeof(room));
	for (i = 0; i < 8; i++) {
		struct drm_trainium_fabric_peer peer = { .chip = i };

		trn_port(fd, i, &port);
		trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &peer);
		trn_port_ctl(fd, i, i, 1, 0);
	}
}

/* Any outcome is right but one that never comes. */
static void use(int fd)
{
	struct trn_bo host, hbm;
	__u32 queue;
	int i;

	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue))
		return;
	if (!trn_host_new(fd, SIZE, &host)) {
		if (!trn_hbm_new(fd, TRAINIUM_STACK_ANY, SIZE, &hbm)) {
			for (i = 0; i < 20; i++) {
				struct drm_trainium_op op =
					trn_op_copy(hbm.handle, 0, host.handle, 0, 16 << i % 13);

				trn_run_for(fd, queue, &op, 1, 100 * TRN_MSEC);
			}
			trn_bo_put(fd, &hbm);
		}
		trn_bo_put(fd, &host);
	}
	trn_queue_destroy(fd, queue);
}

struct user {
	const char *bdf;
	__s64 end;
	unsigned int rounds;
};

static void *user(void *arg)
{
	struct user *u = arg;

	while (trn_now() < u->end) {
		int fd = trn_open_bdf(u->bdf);

		if (fd < 0) {
			trn_sleep(10 * TRN_MSEC);
			continue;
		}
		use(fd);
		close(fd);
		u->rounds++;
	}
	return NULL;
}

/* The time that it took, or a negative errno when the device is not as it was */
static __s64 honest_again(const char *bdf)
{
	struct trn_bo host, hbm;
	__s64 begin = trn_now();
	int fd, ret;
	__u32 queue;

	ret = trn_fault(bdf, "hostile=");
	if (ret)
		return ret;
	if (bound(bdf)) {
		ret = driver("unbind", bdf);
		if (ret)
			return ret;
	}
	ret = driver("bind", bdf);
	if (ret)
		return ret;
	fd = trn_open_bdf(bdf);
	if (fd < 0)
		return fd;
	ret = trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue) ?:
	      trn_host_new(fd, SIZE, &host) ?: trn_hbm_new(fd, 0, SIZE, &hbm);
	if (!ret) {
		trn_pattern(host.map, 0, SIZE, begin);
		ret = trn_copy(fd, queue, hbm.handle, 0, host.handle, 0, SIZE);
		memset(host.map, 0, SIZE);
		ret = ret ?: trn_copy(fd, queue, host.handle, 0, hbm.handle, 0, SIZE);
		if (!ret && trn_check(host.map, 0, SIZE, begin) != -1)
			ret = -EILSEQ;
		trn_bo_put(fd, &host);
		trn_bo_put(fd, &hbm);
	}
	close(fd);
	return ret ?: trn_now() - begin;
}

/* A running device begins to lie, with so many lies in a million */
static void lie(struct __test_metadata *_metadata, const char *bdf, unsigned int seed,
		unsigned int rate)
{
	struct user u[2] = {};
	char dir[PATH_MAX];
	pthread_t thread[2];
	__s64 begin = trn_now(), back;
	unsigned int i;
	int fd = trn_open_bdf(bdf);

	ASSERT_LE(0, fd);
	for (i = 0; i < 2; i++) {
		u[i] = (struct user) { .bdf = bdf, .end = begin + ROUND };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, user, &u[i]));
	}
	ASSERT_EQ(0, trn_faultf(bdf, "hostile=%u:%u", seed, rate));
	snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%s", bdf);
	while (trn_now() < begin + ROUND) {
		ask_all(fd);
		read_all(dir, 3);
		read_all("/sys/kernel/debug/accel", 2);
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	close(fd);
	/* Taking it down and, perhaps in vain, up again, still lying */
	if (bound(bdf))
		EXPECT_EQ(0, driver("unbind", bdf));
	driver("bind", bdf);
	back = honest_again(bdf);
	TH_LOG("seed %u, %u lies in a million: %u + %u users in %lld ms, honest after %lld ms",
	       seed, rate, u[0].rounds, u[1].rounds, (long long)((trn_now() - begin) / TRN_MSEC),
	       (long long)(back / TRN_MSEC));
	EXPECT_LT(0, back);
	EXPECT_GT(LONGEST, trn_now() - begin);
}

TEST_F_TIMEOUT(hostile, running, 1200)
{
	static const unsigned int rates[] = { 100, 2000, 30000, 300000 };
	unsigned int seeds = getenv("TRAINIUM_TEST_LONG") ? 20 : 1, seed, i;
	unsigned int first = getenv("TRAINIUM_TEST_SEED") ? atoi(getenv("TRAINIUM_TEST_SEED")) : 1;

	for (seed = first; seed < first + seeds; seed++)
		for (i = 0; i < ARRAY_SIZE(rates); i++)
			lie(_metadata, self->bdf, seed, rates[i]);
}

/* The driver is bound to a chip that lies from the first register on. */
TEST_F_TIMEOUT(hostile, probe, 600)
{
	static const unsigned int rates[] = { 2000, 50000, 200000, 500000 };
	unsigned int rounds = getenv("TRAINIUM_TEST_LONG") ? 400 : 20, up = 0, i;
	__s64 longest = 0, back;

	ASSERT_EQ(0, driver("unbind", self->bdf));
	for (i = 0; i < rounds; i++) {
		__s64 begin = trn_now();

		ASSERT_EQ(0, trn_faultf(self->bdf, "hostile=%u:%u", i,
					rates[i % ARRAY_SIZE(rates)]));
		driver("bind", self->bdf);
		if (bound(self->bdf)) {
			up++;
			ASSERT_EQ(0, driver("unbind", self->bdf)) TH_LOG("round %u", i);
		}
		if (trn_now() - begin > longest)
			longest = trn_now() - begin;
		EXPECT_GT(LONGEST, trn_now() - begin) TH_LOG("round %u", i);
	}
	back = honest_again(self->bdf);
	TH_LOG("%u of %u probes went well, the longest took %lld ms, honest after %lld ms", up,
	       rounds, (long long)(longest / TRN_MSEC), (long long)(back / TRN_MSEC));
	EXPECT_LT(0, back);
}

TEST_HARNESS_MAIN
