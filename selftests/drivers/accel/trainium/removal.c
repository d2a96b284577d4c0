// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device goes without a word, PCI errors, and sleep: who uses it is told,
 * nothing hangs, and afterwards it works again.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_fault_util.h"

#define SIZE TRN_MIB(1)
#define BIG TRN_MIB(64)
/* How long it is away */
#define AWAY_MS 2500

FIXTURE(removal) {
	int log, fd;
	char bdf[32];
	__u32 queue;
	struct trn_bo host, hbm, big;
};

static int get_device(struct _test_data_removal *self)
{
	__s64 end = trn_now() + TRN_PATIENCE;

	do {
		self->fd = trn_open_bdf(self->bdf);
		if (self->fd < 0)
			trn_sleep(10 * TRN_MSEC);
	} while (self->fd < 0 && trn_now() < end);
	if (self->fd < 0)
		return self->fd;
	return trn_queue_create(self->fd, 0, 2, &self->queue) ?:
	       trn_host_new(self->fd, SIZE, &self->host) ?:
	       trn_hbm_new(self->fd, 0, SIZE, &self->hbm) ?:
	       trn_hbm_new(self->fd, 0, BIG, &self->big);
}

static void drop_device(struct _test_data_removal *self)
{
	struct trn_bo *bo[] = { &self->host, &self->hbm, &self->big };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bo); i++)
		if (bo[i]->map)
			munmap(bo[i]->map, bo[i]->size);
	close(self->fd);
}

FIXTURE_SETUP(removal)
{
	self->log = trn_log_open();
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	if (!trn_can_fault(self->bdf))
		SKIP(return, "no fault window (fault-window=on, iomem=relaxed)");
	ASSERT_EQ(0, get_device(self));
}

static int works(struct _test_data_removal *self, __u64 seed)
{
	trn_pattern(self->host.map, 0, SIZE, seed);
	if (trn_copy(self->fd, self->queue, self->hbm.handle, 0, self->host.handle, 0, SIZE))
		return 1;
	memset(self->host.map, 0, SIZE);
	if (trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0, SIZE))
		return 2;
	return trn_check(self->host.map, 0, SIZE, seed) == -1 ? 0 : 3;
}

FIXTURE_TEARDOWN(removal)
{
	char line[1024];

	trn_no_faults(self->bdf);
	EXPECT_EQ(0, works(self, 9));
	drop_device(self);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static __u64 reset_count(int fd)
{
	struct drm_trainium_query_device device = {};

	trn_device(fd, &device);
	return device.reset_count;
}

static int submit_long(struct _test_data_removal *self, struct drm_trainium_sync *out)
{
	struct drm_trainium_op ops[64];
	struct drm_trainium_submit s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->big.handle, BIG / 2, self->big.handle, 0, BIG / 2);
	s = trn_job(self->queue, ops, ARRAY_SIZE(ops));
	s.out_syncs = trn_ptr(out);
	s.out_sync_count = out ? 1 : 0;
	return trn_submit(self->fd, &s);
}

/* Takes it off the bus and finds it again when it is back. */
static int replug(struct _test_data_removal *self)
{
	__s64 end = trn_now() + TRN_PATIENCE;
	int ret;

	ret = trn_write_sysfs(self->bdf, "remove", "1");
	if (ret)
		return ret;
	while (trn_now() < end) {
		trn_write_file("/sys/bus/pci/rescan", "1");
		if (trn_minor_of(self->bdf) >= 0)
			return 0;
		trn_sleep(100 * TRN_MSEC);
	}
	return -ETIME;
}

/* Clients that work for as long as they can: waiting, or with much on the way */
static void client(const char *bdf, unsigned int kind)
{
	struct _test_data_removal own = {};
	int ret = 0;

	snprintf(own.bdf, sizeof(own.bdf), "%s", bdf);
	if (get_device(&own))
		_exit(1);
	while (!ret)
		ret = kind ? trn_copy(own.fd, own.queue, own.hbm.handle, 0, own.host.handle, 0,
				      SIZE) : submit_long(&own, NULL);
	_exit(ret == -ENODEV ? 0 : 2);
}

/* Reads sysfs and debugfs all the time. */
static void reader(const char *bdf)
{
	static const char * const files[] = {
		"/sys/bus/pci/devices/%s/serial", "/sys/bus/pci/devices/%s/config",
		"/sys/bus/pci/devices/%s/reset_count", "/sys/kernel/debug/accel/%s/engines",
		"/sys/kernel/debug/accel/%s/rings", "/sys/kernel/debug/accel/%s/firmware",
		"/sys/kernel/debug/accel/%s/hbm",
	};
	static char buf[262144];
	char path[256];
	unsigned int i;

	for (;;) {
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), files[i], bdf);
			trn_read_file(path, buf, sizeof(buf));
		}
	}
}

/* E14: everything open and busy when it goes */
TEST_F_TIMEOUT(removal, under_load, 100)
{
	struct drm_trainium_sync out = {};
	struct drm_trainium_query_queue q;
	struct drm_trainium_query_device device;
	struct drm_trainium_bo_info info;
	struct drm_trainium_event event;
	int sysfs, debugfs, buf, file, events, i, ret;
	char path[256], text[64];
	pid_t pid[4];
	__s64 start;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset_count", self->bdf);
	sysfs = open(path, O_RDONLY);
	ASSERT_LE(0, sysfs);
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/engines", self->bdf);
	debugfs = open(path, O_RDONLY);
	ASSERT_LE(0, debugfs);
	ASSERT_EQ(0, trn_export(self->fd, self->host.handle, &buf));
	events = trn_events_open(self->fd, 1 << TRAINIUM_EVENT_GONE);
	ASSERT_LE(0, events);
	ASSERT_EQ(0, works(self, 1));
	for (i = 0; i < 4; i++) {
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i] && i < 3)
			client(self->bdf, i);
		if (!pid[i])
			reader(self->bdf);
	}
	trn_sleep(trn_limit(200 * TRN_MSEC));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	/* However quick the host is, it is still in flight then. */
	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=*:device"));
	ASSERT_EQ(0, submit_long(self, &out));
	ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
	ASSERT_EQ(0, trn_faultf(self->bdf, "surprise-removal=%u", AWAY_MS));

	start = trn_now();
	EXPECT_EQ(-ENODEV, trn_drain(self->fd, self->queue));
	TH_LOG("removal: told after %lld ms", (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(2 * TRN_SEC, trn_now() - start);
	EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, TRN_SEC));
	EXPECT_EQ(-ENODEV, trn_sync_file_status(file));
	ret = trn_queue(self->fd, self->queue, &q);
	EXPECT_TRUE(ret == -ENODEV || q.reason == TRAINIUM_REASON_GONE);
	EXPECT_NE(0, works(self, 2));
	/* Maps stay; of HBM nothing is left. */
	EXPECT_EQ(0, self->host.map[0] & 0);
	EXPECT_EQ(0xff, self->hbm.map[4096]);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, trn_reap(pid[i], TRN_PATIENCE)) TH_LOG("client %d", i);

	/* The slot notices, later it is plugged in again. */
	ASSERT_EQ(0, replug(self));
	kill(pid[3], SIGKILL);
	EXPECT_EQ(128 + SIGKILL, trn_reap(pid[3], TRN_PATIENCE));
	EXPECT_EQ(-ENODEV, trn_device(self->fd, &device));
	EXPECT_EQ(-ENODEV, trn_bo_info(self->fd, self->hbm.handle, &info));
	EXPECT_GT(0, pread(sysfs, text, sizeof(text), 0));
	EXPECT_GT(0, pread(debugfs, text, sizeof(text), 0));
	EXPECT_EQ(0, trn_event_next(events, &event, 0));
	EXPECT_EQ(TRAINIUM_EVENT_GONE, event.type);
	close(events);
	close(sysfs);
	close(debugfs);
	close(file);
	drop_device(self);
	close(buf);
	ASSERT_EQ(0, get_device(self));
}

/* With nothing to do: noticed by the first who asks for something */
TEST_F_TIMEOUT(removal, idle, 100)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		__s64 start;

		ASSERT_EQ(0, trn_faultf(self->bdf, "surprise-removal=%u", 500));
		if (i) {
			start = trn_now();
			EXPECT_NE(0, works(self, 1));
			EXPECT_GT(5 * TRN_SEC, trn_now() - start);
		}
		ASSERT_EQ(0, replug(self));
		drop_device(self);
		ASSERT_EQ(0, get_device(self));
		EXPECT_EQ(0, works(self, i));
	}
}

/* It goes in the middle of a reset, at all its points. */
TEST_F_TIMEOUT(removal, in_reset, 110)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		__s64 start = trn_now();
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_trainium_reset args = {};

			for (;;)
				if (trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args))
					_exit(0);
		}
		trn_sleep((20 + 11 * i) * TRN_MSEC);
		ASSERT_EQ(0, trn_faultf(self->bdf, "surprise-removal=%u", 600));
		EXPECT_EQ(0, trn_reap(pid, TRN_PATIENCE));
		EXPECT_GT(8 * TRN_SEC, trn_now() - start);
		ASSERT_EQ(0, replug(self));
		drop_device(self);
		ASSERT_EQ(0, get_device(self));
	}
}

static bool has_aer(const char *bdf)
{
	char text[256];

	return trn_read_sysfs(bdf, "aer_dev_correctable", text, sizeof(text)) > 0;
}

static __u64 aer_total(const char *bdf, const char *file, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, file);
	return trn_number_in(path, key);
}

/* B11 */
TEST_F_TIMEOUT(removal, aer, 100)
{
	static const struct {
		const char *name, *file, *total;
		bool resets;
	} kinds[] = {
		{ "correctable", "aer_dev_correctable", "TOTAL_ERR_COR", false },
		{ "non-fatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", false },
		{ "fatal", NULL, NULL, true },
	};
	unsigned int i, round;

	if (!has_aer(self->bdf))
		SKIP(return, "no AER");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (round = 0; round < 3; round++) {
			__u64 resets = reset_count(self->fd);
			__u64 total = kinds[i].resets ? 0 :
				      aer_total(self->bdf, kinds[i].file, kinds[i].total);
			__s64 start = trn_now();
			int ret;

			ASSERT_EQ(0, submit_long(self, NULL));
			ASSERT_EQ(0, trn_faultf(self->bdf, "aer=%s", kinds[i].name));
			/* After a fatal one the link is not trusted to count it. */
			while (!kinds[i].resets && trn_now() - start < TRN_PATIENCE &&
			       aer_total(self->bdf, kinds[i].file, kinds[i].total) == total)
				trn_sleep(TRN_MSEC);
			if (!kinds[i].resets)
				ASSERT_EQ(total + 1, aer_total(self->bdf, kinds[i].file,
							       kinds[i].total));
			ret = trn_drain(self->fd, self->queue);
			EXPECT_TRUE(!ret || (kinds[i].resets && ret == -ECANCELED)) {
				TH_LOG("%s: %d", kinds[i].name, ret);
			}
			while (kinds[i].resets && reset_count(self->fd) == resets &&
			       trn_now() - start < TRN_PATIENCE)
				trn_sleep(TRN_MSEC);
			TH_LOG("%s: %d, over after %lld ms", kinds[i].name, ret,
			       (long long)((trn_now() - start) / TRN_MSEC));
			EXPECT_EQ(resets + kinds[i].resets, reset_count(self->fd));
			EXPECT_EQ(0, works(self, round));
		}
	}
}

/* System sleep: jobs end, contents are lost and known to be, all works after. */
static void sleep_and_wake(struct __test_metadata *_metadata, struct _test_data_removal *self)
{
	struct drm_trainium_bo_info info;
	__u64 resets = reset_count(self->fd);
	int ret;

	ASSERT_EQ(0, works(self, 1));
	memset(self->host.map, 0x21, SIZE);
	ASSERT_EQ(0, submit_long(self, NULL));
	ASSERT_EQ(0, trn_write_file("/sys/power/state", "mem"));
	ret = trn_drain(self->fd, self->queue);
	EXPECT_TRUE(!ret || ret == -ECANCELED) TH_LOG("%d", ret);
	EXPECT_EQ(resets + 1, reset_count(self->fd));
	ASSERT_EQ(0, trn_bo_info(self->fd, self->hbm.handle, &info));
	EXPECT_GT(reset_count(self->fd), info.content_generation);
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x21));
	EXPECT_EQ(0, works(self, 2));
}

TEST_F_TIMEOUT(removal, suspend_callbacks, 60)
{
	if (trn_write_file("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no pm_test");
	trn_write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	sleep_and_wake(_metadata, self);
	trn_write_file("/sys/power/pm_test", "none");
}

/* E13: asleep while the firmware dies. The machine wakes up without the chip. */
TEST_F_TIMEOUT(removal, suspend_dead_firmware, 60)
{
	struct drm_trainium_reset args = {};
	__s64 start;

	if (trn_write_file("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no pm_test");
	trn_write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	ASSERT_EQ(0, trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "1000"));
	ASSERT_EQ(0, trn_fault(self->bdf, "fw-dead=on"));
	ASSERT_EQ(0, submit_long(self, NULL));
	start = trn_now();
	ASSERT_EQ(0, trn_write_file("/sys/power/state", "mem"));
	EXPECT_GT(15 * TRN_SEC, trn_now() - start);
	trn_drain(self->fd, self->queue);
	EXPECT_NE(0, works(self, 1));
	ASSERT_EQ(0, trn_fault(self->bdf, "fw-dead=off"));
	EXPECT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args));
	EXPECT_EQ(0, works(self, 2));
	trn_write_file("/sys/power/pm_test", "none");
	trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "30000");
}

/* B11 again: FLR and bus reset by sysfs, in turns, with jobs on the way */
TEST_F_TIMEOUT(removal, reset_methods, 60)
{
	static const char * const methods[] = { "flr", "bus" };
	unsigned int i;
	char text[64];

	ASSERT_LT(0, trn_read_sysfs(self->bdf, "reset_method", text, sizeof(text)));
	for (i = 0; i < 6; i++) {
		__u64 resets = reset_count(self->fd);

		if (!strstr(text, methods[i % 2]))
			continue;
		ASSERT_EQ(0, trn_write_sysfs(self->bdf, "reset_method", methods[i % 2]));
		ASSERT_EQ(0, submit_long(self, NULL));
		ASSERT_EQ(0, trn_write_sysfs(self->bdf, "reset", "1")) TH_LOG("%s", methods[i % 2]);
		trn_drain(self->fd, self->queue);
		EXPECT_EQ(resets + 1, reset_count(self->fd));
		EXPECT_EQ(0, works(self, i));
	}
	trn_write_sysfs(self->bdf, "reset_method", "default");
}

TEST_HARNESS_MAIN
