// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of the chip, one after the other: what a client sees, within which
 * time, and that all works again when the fault has gone. Hangs are in ladder.c,
 * removal and PCI errors in removal.c.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_fault_util.h"

#define SIZE TRN_KIB(256)
#define STACK 1

FIXTURE(fault) {
	int fd, log;
	const char *bdf;
	__u32 queue;
	struct trn_place place;
	struct trn_bo host, back, hbm;
	__s64 timeout;
	__u64 resets;
};

static __u64 reset_count(int fd)
{
	struct drm_trainium_query_device device = {};

	trn_device(fd, &device);
	return device.reset_count;
}

FIXTURE_SETUP(fault)
{
	static struct trn_place before[4096];
	struct drm_trainium_query_limits limits;
	unsigned int n;

	self->log = trn_log_open();
	self->bdf = trn_bdf(0);
	ASSERT_NE(NULL, self->bdf);
	if (!trn_can_fault(self->bdf))
		SKIP(return, "no fault window (fault-window=on, iomem=relaxed)");
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_limits(self->fd, &limits));
	self->timeout = limits.job_timeout_ns;
	self->resets = reset_count(self->fd);
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->back));
	ASSERT_EQ(0, trn_hbm_new(self->fd, STACK, SIZE, &self->hbm));
	n = trn_rings(self->bdf, before, ARRAY_SIZE(before));
	ASSERT_EQ(0, trn_queue_create(self->fd, STACK, 1, &self->queue));
	ASSERT_EQ(0, trn_new_ring(self->bdf, before, n, &self->place));
}

/* There and back; 0, 1 when the data is wrong, or an error */
static int round_trip(struct _test_data_fault *self, __u64 seed)
{
	int ret;

	trn_pattern(self->host.map, 0, SIZE, seed);
	memset(self->back.map, 0, SIZE);
	ret = trn_copy(self->fd, self->queue, self->hbm.handle, 0, self->host.handle, 0, SIZE) ?:
	      trn_copy(self->fd, self->queue, self->back.handle, 0, self->hbm.handle, 0, SIZE);
	if (ret)
		return ret;
	return trn_check(self->back.map, 0, SIZE, seed) == -1 ? 0 : 1;
}

FIXTURE_TEARDOWN(fault)
{
	char line[1024];

	trn_no_faults(self->bdf);
	EXPECT_EQ(0, round_trip(self, 77));
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int reset(int fd, __u32 scope)
{
	struct drm_trainium_reset args = { .scope = scope };

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_RESET, &args);
}

/* Nothing notices a bit that is wrong, except who compares; then it is where it is. */
TEST_F(fault, wrong_data)
{
	struct drm_trainium_query_queue q;
	__s64 at;

	/* 4 descriptors of 64 KiB and a marker there; the second one back */
	ASSERT_EQ(0, trn_faultf(self->bdf, "dma-corrupt=%u.%u:7", self->place.engine,
				self->place.pair));
	EXPECT_EQ(1, round_trip(self, 1));
	at = trn_check(self->back.map, 0, SIZE, 1);
	EXPECT_EQ(65536, at);
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(0, q.failed);
	EXPECT_EQ(0, round_trip(self, 2));
}

/* Data after the completion: the same, and it comes late. */
TEST_F(fault, completion_before_data)
{
	ASSERT_EQ(0, trn_faultf(self->bdf, "dma-early=%u.%u:7", self->place.engine,
				self->place.pair));
	EXPECT_EQ(1, round_trip(self, 1));
	EXPECT_EQ(65536, trn_check(self->back.map, 0, SIZE, 1));
	trn_sleep(100 * TRN_MSEC);
	EXPECT_EQ(-1, trn_check(self->back.map, 0, SIZE, 1));
}

/* The marker of the only job: the engine is past it, the job never ends. */
TEST_F_TIMEOUT(fault, lost_completion, 60)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	struct drm_trainium_query_queue q;
	__s64 start = trn_now(), took;

	ASSERT_EQ(0, trn_faultf(self->bdf, "dma-lost=%u.%u:5", self->place.engine,
				self->place.pair));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1, TRN_PATIENCE));
	took = trn_now() - start;
	TH_LOG("lost completion: told after %lld ms", (long long)(took / TRN_MSEC));
	EXPECT_LE(self->timeout / 2, took);
	EXPECT_GT(3 * self->timeout + 5 * TRN_SEC, took);
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_REASON_TIMEOUT, q.reason);
	EXPECT_EQ(self->resets, reset_count(self->fd));
}

/* The marker of a job that is not the last one: the next marker makes up for it. */
TEST_F(fault, lost_completion_among_others)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	unsigned int i;

	ASSERT_EQ(0, trn_faultf(self->bdf, "dma-lost=%u.%u:5", self->place.engine,
				self->place.pair));
	for (i = 0; i < 8; i++) {
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);

		ASSERT_EQ(0, trn_submit(self->fd, &s));
	}
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
}

/* Jobs end although nobody says so; waiters look for themselves. */
TEST_F_TIMEOUT(fault, interrupts_lost, 60)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_sync out = {};
	struct drm_trainium_submit s;
	unsigned int i;
	__s64 start;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	ASSERT_EQ(0, trn_fault(self->bdf, "irq-lose=4294967295"));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, round_trip(self, i));
	/* A fence, that only the interrupt or the watchdog looks after */
	s = trn_job(self->queue, &op, 1);
	s.out_syncs = trn_ptr(&out);
	s.out_sync_count = 1;
	start = trn_now();
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, 5 * TRN_SEC));
	TH_LOG("fence without interrupts: after %lld ms",
	       (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(TRN_SEC, trn_now() - start);
}

/* Messages of all vectors, each 200 us: slow, and nothing else. */
TEST_F_TIMEOUT(fault, interrupt_storm, 60)
{
	__u64 before = trn_interrupts(self->bdf);
	unsigned int i;
	__s64 start = trn_now();

	ASSERT_EQ(0, trn_fault(self->bdf, "irq-storm=200"));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, round_trip(self, i));
	trn_sleep(100 * TRN_MSEC);
	ASSERT_EQ(0, trn_fault(self->bdf, "irq-storm=0"));
	EXPECT_LT(before + 100, trn_interrupts(self->bdf));
	EXPECT_GT(10 * TRN_SEC, trn_now() - start);
}

/* AXI address of the buffer: found by filling it and reading the coredump. */
static __u64 place_of_hbm(struct _test_data_fault *self)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	static char text[65536];
	unsigned long long offset;
	char *at;

	trn_coredump_drop();
	trn_faultf(self->bdf, "dma-abort=%u.%u:1", self->place.engine, self->place.pair);
	trn_run(self->fd, self->queue, &op, 1);
	if (trn_coredump(text, sizeof(text), 5 * TRN_SEC) <= 0)
		return 0;
	at = strstr(text, "\n> ");
	at = at ? strstr(at, "-> hbm1+0x") : NULL;
	if (!at || sscanf(at, "-> hbm1+0x%llx", &offset) != 1)
		return 0;
	return 0x4000000000ull + offset;
}

TEST_F_TIMEOUT(fault, ecc, 60)
{
	struct drm_trainium_query_telemetry before, t;
	struct drm_trainium_query_queue q;
	__u64 axi = place_of_hbm(self);

	ASSERT_NE(0, axi);
	ASSERT_EQ(0, round_trip(self, 1));
	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &before, sizeof(before)));

	/* Corrected: counted, told, and the data is right. */
	ASSERT_EQ(0, trn_faultf(self->bdf, "ecc-correctable=%#llx", axi + 70000));
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->back.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check(self->back.map, 0, SIZE, 1));
	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, sizeof(t)));
	EXPECT_EQ(before.hbm_ecc_corrected[STACK] + 1, t.hbm_ecc_corrected[STACK]);

	/* Not to be corrected: the job that reads it fails, each time. */
	ASSERT_EQ(0, trn_faultf(self->bdf, "ecc-uncorrectable=%#llx", axi + 70000));
	EXPECT_EQ(-EIO, trn_copy(self->fd, self->queue, self->back.handle, 0, self->hbm.handle, 0,
				 SIZE));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_REASON_ABORT, q.reason);
	EXPECT_EQ(1u << 7, q.cause);
	EXPECT_EQ(-EIO, trn_copy(self->fd, self->queue, self->back.handle, 0, self->hbm.handle, 0,
				 SIZE));
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->back.handle, 0, self->hbm.handle, 0,
			      65536));
	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, sizeof(t)));
	EXPECT_LE(before.hbm_ecc_uncorrected[STACK] + 2, t.hbm_ecc_uncorrected[STACK]);
	/* Writing it anew is enough. */
	EXPECT_EQ(0, round_trip(self, 3));
	trn_faultf(self->bdf, "hbm1-ecc-corrected=0");
	trn_faultf(self->bdf, "hbm1-ecc-repairable=0");
}

/* An engine whose registers read as nonsense: the whole ladder, and no more */
static void registers(struct __test_metadata *_metadata, struct _test_data_fault *self,
		      const char *kind)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	__s64 start = trn_now();

	ASSERT_EQ(0, trn_faultf(self->bdf, "%s=%u", kind, self->place.engine));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1, TRN_PATIENCE));
	TH_LOG("%s: told after %lld ms", kind, (long long)((trn_now() - start) / TRN_MSEC));
	ASSERT_EQ(0, trn_faultf(self->bdf, "%s=", kind));
	/* The device reset may still be on its way. */
	start = trn_now();
	while (reset_count(self->fd) == self->resets && trn_now() - start < TRN_PATIENCE)
		trn_sleep(5 * TRN_MSEC);
	EXPECT_EQ(self->resets + 1, reset_count(self->fd));
	/* It was initialised while it took no writes. */
	EXPECT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE));
}

TEST_F_TIMEOUT(fault, registers_deadbeef, 60)
{
	registers(_metadata, self, "regs-deadbeef");
}

TEST_F_TIMEOUT(fault, registers_ones, 60)
{
	registers(_metadata, self, "regs-ones");
}

/* Firmware that takes no requests: a function-level reset does it instead. */
TEST_F_TIMEOUT(fault, firmware_ignores_reset, 100)
{
	int log = trn_log_open();
	__s64 start;

	ASSERT_EQ(0, trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "2000"));
	ASSERT_EQ(0, trn_fault(self->bdf, "fw-ignore-reset=on"));
	start = trn_now();
	EXPECT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE));
	TH_LOG("firmware that ignores resets: %lld ms",
	       (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(10 * TRN_SEC, trn_now() - start);
	EXPECT_EQ(self->resets + 1, reset_count(self->fd));
	EXPECT_TRUE(trn_log_find(log, "function-level reset"));
	EXPECT_EQ(0, round_trip(self, 1));
	close(log);
	trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "30000");
}

/* E16: an engine hangs and the firmware is dead. Bounded, told, and over when it is back. */
TEST_F_TIMEOUT(fault, firmware_dead, 100)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	int events = trn_events_open(self->fd, 1 << TRAINIUM_EVENT_RESET);
	int uevents = trn_uevent_open();
	struct drm_trainium_event event;
	__s64 start;

	ASSERT_EQ(0, trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "3000"));
	/* DMA does not need the firmware. */
	ASSERT_EQ(0, trn_fault(self->bdf, "fw-dead=on"));
	EXPECT_EQ(0, round_trip(self, 1));
	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=%u.%u:core", self->place.engine,
				self->place.pair));
	start = trn_now();
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1, TRN_PATIENCE));
	TH_LOG("dead firmware, dead engine: told after %lld ms",
	       (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(self->timeout + 3 * TRN_SEC, trn_now() - start);
	do {
		ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	} while (event.reset.scope != TRAINIUM_RESET_DEVICE);
	EXPECT_NE(0, event.reset.error);
	TH_LOG("given up after %lld ms", (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(self->timeout + 8 * TRN_SEC, trn_now() - start);
	EXPECT_TRUE(trn_uevent_find(uevents, "RESET=device", "WEDGED=rebind,bus-reset",
				    TRN_PATIENCE));
	/* Everything ends at once now, closing as well. */
	start = trn_now();
	EXPECT_EQ(-ENODEV, round_trip(self, 2));
	close(trn_open(0));
	EXPECT_GT(TRN_SEC, trn_now() - start);

	ASSERT_EQ(0, trn_fault(self->bdf, "fw-dead=off"));
	EXPECT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE));
	EXPECT_EQ(0, round_trip(self, 3));
	trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "30000");
	close(events);
	close(uevents);
}

/* An unbind does not wait for a reset that waits for the firmware. */
TEST_F_TIMEOUT(fault, unbind_in_reset, 100)
{
	__s64 start, end;
	char bdf[32];
	pid_t pid;

	snprintf(bdf, sizeof(bdf), "%s", self->bdf);
	ASSERT_EQ(0, trn_fault(self->bdf, "fw-dead=on"));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* 30 s and more */
		_exit(reset(self->fd, TRAINIUM_RESET_DEVICE) == -ENODEV ? 0 : 1);
	}
	trn_sleep(300 * TRN_MSEC);
	start = trn_now();
	ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/unbind", bdf));
	TH_LOG("unbind in a reset with dead firmware: %lld ms",
	       (long long)((trn_now() - start) / TRN_MSEC));
	EXPECT_GT(trn_limit(2 * TRN_SEC), trn_now() - start);
	EXPECT_EQ(0, trn_reap(pid, trn_limit(5 * TRN_SEC)));
	close(self->fd);

	ASSERT_EQ(0, trn_fault(bdf, "fw-dead=off"));
	ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/bind", bdf));
	end = trn_now() + TRN_PATIENCE;
	do {
		trn_sleep(5 * TRN_MSEC);
		self->fd = trn_open_bdf(bdf);
	} while (self->fd < 0 && trn_now() < end);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, STACK, 1, &self->queue));
	munmap(self->host.map, SIZE);
	munmap(self->back.map, SIZE);
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->back));
	ASSERT_EQ(0, trn_hbm_new(self->fd, STACK, SIZE, &self->hbm));
}

/* Slow, but within the limit */
TEST_F_TIMEOUT(fault, slow_reset, 60)
{
	__s64 start;

	ASSERT_EQ(0, trn_fault(self->bdf, "fw-reset-ms=1500"));
	start = trn_now();
	EXPECT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE));
	EXPECT_LE(1500 * TRN_MSEC, trn_now() - start);
	EXPECT_GT(6 * TRN_SEC, trn_now() - start);
	EXPECT_EQ(0, round_trip(self, 1));
}

/* What probe does with each: an error that names the reason, or success */
TEST_F_TIMEOUT(fault, probe, 100)
{
	static const struct {
		const char *fault, *log;
	} bad[] = {
		{ "fw-dead=on", "is not ready after 1000 ms: status register 0x808 = 0xdeadbeef" },
		{ "fw-not-ready=on", "firmware is not ready after 1000 ms: status register 0x808" },
		{ "regs-ones=all", "does not answer" },
		{ "regs-deadbeef=all", "firmware is not ready after 1000 ms" },
		{ "regs-ones=engines", "does not copy after the reset" },
		{ "regs-deadbeef=engines", "does not copy after the reset" },
		{ "fw-override=0x24=0x147", "routing id 0x147 of the firmware is not below 256" },
	};
	unsigned int i;
	char bdf[32];

	snprintf(bdf, sizeof(bdf), "%s", self->bdf);
	ASSERT_EQ(0, trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "1000"));
	close(self->fd);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int log = trn_log_open();
		__s64 start = trn_now();

		ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/unbind", bdf));
		ASSERT_EQ(0, trn_fault(bdf, bad[i].fault));
		EXPECT_GT(0, trn_write_file("/sys/bus/pci/drivers/trainium/bind", bdf)) {
			TH_LOG("%s: bound", bad[i].fault);
		}
		TH_LOG("probe with %s: failed after %lld ms", bad[i].fault,
		       (long long)((trn_now() - start) / TRN_MSEC));
		EXPECT_GT(8 * TRN_SEC, trn_now() - start);
		EXPECT_TRUE(trn_log_find(log, bad[i].log)) TH_LOG("no \"%s\"", bad[i].log);
		close(log);
		trn_no_faults(bdf);
		ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/bind", bdf));
		self->fd = trn_open_bdf(bdf);
		ASSERT_LE(0, self->fd);
		if (i < ARRAY_SIZE(bad) - 1)
			close(self->fd);
	}
	trn_write_file("/sys/module/trainium/parameters/fw_timeout_ms", "30000");
	ASSERT_EQ(0, trn_queue_create(self->fd, STACK, 1, &self->queue));
	munmap(self->host.map, SIZE);
	munmap(self->back.map, SIZE);
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->back));
	ASSERT_EQ(0, trn_hbm_new(self->fd, STACK, SIZE, &self->hbm));
}

TEST_HARNESS_MAIN
