// SPDX-License-Identifier: GPL-2.0-only
/* Resets of the device and of cores: by ioctl, by function level reset */
#include <fcntl.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(1)
#define BIG TRN_MIB(64)

FIXTURE(reset) {
	int fd;
	int log;
	__u32 queue;
	struct trn_bo host, hbm, big;
	struct drm_trainium_query_device device;
};

FIXTURE_SETUP(reset)
{
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_NE(NULL, self->host.map);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, BIG, &self->big));
}

FIXTURE_TEARDOWN(reset)
{
	char line[1024];

	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int reset(int fd, __u32 scope, __u32 index)
{
	struct drm_trainium_reset args = { .scope = scope, .index = index };

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_RESET, &args);
}

static __u64 count_of(int fd)
{
	struct drm_trainium_query_device device = {};

	trn_device(fd, &device);
	return device.reset_count;
}

static int submit_long(struct _test_data_reset *self, __u32 queue, struct drm_trainium_sync *in,
		       struct drm_trainium_sync *out)
{
	struct drm_trainium_op ops[64];
	struct drm_trainium_submit s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->big.handle, BIG / 2, self->big.handle, 0, BIG / 2);
	s = trn_job(queue, ops, ARRAY_SIZE(ops));
	s.in_syncs = trn_ptr(in);
	s.in_sync_count = in ? 1 : 0;
	s.out_syncs = trn_ptr(out);
	s.out_sync_count = out ? 1 : 0;
	return trn_submit(self->fd, &s);
}

/* Data goes through the queue and comes out right. */
static int works(struct _test_data_reset *self, int fd, __u32 queue, __u64 seed)
{
	trn_pattern(self->host.map, 0, SIZE, seed);
	if (trn_copy(fd, queue, self->hbm.handle, 0, self->host.handle, 0, SIZE))
		return 1;
	memset(self->host.map, 0, SIZE);
	if (trn_copy(fd, queue, self->host.handle, 0, self->hbm.handle, 0, SIZE))
		return 2;
	return trn_check(self->host.map, 0, SIZE, seed) == -1 ? 0 : 3;
}

TEST_F(reset, device)
{
	char text[32];
	unsigned int i;
	__u64 count = count_of(self->fd);

	for (i = 1; i <= 5; i++) {
		__s64 start = trn_now();

		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE, 0));
		EXPECT_GT(trn_limit(10 * TRN_SEC), trn_now() - start);
		EXPECT_EQ(count + i, count_of(self->fd));
		EXPECT_EQ(0, works(self, self->fd, self->queue, i));
	}
	if (trn_read_sysfs(trn_bdf(0), "reset_count", text, sizeof(text)) > 0)
		EXPECT_EQ(count + 5, strtoull(text, NULL, 0));
}

TEST_F(reset, each_core)
{
	unsigned int i;
	__u64 count = count_of(self->fd);

	for (i = 0; i < self->device.num_cores; i++) {
		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, i)) TH_LOG("core %u", i);
		EXPECT_EQ(0, works(self, self->fd, self->queue, i));
	}
	/* Contents stay, so the device's count does too. */
	EXPECT_EQ(count, count_of(self->fd));
}

TEST_F(reset, bad_arguments)
{
	struct drm_trainium_reset args = {};
	__u64 count = count_of(self->fd);

	EXPECT_EQ(-EINVAL, reset(self->fd, 2, 0));
	EXPECT_EQ(-EINVAL, reset(self->fd, ~0u, 0));
	EXPECT_EQ(-EINVAL, reset(self->fd, TRAINIUM_RESET_DEVICE, 1));
	EXPECT_EQ(-EINVAL, reset(self->fd, TRAINIUM_RESET_CORE, self->device.num_cores));
	EXPECT_EQ(-EINVAL, reset(self->fd, TRAINIUM_RESET_CORE, ~0u));
	args.flags = 1;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args));
	args.flags = 0;
	args.pad = 1;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, NULL));
	EXPECT_EQ(count, count_of(self->fd));
}

static int reset_as_user(void *arg)
{
	int fd, inherited = trn_open(0), ret;

	if (trn_become_user())
		return 1;
	fd = open(arg, O_RDWR);
	if (fd < 0)
		return 2;
	ret = reset(fd, TRAINIUM_RESET_DEVICE, 0);
	if (ret != -EACCES && ret != -EPERM)
		return 3;
	ret = reset(fd, TRAINIUM_RESET_CORE, 0);
	if (ret != -EACCES && ret != -EPERM)
		return 4;
	/* Who opened the file does not matter. */
	ret = reset(inherited, TRAINIUM_RESET_DEVICE, 0);
	return ret == -EACCES || ret == -EPERM ? 0 : 5;
}

TEST_F(reset, not_for_users)
{
	__u64 count = count_of(self->fd);
	char path[64];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(reset_as_user, path));
	unlink(path);
	EXPECT_EQ(count, count_of(self->fd));
}

/* Everybody who waits is woken and told. */
TEST_F_TIMEOUT(reset, waiters, 60)
{
	unsigned int round;

	for (round = 0; round < 8; round++) {
		struct drm_trainium_sync in = {}, out = {};
		struct drm_trainium_query_queue q;
		struct trn_gate gate = {};
		bool gated = false;
		int file, ret, admin = trn_open(0), go[2];
		char byte;
		pid_t pid;

		ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
		if (round % 2 && !trn_gate_open(&gate)) {
			gated = true;
			ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
		}
		ASSERT_EQ(0, submit_long(self, self->queue, gated ? &in : NULL, &out));
		ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
		ASSERT_EQ(0, pipe(go));
		pid = trn_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (write(go[1], "x", 1) != 1)
				_exit(99);
			ret = trn_drain(self->fd, self->queue);
			_exit(ret == -ECANCELED ? 0 : ret ? 1 : 2);
		}
		ASSERT_EQ(1, read(go[0], &byte, 1));
		trn_sleep(2 * TRN_MSEC);
		ASSERT_EQ(0, reset(admin, TRAINIUM_RESET_DEVICE, 0));
		ret = trn_reap(pid, trn_limit(5 * TRN_SEC));
		/* 2: it had been quicker */
		EXPECT_TRUE(!ret || (ret == 2 && !gated)) TH_LOG("round %u: %d", round, ret);
		EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, trn_limit(TRN_SEC)));
		ret = trn_sync_file_status(file);
		EXPECT_TRUE(ret == -ECANCELED || (ret == 1 && !gated)) TH_LOG("%d", ret);
		if (ret == -ECANCELED) {
			ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
			EXPECT_EQ(ECANCELED, q.error);
			EXPECT_EQ(TRAINIUM_REASON_RESET, q.reason);
			EXPECT_EQ(q.submitted, q.completed);
		}
		if (gated) {
			/* Too late for it to start anything */
			EXPECT_EQ(0, trn_gate_release(&gate));
			trn_gate_close(&gate);
		}
		trn_drain(self->fd, self->queue);
		EXPECT_EQ(0, works(self, self->fd, self->queue, round));
		close(file);
		close(admin);
		close(go[0]);
		close(go[1]);
	}
}

TEST_F(reset, generations)
{
	struct drm_trainium_bo_info info;
	__u64 count = count_of(self->fd);
	struct trn_bo later;

	ASSERT_EQ(0, trn_bo_info(self->fd, self->hbm.handle, &info));
	EXPECT_EQ(count, info.content_generation);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE, 0));
	/* The old one is seen to have lost its contents ... */
	ASSERT_EQ(0, trn_bo_info(self->fd, self->hbm.handle, &info));
	EXPECT_EQ(count, info.content_generation);
	EXPECT_EQ(count + 1, count_of(self->fd));
	EXPECT_EQ(SIZE, info.size);
	/* ... a new one has not, and is zeroed whatever the reset left. */
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &later));
	ASSERT_EQ(0, trn_bo_info(self->fd, later.handle, &info));
	EXPECT_EQ(count + 1, info.content_generation);
	memset(self->host.map, 0xff, SIZE);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, later.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0));
}

/* Mappings stay and still show the buffer. */
TEST_F(reset, mappings)
{
	if (!self->hbm.map)
		SKIP(return, "HBM cannot be mapped");
	memset(self->hbm.map, 0x12, SIZE);
	memset(self->host.map, 0x13, SIZE);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE, 0));
	/* Host memory is not the device's to lose. */
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x13));
	trn_pattern(self->hbm.map, 0, SIZE, 3);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check(self->host.map, 0, SIZE, 3));
}

/* E1: who sleeps through a reset keeps what is his, and gives it back later. */
TEST_F(reset, nothing_lost)
{
	struct trn_snapshot base, now;
	unsigned int round;

	ASSERT_EQ(0, trn_snapshot(self->fd, &base));
	for (round = 0; round < 3; round++) {
		int other = trn_open(0);
		__u32 queue, bo, i;

		for (i = 0; i < 8; i++) {
			__u32 stack = i % self->device.num_stacks;

			ASSERT_EQ(0, trn_queue_create(other, stack, 4, &queue));
			ASSERT_EQ(0, trn_bo_create(other, TRAINIUM_BO_HBM, stack, BIG / 4, &bo));
		}
		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE, 0));
		ASSERT_EQ(0, trn_snapshot(self->fd, &now));
		EXPECT_NE(NULL, trn_snapshot_diff(&base, &now));
		ASSERT_EQ(0, trn_fill(other, queue, bo, 0, SIZE, 1, 1));
		close(other);
		EXPECT_EQ(NULL, trn_settle(self->fd, &base, 2 * TRN_SEC)) {
			TH_LOG("%s", trn_settle(self->fd, &base, 0) ?: "late");
		}
	}
}

struct resetter {
	int fd;
	__u32 scope, index;
	unsigned int done, busy;
	int error;
};

static void *reset_thread(void *arg)
{
	struct resetter *r = arg;
	unsigned int i;

	for (i = 0; i < 5 && !r->error; i++) {
		int ret = reset(r->fd, r->scope, r->index);

		if (!ret)
			r->done++;
		else if (ret == -EBUSY)
			r->busy++;
		else
			r->error = ret;
	}
	return NULL;
}

/* D3: two at once are one after the other, or one of them hears so. */
TEST_F_TIMEOUT(reset, concurrent, 60)
{
	struct resetter r[4] = {};
	__u64 count = count_of(self->fd);
	unsigned int i, done = 0;
	pthread_t thread[4];

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i].fd = trn_open(0);
		ASSERT_LE(0, r[i].fd);
		/* Three of the device, one of a core among them */
		r[i].scope = i == 3 ? TRAINIUM_RESET_CORE : TRAINIUM_RESET_DEVICE;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, reset_thread, &r[i]));
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, r[i].error);
		if (i < 3)
			done += r[i].done;
		close(r[i].fd);
	}
	EXPECT_LT(0, done);
	EXPECT_EQ(count + done, count_of(self->fd));
	EXPECT_EQ(0, works(self, self->fd, self->queue, 1));
}

/* D2: a core is reset all the time, queues of other cores do not notice. */
TEST_F_TIMEOUT(reset, other_cores, 60)
{
	struct trn_snapshot before, after;
	struct resetter r = { .fd = trn_open(0), .scope = TRAINIUM_RESET_CORE };
	unsigned int e, round, resets = 0;
	__u32 queue, core = ~0u;
	pthread_t thread;

	ASSERT_LE(0, r.fd);
	ASSERT_EQ(0, trn_snapshot(self->fd, &before));
	ASSERT_EQ(0, trn_queue_create(self->fd, self->device.num_stacks - 1, 1, &queue));
	ASSERT_EQ(0, trn_snapshot(self->fd, &after));
	for (e = 0; e < after.engines; e++) {
		struct drm_trainium_query_engine info;

		if (after.rings_free[e] == before.rings_free[e])
			continue;
		ASSERT_EQ(0, trn_engine(self->fd, e, &info));
		core = info.core;
	}
	r.index = core == 0 ? 1 : 0;
	for (round = 0; round < 3; round++) {
		unsigned int i;

		ASSERT_EQ(0, pthread_create(&thread, NULL, reset_thread, &r));
		for (i = 0; i < 40; i++)
			ASSERT_EQ(0, works(self, self->fd, queue, i)) TH_LOG("copy %u", i);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, r.error);
	}
	resets = r.done;
	EXPECT_LT(0, resets);
	close(r.fd);
}

/* A job on an engine of the core that is reset */
TEST_F(reset, own_core)
{
	struct trn_snapshot before, after;
	struct drm_trainium_query_queue q;
	unsigned int e, round;
	__u32 queue, core = ~0u;
	int ret;

	ASSERT_EQ(0, trn_snapshot(self->fd, &before));
	ASSERT_EQ(0, trn_queue_create(self->fd, 1, 1, &queue));
	ASSERT_EQ(0, trn_snapshot(self->fd, &after));
	for (e = 0; e < after.engines; e++) {
		struct drm_trainium_query_engine info;

		if (after.rings_free[e] == before.rings_free[e])
			continue;
		ASSERT_EQ(0, trn_engine(self->fd, e, &info));
		core = info.core;
	}
	if (core == ~0u)
		SKIP(return, "the queue uses a host engine");
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, submit_long(self, queue, NULL, NULL));
		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, core));
		ret = trn_drain(self->fd, queue);
		EXPECT_TRUE(!ret || ret == -ECANCELED) TH_LOG("%d", ret);
		if (ret) {
			ASSERT_EQ(0, trn_queue(self->fd, queue, &q));
			EXPECT_EQ(TRAINIUM_REASON_RESET, q.reason);
		}
		EXPECT_EQ(0, works(self, self->fd, queue, round));
	}
}

/* Clients that take every error as it comes, and never see wrong data */
static void client(unsigned int kind, unsigned int stack)
{
	struct trn_bo in, out, hbm;
	int fd = trn_open(0), ret;
	unsigned int i;
	__u32 queue;

	if (fd < 0 || trn_queue_create(fd, stack, 1 + kind, &queue) ||
	    trn_host_new(fd, SIZE, &in) || trn_host_new(fd, SIZE, &out) ||
	    trn_hbm_new(fd, stack, SIZE, &hbm))
		_exit(1);
	for (i = 0;; i++) {
		struct drm_trainium_op ops[2] = {
			trn_op_copy(hbm.handle, 0, in.handle, 0, SIZE),
			trn_op_copy(out.handle, 0, hbm.handle, 0, SIZE),
		};

		ops[1].flags = TRAINIUM_OP_F_BARRIER;
		trn_pattern(in.map, 0, SIZE, kind << 24 | i);
		ret = trn_run(fd, queue, ops, 2);
		if (ret == -ECANCELED)
			continue;
		if (ret)
			_exit(10);
		if (trn_check(out.map, 0, SIZE, kind << 24 | i) != -1)
			_exit(11);
	}
}

static void under_load(struct __test_metadata *_metadata, struct _test_data_reset *self,
		       int (*how)(struct _test_data_reset *self, unsigned int round))
{
	__u64 count = count_of(self->fd);
	unsigned int i;
	pid_t pid[3];

	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			client(i, i % self->device.num_stacks);
	}
	for (i = 0; i < 8; i++) {
		trn_sleep((20 + 7 * i) * TRN_MSEC);
		EXPECT_EQ(0, how(self, i));
	}
	trn_sleep(100 * TRN_MSEC);
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		int ret = trn_reap(pid[i], 0);

		EXPECT_EQ(-ETIME, ret) TH_LOG("client %u ended with %d", i, ret);
		if (ret == -ETIME) {
			kill(pid[i], SIGKILL);
			EXPECT_EQ(128 + SIGKILL, trn_reap(pid[i], TRN_PATIENCE));
		}
	}
	EXPECT_EQ(count + 8, count_of(self->fd));
	EXPECT_EQ(0, works(self, self->fd, self->queue, 5));
}

static int by_ioctl(struct _test_data_reset *self, unsigned int round)
{
	return reset(self->fd, TRAINIUM_RESET_DEVICE, 0);
}

static int by_flr(struct _test_data_reset *self, unsigned int round)
{
	return trn_write_sysfs(trn_bdf(0), "reset", "1");
}

TEST_F_TIMEOUT(reset, load_ioctl, 60)
{
	under_load(_metadata, self, by_ioctl);
}

TEST_F_TIMEOUT(reset, load_flr, 60)
{
	char method[64];

	ASSERT_LT(0, trn_read_sysfs(trn_bdf(0), "reset_method", method, sizeof(method)));
	if (!strstr(method, "flr"))
		SKIP(return, "no function level reset, only: %s", method);
	ASSERT_EQ(0, trn_write_sysfs(trn_bdf(0), "reset_method", "flr"));
	under_load(_metadata, self, by_flr);
}

/* Around a reset, nobody who opens or closes hangs. */
TEST_F_TIMEOUT(reset, open_and_close_during_reset, 60)
{
	pid_t pid = trn_fork();
	__s64 worst = 0;
	unsigned int i;

	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = trn_open(0);

		for (i = 0; i < 10; i++)
			if (reset(fd, TRAINIUM_RESET_DEVICE, 0))
				_exit(1);
		_exit(0);
	}
	for (i = 0; i < 100; i++) {
		__s64 start = trn_now();
		int fd = trn_open(0), ret;
		__u32 queue, bo;

		ASSERT_LE(0, fd);
		ret = trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue);
		EXPECT_EQ(0, ret);
		ret = trn_bo_create(fd, TRAINIUM_BO_HBM, 0, SIZE, &bo);
		/* Zeroing it may have been lost three times in a row. */
		EXPECT_TRUE(!ret || ret == -ECANCELED) TH_LOG("%d", ret);
		close(fd);
		if (trn_now() - start > worst)
			worst = trn_now() - start;
	}
	EXPECT_EQ(0, trn_reap(pid, trn_limit(30 * TRN_SEC)));
	EXPECT_GT(trn_limit(5 * TRN_SEC), worst);
}

TEST_HARNESS_MAIN
