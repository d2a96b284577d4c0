// SPDX-License-Identifier: GPL-2.0-only
/*
 * User queues and lists: semaphores that queues, processes and chips wait for,
 * completion by a number in memory and an eventfd, and how a wait ends that
 * nobody would end.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE	TRN_KIB(64)
#define ENDED	TRAINIUM_COMPLETION_ENDED

FIXTURE(user) {
	int fd;
	int log;
	int event;
	struct trn_snapshot base;
	/* Completion words and semaphores */
	struct trn_bo words;
	__u64 *word;
	struct trn_bo host, hbm;
	__u32 fenced;
};

FIXTURE_SETUP(user)
{
	self->log = -1;
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	if (!trn_has(self->fd, TRAINIUM_FEATURE_QUEUE_USER))
		SKIP(return, "the device has no semaphores");
	self->log = trn_log_open();
	self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_LE(0, self->event);
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_PAGE, &self->words));
	self->word = (__u64 *)self->words.map;
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 1, &self->fenced));
}

FIXTURE_TEARDOWN(user)
{
	char line[1024];

	if (self->log < 0)
		return;
	trn_bo_put(self->fd, &self->words);
	trn_bo_put(self->fd, &self->host);
	trn_bo_put(self->fd, &self->hbm);
	trn_queue_destroy(self->fd, self->fenced);
	/* Nothing is left of what waited. */
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
	}
	close(self->fd);
	close(self->event);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static struct drm_trainium_op op_signal(__u32 handle, __u64 offset, __u64 value)
{
	return (struct drm_trainium_op) {
		.type = TRAINIUM_OP_SIGNAL, .dst = handle, .dst_offset = offset,
		.pattern = value, .pattern_size = 8, .size = 8,
	};
}

static struct drm_trainium_op op_wait(__u32 handle, __u64 offset, __u64 value, __u32 flags)
{
	struct drm_trainium_op op = op_signal(handle, offset, value);

	op.type = TRAINIUM_OP_WAIT;
	op.flags = flags;
	return op;
}

/* With word @n of the fixture's and, if @event is set, its eventfd */
static int create(struct _test_data_user *self, unsigned int n, bool event, __u32 *queue)
{
	struct drm_trainium_queue_create args = {
		.queue_class = TRAINIUM_QUEUE_USER,
		.stack = TRAINIUM_STACK_ANY,
		.completion = {
			.handle = self->words.handle,
			.offset = 8 * n,
			.flags = event ? TRAINIUM_COMPLETION_EVENTFD : 0,
			.eventfd = event ? self->event : 0,
		},
	};
	int ret = trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &args);

	self->word[n] = 0;
	*queue = args.queue;
	return ret;
}

static int submit(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 count)
{
	struct drm_trainium_submit s = trn_job(queue, ops, count);

	return trn_submit(fd, &s);
}

/* Until a word has a value; what it is in the end */
static __u64 look(const __u64 *word, __u64 want)
{
	__s64 end = trn_now() + TRN_PATIENCE;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != want && trn_now() < end)
		trn_sleep(100000);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Word @n, which the device writes */
static __u64 seen(struct _test_data_user *self, unsigned int n)
{
	return __atomic_load_n(&self->word[n], __ATOMIC_ACQUIRE);
}

static bool told(int event)
{
	struct pollfd fd = { .fd = event, .events = POLLIN };
	__u64 count;

	return poll(&fd, 1, TRN_PATIENCE / TRN_MSEC) == 1 && read(event, &count, 8) == 8;
}

TEST_F(user, number_and_eventfd)
{
	struct drm_trainium_query_queue info = {};
	struct drm_trainium_op op;
	__u64 count;
	__u32 q;
	int i;

	ASSERT_EQ(0, create(self, 0, true, &q));
	ASSERT_EQ(0, trn_queue(self->fd, q, &info));
	EXPECT_EQ(TRAINIUM_QUEUE_USER, info.queue_class);
	EXPECT_EQ(1, info.num_rings);
	for (i = 1; i <= 300; i++) {
		op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, 64);
		ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	}
	EXPECT_EQ(300, look(&self->word[0], 300));
	EXPECT_TRUE(told(self->event));
	ASSERT_EQ(0, trn_drain(self->fd, q));
	while (read(self->event, &count, 8) == 8)
		;
	/* A submit that waits */
	ASSERT_EQ(0, trn_run(self->fd, q, &op, 1));
	EXPECT_EQ(301, seen(self, 0));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, q));
	/* All had ended: the number stays. */
	trn_sleep(20 * TRN_MSEC);
	EXPECT_EQ(301, seen(self, 0));
}

TEST_F(user, waits_for_the_cpu)
{
	struct drm_trainium_op ops[3];
	__u32 q;

	memset(self->host.map, 0x11, SIZE);
	ASSERT_EQ(0, create(self, 0, true, &q));
	ops[0] = op_wait(self->words.handle, 64, 5, 0);
	ops[1] = trn_op_fill(self->host.handle, 0, SIZE, 0x22, 1);
	ops[2] = op_signal(self->words.handle, 72, 7);
	ASSERT_EQ(0, submit(self->fd, q, ops, 3));
	trn_sleep(50 * TRN_MSEC);
	EXPECT_EQ(0, seen(self, 0));
	EXPECT_EQ(0x11, self->host.map[0]);
	self->word[8] = 4;
	trn_sleep(20 * TRN_MSEC);
	EXPECT_EQ(0, seen(self, 0));
	self->word[8] = 6;
	EXPECT_EQ(1, look(&self->word[0], 1));
	EXPECT_TRUE(told(self->event));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x22));
	EXPECT_EQ(7, seen(self, 9));
	EXPECT_EQ(6, seen(self, 8));
	trn_queue_destroy(self->fd, q);
}

/* A wait is longer than any job may run, and nobody is blamed. */
TEST_F_TIMEOUT(user, waits_for_long, 60)
{
	struct drm_trainium_query_queue info = {};
	struct drm_trainium_op op;
	__u32 q;

	ASSERT_EQ(0, create(self, 0, false, &q));
	op = op_wait(self->words.handle, 64, 1, TRAINIUM_OP_F_TAKE);
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	trn_sleep(trn_get_param("job_timeout_ms") * TRN_MSEC + TRN_SEC);
	ASSERT_EQ(0, trn_queue(self->fd, q, &info));
	EXPECT_EQ(0, info.failed);
	EXPECT_EQ(0, info.completed);
	self->word[8] = 1;
	EXPECT_EQ(1, look(&self->word[0], 1));
	EXPECT_EQ(0, seen(self, 8));
	trn_queue_destroy(self->fd, q);
}

TEST_F(user, signed_numbers)
{
	struct drm_trainium_op op;
	__u32 q;

	ASSERT_EQ(0, create(self, 0, false, &q));
	self->word[8] = -3;
	op = op_wait(self->words.handle, 64, 0, 0);
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	trn_sleep(10 * TRN_MSEC);
	EXPECT_EQ(0, seen(self, 0));
	/* -3 + 3 */
	op = op_signal(self->words.handle, 64, 3);
	ASSERT_EQ(0, trn_run(self->fd, self->fenced, &op, 1));
	EXPECT_EQ(1, look(&self->word[0], 1));
	op = op_signal(self->words.handle, 64, -7);
	op.flags = TRAINIUM_OP_F_SET;
	ASSERT_EQ(0, trn_run(self->fd, self->fenced, &op, 1));
	EXPECT_EQ(-7, (__s64)seen(self, 8));
	trn_queue_destroy(self->fd, q);
}

/* Two queues hand a buffer to and fro, without the CPU. */
TEST_F(user, two_queues)
{
	struct drm_trainium_op ops[4];
	__u32 a, b;
	int i;

	ASSERT_EQ(0, create(self, 0, false, &a));
	ASSERT_EQ(0, create(self, 1, false, &b));
	for (i = 0; i < 50; i++) {
		ops[0] = op_wait(self->hbm.handle, 0, 1, TRAINIUM_OP_F_TAKE);
		ops[1] = trn_op_copy(self->hbm.handle, 4096, self->hbm.handle, 8192, 4096);
		ops[2] = op_signal(self->hbm.handle, 8, 1);
		ASSERT_EQ(0, submit(self->fd, a, ops, 3));
		ops[0] = op_wait(self->hbm.handle, 8, 1, TRAINIUM_OP_F_TAKE);
		ops[1] = trn_op_fill(self->hbm.handle, 8192, 4096, i + 1, 1);
		ops[2] = op_signal(self->hbm.handle, 0, 1);
		ASSERT_EQ(0, submit(self->fd, b, ops, 3));
	}
	EXPECT_EQ(0, seen(self, 0));
	ops[0] = op_signal(self->hbm.handle, 0, 1);
	ASSERT_EQ(0, trn_run(self->fd, self->fenced, ops, 1));
	EXPECT_EQ(50, look(&self->word[1], 50));
	EXPECT_EQ(50, look(&self->word[0], 50));
	ASSERT_EQ(0, trn_copy(self->fd, self->fenced, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(1, *(__u64 *)self->host.map);
	EXPECT_EQ(0, *(__u64 *)(self->host.map + 8));
	EXPECT_EQ(-1, trn_check_byte(self->host.map + 4096, 4096, 49));
	EXPECT_EQ(-1, trn_check_byte(self->host.map + 8192, 4096, 50));
	trn_queue_destroy(self->fd, a);
	trn_queue_destroy(self->fd, b);
}

/*
 * Two processes, each with a user queue, play ping-pong over two semaphores in a
 * buffer that both have: @mine is waited for, @other signalled.
 */
static int play(struct _test_data_user *p, __u32 handle, unsigned int mine, unsigned int other)
{
	struct drm_trainium_op ops[2] = {
		op_wait(handle, 8 * mine, 1, TRAINIUM_OP_F_TAKE), op_signal(handle, 8 * other, 1),
	};
	__u32 queue;
	int i, ret;

	ret = create(p, 0, false, &queue);
	for (i = 0; i < 100 && !ret; i++)
		ret = submit(p->fd, queue, ops, 2);
	if (!ret && mine == 0) {
		ops[1] = op_signal(handle, 0, 1);
		ret = trn_run(p->fd, p->fenced, &ops[1], 1);
	}
	if (!ret && look(&p->word[0], 100) != 100)
		ret = -ETIME;
	trn_queue_destroy(p->fd, queue);
	return ret;
}

TEST_F(user, two_processes)
{
	struct drm_trainium_bo_create args = {
		.size = TRN_PAGE, .placement = TRAINIUM_BO_HBM, .flags = TRAINIUM_BO_F_PEER,
	};
	int ret, shared;
	pid_t pid;

	ret = trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &args);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "buffers that lists and user queues share need a fabric");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, trn_export(self->fd, args.handle, &shared));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct _test_data_user child = { .fd = trn_open(0) };
		__u32 handle;

		if (child.fd < 0 || trn_host_new(child.fd, TRN_PAGE, &child.words) ||
		    trn_import(child.fd, shared, &handle))
			_exit(1);
		child.word = (__u64 *)child.words.map;
		_exit(play(&child, handle, 1, 0) ? 2 : 0);
	}
	EXPECT_EQ(0, play(self, args.handle, 0, 1));
	EXPECT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	close(shared);
	ASSERT_EQ(0, trn_close_handle(self->fd, args.handle));
}

/* Others on the same engine go on; recovery of theirs lets go of the one that waits. */
TEST_F(user, neighbours)
{
	struct drm_trainium_query_engine info;
	struct drm_trainium_op op;
	__u32 q, other[132];
	unsigned int i, n;

	ASSERT_EQ(0, create(self, 0, false, &q));
	op = op_wait(self->words.handle, 64, 1, 0);
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	/* One queue on each engine there is, so one of them is beside it */
	for (n = 0; n < ARRAY_SIZE(other) && !trn_engine(self->fd, n, &info) && n < 60; n++)
		ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 1, &other[n]));
	for (i = 0; i < n; i++) {
		memset(self->host.map, 0, SIZE);
		EXPECT_EQ(0, trn_fill(self->fd, other[i], self->host.handle, 0, SIZE, i + 1, 1));
		EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, i + 1));
	}
	EXPECT_EQ(0, seen(self, 0));
	for (i = 0; i < n; i++)
		trn_queue_destroy(self->fd, other[i]);
	self->word[8] = 1;
	EXPECT_EQ(1, look(&self->word[0], 1));
	trn_queue_destroy(self->fd, q);
}

TEST_F(user, list_again_and_again)
{
	struct drm_trainium_op ops[] = {
		op_wait(self->words.handle, 64, 1, TRAINIUM_OP_F_TAKE),
		trn_op_copy(self->host.handle, 0, self->hbm.handle, 0, 256),
		op_signal(self->words.handle, 72, 3),
	};
	struct drm_trainium_list_create args = {
		.ops = trn_ptr(ops),
		.op_count = ARRAY_SIZE(ops),
		.op_stride = sizeof(*ops),
		.stack = TRAINIUM_STACK_ANY,
		.flags = TRAINIUM_LIST_F_USER,
		.completion = {
			.handle = self->words.handle,
			.flags = TRAINIUM_COMPLETION_EVENTFD,
			.eventfd = self->event,
		},
	};
	struct drm_trainium_submit s = {};
	int i;

	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &args));
	EXPECT_EQ(4, args.descs);
	for (i = 1; i <= 1000; i++) {
		s = (struct drm_trainium_submit) { .queue = args.list };
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s));
		EXPECT_EQ(i, s.seqno);
		if (i % 10)
			continue;
		/* The last ten have waited; the signal of all is one addition. */
		EXPECT_EQ(i - 10, seen(self, 0));
		ops[0] = op_signal(self->words.handle, 64, 10);
		ASSERT_EQ(0, trn_run(self->fd, self->fenced, ops, 1));
		EXPECT_EQ(i, look(&self->word[0], i));
		EXPECT_EQ(3 * i, seen(self, 9));
		EXPECT_EQ(0, seen(self, 8));
	}
	EXPECT_TRUE(told(self->event));
	/* Its end is that of what waits. */
	s = (struct drm_trainium_submit) { .queue = args.list };
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s));
	ASSERT_EQ(0, trn_queue_destroy(self->fd, args.list));
	EXPECT_EQ(ENDED, look(&self->word[0], ENDED));
}

TEST_F(user, destroyed)
{
	struct drm_trainium_op op = op_wait(self->words.handle, 64, 1, 0);
	__s64 begin;
	__u64 count;
	__u32 q;

	ASSERT_EQ(0, create(self, 0, true, &q));
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	trn_sleep(10 * TRN_MSEC);
	while (read(self->event, &count, 8) == 8)
		;
	begin = trn_now();
	ASSERT_EQ(0, trn_queue_destroy(self->fd, q));
	EXPECT_EQ(ENDED, look(&self->word[0], ENDED));
	EXPECT_TRUE(told(self->event));
	EXPECT_GT(trn_limit(TRN_SEC), trn_now() - begin);
	/* What it waited for comes too late. */
	self->word[8] = 1;
	trn_sleep(20 * TRN_MSEC);
	EXPECT_EQ(ENDED, seen(self, 0));
}

TEST_F(user, reset)
{
	struct drm_trainium_reset reset = { .scope = TRAINIUM_RESET_DEVICE };
	struct drm_trainium_op op = op_wait(self->words.handle, 64, 1, 0);
	struct drm_trainium_submit s;
	__u32 q;

	ASSERT_EQ(0, create(self, 0, true, &q));
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &reset));
	EXPECT_EQ(ENDED, look(&self->word[0], ENDED));
	EXPECT_TRUE(told(self->event));
	/* It has lost its place, and says so. */
	EXPECT_EQ(-ECANCELED, submit(self->fd, q, &op, 1));
	s = trn_job(q, NULL, 0);
	s.op_stride = 0;
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = trn_now() + TRN_SEC;
	EXPECT_EQ(-ECANCELED, trn_submit(self->fd, &s));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, q));
	/* A new one works. */
	ASSERT_EQ(0, create(self, 1, false, &q));
	self->word[8] = 1;
	ASSERT_EQ(0, submit(self->fd, q, &op, 1));
	EXPECT_EQ(1, look(&self->word[1], 1));
	trn_queue_destroy(self->fd, q);
}

/* One process waits, the other one signals; then the one that waits is killed. */
TEST_F(user, partner_dies)
{
	int to[2], back[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(back));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct _test_data_user child = { .fd = trn_open(0) };
		struct drm_trainium_op ops[2];
		__u32 q;

		if (child.fd < 0 || trn_host_new(child.fd, TRN_PAGE, &child.words))
			_exit(1);
		child.word = (__u64 *)child.words.map;
		if (create(&child, 0, false, &q))
			_exit(2);
		ops[0] = op_wait(child.words.handle, 64, 1, 0);
		if (submit(child.fd, q, ops, 1) || write(back[1], "", 1) != 1 ||
		    read(to[0], &byte, 1) != 1)
			_exit(3);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(back[0], &byte, 1));
	ASSERT_EQ(1, write(to[1], "", 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	close(to[0]);
	close(to[1]);
	close(back[0]);
	close(back[1]);
	/* The teardown sees that all of it is given back. */
}

TEST_F(user, bad_arguments)
{
	struct drm_trainium_queue_create args = {
		.queue_class = TRAINIUM_QUEUE_USER,
		.stack = TRAINIUM_STACK_ANY,
	}, bad;
	struct drm_trainium_sync sync = {};
	struct drm_trainium_submit s;
	struct drm_trainium_op op;
	__u32 q;

	bad = args;
	bad.num_engines = 2;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.completion.offset = 8;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.completion.handle = 12345;
	EXPECT_EQ(-ENOENT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.handle = self->words.handle;
	bad.completion.offset = 4;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.offset = TRN_PAGE;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.offset = ~7ull;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.handle = self->hbm.handle;
	bad.completion.offset = 0;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.completion.eventfd = self->event;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.flags = TRAINIUM_COMPLETION_EVENTFD;
	bad.completion.eventfd = 1234;
	EXPECT_EQ(-EBADF, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad.completion.eventfd = self->fd;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.completion.flags = 2;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.completion.pad = 1;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));
	bad = args;
	bad.queue_class = TRAINIUM_QUEUE_FENCED;
	bad.completion.handle = self->words.handle;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &bad));

	/* No fences in, none out */
	ASSERT_EQ(0, create(self, 0, false, &q));
	ASSERT_EQ(0, trn_sync_create(self->fd, &sync.handle));
	op = op_signal(self->words.handle, 64, 1);
	s = trn_job(q, &op, 1);
	s.out_syncs = trn_ptr(&sync);
	s.out_sync_count = 1;
	EXPECT_EQ(-EINVAL, trn_submit(self->fd, &s));
	s = trn_job(q, &op, 1);
	s.in_syncs = trn_ptr(&sync);
	s.in_sync_count = 1;
	EXPECT_EQ(-EINVAL, trn_submit(self->fd, &s));
	trn_sync_destroy(self->fd, sync.handle);

	/* What may wait has no place among fences. */
	op = op_wait(self->words.handle, 64, 0, 0);
	EXPECT_EQ(-EINVAL, submit(self->fd, self->fenced, &op, 1));
	op = op_wait(self->words.handle, 60, 0, 0);
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_wait(self->words.handle, TRN_PAGE, 0, 0);
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_wait(self->words.handle, 64, 0, TRAINIUM_OP_F_SET);
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_signal(self->words.handle, 64, 1);
	op.flags = TRAINIUM_OP_F_TAKE;
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_signal(self->words.handle, 64, 1);
	op.size = 16;
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_signal(self->words.handle, 64, 1);
	op.pattern_size = 4;
	EXPECT_EQ(-EINVAL, submit(self->fd, q, &op, 1));
	op = op_signal(98765, 64, 1);
	EXPECT_EQ(-ENOENT, submit(self->fd, q, &op, 1));
	EXPECT_EQ(0, seen(self, 8));
	trn_queue_destroy(self->fd, q);
}

/* A chip waits for what another one has written, and the other way round. */
TEST_F(user, two_chips)
{
	struct drm_trainium_bo_create create_bo = {
		.size = SIZE, .placement = TRAINIUM_BO_HBM, .flags = TRAINIUM_BO_F_PEER,
	};
	struct drm_trainium_op ops[3];
	struct trn_bo words, there;
	int b = trn_open(1), buf;
	__u32 peer, here, qa, fb;
	struct drm_trainium_queue_create qb = {
		.queue_class = TRAINIUM_QUEUE_USER, .stack = TRAINIUM_STACK_ANY,
	};
	int i;

	if (b < 0 || !trn_has(b, TRAINIUM_FEATURE_FABRIC) ||
	    !trn_has(self->fd, TRAINIUM_FEATURE_FABRIC)) {
		close(b);
		SKIP(return, "wants two chips in a fabric");
	}
	ASSERT_EQ(0, trn_host_new(b, TRN_PAGE, &words));
	qb.completion.handle = words.handle;
	ASSERT_EQ(0, trn_ioctl(b, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &qb));
	ASSERT_EQ(0, trn_queue_create(b, TRAINIUM_STACK_ANY, 1, &fb));
	/* Memory of chip 1 as chip 0 sees it */
	ASSERT_EQ(0, trn_ioctl(b, DRM_IOCTL_TRAINIUM_BO_CREATE, &create_bo));
	here = create_bo.handle;
	ASSERT_EQ(0, trn_export(b, here, &buf));
	ASSERT_EQ(0, trn_import(self->fd, buf, &peer));
	close(buf);
	ASSERT_EQ(0, trn_host_new(b, SIZE, &there));
	ASSERT_EQ(0, create(self, 0, false, &qa));

	memset(self->host.map, 0x5c, SIZE);
	for (i = 0; i < 20; i++) {
		ops[0] = op_wait(here, 0, 1, TRAINIUM_OP_F_TAKE);
		ops[1] = trn_op_copy(there.handle, 0, here, 4096, 4096);
		ASSERT_EQ(0, submit(b, qb.queue, ops, 2));
	}
	for (i = 0; i < 20; i++) {
		ops[0] = trn_op_copy(peer, 4096, self->host.handle, 0, 4096);
		ops[1] = op_signal(peer, 0, 1);
		ASSERT_EQ(0, submit(self->fd, qa, ops, 2));
	}
	EXPECT_EQ(20, look(&self->word[0], 20));
	EXPECT_EQ(20, look((__u64 *)words.map, 20));
	EXPECT_EQ(-1, trn_check_byte(there.map, 4096, 0x5c));
	/* Memory of another chip is no place to wait. */
	ops[0] = op_wait(peer, 0, 1, 0);
	EXPECT_EQ(-EINVAL, submit(self->fd, qa, ops, 1));
	trn_queue_destroy(self->fd, qa);
	trn_close_handle(self->fd, peer);
	trn_bo_put(b, &words);
	trn_bo_put(b, &there);
	close(b);
}

TEST_HARNESS_MAIN
